// Ids of rows in the history: revision and place in the transaction in one number.
#ifndef NAVE_HUB_STORE_SQLITE_IDS_H_
#define NAVE_HUB_STORE_SQLITE_IDS_H_

#include <cstdint>

#include "hub/store/store.h"

namespace nave {

inline constexpr int kIdPlaceBits = 7;
static_assert(kTxnWritesMax <= (1 << kIdPlaceBits));

inline int64_t FirstIdOf(Revision revision) {
  return static_cast<int64_t>(revision << kIdPlaceBits);
}
inline int64_t LastIdOf(Revision revision) { return FirstIdOf(revision + 1) - 1; }
inline Revision RevisionOfId(int64_t id) { return static_cast<Revision>(id) >> kIdPlaceBits; }

}  // namespace nave

#endif  // NAVE_HUB_STORE_SQLITE_IDS_H_
