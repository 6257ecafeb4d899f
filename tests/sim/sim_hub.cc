#include "tests/sim/sim_hub.h"

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/manifest/parse.h"
#include "hub/controllers/actions.h"
#include "hub/core/link_backend.h"
#include "hub/core/record_ports.h"
#include "hub/records/keys.h"

namespace nave::sim {
namespace {

constexpr char kProject[] = "default";
// Small, so that batches have several parts, and some content is fetched.
constexpr size_t kPartItems = 2;
constexpr size_t kInlineBytes = 700;
constexpr absl::Duration kTick = absl::Seconds(5);

class Reader : public BlobReader {
 public:
  explicit Reader(BlobStore* blobs) : blobs_(blobs) {}
  absl::StatusOr<BlobPtr> GetCompressed(const Digest& digest) override {
    return blobs_->GetCompressed(digest);
  }

 private:
  BlobStore* const blobs_;
};

void Require(const absl::Status& status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "sim: %s: %s\n", what, std::string(status.message()).c_str());
  std::abort();
}

}  // namespace

const char kHubId[] = "6f1f6bb0-0d7c-4a58-9d2f-0a8a4d1c9e11";

SimHub::SimHub(Executor* world, uint64_t seed) : world_(world), seed_(seed) { Start(); }

SimHub::~SimHub() { Kill(); }

Uuid SimHub::NextUuid() {
  return *Uuid::Parse(absl::StrCat(absl::Hex(seed_ & 0xffffffff, absl::kZeroPad8),
                                   "-0000-4000-8000-", absl::Hex(++next_uuid_, absl::kZeroPad12)));
}

void SimHub::Start() {
  if (up()) return;
  ++incarnation_;
  process_ = std::make_unique<Process>(world_);
  Process* process = process_.get();
  SqliteStoreOptions options;
  options.image = image_;
  options.inline_mode = true;
  options.incarnation = seed_ * 1000 + incarnation_;
  options.post = [process](absl::AnyInvocable<void() &&> task) { process->Post(std::move(task)); };
  options.clock = [process] { return process->Now(); };
  absl::StatusOr<std::unique_ptr<SqliteStore>> opened = OpenSqliteStore(options);
  Require(opened.status(), "store");
  store_ = opened->get();
  RecordStoreOptions record_options;
  record_options.hub_id = kHubId;
  record_options.version = "test";
  record_options.now = [process] { return process->Now(); };
  record_options.make_uuid = [this] { return NextUuid(); };
  absl::StatusOr<std::unique_ptr<RecordStore>> records =
      RecordStore::Open(*std::move(opened), record_options);
  Require(records.status(), "records");
  records_ = *std::move(records);
  blobs_ = std::make_unique<BlobStore>(
      records_.get(), *EncryptionKeys::Parse(absl::StrCat("1 ", std::string(64, 'a'), "\n")));
  reader_ = std::make_unique<Reader>(blobs_.get());
  HubCoreOptions core;
  core.loop = core.reader = core.controllers = process;
  core.seed = seed_ + incarnation_;
  core.sessions.session.part_items_max = kPartItems;
  core.sessions.session.inline_bytes_max = kInlineBytes;
  core_ = std::make_unique<HubCore>(records_.get(), reader_.get(), core);
  LinkBackendParts parts;
  parts.hub_id = kHubId;
  parts.records = records_.get();
  parts.blobs = reader_.get();
  parts.live = core_->live();
  parts.snapshot = [this] { return core_->snapshot(); };
  parts.now = [process] { return process->Now(); };
  backend_ = MakeLinkBackend(std::move(parts));
  core_->Start([](absl::Status status) { Require(status, "index"); });
  if (records_->made()) {
    RecordTxn txn;
    Project project;
    project.id = kProject;
    project.cluster_sets = {"default"};
    txn.Put(ProjectKey(kProject), EncodeRecord(project));
    ClusterSet set;
    set.id = "default";
    txn.Put(ClusterSetKey("default"), EncodeRecord(set));
    Commit(std::move(txn));
  }
  Tick();
}

void SimHub::Tick() {
  store_->Tick();
  process_->PostAfter(kTick, [this] { Tick(); });
}

void SimHub::Kill() {
  if (!up()) return;
  image_ = Image();
  process_->Kill();
  backend_.reset();
  core_.reset();
  reader_.reset();
  blobs_.reset();
  records_.reset();
  store_ = nullptr;
}

