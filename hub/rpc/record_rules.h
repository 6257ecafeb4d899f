// What each kind of record asks for beyond its form: rights, and references to other records. All
// by one snapshot; pure.
#ifndef NAVE_HUB_RPC_RECORD_RULES_H_
#define NAVE_HUB_RPC_RECORD_RULES_H_

#include <string>

#include "absl/status/status.h"
#include "common/model/bundle.h"
#include "common/model/cluster.h"
#include "common/model/tenancy.h"
#include "hub/auth/authorize.h"
#include "hub/fleet/live.h"
#include "hub/fleet/snapshot.h"

namespace nave {

// The right without which a record is not seen. Of an event: by the set of the cluster that it is
// about, as the snapshot has it.
struct RightNeeded {
  Role role = Role::kViewer;
  Scope scope;
};
RightNeeded NeededToRead(const FleetSnapshot& snapshot, const Project& project);
RightNeeded NeededToRead(const FleetSnapshot& snapshot, const ClusterSet& cluster_set);
RightNeeded NeededToRead(const FleetSnapshot& snapshot, const Cluster& cluster);
RightNeeded NeededToRead(const FleetSnapshot& snapshot, const RoleBinding& binding);
RightNeeded NeededToRead(const FleetSnapshot& snapshot, const JoinToken& token);
RightNeeded NeededToRead(const FleetSnapshot& snapshot, const Bundle& bundle);
RightNeeded NeededToRead(const FleetSnapshot& snapshot, const Event& event);

// PERMISSION_DENIED. `before` null: it is created; `after` null: it is deleted.
absl::Status CheckRights(const Rights& rights, const Project* before, const Project* after);
absl::Status CheckRights(const Rights& rights, const ClusterSet* before, const ClusterSet* after);
absl::Status CheckRights(const Rights& rights, const Cluster* before, const Cluster* after);
absl::Status CheckRights(const Rights& rights, const RoleBinding* before, const RoleBinding* after);
absl::Status CheckRights(const Rights& rights, const JoinToken* before, const JoinToken* after);
absl::Status CheckRights(const Rights& rights, const Bundle* before, const Bundle* after);

// INVALID_FIELD: names what does not exist. SET_IN_USE, PROJECT_NOT_EMPTY.
absl::Status CheckReferences(const FleetSnapshot& snapshot, const Project* before,
                             const Project* after);
absl::Status CheckReferences(const FleetSnapshot& snapshot, const ClusterSet* before,
                             const ClusterSet* after);
absl::Status CheckReferences(const FleetSnapshot& snapshot, const Cluster* before,
                             const Cluster* after);
absl::Status CheckReferences(const FleetSnapshot& snapshot, const RoleBinding* before,
                             const RoleBinding* after);
absl::Status CheckReferences(const FleetSnapshot& snapshot, const JoinToken* before,
                             const JoinToken* after);
absl::Status CheckReferences(const FleetSnapshot& snapshot, const Bundle* before,
                             const Bundle* after);

// Fills in what is derived when a record is read.
void Derive(const FleetSnapshot& snapshot, const LiveTable::Map& live, absl::Time now,
            Project* project);
void Derive(const FleetSnapshot& snapshot, const LiveTable::Map& live, absl::Time now,
            ClusterSet* cluster_set);
void Derive(const FleetSnapshot& snapshot, const LiveTable::Map& live, absl::Time now,
            Cluster* cluster);
void Derive(const FleetSnapshot& snapshot, const LiveTable::Map& live, absl::Time now,
            RoleBinding* binding);
void Derive(const FleetSnapshot& snapshot, const LiveTable::Map& live, absl::Time now,
            Bundle* bundle);

}  // namespace nave

#endif  // NAVE_HUB_RPC_RECORD_RULES_H_
