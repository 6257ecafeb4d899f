// What must hold: after each deletion, and at the end.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "hub/decide/rollup.h"
#include "tests/sim/world.h"

namespace nave::sim {
namespace {

constexpr absl::Duration kConvergence = absl::Minutes(20);
constexpr absl::Duration kQuiet = absl::Minutes(12);
constexpr absl::Duration kSettling = absl::Seconds(10);
// What was on its way to the API server when the agent heard of a newer version, and when it died.
constexpr absl::Duration kOnItsWay = absl::Milliseconds(100);
constexpr absl::Duration kLeftByTheDead = absl::Seconds(30);

}  // namespace

void World::CheckDeletion(Spoke& spoke, const Deletion& deletion, bool holds) {
  const std::string& cluster = spoke.cluster().id;
  std::string what = absl::StrCat(cluster, " ", deletion.object);
  ++counts_["deletion"];
  if (ordered_.count(what) == 0) Fail(absl::StrCat("deleted without an order: ", what));
  // A confirmation is good for one removal.
  if (IsVolumeKey(deletion.object)) ordered_.erase(what);
  if (holds) Fail(absl::StrCat("deleted in HOLD: ", what));
  if (deletion.time < spoke.killed_at() + kLeftByTheDead) return;
  FleetSnapshotPtr snapshot = hub_->up() ? hub_->core()->snapshot() : nullptr;
  if (snapshot == nullptr) return;
  for (const auto& [id, bundle] : model_) {
    if (bundle.deleted || bundle.Objects(id).count(deletion.object) == 0) continue;
    std::optional<Bundle> record = hub_->FindBundle(id);
    if (!record.has_value()) continue;
    const Uuid& uid = record->meta.uid;
    auto desired = ComputeAssignment(*snapshot, spoke.cluster().meta.uid, uid);
    if (!desired.has_value()) continue;
    const Watchman::Revived* revived = spoke.watchman().FindRevived(uid);
    if (revived != nullptr && revived->at + kOnItsWay < deletion.time &&
        listed_[revived->had].count(deletion.object) > 0 &&
        listed_[revived->wanted].count(deletion.object) > 0) {
      Fail(absl::StrCat("deleted though its bundle came back: ", what));
    }
    if (!bundle.refused &&
        spoke.watchman().DeliveredAt(uid, desired->digest) + kOnItsWay < deletion.time) {
      Fail(absl::StrCat("deleted though the version that it was given lists it: ", what));
    }
  }
}

std::string World::ObjectsDifference(Spoke& spoke, const std::string& id, const BundleModel& bundle,
                                     const std::set<std::string>& left) {
  const std::string& cluster = spoke.cluster().id;
  bool stranded = bundle.stranded.count(cluster) > 0 && left.count(id) > 0;
  std::set<std::string> wanted;
  if (!bundle.deleted && bundle.clusters.count(cluster) > 0) wanted = bundle.Objects(id);
  for (const std::string& object : bundle.all_objects) {
    std::vector<std::string> parts = absl::StrSplit(object, '/');
    const std::string& name = parts[2];
    kubesim::ObjectPtr found = spoke.kube().Find(parts[0], parts[1], name);
    if (wanted.count(object) == 0) {
      if (found != nullptr && !stranded) return absl::StrCat(cluster, ": still there: ", object);
      continue;
    }
    if (found == nullptr) return absl::StrCat(cluster, ": missing: ", object);
    auto value = bundle.maps.find(name);
    if (value != bundle.maps.end() && found->StringAt("data", "value") != value->second) {
      return absl::StrCat(cluster, ": ", object, " has ", found->StringAt("data", "value"),
                          ", want ", value->second);
    }
  }
  return "";
}

std::string World::DifferenceOn(Spoke& spoke) {
  const std::string& cluster = spoke.cluster().id;
  FleetSnapshotPtr snapshot = hub_->core()->snapshot();
  if (snapshot == nullptr) return "the hub has no snapshot";
  auto live = hub_->core()->live()->Find(spoke.cluster().meta.uid);
  if (live == nullptr || !live->connected) return absl::StrCat(cluster, ": not connected");
  if (!live->hold_reason.empty()) return absl::StrCat(cluster, ": on hold: ", live->hold_reason);
  std::set<std::string> left;
  for (const AssignmentView& view :
       AssignmentsOfCluster(*snapshot, spoke.cluster().meta.uid, live.get())) {
    if (!view.decided && view.phase == Phase::kNotDesired) {
      left.insert(view.name.substr(view.name.rfind('/') + 1));
    }
    if (view.decided && !view.ready()) {
      return absl::StrCat(cluster, ": the hub sees ", view.name, " as ", FormatPhase(view.phase),
                          ": ", view.reason, " ", view.message, view.current ? "" : " (old)");
    }
  }
  for (const auto& [id, bundle] : model_) {
    std::string difference = ObjectsDifference(spoke, id, bundle, left);
    if (!difference.empty()) return difference;
  }
  return "";
}

std::string World::Difference() {
  for (const auto& spoke : spokes_) {
    std::string difference = DifferenceOn(*spoke);
    if (!difference.empty()) return absl::StrCat(difference, " [", spoke->Describe(), "]");
  }
  return "";
}

bool World::Converge() {
  for (absl::Time end = executor_.Now() + kConvergence; executor_.Now() < end;) {
    Pass(absl::Seconds(5));
    ConfirmHeld();
    if (Difference().empty()) return true;
  }
  Fail(absl::StrCat("never as ordered: ", Difference()));
  return false;
}

void World::CheckQuiet() {
  // What is still on its way: the last acknowledgements.
  Pass(kSettling);
  std::vector<std::pair<size_t, size_t>> before;
  for (const auto& spoke : spokes_) {
    before.emplace_back(spoke->CountWrites(), spoke->watchman().exchanges());
  }
  Pass(kQuiet);
  for (size_t i = 0; i < spokes_.size(); ++i) {
    Spoke& spoke = *spokes_[i];
    size_t writes = spoke.CountWrites() - before[i].first;
    size_t exchanges = spoke.watchman().exchanges() - before[i].second;
    if (writes > 0) {
      Fail(absl::StrCat(spoke.cluster().id, ": ", writes, " writes though nothing changed"));
    }
    if (exchanges > 0) {
      Fail(absl::StrCat(spoke.cluster().id, ": ", exchanges,
                        " frames about desired state though nothing changed"));
    }
  }
  if (std::string difference = Difference(); !difference.empty()) {
    Fail(absl::StrCat("not as ordered any more: ", difference));
  }
}

}  // namespace nave::sim
