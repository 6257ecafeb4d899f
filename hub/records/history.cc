#include "hub/records/history.h"

#include <algorithm>

namespace nave {

bool HistoryContains(const std::vector<TermRecord>& terms, const At& at, uint64_t head) {
  if (at.IsNone()) return true;
  auto term =
      std::lower_bound(terms.begin(), terms.end(), at.term,
                       [](const TermRecord& t, uint64_t number) { return t.number < number; });
  if (term == terms.end() || term->number != at.term || term->nonce != at.nonce) return false;
  auto next = term + 1;
  if (next != terms.end() && at.revision > next->after) return false;
  return at.revision <= head;
}

}  // namespace nave
