// Label selectors in the Kubernetes grammar: a=b, c==d, e!=f, g in (x,y), h notin (z), i, !j. Pure.
#ifndef NAVE_COMMON_MODEL_SELECTOR_H_
#define NAVE_COMMON_MODEL_SELECTOR_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/model/meta.h"

namespace nave {

class Selector {
 public:
  enum class Operator { kIn, kNotIn, kExists, kDoesNotExist };
  struct Requirement {
    std::string key;
    Operator op = Operator::kExists;
    // Sorted. One for `=` and `!=`.
    std::vector<std::string> values;
    bool operator==(const Requirement&) const = default;
  };

  // Matches everything.
  Selector() = default;

  // Empty text matches everything. Errors name `field` (INVALID_FIELD) and the place in the text.
  static absl::StatusOr<Selector> Parse(absl::string_view field, absl::string_view text);

  // All requirements hold. As in Kubernetes, `!=` and `notin` also match when the key is absent.
  bool Matches(const StringMap& labels) const;

  // The requirements in a canonical text that parses to the same selector.
  std::string ToString() const;

  const std::vector<Requirement>& requirements() const { return requirements_; }
  bool operator==(const Selector&) const = default;

 private:
  std::vector<Requirement> requirements_;
};

// Rules of Kubernetes labels. The text says what is wrong; empty: nothing.
std::string CheckLabelKey(absl::string_view key);
std::string CheckLabelValue(absl::string_view value);

}  // namespace nave

#endif  // NAVE_COMMON_MODEL_SELECTOR_H_
