#include "hub/decide/desired.h"

#include <vector>

#include "absl/strings/str_cat.h"

namespace nave {
namespace {

DesiredAssignment AssignmentOf(const BundleRevision& revision, const DecisionEntry& entry) {
  DesiredAssignment assignment;
  assignment.name = absl::StrCat("projects/", revision.project, "/bundles/", revision.bundle);
  assignment.revision_number = revision.number;
  assignment.digest = revision.listing;
  assignment.size = revision.bytes;
  // A confirm is void for any other digest or revision number than the one that was shown.
  assignment.confirmed =
      entry.confirmed_revision == revision.number && entry.confirmed_digest == revision.listing;
  return assignment;
}

}  // namespace

std::optional<DesiredAssignment> ComputeAssignment(const FleetSnapshot& snapshot,
                                                   const Uuid& cluster, const Uuid& bundle) {
  auto decision = snapshot.decisions.Find(bundle);
  auto revisions = snapshot.revisions.Find(bundle);
  if (decision == nullptr || revisions == nullptr) return std::nullopt;
  auto entry = decision->entries.find(cluster);
  if (entry == decision->entries.end()) return std::nullopt;
  auto revision = revisions->find(entry->second.revision);
  if (revision == revisions->end()) return std::nullopt;
  return AssignmentOf(revision->second, entry->second);
}

bool TombstoneInForce(const FleetSnapshot& snapshot, const TombstoneRecord& tombstone) {
  if (tombstone.head == 0) return true;
  auto decision = snapshot.decisions.Find(tombstone.bundle);
  // A decision goes after its last tombstone, so this is no complete order.
  if (decision == nullptr) return false;
  return decision->head.number >= tombstone.head && decision->entries.count(tombstone.cluster) == 0;
}

DesiredSet ComputeDesired(const FleetSnapshot& snapshot, const Uuid& cluster) {
  DesiredSet desired;
  if (auto assigned = snapshot.assigned.Find(cluster); assigned != nullptr) {
    for (const Uuid& bundle : *assigned) {
      auto assignment = ComputeAssignment(snapshot, cluster, bundle);
      if (assignment.has_value()) desired.assignments[bundle] = *std::move(assignment);
    }
  }
  if (auto tombstones = snapshot.tombstones.Find(cluster); tombstones != nullptr) {
    for (const auto& [bundle, stored] : *tombstones) {
      if (!TombstoneInForce(snapshot, stored.value)) continue;
      Tombstone tombstone{bundle, stored.value.reason, stored.value.propagation,
                          stored.value.confirmed};
      desired.tombstones[bundle] = {tombstone, stored.mod_revision};
    }
  }
  return desired;
}

Digest RootOf(const DesiredSet& desired) {
  std::vector<KeySetEntry> keys;
  keys.reserve(desired.assignments.size());
  for (const auto& [key, assignment] : desired.assignments) {
    keys.push_back({key, assignment.digest, assignment.confirmed, KeyState::kPresent});
  }
  return ComputeRoot(keys);
}

}  // namespace nave
