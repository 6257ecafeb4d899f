// What people order about removals and history, as transactions. Pure: snapshot and live state in,
// transactions out; the caller commits them in order and stops at one whose compare fails (then it
// plans anew).
#ifndef NAVE_HUB_CONTROLLERS_ACTIONS_H_
#define NAVE_HUB_CONTROLLERS_ACTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hub/controllers/control_store.h"
#include "hub/decide/rollup.h"
#include "hub/fleet/live.h"
#include "hub/fleet/snapshot.h"

namespace nave {

// What a person must show to confirm the removals of one assignment that its agent holds:
// hexadecimal digest of the version whose removals are held; empty when nothing is held.
std::string ConfirmDigest(const AssignmentView& view);

// `navectl confirm BUNDLE [--cluster C]`. `shown`: the bundle's held hash (a shrink of its
// decision), or ConfirmDigest of an assignment; without `cluster` every cluster that holds removals
// of that digest. NOTHING_TO_CONFIRM, CONFIRMATION_STALE, NOT_FOUND.
absl::StatusOr<std::vector<ControlTxn>> PlanConfirm(const FleetSnapshot& snapshot,
                                                    const LiveTable::Map& live, const Uuid& bundle,
                                                    const std::string& cluster_id,
                                                    absl::string_view shown, absl::Time now);

// `hub adopt` (cluster empty: all) and `cluster adopt`: agents whose history is not ours follow our
// present state, in this term.
ControlTxn PlanAdopt(const FleetSnapshot& snapshot, const std::vector<Uuid>& clusters);

// Keys that the cluster holds and the hub does not know.
std::vector<AssignmentView> UnclaimedKeys(const FleetSnapshot& snapshot, const LiveTable::Map& live,
                                          const Uuid& cluster);
// `--remove-unclaimed` for one cluster: tombstones that name no decision.
std::vector<ControlTxn> PlanRemoveUnclaimed(const FleetSnapshot& snapshot,
                                            const LiveTable::Map& live, const Uuid& cluster,
                                            bool confirmed, absl::Time now);

// `cluster forget`: one transaction with record and audit; tombstones, status and session follow by
// the cluster's controller. `left_behind` gets the names of what stays on the spoke.
absl::StatusOr<ControlTxn> PlanForget(const FleetSnapshot& snapshot, const LiveTable::Map& live,
                                      const Uuid& cluster, absl::Time now,
                                      std::vector<std::string>* left_behind);

// `accept` of a cluster that this hub does not know: the record again, with the uid of the
// certificate. ALREADY_EXISTS when the id is taken; CLUSTER_STATE_CONFLICT while tombstones or the
// session of a forgotten one with that uid are left.
absl::StatusOr<ControlTxn> PlanAcceptUnknown(const FleetSnapshot& snapshot,
                                             const UnknownCluster& unknown, const std::string& id,
                                             const std::string& cluster_set, absl::Time now);

}  // namespace nave

#endif  // NAVE_HUB_CONTROLLERS_ACTIONS_H_
