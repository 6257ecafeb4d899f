// Runs the controllers: which bundle or cluster is looked at when.
#ifndef NAVE_HUB_CONTROLLERS_CONTROLLER_LOOP_H_
#define NAVE_HUB_CONTROLLERS_CONTROLLER_LOOP_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>

#include "absl/time/time.h"
#include "common/base/backoff.h"
#include "common/base/uuid.h"
#include "common/runtime/executor.h"
#include "hub/controllers/bundle_controller.h"
#include "hub/controllers/cluster_controller.h"
#include "hub/controllers/control_store.h"
#include "hub/decide/placement.h"
#include "hub/fleet/live.h"
#include "hub/fleet/snapshot.h"

namespace nave {

// Keys wait in sets, so a burst of changes of one key is one run; one key is run per task of
// `executor`, on the newest snapshot; a key whose run failed waits with back-off and delays no
// other. Runs block on the store: give it an executor of its own.
class ControllerLoop {
 public:
  ControllerLoop(Executor* executor, ControlStore* store, LiveTable* live,
                 const BundleController::Options& options, uint64_t seed);
  ~ControllerLoop();

  // Any thread.
  void OnSnapshot(FleetSnapshotPtr snapshot, FleetChanges changes);
  void OnLiveChanged(const Uuid& cluster);

  // On the executor: nothing runs any more.
  void Close() { closed_ = true; }

  // On the executor: nothing is waiting. For tests.
  bool idle() const { return bundles_.empty() && clusters_.empty() && delayed_ == 0; }
  uint64_t runs_total() const { return runs_total_; }
  uint64_t errors_total() const { return errors_total_; }

 private:
  struct Failure {
    Backoff backoff{absl::Milliseconds(200), absl::Seconds(30)};
  };
  void Take(FleetSnapshotPtr snapshot, const FleetChanges& changes);
  // Whether something that placement looks at changed.
  bool PlacementChanged(const Uuid& cluster);
  void Schedule();
  void RunOne();
  void RunBundle(const Uuid& bundle);
  void RunCluster(const Uuid& cluster);
  void Later(const Uuid& key, bool is_bundle, absl::string_view error);

  Executor* const executor_;
  LiveTable* const live_;
  BundleController bundle_controller_;
  ClusterController cluster_controller_;
  SplitMix random_;
  FleetSnapshotPtr snapshot_;
  std::set<Uuid> bundles_;
  std::set<Uuid> clusters_;
  // Lost a compare: run again on a newer snapshot.
  std::set<Uuid> stale_bundles_;
  std::set<Uuid> stale_clusters_;
  std::map<Uuid, Failure> failures_;
  std::map<Uuid, PlacementCandidate> seen_;
  // Clusters on their way out; read by other threads.
  std::atomic<int> leaving_ = 0;
  size_t delayed_ = 0;
  bool scheduled_ = false;
  bool closed_ = false;
  std::atomic<uint64_t> runs_total_{0};
  std::atomic<uint64_t> errors_total_{0};
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace nave

#endif  // NAVE_HUB_CONTROLLERS_CONTROLLER_LOOP_H_
