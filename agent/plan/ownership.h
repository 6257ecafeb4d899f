// What may be done with one object, given how it is found on the spoke. Pure.
#ifndef NAVE_AGENT_PLAN_OWNERSHIP_H_
#define NAVE_AGENT_PLAN_OWNERSHIP_H_

#include <string>

#include "absl/strings/string_view.h"
#include "agent/desired/desired.h"
#include "agent/plan/marks.h"
#include "common/base/uuid.h"
#include "common/value/value.h"

namespace nave {

// Who asks, and for what.
struct Claimant {
  SpokeIdentity who;
  Uuid bundle;
  // The agent's own namespace, never deleted.
  std::string agent_namespace;
};

// How to apply an object that was read because the inventory does not vouch for it.
enum class Approach {
  kCreate,    // Absent: apply with resourceVersion "1".
  kUpdate,    // The one that the inventory names: apply.
  kTakeBack,  // Bears our own mark, or is handed over to us: apply, Created.
  kAdopt,     // Nobody's: dry-run, and apply only if nothing but our marks changes.
  kUseAsIs,   // A namespace that is only asked to be there, and is.
  kWaitGone,  // Being deleted.
  kRefuse,    // Owned by another bundle or hub.
};

struct OwnershipDecision {
  Approach approach = Approach::kCreate;
  // For kRefuse: who owns it.
  std::string owner;
};

// `live`: null when absent. `entry`: nullptr when not in the inventory. `bare_namespace`:
// IsBareNamespace of the manifest. `handed_over`: the inventory entry was moved from another key
// whose mark the object may still bear. `contested`: another key's inventory has it as well, so the
// mark alone decides.
struct ApplySituation {
  const Value* live = nullptr;
  const InventoryEntry* entry = nullptr;
  bool bare_namespace = false;
  bool handed_over = false;
  bool contested = false;
};
OwnershipDecision DecideApply(const ApplySituation& situation, const Claimant& claimant);

// How to remove an object of the inventory that was just read.
enum class Removal {
  kGone,      // Absent: the deletion is confirmed.
  kForget,    // Not the object that we own any more: leave it, drop the entry.
  kWaitGone,  // Being deleted already.
  kRelease,   // Take our marks off and drop the entry.
  kCheck,     // A namespace or CRD: delete only if nothing of others is in it, else release.
  kDelete,
};
Removal DecideRemoval(const Value* live, const InventoryEntry& entry, Propagation propagation,
                      const Claimant& claimant);

// Whether the removal of this entry would delete something, as far as the inventory tells (what the
// guard counts).
bool WouldDelete(const InventoryEntry& entry, Propagation propagation,
                 absl::string_view agent_namespace);

}  // namespace nave

#endif  // NAVE_AGENT_PLAN_OWNERSHIP_H_
