// Numbers as JSON text: one rule for what is an integer.
#ifndef NAVE_COMMON_VALUE_NUMBER_H_
#define NAVE_COMMON_VALUE_NUMBER_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/value/value.h"

namespace nave {

// A double as a value: an integer when it is one and fits int64 (Kubernetes writes 1e3 and 1.0 as
// 1000 and 1, so the next reader sees integers), else a double. Negative zero is 0.
Value NumberFromDouble(double number);

// A decimal number: digits with optional sign, fraction and exponent (the caller has checked the
// grammar; no '+' in front). Exact when it fits int64. nullopt when it is too large for a double.
std::optional<Value> NumberFromDecimal(absl::string_view text);

// The shortest text that reads back as the same double.
void AppendDouble(std::string* out, double number);

}  // namespace nave

#endif  // NAVE_COMMON_VALUE_NUMBER_H_
