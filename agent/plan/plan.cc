#include "agent/plan/plan.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "agent/plan/order.h"
#include "agent/plan/ownership.h"

namespace nave {
namespace {

ApplyItem PlanOne(const PlanInput& input, size_t index) {
  const ListedObject& object = (*input.listed)[index];
  ApplyItem item{.index = index, .action = ApplyItem::Action::kApply, .other = std::nullopt};
  if (!object.resolved) {
    item.action = ApplyItem::Action::kWaitKind;
    return item;
  }
  auto entry = input.owned->find(object.key);
  const bool owned = entry != input.owned->end();
  item.other = input.owner(object.key);
  if (item.other) {
    if (!item.other->lists) {
      item.action = ApplyItem::Action::kTakeOver;
    } else {
      item.action = owned ? ApplyItem::Action::kContested : ApplyItem::Action::kOwnedByOther;
    }
    return item;
  }
  if (owned && entry->second.progress == InventoryEntry::Progress::kApplied &&
      entry->second.sent == object.body) {
    item.action = ApplyItem::Action::kKeep;
  }
  return item;
}

}  // namespace

std::vector<ApplyItem> PlanApply(const PlanInput& input) {
  std::vector<ApplyItem> items;
  if (input.listed == nullptr || input.assignment->state == KeyState::kRemoving) return items;
  std::vector<size_t> order(input.listed->size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return AppliesBefore((*input.listed)[a].key, (*input.listed)[b].key);
  });
  const bool only_owned = input.assignment->state == KeyState::kNotDesired;
  for (size_t index : order) {
    if (only_owned && !input.owned->contains((*input.listed)[index].key)) continue;
    ApplyItem item = PlanOne(input, index);
    // Whoever else wants it will take it over from a key that nobody desires.
    if (only_owned && item.other) continue;
    items.push_back(std::move(item));
  }
  return items;
}

bool MayBeListed(const ObjectKey& entry, const std::vector<ListedObject>& listed) {
  return std::any_of(listed.begin(), listed.end(), [&](const ListedObject& object) {
    if (object.key == entry) return true;
    return !object.resolved && object.key.group == entry.group && object.key.kind == entry.kind &&
           object.key.name == entry.name;
  });
}

std::vector<RemoveItem> PlanRemovals(const PlanInput& input) {
  std::vector<RemoveItem> items;
  const Assignment& assignment = *input.assignment;
  const bool all = assignment.state == KeyState::kRemoving;
  if (!all && (assignment.state != KeyState::kPresent || input.listed == nullptr)) return items;
  std::set<ObjectKey> listed;
  std::vector<ListedObject> unresolved;
  if (!all) {
    for (const ListedObject& object : *input.listed) {
      listed.insert(object.key);
      if (!object.resolved) unresolved.push_back(object);
    }
  }
  const Propagation propagation = all ? assignment.propagation : Propagation::kDelete;
  for (const auto& [key, entry] : *input.owned) {
    if (!all && (listed.contains(key) || MayBeListed(key, unresolved))) continue;
    RemoveItem item{.key = key,
                    .action = RemoveItem::Action::kRemove,
                    .deletes = true,
                    .other = input.wanter(key)};
    if (item.other) item.action = RemoveItem::Action::kHandOver;
    item.deletes = !item.other && WouldDelete(entry, propagation, input.agent_namespace);
    items.push_back(std::move(item));
  }
  std::sort(items.begin(), items.end(),
            [](const RemoveItem& a, const RemoveItem& b) { return AppliesBefore(b.key, a.key); });
  return items;
}

RemovalGate DecideRemovals(const RemovalConditions& conditions) {
  if (conditions.state == KeyState::kNotDesired) return RemovalGate::kOnHold;
  if (conditions.on_hold) return RemovalGate::kOnHold;
  if (conditions.pending) return RemovalGate::kPending;
  if (conditions.held) return RemovalGate::kHeld;
  if (conditions.state == KeyState::kPresent && !conditions.all_applied) {
    return RemovalGate::kPruneWaiting;
  }
  return RemovalGate::kGo;
}

}  // namespace nave
