#include "hub/fleet/fleet.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "hub/records/codec.h"
#include "hub/records/keys.h"

namespace nave {
namespace {

constexpr absl::Duration kReloadAfter = absl::Seconds(1);

// What a start reads. Blobs are not among it.
constexpr KeyKind kIndexed[] = {
    KeyKind::kTerm,    KeyKind::kProject,   KeyKind::kClusterSet, KeyKind::kRoleBinding,
    KeyKind::kCluster, KeyKind::kBundle,    KeyKind::kRevision,   KeyKind::kDecisionHead,
    KeyKind::kSession, KeyKind::kTombstone, KeyKind::kRetired,
};

template <typename Record>
absl::StatusOr<std::optional<RecordChange>> Put(const KeyValue& kv) {
  ASSIGN_OR_RETURN(Record record, DecodeRecord<Record>(kv.value));
  RecordChange change;
  change.mod_revision = kv.mod_revision;
  change.body = std::move(record);
  return std::optional<RecordChange>(std::move(change));
}

template <typename Gone>
absl::StatusOr<std::optional<RecordChange>> Delete(const KeyValue& kv, Gone gone) {
  RecordChange change;
  change.mod_revision = kv.mod_revision;
  change.body = std::move(gone);
  return std::optional<RecordChange>(std::move(change));
}

absl::StatusOr<std::optional<RecordChange>> DecodePut(const KeyValue& kv, const StoreKey& key) {
  switch (key.kind) {
    case KeyKind::kProject:
      return Put<Project>(kv);
    case KeyKind::kCluster:
      return Put<Cluster>(kv);
    case KeyKind::kClusterSet:
      return Put<ClusterSet>(kv);
    case KeyKind::kRoleBinding:
      return Put<RoleBinding>(kv);
    case KeyKind::kBundle:
      return Put<Bundle>(kv);
    case KeyKind::kRevision:
      return Put<BundleRevision>(kv);
    case KeyKind::kDecisionHead:
      return Put<DecisionHead>(kv);
    case KeyKind::kTombstone:
      return Put<TombstoneRecord>(kv);
    case KeyKind::kTerm:
      return Put<TermRecord>(kv);
    case KeyKind::kSession:
      return Put<SessionRecord>(kv);
    case KeyKind::kRetired:
      return Put<RetiredRecord>(kv);
    case KeyKind::kDecisionPage: {
      ASSIGN_OR_RETURN(DecisionPage page, DecodeRecord<DecisionPage>(kv.value));
      return Delete(kv, change::Page{key.uid, key.number, key.page, std::move(page)});
    }
    case KeyKind::kMeta:
      if (kv.key == kAdoptKey) return Put<AdoptRecord>(kv);
      if (kv.key == kHeadKey) return Delete(kv, change::Head{});
      return std::optional<RecordChange>();
    default:
      return std::optional<RecordChange>();
  }
}

absl::StatusOr<std::optional<RecordChange>> DecodeDelete(const KeyValue& kv, const StoreKey& key) {
  switch (key.kind) {
    case KeyKind::kProject:
      return Delete(kv, change::NoProject{key.id});
    case KeyKind::kCluster:
      return Delete(kv, change::NoCluster{key.id});
    case KeyKind::kClusterSet:
      return Delete(kv, change::NoClusterSet{key.id});
    case KeyKind::kRoleBinding:
      return Delete(kv, change::NoRoleBinding{key.id});
    case KeyKind::kBundle:
      return Delete(kv, change::NoBundle{key.project, key.id});
    case KeyKind::kRevision:
      return Delete(kv, change::NoRevision{key.uid, key.number});
    case KeyKind::kDecisionHead:
      return Delete(kv, change::NoDecision{key.uid});
    case KeyKind::kTombstone:
      return Delete(kv, change::NoTombstone{key.uid, key.bundle});
    case KeyKind::kSession:
      return Delete(kv, change::NoSession{key.uid});
    case KeyKind::kRetired:
      return Delete(kv, change::NoRetired{key.uid});
    default:
      return std::optional<RecordChange>();
  }
}

// Every key with `prefix` as it was at `at`.
template <typename Visit>
absl::Status VisitRange(Store* store, absl::string_view prefix, Revision at, Visit visit) {
  std::string after;
  while (true) {
    ASSIGN_OR_RETURN(RangePage page, store->Range(prefix, after, 0, at));
    for (const KeyValue& kv : page.items) RETURN_IF_ERROR(visit(kv));
    if (!page.more || page.items.empty()) return absl::OkStatus();
    after = page.items.back().key;
  }
}

}  // namespace

absl::StatusOr<std::optional<RecordChange>> DecodeChange(const KeyValue& kv, bool deleted) {
  std::optional<StoreKey> key = ParseStoreKey(kv.key);
  if (!key.has_value()) return std::optional<RecordChange>();
  auto change = deleted ? DecodeDelete(kv, *key) : DecodePut(kv, *key);
  if (!change.ok()) return Prepend(change.status(), absl::StrCat("key ", kv.key));
  return change;
}

Fleet::Fleet(Executor* loop, Executor* reader, Store* store, std::string hub_id,
             OnSnapshot on_snapshot)
    : loop_(loop),
      reader_(reader),
      store_(store),
      hub_id_(std::move(hub_id)),
      on_snapshot_(std::move(on_snapshot)) {}

Fleet::~Fleet() = default;

absl::StatusOr<Fleet::Loaded> Fleet::Load(Store* store, const std::string& hub_id) {
  Loaded loaded;
  loaded.builder = std::make_shared<SnapshotBuilder>(hub_id);
  ASSIGN_OR_RETURN(loaded.revision, store->Head());
  FleetChanges ignored;
  auto apply = [&](const KeyValue& kv) -> absl::Status {
    ASSIGN_OR_RETURN(std::optional<RecordChange> change, DecodeChange(kv, /*deleted=*/false));
    if (change.has_value()) loaded.builder->Apply(*change, &ignored);
    return absl::OkStatus();
  };
  for (KeyKind kind : kIndexed) {
    if (kind == KeyKind::kDecisionHead) {
      // A head is taken when its pages are there; both kinds share a prefix.
      std::vector<KeyValue> heads;
      RETURN_IF_ERROR(VisitRange(store, KindPrefix(kind), loaded.revision, [&](const KeyValue& kv) {
        std::optional<StoreKey> key = ParseStoreKey(kv.key);
        if (key.has_value() && key->kind == KeyKind::kDecisionPage) return apply(kv);
        heads.push_back(kv);
        return absl::OkStatus();
      }));
      for (const KeyValue& head : heads) RETURN_IF_ERROR(apply(head));
      continue;
    }
    RETURN_IF_ERROR(VisitRange(store, KindPrefix(kind), loaded.revision, apply));
  }
  RETURN_IF_ERROR(VisitRange(store, KindPrefix(KeyKind::kMeta), loaded.revision, apply));
  return loaded;
}

void Fleet::Start(std::function<void(absl::Status)> done) {
  reader_->Post([this, alive = std::weak_ptr<int>(alive_), loop = loop_, store = store_,
                 hub_id = hub_id_, done = std::move(done)] {
    absl::StatusOr<Loaded> loaded = Load(store, hub_id);
    loop->Post([this, alive, loaded = std::move(loaded), done = std::move(done)]() mutable {
      if (!alive.expired()) OnLoaded(std::move(loaded), std::move(done));
    });
  });
}

void Fleet::OnLoaded(absl::StatusOr<Loaded> loaded, std::function<void(absl::Status)> done) {
  if (!loaded.ok()) {
    LogError("index not loaded", {{"error", loaded.status().message()}});
    if (done) return done(loaded.status());
    loop_->PostAfter(kReloadAfter, [this, alive = std::weak_ptr<int>(alive_)] {
      if (!alive.expired()) Reload();
    });
    return;
  }
  // A reader that knew the old index must look at what is in either.
  FleetChanges changes = loaded->builder->Everything();
  if (builder_ != nullptr) changes.Add(builder_->Everything());
  builder_ = loaded->builder;
  snapshot_ = builder_->Publish();
  uint64_t generation = ++generation_;
  watch_ = store_->Watch(
      kStorePrefix, loaded->revision,
      [this, alive = std::weak_ptr<int>(alive_), loop = loop_, generation](WatchBatch batch) {
        loop->Post([this, alive, generation, batch = std::move(batch)]() mutable {
          if (!alive.expired()) OnBatch(generation, std::move(batch));
        });
      });
  on_snapshot_(snapshot_, changes);
  if (done) done(absl::OkStatus());
}

void Fleet::OnBatch(uint64_t generation, WatchBatch batch) {
  if (generation != generation_) return;
  if (!batch.status.ok()) {
    LogWarning("watch of the store ended", {{"error", batch.status.message()}});
    ++generation_;
    watch_.reset();
    return Reload();
  }
  FleetChanges changes;
  for (const WatchEvent& event : batch.events) {
    auto change = DecodeChange(event.kv, event.deleted);
    if (!change.ok()) {
      LogError("record not read", {{"error", change.status().message()}});
      continue;
    }
    if (change->has_value()) builder_->Apply(**change, &changes);
  }
  snapshot_ = builder_->Publish();
  on_snapshot_(snapshot_, changes);
}

void Fleet::Reload() {
  ++reloads_total_;
  Start(nullptr);
}

absl::Status LoadSummaries(Store* store, LiveTable* live) {
  return VisitRange(
      store, KindPrefix(KeyKind::kStatus), 0, [&](const KeyValue& kv) -> absl::Status {
        ASSIGN_OR_RETURN(StatusSummary summary, DecodeRecord<StatusSummary>(kv.value));
        live->Set(summary.cluster, std::make_shared<const ClusterLive>(FromSummary(summary)));
        return absl::OkStatus();
      });
}

}  // namespace nave
