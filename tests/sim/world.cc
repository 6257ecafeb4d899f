#include "tests/sim/world.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/digest.h"
#include "common/value/codec.h"
#include "hub/decide/rollup.h"

namespace nave::sim {
namespace {

constexpr absl::Duration kPiece = absl::Seconds(1);
constexpr absl::Duration kConvergence = absl::Minutes(20);
constexpr absl::Duration kQuiet = absl::Minutes(12);

std::string MapKey(const std::string& name) { return absl::StrCat("configmaps/default/", name); }
std::string DeploymentKey(const std::string& id) {
  return absl::StrCat("deployments.apps/default/", id, "-web");
}

}  // namespace

std::set<std::string> BundleModel::Objects(const std::string& id) const {
  std::set<std::string> out;
  for (const auto& [name, value] : maps) out.insert(MapKey(name));
  if (deployment) out.insert(DeploymentKey(id));
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
  return out;
}

World::World(uint64_t seed, size_t spokes) : seed_(seed), random_(seed) {
  hub_ = std::make_unique<SimHub>(&executor_, seed);
  executor_.RunAll();
  for (size_t i = 0; i < spokes; ++i) {
    Cluster cluster;
    cluster.id = absl::StrCat("spoke-", i);
    cluster.meta.uid = hub_->NextUuid();
    cluster.meta.create_time = executor_.Now();
    cluster.spec.cluster_set = "default";
    cluster.status.admission = Admission::kAccepted;
    cluster.status.certificate_generation = 1;
    cluster.status.certificate_generation_seen = 1;
    hub_->PutCluster(cluster);
    spokes_.push_back(std::make_unique<Spoke>(&executor_, hub_.get(), cluster, random_.Next()));
  }
}

World::~World() {
  spokes_.clear();
  hub_.reset();
}

void World::Note(const std::string& what) {
  log_.push_back(
      absl::StrCat(absl::FormatTime("%H:%M:%E3S ", executor_.Now(), absl::UTCTimeZone()), what));
  ++counts_[what.substr(0, what.find(' '))];
}

void World::Fail(const std::string& what) {
  failures_.push_back(what);
  log_.push_back(absl::StrCat(absl::FormatTime("%H:%M:%E3S ", executor_.Now(), absl::UTCTimeZone()),
                              "WRONG ", what));
}

std::string World::Report() const {
  return absl::StrCat("seed ", seed_, "\n", absl::StrJoin(log_, "\n"),
                      "\nwrong: ", absl::StrJoin(failures_, "\nwrong: "));
}

std::string World::Fingerprint() {
  std::string all = absl::StrJoin(log_, "\n");
  for (const auto& spoke : spokes_) {
    for (const kubesim::AuditRecord& record : spoke->kube().audit()) {
      absl::StrAppend(&all, record.verb, record.resource, record.name, record.code,
                      absl::ToUnixNanos(record.time), "\n");
    }
  }
  return Sha256(all).Hex();
}

void World::Pass(absl::Duration time) {
  for (absl::Time end = executor_.Now() + time; executor_.Now() < end;) {
    std::vector<std::optional<std::string>> before;
    for (const auto& spoke : spokes_) before.push_back(spoke->HoldReason());
    executor_.Advance(std::min(kPiece, end - executor_.Now()));
    for (size_t i = 0; i < spokes_.size(); ++i) {
      Spoke& spoke = *spokes_[i];
      std::optional<std::string> after = spoke.HoldReason();
      bool held = before[i].has_value() && !before[i]->empty() && after == before[i];
      for (const Deletion& deletion : spoke.TakeDeletions()) {
        std::string what = absl::StrCat(spoke.cluster().id, " ", deletion.object);
        if (ordered_.count(what) == 0) Fail(absl::StrCat("deleted without an order: ", what));
        if (held) Fail(absl::StrCat("deleted in HOLD ", *after, ": ", what));
        ++counts_["deletion"];
      }
    }
  }
}

void World::OrderRemoval(const std::string& cluster, const std::set<std::string>& objects) {
  for (const std::string& object : objects) ordered_.insert(absl::StrCat(cluster, " ", object));
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
  for (const std::string& object : bundle.Objects(id)) bundle.all_objects.insert(object);
  hub_->ApplyBundle(id, bundle.Manifests(id), bundle.clusters);
}

void World::ApplyNew() {
  std::string id = absl::StrCat("b", ++next_bundle_);
  BundleModel& bundle = model_[id];
  for (uint64_t i = 0, n = 1 + random_.Below(4); i < n; ++i) {
    bundle.maps[absl::StrCat(id, "-", i)] = absl::StrCat(++next_value_);
  }
  bundle.deployment = random_.Below(3) == 0;
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
  switch (random_.Below(3)) {
    case 0:
      any->second = absl::StrCat(++next_value_);
      break;
    case 1:
      bundle->maps[absl::StrCat(id, "-", 10 + random_.Below(5))] = absl::StrCat(++next_value_);
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

void World::Order() {
  if (!hub_->up()) return;
  switch (random_.Below(8)) {
    case 0:
    case 1:
      return ApplyNew();
    case 2:
    case 3:
      return ChangeBundle();
    case 4:
      return ChangePlacement();
    case 5:
      return DeleteBundle();
    default:
      return MeddleWithObject();
  }
}

void World::Fault() {
  Spoke& spoke = RandomSpoke();
  const std::string& id = spoke.cluster().id;
  switch (random_.Below(9)) {
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
      if (!hub_->up()) return;
      Note("restart-hub");
      hub_->Kill();
      return;
    default:
      return EndFaults();
  }
}

void World::Disaster() {
  switch (random_.Below(4)) {
    case 0:
      if (!hub_->up()) return;
      Note("backup");
      backup_ = hub_->Image();
      backup_model_ = model_;
      has_backup_ = true;
      return;
    case 1:
      if (!has_backup_) return;
      Note("restore");
      hub_->Kill();
      hub_->SetImage(backup_);
      model_ = backup_model_;
      needs_adopt_ = true;
      return hub_->Start();
    case 2: {
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

void World::EndFaults() {
  Note("heal");
  hub_->Start();
  for (const auto& spoke : spokes_) {
    spoke->CutHub(SimLink::Cut::kNone);
    spoke->CutKube(false);
    spoke->SetFaults(0);
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

std::string World::DifferenceOn(Spoke& spoke) {
  const std::string& cluster = spoke.cluster().id;
  for (const auto& [id, bundle] : model_) {
    std::set<std::string> wanted;
    if (!bundle.deleted && bundle.clusters.count(cluster) > 0) wanted = bundle.Objects(id);
    for (const std::string& object : bundle.all_objects) {
      std::string name = object.substr(object.rfind('/') + 1);
      kubesim::ObjectPtr found =
          spoke.kube().Find(object.substr(0, object.find('/')), "default", name);
      if (wanted.count(object) == 0) {
        if (found != nullptr) return absl::StrCat(cluster, ": still there: ", object);
        continue;
      }
      if (found == nullptr) return absl::StrCat(cluster, ": missing: ", object);
      auto value = bundle.maps.find(name);
      if (value != bundle.maps.end() && found->StringAt("data", "value") != value->second) {
        return absl::StrCat(cluster, ": ", object, " has ", found->StringAt("data", "value"),
                            ", want ", value->second);
      }
    }
  }
  FleetSnapshotPtr snapshot = hub_->core()->snapshot();
  if (snapshot == nullptr) return "the hub has no snapshot";
  auto live = hub_->core()->live()->Find(spoke.cluster().meta.uid);
  for (const AssignmentView& view :
       AssignmentsOfCluster(*snapshot, spoke.cluster().meta.uid, live.get())) {
    if (view.decided && !view.ready()) {
      return absl::StrCat(cluster, ": the hub sees ", view.name, " as ", FormatPhase(view.phase),
                          ": ", view.reason, " ", view.message, view.current ? "" : " (old)");
    }
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
    if (Difference().empty()) return true;
  }
  Fail(absl::StrCat("never as ordered: ", Difference()));
  return false;
}

void World::CheckQuiet() {
  std::vector<size_t> before;
  for (const auto& spoke : spokes_) before.push_back(spoke->CountWrites());
  Pass(kQuiet);
  for (size_t i = 0; i < spokes_.size(); ++i) {
    size_t writes = spokes_[i]->CountWrites() - before[i];
    if (writes > 0) {
      Fail(absl::StrCat(spokes_[i]->cluster().id, ": ", writes, " writes though nothing changed"));
    }
  }
  if (std::string difference = Difference(); !difference.empty()) {
    Fail(absl::StrCat("not as ordered any more: ", difference));
  }
}

bool World::Run(int steps) {
  Pass(absl::Seconds(30));
  for (int i = 0; i < steps && failures_.empty(); ++i) Step();
  EndFaults();
  if (needs_adopt_) {
    // Without an order nothing moves, however long it takes.
    Pass(absl::Minutes(2));
    for (const auto& spoke : spokes_) hub_->PutCluster(spoke->cluster());
    Pass(absl::Minutes(2));
    // From here on the present state is the order.
    for (const auto& [id, bundle] : model_) {
      for (const auto& spoke : spokes_) {
        std::set<std::string> others;
        for (const auto& [name, value] : bundle.maps) (void)value;
        others = bundle.all_objects;
        OrderRemoval(spoke->cluster().id, others);
      }
    }
    Note("adopt");
    hub_->Adopt();
  }
  if (failures_.empty() && Converge()) CheckQuiet();
  return failures_.empty();
}

}  // namespace nave::sim
