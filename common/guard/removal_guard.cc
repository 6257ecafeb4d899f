#include "common/guard/removal_guard.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace nave {

bool IsVolume(const ObjectKey& key) {
  return key.group.empty() &&
         (key.kind == "PersistentVolume" || key.kind == "PersistentVolumeClaim");
}

void CountRemoval(const ObjectKey& object, RemovalOrder& order) {
  ++order.objects;
  if (IsVolume(object)) order.volumes.push_back(object);
}

const RemovalHold* RemovalVerdict::Find(const Uuid& key) const {
  auto it =
      std::find_if(held.begin(), held.end(), [&](const RemovalHold& h) { return h.key == key; });
  return it == held.end() ? nullptr : &*it;
}

RemovalVerdict EvaluateRemovalGuard(const std::vector<RemovalOrder>& orders, uint64_t owned) {
  RemovalVerdict verdict;
  verdict.owned = owned;
  auto counts = [](const RemovalOrder& o) { return !o.confirmed && !o.orphan && o.objects > 0; };
  for (const RemovalOrder& order : orders) {
    if (counts(order)) verdict.ordered += order.objects;
  }
  const bool mass = verdict.ordered > kRemovalGuardObjects &&
                    verdict.ordered * 100 > owned * kRemovalGuardPercent;
  for (const RemovalOrder& order : orders) {
    if (!counts(order) || (!mass && order.volumes.empty())) continue;
    verdict.held.push_back({.key = order.key, .mass = mass, .volumes = order.volumes});
  }
  return verdict;
}

std::string DescribeHold(const RemovalHold& hold, const RemovalVerdict& verdict) {
  std::string text;
  if (hold.mass) {
    text = absl::StrCat(verdict.ordered, " of ", verdict.owned,
                        " objects of this cluster would be removed");
  }
  if (!hold.volumes.empty()) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", hold.volumes.front().ToString());
    if (hold.volumes.size() > 1) {
      absl::StrAppend(&text, " and ", hold.volumes.size() - 1, " more volumes");
    }
    absl::StrAppend(&text, " would be removed");
  }
  return text;
}

}  // namespace nave
