#include "tests/hub/core/hub_fixture.h"

#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/manifest/parse.h"
#include "hub/core/record_ports.h"
#include "hub/records/keys.h"

namespace nave {
namespace {

class Reader : public BlobReader {
 public:
  explicit Reader(BlobStore* blobs) : blobs_(blobs) {}
  absl::StatusOr<BlobPtr> GetCompressed(const Digest& digest) override {
    return blobs_->GetCompressed(digest);
  }

 private:
  BlobStore* const blobs_;
};

constexpr char kHubId[] = "6f1f6bb0-0d7c-4a58-9d2f-0a8a4d1c9e11";

Uuid NextUuid() {
  static uint64_t count = 0;
  return *Uuid::Parse(
      absl::StrCat("00000000-0000-4000-8000-", absl::Dec(++count, absl::kZeroPad12)));
}

EncryptionKeys Keys() {
  return *EncryptionKeys::Parse(absl::StrCat("1 ", std::string(64, 'a'), "\n"));
}

}  // namespace

void StallingStore::TxnAsync(Txn txn, TxnCallback done) {
  if (stalled_) {
    waiting_.emplace_back(std::move(txn), std::move(done));
    return;
  }
  store_->TxnAsync(std::move(txn), std::move(done));
}

void StallingStore::GoOn() {
  stalled_ = false;
  for (auto& [txn, done] : std::exchange(waiting_, {}))
    store_->TxnAsync(std::move(txn), std::move(done));
}

HubFixture::HubFixture(std::string image, bool load) {
  SqliteStoreOptions options;
  options.image = std::move(image);
  options.inline_mode = true;
  options.post = [this](absl::AnyInvocable<void() &&> task) { executor.Post(std::move(task)); };
  options.clock = [this] { return executor.Now(); };
  auto opened = OpenSqliteStore(options);
  EXPECT_TRUE(opened.ok()) << opened.status();
  store = opened->get();
  RecordStoreOptions record_options;
  record_options.hub_id = kHubId;
  record_options.version = "test";
  record_options.now = [this] { return executor.Now(); };
  record_options.make_uuid = NextUuid;
  auto wrapped = std::make_unique<StallingStore>(*std::move(opened));
  stalling = wrapped.get();
  auto opened_records = RecordStore::Open(std::move(wrapped), record_options);
  EXPECT_TRUE(opened_records.ok()) << opened_records.status();
  records = *std::move(opened_records);
  blobs = std::make_unique<BlobStore>(records.get(), Keys());
  reader = std::make_unique<Reader>(blobs.get());
  HubCoreOptions core_options;
  core_options.loop = core_options.reader = core_options.controllers = &executor;
  core = std::make_unique<HubCore>(records.get(), reader.get(), core_options);
  if (load) Load();
}

void HubFixture::Load() {
  bool loaded = false;
  core->Start([&](absl::Status status) { loaded = status.ok(); });
  Run();
  EXPECT_TRUE(loaded);
}

HubFixture::~HubFixture() { core.reset(); }

void HubFixture::Run(absl::Duration by) {
  executor.RunAll();
  executor.Advance(by);
  executor.RunAll();
}

std::string HubFixture::Image() { return *store->Serialize(); }

void HubFixture::Commit(RecordTxn txn) {
  bool held = false;
  records->CommitAsync(std::move(txn), [&](RecordStore::CommitResult result) {
    ASSERT_TRUE(result.ok()) << result.status();
    held = result->has_value();
  });
  Run();
  ASSERT_TRUE(held);
}

Cluster HubFixture::AddCluster(const std::string& id) {
  Cluster cluster;
  cluster.id = id;
  cluster.meta.uid = NextUuid();
  cluster.meta.create_time = executor.Now();
  cluster.spec.cluster_set = "default";
  cluster.status.admission = Admission::kAccepted;
  cluster.status.certificate_generation = 1;
  cluster.status.certificate_generation_seen = 1;
  RecordTxn txn;
  txn.Put(ClusterKey(id), EncodeRecord(cluster));
  txn.Put(ByUidKey(UidKind::kCluster, cluster.meta.uid), EncodeText(id));
  Project project;
  project.id = "default";
  project.cluster_sets = {"default"};
  txn.Put(ProjectKey("default"), EncodeRecord(project));
  ClusterSet set;
  set.id = "default";
  txn.Put(ClusterSetKey("default"), EncodeRecord(set));
  Commit(std::move(txn));
  return cluster;
}

void HubFixture::ApplyBundle(const std::string& id, const std::string& value,
                             const std::vector<std::string>& clusters) {
  std::string manifest = absl::StrCat("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ", id,
                                      "}\ndata: {value: '", value, "'}\n");
  RenderedBundle rendered = *RenderBundle({{"a.yaml", manifest}}, {}, true, false, nullptr);
  std::optional<Bundle> before = FindBundle(id);
  Bundle bundle = before.value_or(Bundle());
  bundle.project = "default";
  bundle.id = id;
  if (!before.has_value()) bundle.meta.uid = NextUuid();
  bundle.meta.generation++;
  bundle.status.revision++;
  bundle.status.observed_generation = bundle.meta.generation;
  bundle.spec.placement = PlacementSpec();
  bundle.spec.placement->names = clusters;

  BundleRevision revision;
  revision.project = "default";
  revision.bundle = id;
  revision.bundle_uid = bundle.meta.uid;
  revision.number = bundle.status.revision;
  revision.listing = rendered.listing_digest;
  revision.default_namespace = "default";
  revision.objects = 1;
  revision.bytes = rendered.bytes;
  std::vector<absl::string_view> contents = {rendered.listing};
  for (const RenderedObject& object : rendered.objects) contents.push_back(object.json);
  auto guard = blobs->Put(contents);
  ASSERT_TRUE(guard.ok()) << guard.status();
  RecordTxn txn;
  guard->AddTo(&txn);
  txn.Put(BundleKey("default", id), EncodeRecord(bundle));
  txn.Put(ByUidKey(UidKind::kBundle, bundle.meta.uid), EncodeText(absl::StrCat("default/", id)));
  txn.Put(RevisionKey("default", bundle.meta.uid, revision.number), EncodeRecord(revision));
  Commit(std::move(txn));
}

void HubFixture::DeleteBundle(const std::string& id) {
  Bundle bundle = *FindBundle(id);
  bundle.meta.delete_time = executor.Now();
  Put(BundleKey("default", id), bundle);
}

std::shared_ptr<TestAgent> HubFixture::MakeAgent(const Cluster& cluster, uint32_t generation) {
  return std::make_shared<TestAgent>(this, cluster, generation);
}

std::optional<Cluster> HubFixture::FindCluster(const std::string& id) {
  auto found = FindRecord<Cluster>(*records, ClusterKey(id));
  EXPECT_TRUE(found.ok()) << found.status();
  if (!found->has_value()) return std::nullopt;
  return (*found)->value;
}

std::optional<Bundle> HubFixture::FindBundle(const std::string& id) {
  auto found = FindRecord<Bundle>(*records, BundleKey("default", id));
  EXPECT_TRUE(found.ok()) << found.status();
  if (!found->has_value()) return std::nullopt;
  return (*found)->value;
}

TestAgent::TestAgent(HubFixture* hub, const Cluster& cluster, uint32_t generation) : hub_(hub) {
  peer.cluster = cluster.meta.uid;
  peer.cluster_id = cluster.id;
  peer.generation = generation;
  peer.not_after = hub->executor.Now() + absl::Hours(24);
  peer.address = "192.0.2.1:40000";
  hello.agent_version = "test";
  hello.instance_id = NextUuid();
  hello.kube_system_uid = absl::StrCat("kube-system of ", cluster.id);
  hello.root = ComputeRoot({});
}

void TestAgent::Dial() {
  closed = false;
  frames.clear();
  hello.attempt++;
  hello.agent_time = hub_->executor.Now();
  id_ = hub_->core->sessions()->OnOpen(peer, shared_from_this());
  Say(hello);
}

void TestAgent::Say(AgentFrame frame) {
  hub_->core->sessions()->OnFrame(id_, std::move(frame));
  hub_->Run();
}

void TestAgent::HangUp() {
  closed = true;
  hub_->core->sessions()->OnClosed(id_);
  hub_->Run();
}

void TestAgent::Write(HubFrame frame) {
  frames.push_back(std::move(frame));
  hub_->executor.Post([self = shared_from_this(), id = id_] {
    if (!self->closed) self->hub_->core->sessions()->OnWritten(id);
  });
}

void TestAgent::Close() {
  if (closed) return;
  closed = true;
  hub_->executor.Post(
      [self = shared_from_this(), id = id_] { self->hub_->core->sessions()->OnClosed(id); });
}

bool TestAgent::AcceptBatch() {
  std::optional<DesiredBatch> batch = Last<DesiredBatch>();
  if (!batch.has_value() || batch->at.revision <= acknowledged_) return false;
  for (const Upsert& upsert : batch->upserts) {
    held[upsert.key] = upsert;
    removing.erase(upsert.key);
  }
  for (const Tombstone& tombstone : batch->tombstones) {
    held.erase(tombstone.key);
    removing[tombstone.key] = tombstone;
  }
  acknowledged_ = batch->at.revision;
  hello.hub_id = hub_->records->hub_id();
  hello.committed = batch->at;
  std::vector<KeySetEntry> keys;
  for (const auto& [key, upsert] : held)
    keys.push_back({key, upsert.digest, upsert.confirmed, KeyState::kPresent});
  hello.root = ComputeRoot(keys);
  EXPECT_EQ(hello.root, batch->desired_root);
  DesiredAck ack;
  ack.revision = batch->at.revision;
  Say(ack);
  return true;
}

void TestAgent::ReportAll() {
  StatusBatch batch;
  batch.seq = ++seq_;
  batch.full = true;
  for (const auto& [key, upsert] : held) {
    AssignmentStatus status;
    status.key = key;
    status.name = upsert.name;
    status.digest = upsert.digest;
    status.revision = acknowledged_;
    status.phase = Phase::kApplied;
    status.health = Health::kHealthy;
    status.counts = {1, 1, 1, 0};
    status.reason = "Applied";
    status.since = hub_->executor.Now();
    batch.changed.push_back(std::move(status));
  }
  for (const auto& [key, tombstone] : removing) {
    AssignmentStatus status;
    status.key = key;
    status.revision = acknowledged_;
    status.phase = Phase::kRemoved;
    batch.changed.push_back(std::move(status));
  }
  removing.clear();
  Say(batch);
}

}  // namespace nave
