// What people, faults and disasters do to the fleet.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hub/decide/rollup.h"
#include "tests/sim/world.h"

namespace nave::sim {
namespace {

std::string MapKey(const std::string& name) { return absl::StrCat("configmaps/default/", name); }
std::string DeploymentKey(const std::string& id) {
  return absl::StrCat("deployments.apps/default/", id, "-web");
}

}  // namespace

std::string VolumeKey(const std::string& id) {
  return absl::StrCat("persistentvolumes//", id, "-volume");
}
bool IsVolumeKey(const std::string& object) { return object.rfind("persistentvolumes/", 0) == 0; }

std::set<std::string> BundleModel::Objects(const std::string& id) const {
  std::set<std::string> out;
  for (const auto& [name, value] : maps) out.insert(MapKey(name));
  if (deployment) out.insert(DeploymentKey(id));
  if (volume) out.insert(VolumeKey(id));
  return out;
}

std::string BundleModel::Manifests(const std::string& id) const {
  std::string out;
  for (const auto& [name, value] : maps) {
    absl::StrAppend(&out, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: ", name,
                    "}\ndata: {value: '", value, "'}\n");
  }
  if (deployment) {
    absl::StrAppend(&out, "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: ", id,
                    "-web}\nspec:\n  replicas: 1\n  selector: {matchLabels: {app: ", id,
                    "}}\n  template:\n    metadata: {labels: {app: ", id,
                    "}}\n    spec: {containers: [{name: c, image: 'web:1'}]}\n");
  }
  if (volume) {
    absl::StrAppend(&out, "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: ", id,
                    "-volume}\nspec:\n  capacity: {storage: 1Gi}\n",
                    "  accessModes: [ReadWriteOnce]\n  hostPath: {path: /data}\n");
  }
  return out;
}

void World::OrderRemoval(const std::string& cluster, const std::set<std::string>& objects) {
  for (const std::string& object : objects) {
    if (!IsVolumeKey(object)) ordered_.insert(absl::StrCat(cluster, " ", object));
  }
}

std::set<std::string> World::RandomClusters() {
  std::set<std::string> out;
  for (const auto& spoke : spokes_) {
    if (random_.Below(3) > 0) out.insert(spoke->cluster().id);
  }
  if (out.empty()) out.insert(spokes_[0]->cluster().id);
  return out;
}

BundleModel* World::RandomBundle(std::string* id) {
  std::vector<std::string> alive;
  for (const auto& [name, bundle] : model_) {
    if (!bundle.deleted) alive.push_back(name);
  }
  if (alive.empty()) return nullptr;
  *id = alive[random_.Below(alive.size())];
  return &model_[*id];
}

void World::Push(const std::string& id) {
  BundleModel& bundle = model_[id];
  for (const std::string& object : bundle.Objects(id)) {
    bundle.all_objects.insert(object);
    ever_[id].insert(object);
  }
  NotePlaced(&bundle);
  bundle.refused = false;
  hub_->ApplyBundle(id, bundle.Manifests(id), bundle.clusters, /*too_large=*/false);
  listed_[hub_->last_listing()] = bundle.Objects(id);
}

void World::NotePlaced(BundleModel* bundle) {
  for (const std::string& cluster : bundle->clusters) {
    bundle->placed.insert(cluster);
    bundle->stranded.erase(cluster);
  }
}

void World::PushRefused(const std::string& id) {
  BundleModel refused = model_[id];
  refused.maps[absl::StrCat(id, "-refused")] = absl::StrCat(++next_value_);
  model_[id].refused = true;
  NotePlaced(&model_[id]);
  Note(absl::StrCat("refuse ", id));
  hub_->ApplyBundle(id, refused.Manifests(id), refused.clusters, /*too_large=*/true);
  listed_[hub_->last_listing()] = refused.Objects(id);
}

void World::PushAgain() {
  for (const auto& [id, bundle] : model_) {
    if (bundle.refused && !bundle.deleted) Push(id);
  }
}

void World::ConfirmHeld() {
  FleetSnapshotPtr snapshot = hub_->up() ? hub_->core()->snapshot() : nullptr;
  if (snapshot == nullptr) return;
  for (const auto& spoke : spokes_) {
    const std::string& cluster = spoke->cluster().id;
    const Uuid& uid = spoke->cluster().meta.uid;
    auto live = hub_->core()->live()->Find(uid);
    for (const AssignmentView& view : AssignmentsOfCluster(*snapshot, uid, live.get())) {
      if (view.phase != Phase::kRemovalHeld || !hub_->Confirm(view)) continue;
      std::string id = view.name.substr(view.name.rfind('/') + 1);
      Note(absl::StrCat("confirm ", cluster, " ", id));
      ordered_.insert(absl::StrCat(cluster, " ", VolumeKey(id)));
    }
  }
}

void World::ApplyNew() {
  std::string id = absl::StrCat("b", ++next_bundle_);
  BundleModel& bundle = model_[id];
  for (uint64_t i = 0, n = 1 + random_.Below(4); i < n; ++i) {
    bundle.maps[absl::StrCat(id, "-", i)] = absl::StrCat(++next_value_);
  }
  bundle.deployment = random_.Below(3) == 0;
  bundle.volume = random_.Below(3) == 0;
  bundle.clusters = RandomClusters();
  Note(absl::StrCat("new ", id, " on ", absl::StrJoin(bundle.clusters, ",")));
  Push(id);
}

void World::ChangeBundle() {
  std::string id;
  BundleModel* bundle = RandomBundle(&id);
  if (bundle == nullptr) return ApplyNew();
  std::set<std::string> before = bundle->Objects(id);
  auto any = std::next(bundle->maps.begin(), static_cast<long>(random_.Below(bundle->maps.size())));
  switch (random_.Below(4)) {
    case 0:
      any->second = absl::StrCat(++next_value_);
      break;
    case 1:
      bundle->maps[absl::StrCat(id, "-", 10 + random_.Below(5))] = absl::StrCat(++next_value_);
      break;
    case 2:
      bundle->volume = !bundle->volume;
      break;
    default:
      if (bundle->maps.size() > 1) bundle->maps.erase(any);
      bundle->deployment = random_.Below(2) == 0;
      break;
  }
  std::set<std::string> gone = before;
  for (const std::string& object : bundle->Objects(id)) gone.erase(object);
  for (const auto& spoke : spokes_) OrderRemoval(spoke->cluster().id, gone);
  Note(absl::StrCat("change ", id, " without ", absl::StrJoin(gone, ",")));
  Push(id);
}

void World::ChangePlacement() {
  std::string id;
  BundleModel* bundle = RandomBundle(&id);
  if (bundle == nullptr) return ApplyNew();
  std::set<std::string> before = bundle->clusters;
  bundle->clusters = RandomClusters();
  for (const std::string& cluster : before) {
    if (bundle->clusters.count(cluster) == 0) OrderRemoval(cluster, bundle->all_objects);
  }
  Note(absl::StrCat("place ", id, " on ", absl::StrJoin(bundle->clusters, ",")));
  Push(id);
}

void World::DeleteBundle() {
  std::string id;
  BundleModel* bundle = RandomBundle(&id);
  if (bundle == nullptr) return ApplyNew();
  bundle->deleted = true;
  for (const auto& spoke : spokes_) OrderRemoval(spoke->cluster().id, bundle->all_objects);
  Note(absl::StrCat("delete ", id));
  hub_->DeleteBundle(id);
}

void World::MeddleWithObject() {
  std::string id;
  BundleModel* bundle = RandomBundle(&id);
  if (bundle == nullptr) return;
  const std::string& name = bundle->maps.begin()->first;
  Spoke& spoke = RandomSpoke();
  if (random_.Below(2) == 0) {
    Note(absl::StrCat("edit ", spoke.cluster().id, " ", name));
    spoke.EditConfigMap(name);
  } else {
    Note(absl::StrCat("meddle ", spoke.cluster().id, " ", name));
    spoke.DeleteObject("configmaps", "default", name);
  }
}

void World::Waver() {
  std::string id;
  BundleModel* bundle = RandomBundle(&id);
  if (bundle == nullptr) return ApplyNew();
  std::set<std::string> before = bundle->clusters;
  bundle->clusters = {RandomSpoke().cluster().id};
  for (const std::string& cluster : before) {
    if (bundle->clusters.count(cluster) == 0) OrderRemoval(cluster, bundle->all_objects);
  }
  Note(absl::StrCat("waver ", id));
  Push(id);
  Pass(absl::Milliseconds(static_cast<int64_t>(random_.Below(4000))));
  for (const std::string& cluster : model_[id].clusters) {
    if (before.count(cluster) == 0) OrderRemoval(cluster, model_[id].all_objects);
  }
  model_[id].clusters = before;
  uint64_t how = random_.Below(3);
  if (how == 0) return PushRefused(id);
  // With other content, which is to be fetched first, or with the same.
  if (how == 1) model_[id].maps.begin()->second = absl::StrCat(++next_value_);
  Push(id);
}

void World::FlipVolume() {
  std::string id;
  BundleModel* bundle = RandomBundle(&id);
  if (bundle == nullptr) return ApplyNew();
  Note(absl::StrCat("flip ", id));
  bool confirmed = false;
  for (bool volume : {true, false, true, false}) {
    if (!hub_->up()) return;
    model_[id].volume = volume;
    Push(id);
    Pass(absl::Seconds(10));
    if (volume) continue;
    if (!confirmed) ConfirmHeld();
    confirmed = true;
    Pass(absl::Seconds(5));
  }
}

void World::Order() {
  if (!hub_->up()) return;
  switch (random_.Below(14)) {
    case 0:
    case 1:
      return ApplyNew();
    case 2:
    case 3:
    case 4:
      return ChangeBundle();
    case 5:
    case 6:
      return ChangePlacement();
    case 7:
      return DeleteBundle();
    case 8: {
      std::string id;
      return RandomBundle(&id) == nullptr ? ApplyNew() : PushRefused(id);
    }
    case 9:
      return ConfirmHeld();
    case 10:
    case 11:
      return Waver();
    case 12:
      return FlipVolume();
    default:
      return MeddleWithObject();
  }
}

void World::Fault() {
  Spoke& spoke = RandomSpoke();
  const std::string& id = spoke.cluster().id;
  switch (random_.Below(10)) {
    case 0:
      Note(absl::StrCat("cut-hard ", id));
      return spoke.CutHub(SimLink::Cut::kHard);
    case 1:
      Note(absl::StrCat("cut-silent ", id));
      return spoke.CutHub(SimLink::Cut::kSilent);
    case 2:
      Note(absl::StrCat("cut-kube ", id));
      return spoke.CutKube(true);
    case 3:
      Note(absl::StrCat("kube-faults ", id));
      return spoke.SetFaults(100);
    case 4:
      Note(absl::StrCat("restart-agent ", id));
      spoke.KillAgent();
      return spoke.StartAgent();
    case 5:
      Note(absl::StrCat("second-agent ", id));
      if (spoke.agents() < 2) spoke.StartAgent();
      return;
    case 6:
      Note(absl::StrCat("kube-slow ", id));
      return spoke.SetSlow(true);
    case 7:
      if (!hub_->up()) return;
      Note("restart-hub");
      hub_->Kill();
      return;
    default:
      return EndFaults();
  }
}

void World::Disaster() {
  switch (random_.Below(6)) {
    case 0:
    case 1:
      if (!hub_->up()) return;
      Note("backup");
      backup_ = hub_->Image();
      backup_model_ = model_;
      for (auto& [id, bundle] : model_) bundle.placed.clear();
      has_backup_ = true;
      return;
    case 2:
    case 3:
      if (!has_backup_) return;
      Note("restore");
      hub_->Kill();
      hub_->SetImage(backup_);
      RestoreModel();
      needs_adopt_ = true;
      return hub_->Start();
    case 4: {
      Note("lose-database");
      hub_->Kill();
      hub_->SetImage("");
      model_.clear();
      has_backup_ = false;
      needs_adopt_ = true;
      return hub_->Start();
    }
    default: {
      Spoke& spoke = RandomSpoke();
      Note(absl::StrCat("lose-state ", spoke.cluster().id));
      spoke.DeleteObject("secrets", "nave-system", "nave-state");
      needs_adopt_ = true;
      return;
    }
  }
}

void World::RestoreModel() {
  FleetModel now = std::exchange(model_, backup_model_);
  for (auto& [id, bundle] : model_) {
    bundle.placed.clear();
    const BundleModel& lost = now[id];
    for (const std::set<std::string>& clusters : {lost.placed, lost.stranded}) {
      for (const std::string& cluster : clusters) {
        if (bundle.clusters.count(cluster) == 0) bundle.stranded.insert(cluster);
      }
    }
  }
}

void World::EndFaults() {
  Note("heal");
  hub_->Start();
  for (const auto& spoke : spokes_) {
    spoke->CutHub(SimLink::Cut::kNone);
    spoke->CutKube(false);
    spoke->SetFaults(0);
    spoke->SetSlow(false);
    while (spoke->agents() > 1) spoke->KillAgent();
    if (spoke->agents() == 0) spoke->StartAgent();
  }
}

void World::Step() {
  uint64_t dice = random_.Below(100);
  if (dice < 55) {
    Order();
  } else if (dice < 93) {
    Fault();
  } else {
    Disaster();
  }
  Pass(absl::Milliseconds(
      static_cast<int64_t>(random_.Below(random_.Below(4) == 0 ? 90000 : 6000))));
}

}  // namespace nave::sim
