// Label and field selectors of lists and watches. Pure.
#ifndef NAVE_TESTS_KUBESIM_SELECTORS_H_
#define NAVE_TESTS_KUBESIM_SELECTORS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/value/value.h"

namespace nave::kubesim {

class Selector {
 public:
  // nullopt with `error` set when one of the texts cannot be read.
  static std::optional<Selector> Parse(absl::string_view labels, absl::string_view fields,
                                       std::string* error);
  bool Matches(const Value& object) const;
  bool MatchesAll() const { return labels_.empty() && fields_.empty(); }

 private:
  struct Requirement {
    enum class Operator { kIn, kNotIn, kExists, kNotExists };
    std::string key;
    Operator op = Operator::kExists;
    std::vector<std::string> values;
  };
  static bool ParseRequirement(absl::string_view text, Requirement* out);
  bool MatchesLabel(const Requirement& requirement, const Value* labels) const;

  std::vector<Requirement> labels_;
  std::vector<Requirement> fields_;
};

// spec.selector of a workload ({matchLabels, matchExpressions}) or of a Service (plain labels)
// against `labels`.
bool LabelSelectorMatches(const Value& selector, const Value* labels);

}  // namespace nave::kubesim

#endif  // NAVE_TESTS_KUBESIM_SELECTORS_H_
