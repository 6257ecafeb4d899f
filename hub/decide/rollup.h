// From what agents report to what people see: per cluster x bundle, per cluster, per bundle. Pure.
//
// A parent is never greener than a child; what is not ready has a reason; unknown is shown as
// unknown, with its age; a status about another version than the desired one counts for nothing.
#ifndef NAVE_HUB_DECIDE_ROLLUP_H_
#define NAVE_HUB_DECIDE_ROLLUP_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/model/assignment.h"
#include "common/model/bundle.h"
#include "common/model/cluster.h"
#include "hub/fleet/live.h"
#include "hub/fleet/snapshot.h"

namespace nave {

// One bundle on one cluster.
struct AssignmentView {
  Uuid bundle;
  // projects/p/bundles/b
  std::string name;
  Uuid cluster;
  std::string cluster_id;
  // Revision number that the cluster is to run; 0 for a key that is not decided.
  uint64_t revision = 0;
  Digest desired;
  Digest reported;
  // The current decision has it. False: it is being removed, or the hub does not know the key.
  bool decided = false;
  Phase phase = Phase::kPending;
  Health health = Health::kUnknown;
  ObjectCounts counts;
  std::vector<ObjectStatus> not_ok;
  uint32_t not_ok_total = 0;
  std::string reason;
  std::string message;
  absl::Time since = absl::InfinitePast();
  // When the hub last heard of it; InfinitePast: never.
  absl::Time as_of = absl::InfinitePast();
  // The status is of the live session and about the desired version.
  bool current = false;

  bool ready() const { return current && phase == Phase::kApplied && health == Health::kHealthy; }
};

// All assignments of one cluster: decided ones, tombstoned ones, and keys that only the agent
// knows. By name. `live` may be null.
std::vector<AssignmentView> AssignmentsOfCluster(const FleetSnapshot& snapshot, const Uuid& cluster,
                                                 const ClusterLive* live);

// The same of one bundle over all clusters, by cluster id.
std::vector<AssignmentView> AssignmentsOfBundle(const FleetSnapshot& snapshot, const Uuid& bundle,
                                                const LiveTable::Map& live);

// `record.status` with everything that is derived filled in.
ClusterStatus DeriveClusterStatus(const FleetSnapshot& snapshot, const Cluster& record,
                                  const ClusterLive* live, absl::Time now);
BundleStatus DeriveBundleStatus(const FleetSnapshot& snapshot, const Bundle& record,
                                const LiveTable::Map& live, absl::Time now);

}  // namespace nave

#endif  // NAVE_HUB_DECIDE_ROLLUP_H_
