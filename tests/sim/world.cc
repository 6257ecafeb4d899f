#include "tests/sim/world.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/digest.h"
#include "hub/decide/rollup.h"

namespace nave::sim {
namespace {

constexpr absl::Duration kPiece = absl::Seconds(1);

}  // namespace

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
    spokes_.push_back(std::make_unique<Spoke>(
        &executor_, hub_.get(), cluster, random_.Next(),
        [this, id = cluster.id](const std::string& what) { Fail(absl::StrCat(id, ": ", what)); }));
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
  if (std::find(failures_.begin(), failures_.end(), what) != failures_.end()) return;
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
    std::vector<bool> held;
    for (const auto& spoke : spokes_) {
      held.push_back(spoke->watchman().must_hold());
    }
    executor_.Advance(std::min(kPiece, end - executor_.Now()));
    for (size_t i = 0; i < spokes_.size(); ++i) {
      Spoke& spoke = *spokes_[i];
      spoke.watchman().Look(spoke.HoldReason(), spoke.KubeIsHealthy(), executor_.Now());
      bool holds = held[i] && spoke.watchman().must_hold();
      for (const Deletion& deletion : spoke.TakeDeletions()) CheckDeletion(spoke, deletion, holds);
    }
  }
}

void World::OrderAdopt() {
  for (const auto& [id, bundle] : model_) {
    for (const auto& spoke : spokes_) OrderRemoval(spoke->cluster().id, ever_[id]);
  }
  // Confirmed in this history is confirmed.
  FleetSnapshotPtr snapshot = hub_->core()->snapshot();
  for (const auto& spoke : spokes_) {
    for (const auto& [key, assignment] :
         ComputeDesired(*snapshot, spoke->cluster().meta.uid).assignments) {
      if (!assignment.confirmed) continue;
      std::string id = assignment.name.substr(assignment.name.rfind('/') + 1);
      ordered_.insert(absl::StrCat(spoke->cluster().id, " ", VolumeKey(id)));
    }
    auto tombstones = snapshot->tombstones.Find(spoke->cluster().meta.uid);
    if (tombstones == nullptr) continue;
    for (const auto& [key, tombstone] : *tombstones) {
      if (!tombstone.value.confirmed) continue;
      std::string id = tombstone.value.name.substr(tombstone.value.name.rfind('/') + 1);
      ordered_.insert(absl::StrCat(spoke->cluster().id, " ", VolumeKey(id)));
    }
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
    OrderAdopt();
    Note("adopt");
    hub_->Adopt();
  }
  PushAgain();
  if (failures_.empty() && Converge()) CheckQuiet();
  return failures_.empty();
}

}  // namespace nave::sim
