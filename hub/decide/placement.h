// Which clusters a bundle runs on, and why. Pure.
#ifndef NAVE_HUB_DECIDE_PLACEMENT_H_
#define NAVE_HUB_DECIDE_PLACEMENT_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/digest.h"
#include "common/base/uuid.h"
#include "common/model/bundle.h"
#include "common/model/cluster.h"

namespace nave {

// What is known of one cluster when deciding.
struct PlacementCandidate {
  Uuid uid;
  std::string id;
  std::string cluster_set;
  StringMap labels;
  bool accepted = false;
  bool removing = false;
  bool cordoned = false;
  bool operator==(const PlacementCandidate&) const = default;
};

struct PlacementInput {
  // nullopt: delivered nowhere new (NotPlaced).
  std::optional<PlacementSpec> spec;
  // The bundle itself is being deleted: everybody leaves.
  bool deleting = false;
  // Sets that the project is bound to.
  std::set<std::string> bound_sets;
  std::vector<PlacementCandidate> clusters;
  // Incumbents of the previous decision: uid and id. A uid that is not among `clusters` was
  // forgotten.
  std::map<Uuid, std::string> incumbents;
  // HashNames of the spec that the previous decision was made from.
  Digest previous_names;
  // HashShrink of a shrink that a person confirmed.
  Digest confirmed_shrink;
};

// One step of the pipeline, for "why not there".
struct PlacementStep {
  std::string name;
  uint32_t in = 0;
  uint32_t out = 0;
  // An example: "edge-3 (env=staging)". Empty when nothing was dropped.
  std::string example;
  bool operator==(const PlacementStep&) const = default;
};

struct Leaver {
  Uuid uid;
  std::string id;
  // Reason word: LeftDecision, ClusterRemoved, BundleDeleted.
  std::string reason;
  // The record is gone: no tombstone is written, nobody could carry it out.
  bool forgotten = false;
  // A person named this very removal (remove, delete, confirm). Changed names let it pass the guard
  // of shrinks only.
  bool ordered = false;
  bool operator==(const Leaver&) const = default;
};

struct PlacementResult {
  // Everything that the bundle is to run on after the switch: uid -> id.
  std::map<Uuid, std::string> chosen;
  std::vector<Leaver> leavers;  // By id.
  // Set: `chosen` still has the leavers that wait for a confirmation, listed here (ids, sorted).
  std::vector<std::string> held;
  Digest held_hash;
  // The confirm was used up by this result.
  bool confirm_used = false;
  // Placed, NotPlaced, NoClusterMatches, RemovalHeld.
  std::string reason;
  std::string message;
  std::vector<PlacementStep> steps;
};

PlacementResult DecidePlacement(const PlacementInput& input);

// Why `id` is not chosen, as a sentence; empty when it is.
std::string ExplainCluster(const PlacementInput& input, const std::string& id);

// Of the placement's own names, sorted.
Digest HashNames(const std::optional<PlacementSpec>& spec);
// Of a list of clusters that would leave.
Digest HashShrink(const std::vector<std::string>& ids);

// Losing more than this many of `incumbents` in one step is held.
size_t ShrinkAllowed(size_t incumbents);

}  // namespace nave

#endif  // NAVE_HUB_DECIDE_PLACEMENT_H_
