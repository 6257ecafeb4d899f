#include "hub/decide/rollup.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/reasons.h"
#include "hub/decide/admission.h"
#include "hub/decide/desired.h"

namespace nave {
namespace {

std::string Word(Reason reason) { return std::string(Camel(reason)); }

void Explain(AssignmentView* view, Phase phase, Health health, Reason reason, std::string message) {
  view->phase = phase;
  view->health = health;
  view->reason = Word(reason);
  view->message = std::move(message);
}

void CopyReported(const AssignmentStatus& status, AssignmentView* view) {
  view->reported = status.digest;
  view->phase = status.phase;
  view->health = status.health;
  view->counts = status.counts;
  view->not_ok = status.not_ok;
  view->not_ok_total = status.not_ok_total;
  view->reason = status.reason;
  view->message = status.message;
  view->since = status.since;
}

// A reason for everything that is not ready, also where an agent gave none.
void NeverWithoutReason(AssignmentView* view) {
  if (!view->reason.empty()) return;
  if (view->ready()) {
    view->reason = Word(Reason::kHealthy);
  } else if (!view->not_ok.empty() && !view->not_ok.front().reason.empty()) {
    view->reason = view->not_ok.front().reason;
    const ObjectStatus& worst = view->not_ok.front();
    if (view->message.empty()) {
      view->message = absl::StrCat(worst.kind, " ", worst.ns.empty() ? "" : worst.ns + "/",
                                   worst.name, ": ", worst.message);
    }
  } else {
    view->reason = view->phase == Phase::kApplied ? std::string(FormatHealth(view->health))
                                                  : std::string(FormatPhase(view->phase));
  }
}

std::string LastKnown(const AssignmentView& view) {
  if (view.reported.IsNone()) return "no status came yet";
  return absl::StrCat("last known: ", FormatPhase(view.phase), ", ", FormatHealth(view.health));
}

void ApplyLiveness(const ClusterLive* live, AssignmentView* view) {
  if (live == nullptr || (!live->connected && live->last_seen() == absl::InfinitePast())) {
    return Explain(view, Phase::kPending, Health::kUnknown, Reason::kNeverConnected,
                   "no agent ever connected");
  }
  view->as_of = live->last_seen();
  if (!live->connected) {
    std::string last = LastKnown(*view);
    return Explain(view, view->phase, Health::kUnknown, Reason::kAgentDisconnected,
                   std::move(last));
  }
  if (!live->hold_reason.empty() && view->reported != view->desired) {
    return Explain(view, Phase::kPending, Health::kUnknown, Reason::kOnHold,
                   absl::StrCat("the agent holds: ", live->hold_reason));
  }
  auto rejection = live->rejections.find(view->bundle);
  if (rejection != live->rejections.end() && rejection->second.digest == view->desired) {
    Explain(view, Phase::kRejected, Health::kDegraded, Reason::kContentInvalid,
            rejection->second.message);
    if (const ReasonInfo* info = FindReason(rejection->second.code); info != nullptr) {
      view->reason = std::string(info->camel);
    }
    return;
  }
  if (view->reported.IsNone()) {
    return Explain(view, Phase::kPending, Health::kProgressing, Reason::kStatusUnknown,
                   "no status came yet");
  }
  if (view->reported != view->desired && view->phase != Phase::kRejected) {
    return Explain(view, Phase::kPending, Health::kProgressing, Reason::kStatusStale,
                   "the agent still reports an older version");
  }
  view->current = live->status_from_session;
  if (!view->current) view->health = Worse(view->health, Health::kUnknown);
}

AssignmentView DecidedView(const Uuid& cluster, const std::string& cluster_id, const Uuid& bundle,
                           const DesiredAssignment& desired, const ClusterLive* live) {
  AssignmentView view;
  view.bundle = bundle;
  view.name = desired.name;
  view.cluster = cluster;
  view.cluster_id = cluster_id;
  view.revision = desired.revision_number;
  view.desired = desired.digest;
  view.decided = true;
  if (live != nullptr) {
    auto status = live->assignments.find(bundle);
    if (status != live->assignments.end()) CopyReported(*status->second, &view);
  }
  ApplyLiveness(live, &view);
  NeverWithoutReason(&view);
  return view;
}

// A key on its way out, or one that the hub does not know.
AssignmentView UndecidedView(const Uuid& cluster, const std::string& cluster_id, const Uuid& bundle,
                             const std::string& name, const TombstoneRecord* tombstone,
                             const ClusterLive* live) {
  AssignmentView view;
  view.bundle = bundle;
  view.name = name;
  view.cluster = cluster;
  view.cluster_id = cluster_id;
  bool reported = false;
  if (live != nullptr) {
    auto status = live->assignments.find(bundle);
    reported = status != live->assignments.end();
    if (reported) CopyReported(*status->second, &view);
    if (reported && view.name.empty()) view.name = status->second->name;
    view.as_of = live->last_seen();
  }
  bool connected = live != nullptr && live->connected;
  view.current = connected && reported;
  if (tombstone != nullptr) {
    if (!connected) {
      Explain(&view, Phase::kRemoving, Health::kUnknown, Reason::kWaitingForAgent,
              "the removal waits for the agent");
    } else if (view.phase != Phase::kRemovalHeld && view.phase != Phase::kRemoved) {
      view.phase = Phase::kRemoving;
      view.health = Worse(view.health, Health::kTerminating);
      if (view.reason.empty()) view.reason = tombstone->reason;
    }
  } else if (view.phase != Phase::kRemoved) {
    Explain(&view, Phase::kNotDesired, view.health, Reason::kNotDesired,
            "the hub does not know this key");
  }
  NeverWithoutReason(&view);
  return view;
}

std::string BundleName(const FleetSnapshot& snapshot, const Uuid& bundle) {
  auto record = snapshot.bundles.Find(bundle);
  if (record == nullptr) return "";
  return absl::StrCat("projects/", record->value.project, "/bundles/", record->value.id);
}

std::string ClusterId(const FleetSnapshot& snapshot, const Uuid& cluster) {
  auto record = snapshot.clusters.Find(cluster);
  return record == nullptr ? cluster.ToString() : record->value.id;
}

struct PhaseOfCluster {
  ClusterPhase phase;
  std::string reason;
  std::string message;
};

bool IsBroken(const AssignmentView& view) {
  switch (view.phase) {
    case Phase::kFailed:
    case Phase::kRejected:
    case Phase::kRemovalHeld:
    case Phase::kPruneWaiting:
    case Phase::kNotDesired:
      return true;
    default:
      return view.health >= Health::kUnknown;
  }
}

PhaseOfCluster DerivePhase(const Cluster& record, const ClusterLive* live,
                           const std::vector<AssignmentView>& views) {
  const ClusterStatus& status = record.status;
  bool connected = live != nullptr && live->connected;
  if (status.removing) {
    if (!connected)
      return {ClusterPhase::kRemoving, Word(Reason::kWaitingForAgent),
              "the agent is not connected"};
    return {ClusterPhase::kRemoving, Word(Reason::kRemoving), ""};
  }
  if (status.revoked) return {ClusterPhase::kRevoked, Word(Reason::kRevoked), ""};
  if (status.admission == Admission::kRejected)
    return {ClusterPhase::kRejected, Word(Reason::kRejected), ""};
  if (status.admission == Admission::kPending) {
    bool enrolled = status.certificate_generation > 0;
    return {ClusterPhase::kPending, Word(enrolled ? Reason::kNotAccepted : Reason::kNeverConnected),
            enrolled ? "waits for navectl cluster accept" : "no agent has joined yet"};
  }
  if (status.locked) {
    return {ClusterPhase::kDisconnected, Word(Reason::kDuplicateIdentity),
            "two agents use this identity"};
  }
  if (!connected) {
    bool never = live == nullptr || live->last_seen() == absl::InfinitePast();
    if (never) return {ClusterPhase::kDisconnected, Word(Reason::kNeverConnected), ""};
    std::string reason = live->disconnect_reason.empty() ? Word(Reason::kAgentDisconnected)
                                                         : live->disconnect_reason;
    return {ClusterPhase::kDisconnected, reason, ""};
  }
  if (!live->hold_reason.empty()) return {ClusterPhase::kOnHold, live->hold_reason, ""};
  for (const AssignmentView& view : views) {
    if (IsBroken(view))
      return {ClusterPhase::kDegraded, view.reason, absl::StrCat(view.name, ": ", view.message)};
  }
  if (!live->status_complete)
    return {ClusterPhase::kSyncing, Word(Reason::kStatusUnknown), "no full status yet"};
  for (const AssignmentView& view : views) {
    if (!view.ready())
      return {ClusterPhase::kSyncing, view.reason, absl::StrCat(view.name, ": ", view.message)};
  }
  return {ClusterPhase::kReady, Word(Reason::kConnected), ""};
}

Condition MakeCondition(absl::string_view type, bool value, absl::string_view reason,
                        std::string message, absl::Time since) {
  return {std::string(type),
          value ? ConditionStatus::kTrue : ConditionStatus::kFalse,
          std::string(reason),
          std::move(message),
          since,
          0};
}

void AddSkewCondition(const ClusterLive& live, ClusterStatus* status) {
  bool skewed = live.connected && absl::AbsDuration(live.clock_offset) > kClockSkewMax;
  if (!skewed) return;
  SetCondition(&status->conditions,
               MakeCondition("ClockSkew", true, Camel(Reason::kClockSkew),
                             absl::StrCat("the spoke's clock is off by ",
                                          absl::FormatDuration(live.clock_offset)),
                             live.since));
}

void AddSameCluster(const FleetSnapshot& snapshot, const Cluster& record, ClusterStatus* status) {
  auto twin = snapshot.names->twins.find(record.meta.uid);
  if (twin == snapshot.names->twins.end()) return;
  SetCondition(&status->conditions,
               MakeCondition("SameCluster", true, Camel(Reason::kSameCluster),
                             absl::StrCat("cluster ", ClusterId(snapshot, twin->second),
                                          " is the same Kubernetes cluster"),
                             record.meta.update_time));
}

}  // namespace

std::vector<AssignmentView> AssignmentsOfCluster(const FleetSnapshot& snapshot, const Uuid& cluster,
                                                 const ClusterLive* live) {
  std::string id = ClusterId(snapshot, cluster);
  DesiredSet desired = ComputeDesired(snapshot, cluster);
  std::vector<AssignmentView> views;
  std::set<Uuid> seen;
  for (const auto& [bundle, assignment] : desired.assignments) {
    seen.insert(bundle);
    views.push_back(DecidedView(cluster, id, bundle, assignment, live));
  }
  if (auto tombstones = snapshot.tombstones.Find(cluster); tombstones != nullptr) {
    for (const auto& [bundle, tombstone] : *tombstones) {
      if (!seen.insert(bundle).second) continue;
      views.push_back(
          UndecidedView(cluster, id, bundle, tombstone.value.name, &tombstone.value, live));
    }
  }
  if (live != nullptr) {
    for (const auto& [bundle, status] : live->assignments) {
      if (!seen.insert(bundle).second) continue;
      views.push_back(UndecidedView(cluster, id, bundle, status->name, nullptr, live));
    }
  }
  std::sort(views.begin(), views.end(),
            [](const AssignmentView& a, const AssignmentView& b) { return a.name < b.name; });
  return views;
}

std::vector<AssignmentView> AssignmentsOfBundle(const FleetSnapshot& snapshot, const Uuid& bundle,
                                                const LiveTable::Map& live) {
  std::vector<AssignmentView> views;
  std::set<Uuid> seen;
  auto decision = snapshot.decisions.Find(bundle);
  if (decision != nullptr) {
    views.reserve(decision->entries.size());
    // Nearly all entries are of one revision, and a view tells nothing else of the assignment.
    std::optional<DesiredAssignment> assignment;
    for (const auto& [cluster, entry] : decision->entries) {
      if (!assignment.has_value() || assignment->revision_number != entry.revision) {
        assignment = ComputeAssignment(snapshot, cluster, bundle);
      }
      if (!assignment.has_value()) continue;
      seen.insert(cluster);
      auto at = live.Find(cluster);
      views.push_back(
          DecidedView(cluster, ClusterId(snapshot, cluster), bundle, *assignment, at.get()));
    }
  }
  std::string name = BundleName(snapshot, bundle);
  snapshot.tombstones.ForEach([&](const Uuid& cluster, const TombstonesOfCluster& tombstones) {
    auto tombstone = tombstones.find(bundle);
    if (tombstone == tombstones.end() || !seen.insert(cluster).second) return;
    auto at = live.Find(cluster);
    views.push_back(UndecidedView(cluster, ClusterId(snapshot, cluster), bundle, name,
                                  &tombstone->second.value, at.get()));
  });
  // Views are large: each is moved once.
  std::vector<size_t> order(views.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return views[a].cluster_id < views[b].cluster_id; });
  std::vector<AssignmentView> sorted;
  sorted.reserve(views.size());
  for (size_t at : order) sorted.push_back(std::move(views[at]));
  return sorted;
}

