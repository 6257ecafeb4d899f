#include "tests/hub/rpc/harness.h"

#include <grpcpp/impl/service_type.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "hub/controllers/bundle_controller.h"
#include "hub/core/first_records.h"
#include "hub/records/codec.h"
#include "hub/store/sqlite_store.h"

namespace nave {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);

std::string TokenFilePath() {
  static int number = 0;
  return absl::StrCat(testing::TempDir(), "/nave-tokens-", getpid(), "-", ++number);
}

}  // namespace

class ApiHarness::TestStore : public ApiStore {
 public:
  TestStore(RecordStore* records, BlobStore* blobs) : records_(records), blobs_(blobs) {}

  absl::StatusOr<std::optional<StoredValue>> Get(absl::string_view key) override {
    auto kv = records_->Get(key);
    if (absl::IsNotFound(kv.status())) return std::optional<StoredValue>();
    if (!kv.ok()) return kv.status();
    return std::optional<StoredValue>({kv->value, kv->mod_revision});
  }
  absl::StatusOr<RangePage> Range(absl::string_view prefix, absl::string_view after, size_t limit,
                                  uint64_t at) override {
    return records_->Range(prefix, after, limit, at);
  }
  absl::StatusOr<std::optional<uint64_t>> Commit(
      ControlTxn txn, std::optional<RememberedRequest> request) override {
    RecordTxn converted = ToRecordTxn(std::move(txn));
    if (request.has_value()) {
      converted.Compare(RequestKey(request->id), 0);
      converted.Put(RequestKey(request->id), EncodeRecord(request->record));
    }
    return records_->Commit(std::move(converted));
  }
  absl::Status PutBlobs(const std::vector<absl::string_view>& contents, ControlTxn* txn) override {
    ASSIGN_OR_RETURN(BlobGuard guard, blobs_->Put(contents));
    guard.AddTo(txn);
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> GetBlob(const Digest& digest) override { return blobs_->Get(digest); }
  std::unique_ptr<StoreWatch> Watch(absl::string_view prefix, uint64_t after,
                                    Store::WatchCallback on_batch) override {
    return records_->Watch(prefix, after, std::move(on_batch));
  }

 private:
  RecordStore* const records_;
  BlobStore* const blobs_;
};

ApiHarness::ApiHarness(ApiOptions options) : now_(absl::FromUnixSeconds(1800000000)) {
  options.threads = 4;
  RecordStoreOptions open;
  open.hub_id = hub_id_;
  open.version = "test";
  open.now = [this] { return Now(); };
  records_ = RecordStore::Open(OpenSqliteStore({}).value(), open).value();
  EXPECT_TRUE(EnsureFirstRecords(records_.get(), Now()).ok());
  blobs_ = std::make_unique<BlobStore>(
      records_.get(), EncryptionKeys::Parse(EncryptionKeys::NewFileText()).value());
  api_store_ = std::make_unique<TestStore>(records_.get(), blobs_.get());
  control_ = MakeControlStore(records_.get());
  token_path_ = TokenFilePath();
  std::ofstream tokens(token_path_);
  for (const char* user : {"admin", "dev", "seer", "setter", "nobody"}) {
    tokens << user << " " << user << "s " << Sha256(absl::StrCat(user, "-token")).Hex() << "\n";
  }
  tokens.close();
  tokens_ = TokenFile::Open(token_path_).value();
  loop_ = MakeThreadExecutor();
  reader_ = MakeThreadExecutor();
  services_ = MakeApiServices(this, tokens_.get(), options);
  fleet_ = std::make_unique<Fleet>(loop_.get(), reader_.get(), records_->store(), hub_id_,
                                   [this](FleetSnapshotPtr snapshot, const FleetChanges& changes) {
                                     {
                                       std::lock_guard<std::mutex> lock(mutex_);
                                       snapshot_ = std::move(snapshot);
                                     }
                                     advanced_.notify_all();
                                     services_->OnSnapshot(changes);
                                   });
  live_.set_on_change([this](const Uuid& cluster) { services_->OnLiveChanged(cluster); });
  WaitForLoad();
  grpc::ServerBuilder builder;
  for (grpc::Service* service : services_->services()) builder.RegisterService(service);
  server_ = builder.BuildAndStart();
  channel_ = server_->InProcessChannel(grpc::ChannelArguments());
}

ApiHarness::~ApiHarness() {
  services_->Drain();
  channel_.reset();
  server_->Shutdown(std::chrono::system_clock::now());
  server_.reset();
  loop_->Post([this] { fleet_.reset(); });
  loop_.reset();
  reader_.reset();
  services_.reset();
  unlink(token_path_.c_str());
}

void ApiHarness::WaitForLoad() {
  loop_->Post(
      [this] { fleet_->Start([](absl::Status status) { EXPECT_TRUE(status.ok()) << status; }); });
  EXPECT_TRUE(AwaitRevision(records_->HeadRevision().value(), kPatience));
}

void ApiHarness::Identify(const std::string& user, grpc::ClientContext* context) {
  if (!user.empty()) context->AddMetadata("authorization", absl::StrCat("Bearer ", user, "-token"));
}

FleetSnapshotPtr ApiHarness::Snapshot() {
  std::lock_guard<std::mutex> lock(mutex_);
  return snapshot_;
}

bool ApiHarness::AwaitRevision(uint64_t revision, absl::Duration timeout) {
  std::unique_lock<std::mutex> lock(mutex_);
  return advanced_.wait_for(lock, absl::ToChronoNanoseconds(timeout), [&] {
    return snapshot_ != nullptr && snapshot_->revision >= revision;
  });
}

HubFacts ApiHarness::Facts() {
  HubFacts facts;
  facts.version = "test";
  facts.hub_id = hub_id_;
  facts.agent_endpoint = "hub.example:8444";
  facts.ca_pin = Sha256("pin");
  return facts;
}

absl::Time ApiHarness::Now() {
  std::lock_guard<std::mutex> lock(mutex_);
  return now_;
}

void ApiHarness::Advance(absl::Duration by) {
  std::lock_guard<std::mutex> lock(mutex_);
  now_ += by;
}

void ApiHarness::Write(ControlTxn txn) {
  auto revision = api_store_->Commit(std::move(txn), std::nullopt);
  ASSERT_TRUE(revision.ok()) << revision.status();
  ASSERT_TRUE(revision->has_value());
  ASSERT_TRUE(AwaitRevision(**revision, kPatience));
}

void ApiHarness::SetLive(const Uuid& cluster, ClusterLive live) {
  live_.Set(cluster, std::make_shared<const ClusterLive>(std::move(live)));
}

void ApiHarness::RunControllers() {
  BundleController controller(control_.get(), {});
  std::vector<Uuid> bundles;
  Snapshot()->bundles.ForEach(
      [&](const Uuid& uid, const Versioned<Bundle>&) { bundles.push_back(uid); });
  for (const Uuid& uid : bundles) {
    for (;;) {
      auto outcome = controller.Reconcile(*Snapshot(), uid, Now());
      ASSERT_TRUE(outcome.ok()) << outcome.status();
      ASSERT_TRUE(AwaitRevision(records_->HeadRevision().value(), kPatience));
      if (*outcome == BundleController::Outcome::kDone) break;
    }
  }
}

std::vector<AuditRecord> ApiHarness::Audit() {
  std::vector<AuditRecord> audit;
  auto read = [&](const KeyValue& kv) {
    audit.push_back(DecodeRecord<AuditRecord>(kv.value).value());
    return absl::OkStatus();
  };
  EXPECT_TRUE(ForEachRecord(*records_->store(), KindPrefix(KeyKind::kAudit), 0, read).ok());
  return audit;
}

Uuid ApiHarness::ClusterUid(const std::string& id) {
  auto cluster = Snapshot()->ClusterById(id);
  EXPECT_NE(cluster, nullptr) << id;
  return cluster == nullptr ? Uuid{} : cluster->value.meta.uid;
}

}  // namespace nave
