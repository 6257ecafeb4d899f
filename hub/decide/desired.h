// What one cluster must run, by the records alone. Pure.
#ifndef NAVE_HUB_DECIDE_DESIRED_H_
#define NAVE_HUB_DECIDE_DESIRED_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/base/digest.h"
#include "common/base/uuid.h"
#include "common/model/stream.h"
#include "hub/fleet/snapshot.h"

namespace nave {

struct DesiredAssignment {
  // projects/p/bundles/b
  std::string name;
  uint64_t revision_number = 0;
  Digest digest;
  // Bytes of listing and objects.
  uint64_t size = 0;
  // A person confirmed the removals of this very version on this cluster.
  bool confirmed = false;
  bool operator==(const DesiredAssignment&) const = default;
};

struct DesiredTombstone {
  Tombstone tombstone;
  uint64_t mod_revision = 0;
};

// Assignments and the tombstones in force, by bundle uid.
struct DesiredSet {
  std::map<Uuid, DesiredAssignment> assignments;
  std::map<Uuid, DesiredTombstone> tombstones;
};

// The transaction that decides a revision comes after the one that stores it, so a snapshot that
// has the decision has the revision too.
DesiredSet ComputeDesired(const FleetSnapshot& snapshot, const Uuid& cluster);

// The assignment of one bundle to one cluster; nullopt when it is not decided.
std::optional<DesiredAssignment> ComputeAssignment(const FleetSnapshot& snapshot,
                                                   const Uuid& cluster, const Uuid& bundle);

// Whether an order to remove is to be carried out: its head (or a later one) is current, and the
// current decision does not contain the cluster. One without a head always is.
bool TombstoneInForce(const FleetSnapshot& snapshot, const TombstoneRecord& tombstone);

// Root over the assignments: what an agent that holds exactly this has.
Digest RootOf(const DesiredSet& desired);

}  // namespace nave

#endif  // NAVE_HUB_DECIDE_DESIRED_H_