ClusterStatus DeriveClusterStatus(const FleetSnapshot& snapshot, const Cluster& record,
                                  const ClusterLive* live, absl::Time now) {
  ClusterStatus status = record.status;
  std::vector<AssignmentView> views = AssignmentsOfCluster(snapshot, record.meta.uid, live);
  PhaseOfCluster derived = DerivePhase(record, live, views);
  status.phase = derived.phase;
  status.reason = derived.reason;
  status.message = derived.message;
  status.health =
      views.empty() && status.phase == ClusterPhase::kReady ? Health::kHealthy : Health::kUnknown;
  if (live != nullptr) {
    status.connected = live->connected;
    status.phase_since = live->since;
    status.connected_since = live->connected ? live->since : absl::InfinitePast();
    status.last_seen = live->last_seen();
    status.agent_version = live->agent_version;
    status.agent_address = live->address;
    status.epoch = live->epoch;
    status.facts = live->facts;
    if (live->certificate_not_after != absl::InfinitePast()) {
      status.certificate_not_after = live->certificate_not_after;
    }
    AddSkewCondition(*live, &status);
  }
  Health worst = Health::kHealthy;
  for (const AssignmentView& view : views) {
    if (view.decided) ++status.bundles;
    if (view.decided && view.ready()) ++status.bundles_ready;
    worst = Worse(worst, view.health);
  }
  if (status.connected) status.health = worst;
  AddSameCluster(snapshot, record, &status);
  bool ready = status.phase == ClusterPhase::kReady;
  absl::Time since = status.phase_since == absl::InfinitePast() ? now : status.phase_since;
  SetCondition(&status.conditions,
               MakeCondition("Ready", ready, status.reason, status.message, since));
  return status;
}

