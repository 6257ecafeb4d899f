// The ends of a cluster's life: a removal that is complete, what a forgotten one leaves in the
// store, retired uids whose time is over.
#ifndef NAVE_HUB_CONTROLLERS_CLUSTER_CONTROLLER_H_
#define NAVE_HUB_CONTROLLERS_CLUSTER_CONTROLLER_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/uuid.h"
#include "hub/controllers/control_store.h"
#include "hub/fleet/live.h"
#include "hub/fleet/snapshot.h"

namespace nave {

// Level-triggered, one cluster at a time, on the controllers' executor.
class ClusterController {
 public:
  enum class Outcome { kDone, kWrote, kStale };
  explicit ClusterController(ControlStore* store) : store_(store) {}

  // `live` may be null.
  absl::StatusOr<Outcome> Reconcile(const FleetSnapshot& snapshot, const Uuid& cluster,
                                    const ClusterLive* live, absl::Time now);

 private:
  absl::StatusOr<Outcome> FinishRemoval(const FleetSnapshot& snapshot,
                                        const Versioned<Cluster>& cluster, const ClusterLive* live,
                                        absl::Time now);
  absl::StatusOr<Outcome> DropForgotten(const FleetSnapshot& snapshot, const Uuid& cluster,
                                        absl::Time now);
  absl::StatusOr<Outcome> Commit(ControlTxn txn);

  ControlStore* const store_;
};

// Whether everything is off the spoke: no decision has the cluster, no tombstone is left, and a
// full status of the live session names no key. A cluster whose agent never enrolled has nothing.
bool RemovalIsComplete(const FleetSnapshot& snapshot, const Cluster& cluster,
                       const ClusterLive* live);

}  // namespace nave

#endif  // NAVE_HUB_CONTROLLERS_CLUSTER_CONTROLLER_H_
