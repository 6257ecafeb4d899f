#include "agent/plan/ownership.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "agent/plan/order.h"

namespace nave {
namespace {

bool IsTerminating(const Value& live) {
  return live.Find("metadata", "deletionTimestamp") != nullptr;
}

std::string DescribeOwner(const OwnerMark& mark, const SpokeIdentity& who) {
  if (mark.hub_id != who.hub_id) return absl::StrCat("hub ", mark.hub_id);
  if (mark.cluster_uid != who.cluster_uid) {
    return absl::StrCat("this hub's cluster ", mark.cluster_uid);
  }
  return absl::StrCat("bundle ", mark.bundle_uid);
}

}  // namespace

OwnershipDecision DecideApply(const ApplySituation& situation, const Claimant& claimant) {
  if (situation.live == nullptr || situation.live->is_null()) return {Approach::kCreate, ""};
  const Value& live = *situation.live;
  const std::optional<OwnerMark> mark = ReadOwner(live);
  const Ownership owner = ClassifyOwner(mark, claimant.who, claimant.bundle);
  const bool known = situation.entry != nullptr && !situation.entry->uid.empty() &&
                     situation.entry->uid == live.StringAt("metadata", "uid");
  if (situation.contested && owner != Ownership::kOurs) {
    return {Approach::kRefuse, mark ? DescribeOwner(*mark, claimant.who) : "another bundle"};
  }
  if (known || owner == Ownership::kOurs ||
      (situation.handed_over && owner == Ownership::kOtherBundle)) {
    if (IsTerminating(live)) return {Approach::kWaitGone, ""};
    return {known ? Approach::kUpdate : Approach::kTakeBack, ""};
  }
  if (IsTerminating(live)) return {Approach::kWaitGone, ""};
  // Somebody else's or nobody's: as long as it is there, the bundle has what it asked for.
  if (situation.bare_namespace) return {Approach::kUseAsIs, ""};
  if (owner == Ownership::kNone) return {Approach::kAdopt, ""};
  return {Approach::kRefuse, DescribeOwner(*mark, claimant.who)};
}

Removal DecideRemoval(const Value* live, const InventoryEntry& entry, Propagation propagation,
                      const Claimant& claimant) {
  if (live == nullptr || live->is_null()) return Removal::kGone;
  if (ClassifyOwner(ReadOwner(*live), claimant.who, claimant.bundle) != Ownership::kOurs) {
    // The object that we owned is gone for good when another one has its place.
    const bool replaced = !entry.uid.empty() && entry.uid != live->StringAt("metadata", "uid");
    return replaced ? Removal::kGone : Removal::kForget;
  }
  if (propagation == Propagation::kOrphan ||
      IsProtectedNamespace(entry.key, claimant.agent_namespace)) {
    return Removal::kRelease;
  }
  const bool container = IsNamespace(entry.key) || IsCrd(entry.key);
  if (container && entry.origin == InventoryEntry::Origin::kAdopted) return Removal::kRelease;
  if (IsTerminating(*live)) return Removal::kWaitGone;
  return container ? Removal::kCheck : Removal::kDelete;
}

bool WouldDelete(const InventoryEntry& entry, Propagation propagation,
                 absl::string_view agent_namespace) {
  if (propagation == Propagation::kOrphan) return false;
  if (IsProtectedNamespace(entry.key, agent_namespace)) return false;
  const bool container = IsNamespace(entry.key) || IsCrd(entry.key);
  return !(container && entry.origin == InventoryEntry::Origin::kAdopted);
}

}  // namespace nave
