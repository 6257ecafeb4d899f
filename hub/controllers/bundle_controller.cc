#include "hub/controllers/bundle_controller.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/reasons.h"
#include "common/base/status_macros.h"
#include "hub/decide/desired.h"
#include "hub/records/codec.h"
#include "hub/records/keys.h"

namespace nave {
namespace {

constexpr size_t kPagesPerTxn = 8;

std::string NameOf(const Bundle& bundle) {
  return absl::StrCat("projects/", bundle.project, "/bundles/", bundle.id);
}

// The bundle's tombstones over all clusters.
std::vector<Versioned<TombstoneRecord>> TombstonesOf(const FleetSnapshot& snapshot,
                                                     const Uuid& bundle) {
  std::vector<Versioned<TombstoneRecord>> found;
  snapshot.tombstones.ForEach([&](const Uuid&, const TombstonesOfCluster& tombstones) {
    auto it = tombstones.find(bundle);
    if (it != tombstones.end()) found.push_back(it->second);
  });
  return found;
}

Event MakeEvent(const Bundle& bundle, bool warning, absl::string_view reason, std::string message,
                absl::Time now) {
  Event event;
  event.project = bundle.project;
  event.about = absl::StrCat("bundles/", bundle.id);
  event.warning = warning;
  event.reason = std::string(reason);
  event.message = std::move(message);
  event.last_time = now;
  event.meta.create_time = now;
  return event;
}

// The bundle's status as this decision leaves it. `changed` tells whether that differs from the
// record.
BundleStatus NextStatus(const Bundle& bundle, const PlacementResult& result, absl::Time now) {
  BundleStatus status = bundle.status;
  status.observed_generation = bundle.meta.generation;
  status.held_clusters = result.held;
  status.held_hash = result.held_hash;
  // A confirm stands for one list and one switch. One that was overtaken must not meet the same
  // list much later.
  if (result.confirm_used || result.held_hash != status.confirmed_hash)
    status.confirmed_hash = Digest{};
  Condition placed;
  placed.type = "Placed";
  bool good = result.reason == Camel(Reason::kPlaced);
  placed.status = good ? ConditionStatus::kTrue : ConditionStatus::kFalse;
  placed.reason = result.reason;
  placed.message = result.message;
  placed.since = now;
  placed.observed_generation = bundle.meta.generation;
  SetCondition(&status.conditions, std::move(placed));
  return status;
}

}  // namespace

struct BundleController::Plan {
  const FleetSnapshot* snapshot;
  Versioned<Bundle> bundle;
  std::optional<Decision> decision;
  PlacementResult placement;
  std::map<Uuid, DecisionEntry> entries;
  BundleStatus status;
  // Number of the head that the switch makes.
  uint64_t number = 0;
  absl::Time now;

