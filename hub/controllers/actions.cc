#include "hub/controllers/actions.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/reasons.h"
#include "common/base/status_macros.h"
#include "hub/records/codec.h"
#include "hub/records/keys.h"

namespace nave {
namespace {

// The decision again under the next number, with `entries`.
std::vector<ControlTxn> RewriteDecision(const Decision& decision,
                                        const std::map<Uuid, DecisionEntry>& entries) {
  const Uuid& bundle = decision.head.bundle;
  DecisionHead head = decision.head;
  ++head.number;
  head.pages = 0;
  std::vector<ControlTxn> txns;
  DecisionPage page;
  auto cut = [&] {
    if (page.entries.empty()) return;
    ControlTxn txn;
    txn.Compare(DecisionHeadKey(bundle), decision.head_mod_revision);
    txn.Put(DecisionPageKey(bundle, head.number, head.pages++), EncodeRecord(page));
    txns.push_back(std::move(txn));
    page.entries.clear();
  };
  for (const auto& [cluster, entry] : entries) {
    page.entries.push_back(entry);
    if (page.entries.size() == kDecisionPageClustersMax) cut();
  }
  cut();
  ControlTxn last;
  last.Compare(DecisionHeadKey(bundle), decision.head_mod_revision);
  last.Put(DecisionHeadKey(bundle), EncodeRecord(head));
  for (uint32_t n = 0; n < decision.head.pages && last.writes() < kControlWritesMax; ++n) {
    last.Delete(DecisionPageKey(bundle, decision.head.number, n));
  }
  txns.push_back(std::move(last));
  return txns;
}

ControlTxn ConfirmTombstone(const Versioned<TombstoneRecord>& tombstone) {
  TombstoneRecord confirmed = tombstone.value;
  confirmed.confirmed = true;
  std::string key = TombstoneKey(confirmed.cluster, confirmed.bundle);
  ControlTxn txn;
  txn.Compare(key, tombstone.mod_revision);
  // Written anew: the agent takes it as a newer order.
  txn.Put(std::move(key), EncodeRecord(confirmed));
  return txn;
}

absl::StatusOr<std::vector<ControlTxn>> PlanConfirmShrink(const Versioned<Bundle>& bundle) {
  Bundle next = bundle.value;
  next.status.confirmed_hash = next.status.held_hash;
  ControlTxn txn;
  txn.Compare(BundleKey(next.project, next.id), bundle.mod_revision);
  txn.Put(BundleKey(next.project, next.id), EncodeRecord(next));
  std::vector<ControlTxn> txns;
  txns.push_back(std::move(txn));
  return txns;
}

}  // namespace

std::string ConfirmDigest(const AssignmentView& view) {
  if (view.phase != Phase::kRemovalHeld) return "";
  return view.reported.Hex();
}

absl::StatusOr<std::vector<ControlTxn>> PlanConfirm(const FleetSnapshot& snapshot,
                                                    const LiveTable::Map& live, const Uuid& uid,
                                                    const std::string& cluster_id,
                                                    absl::string_view shown, absl::Time now) {
  (void)now;
  auto bundle = snapshot.bundles.Find(uid);
  if (bundle == nullptr) return MakeError(Reason::kNotFound, "the bundle does not exist");
  bool shrink_held = !bundle->value.status.held_clusters.empty();
  if (cluster_id.empty() && shrink_held && bundle->value.status.held_hash.Hex() == shown) {
    return PlanConfirmShrink(*bundle);
  }
  if (!cluster_id.empty() && snapshot.ClusterById(cluster_id) == nullptr) {
    return MakeError(Reason::kNotFound, absl::StrCat("cluster ", cluster_id, " does not exist"));
  }
  auto decision = snapshot.decisions.Find(uid);
  std::map<Uuid, DecisionEntry> entries;
  if (decision != nullptr) entries = decision->entries;
  std::vector<ControlTxn> txns;
  bool entry_confirmed = false;
  size_t held = 0;
  for (const AssignmentView& view : AssignmentsOfBundle(snapshot, uid, live)) {
    std::string digest = ConfirmDigest(view);
    if (digest.empty() || (!cluster_id.empty() && view.cluster_id != cluster_id)) continue;
    ++held;
    if (digest != shown) continue;
    if (view.decided) {
      DecisionEntry& entry = entries[view.cluster];
      entry.confirmed_digest = view.desired;
      entry.confirmed_revision = view.revision;
      entry_confirmed = true;
      continue;
    }
    auto tombstones = snapshot.tombstones.Find(view.cluster);
    if (tombstones == nullptr) continue;
    auto tombstone = tombstones->find(uid);
    if (tombstone != tombstones->end()) txns.push_back(ConfirmTombstone(tombstone->second));
  }
  if (entry_confirmed) {
    for (ControlTxn& txn : RewriteDecision(*decision, entries)) txns.push_back(std::move(txn));
  }
  if (!txns.empty()) return txns;
  if (held == 0 && !shrink_held) {
    return MakeError(Reason::kNothingToConfirm,
                     "no removal of this bundle waits for a confirmation");
  }
  return MakeError(Reason::kConfirmationStale, "what was shown is not what is held now");
}

ControlTxn PlanAdopt(const FleetSnapshot& snapshot, const std::vector<Uuid>& clusters) {
  AdoptRecord adopt;
  At at = snapshot.at();
  bool same_term = snapshot.adopt.term == at.term && snapshot.adopt.nonce == at.nonce;
  if (same_term) adopt = snapshot.adopt;
  adopt.term = at.term;
  adopt.nonce = at.nonce;
  if (clusters.empty()) adopt.all = true;
  for (const Uuid& cluster : clusters) {
    if (std::find(adopt.clusters.begin(), adopt.clusters.end(), cluster) == adopt.clusters.end()) {
      adopt.clusters.push_back(cluster);
    }
  }
  ControlTxn txn;
  txn.Put(std::string(kAdoptKey), EncodeRecord(adopt));
  return txn;
}

std::vector<AssignmentView> UnclaimedKeys(const FleetSnapshot& snapshot, const LiveTable::Map& live,
                                          const Uuid& cluster) {
  std::vector<AssignmentView> unclaimed;
  auto at = live.Find(cluster);
  for (AssignmentView& view : AssignmentsOfCluster(snapshot, cluster, at.get())) {
    if (view.phase == Phase::kNotDesired) unclaimed.push_back(std::move(view));
  }
  return unclaimed;
}

std::vector<ControlTxn> PlanRemoveUnclaimed(const FleetSnapshot& snapshot,
                                            const LiveTable::Map& live, const Uuid& cluster,
                                            bool confirmed, absl::Time now) {
  std::vector<ControlTxn> txns;
  ControlTxn txn;
  for (const AssignmentView& view : UnclaimedKeys(snapshot, live, cluster)) {
    TombstoneRecord tombstone;
    tombstone.cluster = cluster;
    tombstone.bundle = view.bundle;
    tombstone.name = view.name;
    tombstone.reason = std::string(Camel(Reason::kRemovedUnclaimed));
    tombstone.confirmed = confirmed;
    tombstone.create_time = now;
    txn.Put(TombstoneKey(cluster, view.bundle), EncodeRecord(tombstone));
    if (txn.writes() >= kControlWritesMax) txns.push_back(std::exchange(txn, ControlTxn{}));
  }
  if (txn.writes() > 0) txns.push_back(std::move(txn));
  return txns;
}

absl::StatusOr<ControlTxn> PlanForget(const FleetSnapshot& snapshot, const LiveTable::Map& live,
                                      const Uuid& uid, absl::Time now,
                                      std::vector<std::string>* left_behind) {
  auto cluster = snapshot.clusters.Find(uid);
  if (cluster == nullptr) return MakeError(Reason::kNotFound, "the cluster does not exist");
  auto at = live.Find(uid);
  for (const AssignmentView& view : AssignmentsOfCluster(snapshot, uid, at.get())) {
    left_behind->push_back(view.name.empty() ? view.bundle.ToString() : view.name);
  }
  const Cluster& record = cluster->value;
  RetiredRecord retired;
  retired.cluster = uid;
  retired.id = record.id;
  retired.certificate_generation =
      std::max(record.status.certificate_generation, record.status.certificate_generation_seen);
  retired.until = now + kRetiredFor;
  ControlTxn txn;
  txn.Compare(ClusterKey(record.id), cluster->mod_revision);
  txn.Delete(ClusterKey(record.id));
  txn.Delete(ByUidKey(UidKind::kCluster, uid));
  txn.Put(RetiredKey(uid), EncodeRecord(retired));
  Event event;
  event.about = absl::StrCat("clusters/", record.id);
  event.cluster = record.id;
  event.warning = !left_behind->empty();
  event.reason = std::string(GetReasonInfo(Reason::kForgotten).camel);
  event.message = absl::StrCat("forgotten; ", left_behind->size(), " bundles stay on the spoke");
  event.last_time = now;
  event.meta.create_time = now;
  txn.events.push_back(std::move(event));
  return txn;
}

absl::StatusOr<ControlTxn> PlanAcceptUnknown(const FleetSnapshot& snapshot,
                                             const UnknownCluster& unknown, const std::string& id,
                                             const std::string& cluster_set, absl::Time now) {
  if (snapshot.names->clusters.count(id) > 0) {
    return MakeError(Reason::kAlreadyExists, absl::StrCat("cluster ", id, " exists"));
  }
  if (snapshot.tombstones.Find(unknown.uid) != nullptr ||
      snapshot.sessions.Find(unknown.uid) != nullptr) {
    return MakeError(
        Reason::kClusterStateConflict,
        absl::StrCat("cluster ", id, ": what the forgotten record left is still being dropped"));
  }
  Cluster cluster;
  cluster.id = id;
  cluster.meta.uid = unknown.uid;
  cluster.meta.generation = 1;
  cluster.meta.create_time = now;
  cluster.meta.update_time = now;
  cluster.spec.cluster_set = cluster_set.empty() ? "default" : cluster_set;
  cluster.status.admission = Admission::kAccepted;
  cluster.status.certificate_generation = unknown.generation;
  cluster.status.certificate_generation_seen = unknown.generation;
  ControlTxn txn;
  txn.Compare(ClusterKey(id), 0);
  // No second record with its uid, under whatever id.
  txn.Compare(ByUidKey(UidKind::kCluster, unknown.uid), 0);
  txn.Put(ClusterKey(id), EncodeRecord(cluster));
  txn.Put(ByUidKey(UidKind::kCluster, unknown.uid), EncodeText(id));
  auto retired = snapshot.retired.Find(unknown.uid);
  if (retired != nullptr) txn.Delete(RetiredKey(unknown.uid));
  return txn;
}

}  // namespace nave