namespace {

// How long a bundle has been in its state: as its worst cluster; a ready one since its last cluster
// became so.
absl::Time SinceWhen(const Bundle& record, const Condition* placed,
                     const std::vector<AssignmentView>& views, const AssignmentView* worst) {
  if (record.meta.deleting()) return record.meta.delete_time;
  absl::Time since = record.meta.create_time;
  if (worst != nullptr) {
    if (worst->since != absl::InfinitePast()) since = worst->since;
  } else if (placed != nullptr && placed->status == ConditionStatus::kFalse) {
    since = placed->since;
  } else {
    for (const AssignmentView& view : views) since = std::max(since, view.since);
  }
  return since;
}

}  // namespace

BundleStatus DeriveBundleStatus(const FleetSnapshot& snapshot, const Bundle& record,
                                const LiveTable::Map& live, absl::Time now) {
  BundleStatus status = record.status;
  const AssignmentView* worst = nullptr;
  std::vector<AssignmentView> views = AssignmentsOfBundle(snapshot, record.meta.uid, live);
  status.health = Health::kHealthy;
  for (const AssignmentView& view : views) {
    auto at = live.Find(view.cluster);
    bool connected = at != nullptr && at->connected;
    if (!view.decided) {
      ++status.counts.removing;
    } else {
      ++status.counts.clusters;
      bool applied = view.current && view.phase == Phase::kApplied;
      if (!connected) {
        ++status.counts.disconnected;
      } else if (view.ready()) {
        ++status.counts.ready;
      } else if (IsBroken(view)) {
        ++status.counts.failed;
      } else if (!applied) {
        ++status.counts.pending;
      }
      if (applied) ++status.counts.applied;
    }
    status.health = Worse(status.health, view.health);
    bool worse = worst == nullptr || view.health > worst->health;
    if (!view.ready() && worse) worst = &view;
  }
  if (status.counts.clusters == 0) status.health = Worse(status.health, Health::kUnknown);
  const Condition* placed = FindCondition(record.status.conditions, "Placed");
  bool is_placed = placed == nullptr || placed->status != ConditionStatus::kFalse;
  bool ready =
      worst == nullptr && status.counts.clusters > 0 && !record.meta.deleting() && is_placed;
  std::string reason = Word(Reason::kHealthy);
  std::string message;
  if (record.meta.deleting()) {
    reason = Word(Reason::kRemoving);
    message = absl::StrCat("waits for ", views.size(), " clusters");
  } else if (worst != nullptr) {
    reason = worst->reason;
    message = absl::StrCat(worst->cluster_id, ": ", worst->message);
  } else if (!is_placed) {
    reason = placed->reason;
    message = placed->message;
  } else if (status.counts.clusters == 0) {
    reason = Word(Reason::kNotPlaced);
    message = "the bundle is on no cluster";
  }
  absl::Time since = SinceWhen(record, placed, views, worst);
  SetCondition(&status.conditions,
               MakeCondition("Ready", ready, reason, message, std::min(since, now)));
  return status;
}

}  // namespace nave