  uint64_t head_revision() const { return decision.has_value() ? decision->head_mod_revision : 0; }
};

PlacementInput MakePlacementInput(const FleetSnapshot& snapshot, const Bundle& bundle) {
  PlacementInput input;
  input.spec = bundle.spec.placement;
  input.deleting = bundle.meta.deleting();
  auto project = snapshot.projects.find(bundle.project);
  if (project != snapshot.projects.end()) {
    const std::vector<std::string>& sets = project->second.value.cluster_sets;
    input.bound_sets.insert(sets.begin(), sets.end());
  }
  snapshot.clusters.ForEach([&](const Uuid& uid, const Versioned<Cluster>& record) {
    const Cluster& cluster = record.value;
    input.clusters.push_back({uid, cluster.id, cluster.spec.cluster_set, cluster.meta.labels,
                              cluster.status.admission == Admission::kAccepted,
                              cluster.status.removing, cluster.spec.cordoned});
  });
  if (auto decision = snapshot.decisions.Find(bundle.meta.uid); decision != nullptr) {
    for (const auto& [uid, entry] : decision->entries) input.incumbents[uid] = entry.cluster_id;
    input.previous_names = decision->head.names_hash;
  }
  input.confirmed_shrink = bundle.status.confirmed_hash;
  return input;
}

absl::StatusOr<BundleController::Outcome> BundleController::Commit(ControlTxn txn) {
  ASSIGN_OR_RETURN(std::optional<uint64_t> revision, store_->Commit(std::move(txn)));
  return revision.has_value() ? Outcome::kWrote : Outcome::kStale;
}

absl::StatusOr<BundleController::Outcome> BundleController::Reconcile(const FleetSnapshot& snapshot,
                                                                      const Uuid& uid,
                                                                      absl::Time now) {
  auto bundle = snapshot.bundles.Find(uid);
  if (bundle == nullptr) return DropOrphans(snapshot, uid);
  auto decision = snapshot.decisions.Find(uid);

  Plan plan;
  plan.snapshot = &snapshot;
  plan.bundle = *bundle;
  if (decision != nullptr) plan.decision = *decision;
  plan.now = now;
  plan.number = decision == nullptr ? 1 : decision->head.number + 1;
  plan.placement = DecidePlacement(MakePlacementInput(snapshot, bundle->value));
  uint64_t revision = bundle->value.status.revision;
  for (const auto& [cluster, id] : plan.placement.chosen) {
    DecisionEntry entry;
    if (decision != nullptr) {
      auto present = decision->entries.find(cluster);
      if (present != decision->entries.end()) entry = present->second;
    }
    entry.cluster = cluster;
    entry.cluster_id = id;
    entry.revision = revision;
    // Why it was chosen; that others are held now is no reason to decide it anew.
    if (entry.reason.empty()) entry.reason = plan.placement.reason;
    plan.entries[cluster] = std::move(entry);
  }
  plan.status = NextStatus(bundle->value, plan.placement, now);

  bool same_names =
      decision != nullptr && decision->head.names_hash == HashNames(bundle->value.spec.placement);
  bool same =
      decision == nullptr ? plan.entries.empty() : decision->entries == plan.entries && same_names;
  if (!same && revision > 0) return Switch(plan);
  if (!(plan.status == bundle->value.status)) {
    ControlTxn txn;
    Bundle next = bundle->value;
    next.status = plan.status;
    txn.Compare(BundleKey(next.project, next.id), bundle->mod_revision);
    txn.Put(BundleKey(next.project, next.id), EncodeRecord(next));
    bool newly_held =
        bundle->value.status.held_hash != plan.status.held_hash && !plan.placement.held.empty();
    if (newly_held) {
      txn.events.push_back(
          MakeEvent(next, true, plan.placement.reason, plan.placement.message, now));
    }
    return Commit(std::move(txn));
  }
  ASSIGN_OR_RETURN(Outcome cleaned, CleanUp(snapshot, bundle->value, decision.get()));
  if (cleaned != Outcome::kDone) return cleaned;
  if (!bundle->value.meta.deleting()) return Outcome::kDone;
  return Finish(snapshot, *bundle, decision.get(), now);
}

// Tombstones first, then pages, then the head: a reader sees the old decision or the new one, and a
// crash in between leaves orders that are not in force.
absl::StatusOr<BundleController::Outcome> BundleController::Switch(const Plan& plan) {
  for (auto step : {&BundleController::WriteTombstones, &BundleController::WritePages,
                    &BundleController::SwitchHead}) {
    ASSIGN_OR_RETURN(Outcome outcome, (this->*step)(plan));
    if (outcome == Outcome::kStale) return outcome;
  }
  return Outcome::kWrote;
}

absl::StatusOr<BundleController::Outcome> BundleController::WriteTombstones(const Plan& plan) {
  const Bundle& bundle = plan.bundle.value;
  ControlTxn txn;
  auto flush = [&]() -> absl::StatusOr<Outcome> {
    if (txn.puts.empty()) return Outcome::kDone;
    txn.Compare(DecisionHeadKey(bundle.meta.uid), plan.head_revision());
    return Commit(std::exchange(txn, ControlTxn{}));
  };
  for (const Leaver& leaver : plan.placement.leavers) {
    // Nobody could carry it out: a forgotten cluster leaves without one.
    if (leaver.forgotten) continue;
    TombstoneRecord tombstone;
    tombstone.cluster = leaver.uid;
    tombstone.bundle = bundle.meta.uid;
    tombstone.name = NameOf(bundle);
    tombstone.reason = leaver.reason;
    tombstone.head = plan.number;
    tombstone.create_time = plan.now;
    if (bundle.meta.deleting()) {
      tombstone.propagation = bundle.status.orphan ? Propagation::kOrphan : Propagation::kDelete;
      tombstone.confirmed = bundle.status.delete_confirmed;
    } else if (auto cluster = plan.snapshot->clusters.Find(leaver.uid);
               cluster != nullptr && cluster->value.status.removing) {
      tombstone.confirmed = cluster->value.status.remove_confirmed;
    } else {
      tombstone.confirmed = plan.placement.confirm_used;
    }
    txn.Put(TombstoneKey(leaver.uid, bundle.meta.uid), EncodeRecord(tombstone));
    if (txn.writes() < kControlWritesMax) continue;
    ASSIGN_OR_RETURN(Outcome outcome, flush());
    if (outcome == Outcome::kStale) return outcome;
  }
  return flush();
}

absl::StatusOr<BundleController::Outcome> BundleController::WritePages(const Plan& plan) {
  const Uuid& uid = plan.bundle.value.meta.uid;
  ControlTxn txn;
  DecisionPage page;
  uint32_t number = 0;
  auto flush = [&]() -> absl::StatusOr<Outcome> {
    if (txn.puts.empty()) return Outcome::kDone;
    txn.Compare(DecisionHeadKey(uid), plan.head_revision());
    return Commit(std::exchange(txn, ControlTxn{}));
  };
  auto cut = [&] {
    if (page.entries.empty()) return;
    txn.Put(DecisionPageKey(uid, plan.number, number++), EncodeRecord(page));
    page.entries.clear();
  };
  for (const auto& [cluster, entry] : plan.entries) {
    page.entries.push_back(entry);
    if (page.entries.size() == kDecisionPageClustersMax) cut();
    if (txn.puts.size() < kPagesPerTxn) continue;
    ASSIGN_OR_RETURN(Outcome outcome, flush());
    if (outcome == Outcome::kStale) return outcome;
  }
  cut();
  return flush();
}

absl::StatusOr<BundleController::Outcome> BundleController::SwitchHead(const Plan& plan) {
  Bundle next = plan.bundle.value;
  DecisionHead head;
  head.bundle = next.meta.uid;
  head.number = plan.number;
  head.clusters = static_cast<uint32_t>(plan.entries.size());
  head.pages = static_cast<uint32_t>((plan.entries.size() + kDecisionPageClustersMax - 1) /
                                     kDecisionPageClustersMax);
  head.names_hash = HashNames(next.spec.placement);
  head.decide_time = plan.now;
  next.status = plan.status;
  ControlTxn txn;
  txn.Compare(DecisionHeadKey(head.bundle), plan.head_revision());
  txn.Compare(BundleKey(next.project, next.id), plan.bundle.mod_revision);
  txn.Put(DecisionHeadKey(head.bundle), EncodeRecord(head));
  txn.Put(BundleKey(next.project, next.id), EncodeRecord(next));
  if (plan.decision.has_value()) {
    for (uint32_t page = 0; page < plan.decision->head.pages && txn.writes() < kControlWritesMax;
         ++page) {
      txn.Delete(DecisionPageKey(head.bundle, plan.decision->head.number, page));
    }
  }
  std::vector<std::string> gone;
  for (const Leaver& leaver : plan.placement.leavers) gone.push_back(leaver.id);
  size_t before = plan.decision.has_value() ? plan.decision->entries.size() : 0;
  std::string message = absl::StrCat("runs on ", plan.entries.size(), " clusters (", before,
                                     " before), revision ", next.status.revision);
  if (!gone.empty()) {
    gone.resize(std::min<size_t>(gone.size(), 10));
    absl::StrAppend(&message, "; leaves ", absl::StrJoin(gone, ", "));
  }
  txn.events.push_back(MakeEvent(next, plan.placement.reason != Camel(Reason::kPlaced),
                                 plan.placement.reason, std::move(message), plan.now));
  return Commit(std::move(txn));
}

// Orders that are not in force (their switch was never finished, or their cluster is back), and
// revisions beyond the history.
absl::StatusOr<BundleController::Outcome> BundleController::CleanUp(const FleetSnapshot& snapshot,
                                                                    const Bundle& bundle,
                                                                    const Decision* decision) {
  ControlTxn txn;
  for (const Versioned<TombstoneRecord>& tombstone : TombstonesOf(snapshot, bundle.meta.uid)) {
    if (txn.writes() >= kControlWritesMax) break;
    if (TombstoneInForce(snapshot, tombstone.value)) continue;
    std::string key = TombstoneKey(tombstone.value.cluster, bundle.meta.uid);
    txn.Compare(key, tombstone.mod_revision);
    txn.Delete(std::move(key));
  }
  if (auto revisions = snapshot.revisions.Find(bundle.meta.uid); revisions != nullptr) {
    std::set<uint64_t> used;
    if (decision != nullptr) {
      for (const auto& [cluster, entry] : decision->entries) used.insert(entry.revision);
    }
    size_t over = revisions->size() > options_.history ? revisions->size() - options_.history : 0;
    for (const auto& [number, revision] : *revisions) {
      if (over == 0 || txn.writes() >= kControlWritesMax) break;
      --over;
      if (used.count(number) > 0 || number == bundle.status.revision) continue;
      txn.Delete(RevisionKey(bundle.project, bundle.meta.uid, number));
    }
  }
  if (txn.writes() == 0) return Outcome::kDone;
  txn.Compare(DecisionHeadKey(bundle.meta.uid),
              decision == nullptr ? 0 : decision->head_mod_revision);
  return Commit(std::move(txn));
}

// The last cluster confirmed or was forgotten: the records go, and the name is free.
absl::StatusOr<BundleController::Outcome> BundleController::Finish(const FleetSnapshot& snapshot,
                                                                   const Versioned<Bundle>& bundle,
                                                                   const Decision* decision,
                                                                   absl::Time now) {
  const Bundle& record = bundle.value;
  if (!TombstonesOf(snapshot, record.meta.uid).empty()) return Outcome::kDone;
  if (decision != nullptr && !decision->entries.empty()) return Outcome::kDone;
  auto revisions = snapshot.revisions.Find(record.meta.uid);
  ControlTxn txn;
  txn.Compare(BundleKey(record.project, record.id), bundle.mod_revision);
  txn.Compare(DecisionHeadKey(record.meta.uid),
              decision == nullptr ? 0 : decision->head_mod_revision);
  size_t left = revisions == nullptr ? 0 : revisions->size();
  if (revisions != nullptr) {
    for (const auto& [number, revision] : *revisions) {
      if (txn.writes() >= kControlWritesMax - 4) break;
      txn.Delete(RevisionKey(record.project, record.meta.uid, number));
      --left;
    }
  }
  if (left > 0) return Commit(std::move(txn));
  txn.Delete(BundleKey(record.project, record.id));
  txn.Delete(ByUidKey(UidKind::kBundle, record.meta.uid));
  if (decision != nullptr) txn.Delete(DecisionHeadKey(record.meta.uid));
  txn.events.push_back(MakeEvent(record, false, Camel(Reason::kBundleDeleted),
                                 "the bundle is gone from every cluster", now));
  return Commit(std::move(txn));
}

// What is left of a bundle whose record is gone.
absl::StatusOr<BundleController::Outcome> BundleController::DropOrphans(
    const FleetSnapshot& snapshot, const Uuid& bundle) {
  auto decision = snapshot.decisions.Find(bundle);
  if (decision == nullptr) return Outcome::kDone;
  ControlTxn txn;
  txn.Compare(DecisionHeadKey(bundle), decision->head_mod_revision);
  txn.Delete(DecisionHeadKey(bundle));
  return Commit(std::move(txn));
}

}  // namespace nave
