// "Did you mean": the nearest of the words that would have been right.
#ifndef NAVE_COMMON_BASE_NEAREST_WORD_H_
#define NAVE_COMMON_BASE_NEAREST_WORD_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace nave {

// The candidate with the fewest insertions, deletions, substitutions and swaps of neighbours, case
// ignored; the first of several. Empty when none is nearer than a third of the word's length (at
// least 2). Pure.
std::string NearestWord(absl::string_view word, const std::vector<std::string>& candidates);

}  // namespace nave

#endif  // NAVE_COMMON_BASE_NEAREST_WORD_H_
