// What one assignment asks for on the spoke: desired objects + inventory -> ordered actions. Pure:
// no I/O, no clock.
#ifndef NAVE_AGENT_PLAN_PLAN_H_
#define NAVE_AGENT_PLAN_PLAN_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "agent/desired/desired.h"
#include "common/base/digest.h"
#include "common/base/uuid.h"
#include "common/manifest/object_key.h"

namespace nave {

// One object of the listing as it would be sent here.
struct ListedObject {
  // After namespace defaulting; as listed while the kind is not served.
  ObjectKey key;
  // Whether the API server serves the kind (so that scope and body are known).
  bool resolved = false;
  // BodyDigest; none while not resolved.
  Digest body;
};

// Another key of this agent that has to do with an object.
struct OtherKey {
  Uuid key;
  std::string name;
  // It is Present and its present content lists the object.
  bool lists = false;
  bool operator==(const OtherKey&) const = default;
};

struct ApplyItem {
  enum class Action {
    kKeep,          // Applied with this very body.
    kApply,         // Apply; needs an intention in the inventory first when it is not there.
    kTakeOver,      // The same, and the entry of `other` moves here first.
    kContested,     // Two inventories have it: read, and the mark decides.
    kWaitKind,      // The kind is not served (yet).
    kOwnedByOther,  // `other` owns it and wants it: the first owner wins.
  };
  size_t index = 0;  // In the listing.
  Action action = Action::kApply;
  std::optional<OtherKey> other;
};

struct RemoveItem {
  enum class Action {
    kRemove,    // Delete or release it, as DecideRemoval says of the live object.
    kHandOver,  // `other` lists it: that key takes the entry; nothing is sent.
  };
  ObjectKey key;
  Action action = Action::kRemove;
  // Whether the guard counts it.
  bool deletes = true;
  std::optional<OtherKey> other;
};

struct PlanInput {
  const Assignment* assignment = nullptr;
  const std::vector<ListedObject>* listed = nullptr;  // nullptr: no content is held.
  const Inventory* owned = nullptr;
  absl::string_view agent_namespace;
  // Another key whose inventory has the object, or that is about to write it; the one that wants it
  // if there are two.
  absl::FunctionRef<std::optional<OtherKey>(const ObjectKey&)> owner;
  // Another Present key whose content lists the object although it does not own it.
  absl::FunctionRef<std::optional<OtherKey>(const ObjectKey&)> wanter;
};

// What to apply, in order. Present: every listed object. NotDesired: those of them that are owned
// (healing goes on, nothing new is made). Removing: nothing.
std::vector<ApplyItem> PlanApply(const PlanInput& input);

// What to remove, in the order of removing. Present with content: what is owned and no longer
// listed. Removing: everything. NotDesired, and Present without content: nothing, whatever is or is
// not listed. Says nothing about when: see DecideRemovals.
std::vector<RemoveItem> PlanRemovals(const PlanInput& input);

// Whether an inventory entry is (or, while scopes are unknown, may be) one of the listed objects.
bool MayBeListed(const ObjectKey& entry, const std::vector<ListedObject>& listed);

// May removals that were planned start?
enum class RemovalGate {
  kGo,
  kPruneWaiting,  // Not every listed object is applied.
  kHeld,          // The guard wants a confirmation.
  kOnHold,        // The agent is in HOLD.
  kPending,       // A newer version of the key is on its way.
};
struct RemovalConditions {
  KeyState state = KeyState::kPresent;
  bool all_applied = false;
  bool held = false;
  bool on_hold = false;
  bool pending = false;
};
RemovalGate DecideRemovals(const RemovalConditions& conditions);

}  // namespace nave

#endif  // NAVE_AGENT_PLAN_PLAN_H_