std::string SimHub::Image() {
  if (!up()) return image_;
  absl::StatusOr<std::string> image = store_->Serialize();
  Require(image.status(), "copy");
  return *std::move(image);
}

// In inline mode a commit is done when the call returns; its callback comes later.
bool SimHub::Commit(RecordTxn txn) {
  records_->CommitAsync(
      std::move(txn), [](RecordStore::CommitResult result) { Require(result.status(), "commit"); });
  return true;
}

bool SimHub::PutCluster(const Cluster& cluster) {
  if (!up()) return false;
  RecordTxn txn;
  txn.Put(ClusterKey(cluster.id), EncodeRecord(cluster));
  txn.Put(ByUidKey(UidKind::kCluster, cluster.meta.uid), EncodeText(cluster.id));
  return Commit(std::move(txn));
}

std::optional<Bundle> SimHub::FindBundle(const std::string& id) {
  auto found = FindRecord<Bundle>(*records_, BundleKey(kProject, id));
  Require(found.status(), "bundle");
  if (!found->has_value()) return std::nullopt;
  return (*found)->value;
}

bool SimHub::ApplyBundle(const std::string& id, const std::string& manifests,
                         const std::set<std::string>& clusters, bool too_large) {
  if (!up()) return false;
  absl::StatusOr<RenderedBundle> rendered =
      RenderBundle({{"a.yaml", manifests}}, {}, true, false, nullptr);
  Require(rendered.status(), "manifests");
  std::optional<Bundle> before = FindBundle(id);
  if (before.has_value() && before->meta.deleting()) return false;
  Bundle bundle = before.value_or(Bundle());
  bundle.project = kProject;
  bundle.id = id;
  if (!before.has_value()) bundle.meta.uid = NextUuid();
  bundle.meta.generation++;
  bundle.status.revision++;
  bundle.status.observed_generation = bundle.meta.generation;
  bundle.spec.placement = PlacementSpec();
  bundle.spec.placement->names.assign(clusters.begin(), clusters.end());
  BundleRevision revision;
  revision.project = kProject;
  revision.bundle = id;
  revision.bundle_uid = bundle.meta.uid;
  revision.number = bundle.status.revision;
  revision.listing = last_listing_ = rendered->listing_digest;
  revision.default_namespace = "default";
  revision.objects = static_cast<uint32_t>(rendered->objects.size());
  revision.bytes = too_large ? kBundleBytesMax + 1 : rendered->bytes;
  std::vector<absl::string_view> contents = {rendered->listing};
  for (const RenderedObject& object : rendered->objects) contents.push_back(object.json);
  auto guard = blobs_->Put(contents);
  Require(guard.status(), "blobs");
  RecordTxn txn;
  guard->AddTo(&txn);
  txn.Put(BundleKey(kProject, id), EncodeRecord(bundle));
  txn.Put(ByUidKey(UidKind::kBundle, bundle.meta.uid), EncodeText(absl::StrCat(kProject, "/", id)));
  txn.Put(RevisionKey(kProject, bundle.meta.uid, revision.number), EncodeRecord(revision));
  return Commit(std::move(txn));
}

bool SimHub::DeleteBundle(const std::string& id) {
  if (!up()) return false;
  std::optional<Bundle> bundle = FindBundle(id);
  if (!bundle.has_value()) return true;
  bundle->meta.delete_time = world_->Now();
  RecordTxn txn;
  txn.Put(BundleKey(kProject, id), EncodeRecord(*bundle));
  return Commit(std::move(txn));
}

bool SimHub::Confirm(const AssignmentView& held) {
  if (!up() || core_->snapshot() == nullptr) return false;
  auto txns = PlanConfirm(*core_->snapshot(), core_->live()->Snapshot(), held.bundle,
                          held.cluster_id, ConfirmDigest(held), world_->Now());
  if (!txns.ok()) return false;
  for (ControlTxn& txn : *txns) Commit(ToRecordTxn(txn));
  return true;
}

bool SimHub::Adopt() {
  if (!up() || core_->snapshot() == nullptr) return false;
  return Commit(ToRecordTxn(PlanAdopt(*core_->snapshot(), {})));
}

}  // namespace nave::sim
