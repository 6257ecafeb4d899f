#include "common/value/number.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace nave {

Value NumberFromDouble(double number) {
  if (number >= -9223372036854775808.0 && number < 9223372036854775808.0 &&
      number == std::trunc(number)) {
    return Value(static_cast<int64_t>(number));
  }
  return Value(number);
}

std::optional<Value> NumberFromDecimal(absl::string_view text) {
  const char* end = text.data() + text.size();
  int64_t integer = 0;
  auto as_integer = std::from_chars(text.data(), end, integer);
  if (as_integer.ec == std::errc() && as_integer.ptr == end) return Value(integer);
  double number = 0;
  auto as_double = std::from_chars(text.data(), end, number);
  if (as_double.ec == std::errc::result_out_of_range) {
    // from_chars says the same for too small as for too large; too small is zero.
    size_t exponent = text.find_first_of("eE");
    bool small = exponent == absl::string_view::npos
                     ? text[0] == '0' || text.substr(0, 2) == "-0"
                     : exponent + 1 < text.size() && text[exponent + 1] == '-';
    if (small) return Value(0);
    return std::nullopt;
  }
  if (as_double.ec != std::errc() || as_double.ptr != end) return std::nullopt;
  return NumberFromDouble(number);
}

void AppendDouble(std::string* out, double number) {
  if (!std::isfinite(number)) {
    out->append("null");  // JSON has no such numbers, and no parser of ours makes one.
    return;
  }
  Value value = NumberFromDouble(number);
  if (value.is_int()) {
    absl::StrAppend(out, value.IntOr(0));
    return;
  }
  char buffer[32];
  auto result = std::to_chars(buffer, buffer + sizeof(buffer), number);
  out->append(buffer, result.ptr);
}

}  // namespace nave
