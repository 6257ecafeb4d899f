// What a YAML 1.1 scalar means, as go-yaml v2 (the parser of kubectl) decides it.
#ifndef NAVE_COMMON_VALUE_YAML_SCALAR_H_
#define NAVE_COMMON_VALUE_YAML_SCALAR_H_

#include <string>

#include "absl/strings/string_view.h"
#include "common/value/value.h"

namespace nave {

struct ScalarResult {
  Value value;
  // Empty: fine. Else what is wrong, for a person.
  std::string error;
  // An unknown tag that was ignored.
  bool tag_ignored = false;
};

// `tag` as yaml-cpp gives it: "?" or empty for a plain scalar, "!" for a quoted or block one, else
// the tag itself. Octal in both forms, hexadecimal, binary and underscores are integers;
// sexagesimal numbers and timestamps stay strings; integers beyond int64 become doubles; .nan, .inf
// and !!binary are errors.
ScalarResult ResolveScalar(absl::string_view text, absl::string_view tag);

// Whether `text` written without quotes would be read as something else than this string, by this
// or a common other parser (sexagesimal numbers and dates count).
bool ResolvesToOther(absl::string_view text);

}  // namespace nave

#endif  // NAVE_COMMON_VALUE_YAML_SCALAR_H_
