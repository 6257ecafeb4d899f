#include "hub/controllers/cluster_controller.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/reasons.h"
#include "common/base/status_macros.h"
#include "hub/records/codec.h"
#include "hub/records/keys.h"

namespace nave {

absl::StatusOr<ClusterController::Outcome> ClusterController::Commit(ControlTxn txn) {
  ASSIGN_OR_RETURN(std::optional<uint64_t> revision, store_->Commit(std::move(txn)));
  return revision.has_value() ? Outcome::kWrote : Outcome::kStale;
}

bool RemovalIsComplete(const FleetSnapshot& snapshot, const Cluster& cluster,
                       const ClusterLive* live) {
  if (snapshot.assigned.Find(cluster.meta.uid) != nullptr) return false;
  if (snapshot.tombstones.Find(cluster.meta.uid) != nullptr) return false;
  bool never_enrolled = cluster.status.certificate_generation == 0;
  if (never_enrolled) return true;
  return live != nullptr && live->connected && live->status_complete && live->assignments.empty();
}

absl::StatusOr<ClusterController::Outcome> ClusterController::Reconcile(
    const FleetSnapshot& snapshot, const Uuid& uid, const ClusterLive* live, absl::Time now) {
  auto cluster = snapshot.clusters.Find(uid);
  if (cluster == nullptr) return DropForgotten(snapshot, uid, now);
  if (!cluster->value.status.removing) return Outcome::kDone;
  return FinishRemoval(snapshot, *cluster, live, now);
}

absl::StatusOr<ClusterController::Outcome> ClusterController::FinishRemoval(
    const FleetSnapshot& snapshot, const Versioned<Cluster>& cluster, const ClusterLive* live,
    absl::Time now) {
  const Cluster& record = cluster.value;
  if (!RemovalIsComplete(snapshot, record, live)) return Outcome::kDone;
  RetiredRecord retired;
  retired.cluster = record.meta.uid;
  retired.id = record.id;
  retired.certificate_generation = record.status.certificate_generation;
  retired.removed = true;
  retired.until = now + kRetiredFor;
  ControlTxn txn;
  txn.Compare(ClusterKey(record.id), cluster.mod_revision);
  txn.Delete(ClusterKey(record.id));
  txn.Delete(ByUidKey(UidKind::kCluster, record.meta.uid));
  txn.Delete(SessionKey(record.meta.uid));
  txn.Delete(StatusKey(record.meta.uid));
  txn.Put(RetiredKey(record.meta.uid), EncodeRecord(retired));
  Event event;
  event.about = absl::StrCat("clusters/", record.id);
  event.cluster = record.id;
  event.reason = std::string(Camel(Reason::kClusterRemoved));
  event.message = "every assignment is off the spoke; its credentials are revoked";
  event.last_time = now;
  event.meta.create_time = now;
  txn.events.push_back(std::move(event));
  return Commit(std::move(txn));
}

absl::StatusOr<ClusterController::Outcome> ClusterController::DropForgotten(
    const FleetSnapshot& snapshot, const Uuid& uid, absl::Time now) {
  ControlTxn txn;
  if (auto tombstones = snapshot.tombstones.Find(uid); tombstones != nullptr) {
    for (const auto& [bundle, tombstone] : *tombstones) {
      if (txn.writes() >= kControlWritesMax) break;
      std::string key = TombstoneKey(uid, bundle);
      txn.Compare(key, tombstone.mod_revision);
      txn.Delete(std::move(key));
    }
  }
  if (auto session = snapshot.sessions.Find(uid); session != nullptr) {
    // Of an accepted one again it must stay, else epochs would fall.
    txn.Compare(SessionKey(uid), session->mod_revision);
    txn.Delete(SessionKey(uid));
    txn.Delete(StatusKey(uid));
  }
  auto retired = snapshot.retired.Find(uid);
  if (retired != nullptr && retired->value.until < now) txn.Delete(RetiredKey(uid));
  if (txn.writes() == 0) return Outcome::kDone;
  return Commit(std::move(txn));
}

}  // namespace nave
