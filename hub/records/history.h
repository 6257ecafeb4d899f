// Whether a point lies in the hub's history. Pure.
#ifndef NAVE_HUB_RECORDS_HISTORY_H_
#define NAVE_HUB_RECORDS_HISTORY_H_

#include <cstdint>
#include <vector>

#include "common/model/stream.h"
#include "hub/records/records.h"

namespace nave {

// `terms` sorted by number (the newest 10,000 are kept), `head` the store's newest revision. A
// point lies in the history when its term is known with its nonce, its revision is not above the
// next term's `after` (if there is a next term), and not above `head`. No point (At::IsNone) lies
// in every history. The hub id is the caller's to compare.
bool HistoryContains(const std::vector<TermRecord>& terms, const At& at, uint64_t head);

}  // namespace nave

#endif  // NAVE_HUB_RECORDS_HISTORY_H_
