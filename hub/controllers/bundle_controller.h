// Brings each bundle's decision to what its placement says: placement, shrink guard, tombstones,
// the switch of the decision, and at the end the removal of a deleted bundle's records.
#ifndef NAVE_HUB_CONTROLLERS_BUNDLE_CONTROLLER_H_
#define NAVE_HUB_CONTROLLERS_BUNDLE_CONTROLLER_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/uuid.h"
#include "hub/controllers/control_store.h"
#include "hub/decide/placement.h"
#include "hub/fleet/snapshot.h"

namespace nave {

// The placement's view of one bundle at one snapshot. Pure.
PlacementInput MakePlacementInput(const FleetSnapshot& snapshot, const Bundle& bundle);

// Level-triggered, one bundle at a time, on the controllers' executor. Every transaction compares
// what it was decided from, so a run on an old snapshot writes nothing and is repeated.
class BundleController {
 public:
  struct Options {
    // Revisions that are kept beside those that a cluster is to run.
    uint32_t history = 10;
  };
  BundleController(ControlStore* store, const Options& options)
      : store_(store), options_(options) {}

  enum class Outcome {
    kDone,   // Nothing was to do.
    kWrote,  // Something was written; its echo in a later snapshot triggers the next run.
    kStale,  // A compare failed: a newer snapshot is on its way.
  };
  absl::StatusOr<Outcome> Reconcile(const FleetSnapshot& snapshot, const Uuid& bundle,
                                    absl::Time now);

 private:
  struct Plan;
  absl::StatusOr<Outcome> Switch(const Plan& plan);
  absl::StatusOr<Outcome> WriteTombstones(const Plan& plan);
  absl::StatusOr<Outcome> WritePages(const Plan& plan);
  absl::StatusOr<Outcome> SwitchHead(const Plan& plan);
  absl::StatusOr<Outcome> CleanUp(const FleetSnapshot& snapshot, const Bundle& bundle,
                                  const Decision* decision);
  absl::StatusOr<Outcome> Finish(const FleetSnapshot& snapshot, const Versioned<Bundle>& bundle,
                                 const Decision* decision, absl::Time now);
  absl::StatusOr<Outcome> DropOrphans(const FleetSnapshot& snapshot, const Uuid& bundle);
  absl::StatusOr<Outcome> Commit(ControlTxn txn);

  ControlStore* const store_;
  const Options options_;
};

}  // namespace nave

#endif  // NAVE_HUB_CONTROLLERS_BUNDLE_CONTROLLER_H_
