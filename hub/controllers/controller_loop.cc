#include "hub/controllers/controller_loop.h"

#include <utility>

#include "common/base/log.h"

namespace nave {

ControllerLoop::ControllerLoop(Executor* executor, ControlStore* store, LiveTable* live,
                               const BundleController::Options& options, uint64_t seed)
    : executor_(executor),
      live_(live),
      bundle_controller_(store, options),
      cluster_controller_(store),
      random_(seed) {}

ControllerLoop::~ControllerLoop() = default;

void ControllerLoop::OnSnapshot(FleetSnapshotPtr snapshot, FleetChanges changes) {
  executor_->Post([this, alive = std::weak_ptr<int>(alive_), snapshot = std::move(snapshot),
                   changes = std::move(changes)]() mutable {
    if (!alive.expired()) Take(std::move(snapshot), changes);
  });
}

void ControllerLoop::OnLiveChanged(const Uuid& cluster) {
  // One that begins to leave later is looked at because of that.
  if (leaving_ == 0) return;
  executor_->Post([this, alive = std::weak_ptr<int>(alive_), cluster] {
    if (alive.expired() || snapshot_ == nullptr) return;
    // Only a cluster on its way out waits for what its agent says.
    auto record = snapshot_->clusters.Find(cluster);
    if (record == nullptr || !record->value.status.removing) return;
    clusters_.insert(cluster);
    Schedule();
  });
}

bool ControllerLoop::PlacementChanged(const Uuid& cluster) {
  auto record = snapshot_->clusters.Find(cluster);
  auto seen = seen_.find(cluster);
  if (record == nullptr) {
    if (seen == seen_.end()) return false;
    if (seen->second.removing) --leaving_;
    seen_.erase(seen);
    return true;
  }
  const Cluster& value = record->value;
  PlacementCandidate now{cluster,
                         value.id,
                         value.spec.cluster_set,
                         value.meta.labels,
                         value.status.admission == Admission::kAccepted,
                         value.status.removing,
                         value.spec.cordoned};
  if (seen != seen_.end() && seen->second == now) return false;
  bool was_leaving = seen != seen_.end() && seen->second.removing;
  if (was_leaving != now.removing) leaving_ += now.removing ? 1 : -1;
  seen_[cluster] = std::move(now);
  return true;
}

void ControllerLoop::Take(FleetSnapshotPtr snapshot, const FleetChanges& changes) {
  snapshot_ = std::move(snapshot);
  bundles_.insert(changes.bundles.begin(), changes.bundles.end());
  clusters_.insert(changes.clusters.begin(), changes.clusters.end());
  bundles_.merge(stale_bundles_);
  clusters_.merge(stale_clusters_);
  stale_bundles_.clear();
  stale_clusters_.clear();
  bool all = changes.tenancy;
  for (const Uuid& cluster : changes.clusters) all |= PlacementChanged(cluster);
  if (all)
    snapshot_->bundles.ForEach(
        [&](const Uuid& uid, const Versioned<Bundle>&) { bundles_.insert(uid); });
  Schedule();
}

void ControllerLoop::Schedule() {
  if (closed_ || scheduled_ || (bundles_.empty() && clusters_.empty())) return;
  scheduled_ = true;
  executor_->Post([this, alive = std::weak_ptr<int>(alive_)] {
    if (alive.expired()) return;
    scheduled_ = false;
    if (closed_) return;
    RunOne();
    Schedule();
  });
}

void ControllerLoop::RunOne() {
  ++runs_total_;
  if (!bundles_.empty()) {
    Uuid key = *bundles_.begin();
    bundles_.erase(bundles_.begin());
    RunBundle(key);
  } else if (!clusters_.empty()) {
    Uuid key = *clusters_.begin();
    clusters_.erase(clusters_.begin());
    RunCluster(key);
  }
}

void ControllerLoop::RunBundle(const Uuid& bundle) {
  auto outcome = bundle_controller_.Reconcile(*snapshot_, bundle, executor_->Now());
  if (!outcome.ok()) return Later(bundle, true, outcome.status().message());
  failures_.erase(bundle);
  if (*outcome == BundleController::Outcome::kStale) stale_bundles_.insert(bundle);
}

void ControllerLoop::RunCluster(const Uuid& cluster) {
  auto live = live_->Find(cluster);
  auto outcome = cluster_controller_.Reconcile(*snapshot_, cluster, live.get(), executor_->Now());
  if (!outcome.ok()) return Later(cluster, false, outcome.status().message());
  failures_.erase(cluster);
  if (*outcome == ClusterController::Outcome::kStale) stale_clusters_.insert(cluster);
}

void ControllerLoop::Later(const Uuid& key, bool is_bundle, absl::string_view error) {
  ++errors_total_;
  absl::Duration delay = failures_[key].backoff.Next(random_.Uniform());
  LogWarning("controller run failed",
             {{is_bundle ? "bundle" : "cluster", key.ToString()}, {"error", error}});
  ++delayed_;
  executor_->PostAfter(delay, [this, alive = std::weak_ptr<int>(alive_), key, is_bundle] {
    if (alive.expired()) return;
    --delayed_;
    (is_bundle ? bundles_ : clusters_).insert(key);
    Schedule();
  });
}

}  // namespace nave
