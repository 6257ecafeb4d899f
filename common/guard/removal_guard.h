// The mass-delete guard: what may be removed from a cluster without a person's confirmation. The
// same function on hub (for the answer of a write and for dry runs) and agent (which enforces it).
#ifndef NAVE_COMMON_GUARD_REMOVAL_GUARD_H_
#define NAVE_COMMON_GUARD_REMOVAL_GUARD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/uuid.h"
#include "common/manifest/object_key.h"

namespace nave {

// More objects than this AND a larger share than this are held.
inline constexpr uint32_t kRemovalGuardObjects = 50;
inline constexpr uint32_t kRemovalGuardPercent = 20;

// What one key of a cluster is ordered to delete and has not deleted yet.
struct RemovalOrder {
  Uuid key;
  // A person's order: counts nothing and is never held.
  bool confirmed = false;
  // Leaves the objects on the cluster: counts nothing and is never held.
  bool orphan = false;
  uint32_t objects = 0;
  // Those of them for which IsVolume says so.
  std::vector<ObjectKey> volumes;
};

// Why a key waits for a confirmation.
struct RemovalHold {
  Uuid key;
  // Together with the other unconfirmed orders it is too much.
  bool mass = false;
  // It would delete these volumes.
  std::vector<ObjectKey> volumes;
};

struct RemovalVerdict {
  // Ordered, unconfirmed and not yet deleted, over all keys.
  uint64_t ordered = 0;
  // What the inventories of the cluster hold.
  uint64_t owned = 0;
  // Those that wait, in the order of the input. Everything else may go.
  std::vector<RemovalHold> held;

  // nullptr: not held.
  const RemovalHold* Find(const Uuid& key) const;
};

// PersistentVolume or PersistentVolumeClaim.
bool IsVolume(const ObjectKey& key);

// Adds `object` to what `order` deletes.
void CountRemoval(const ObjectKey& object, RemovalOrder& order);

// Pure. `owned`: objects in all inventories of the cluster, those to be removed included.
RemovalVerdict EvaluateRemovalGuard(const std::vector<RemovalOrder>& orders, uint64_t owned);

// For people: "120 of 300 objects would be removed", "PersistentVolumeClaim shop/data would be
// removed".
std::string DescribeHold(const RemovalHold& hold, const RemovalVerdict& verdict);

}  // namespace nave

#endif  // NAVE_COMMON_GUARD_REMOVAL_GUARD_H_
