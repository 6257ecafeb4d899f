#include "common/value/yaml_scalar.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/value/number.h"

namespace nave {
namespace {

constexpr absl::string_view kYamlTagPrefix = "tag:yaml.org,2002:";

template <size_t N>
bool IsOneOf(absl::string_view text, const char* const (&words)[N]) {
  for (const char* word : words) {
    if (text == word) return true;
  }
  return false;
}

// The words that are no strings when they stand plain.
std::optional<Value> ResolveWord(absl::string_view text) {
  static constexpr const char* kNull[] = {"", "~", "null", "Null", "NULL"};
  static constexpr const char* kTrue[] = {"y",    "Y",    "yes", "Yes", "YES", "true",
                                          "True", "TRUE", "on",  "On",  "ON"};
  static constexpr const char* kFalse[] = {"n",     "N",     "no",  "No",  "NO", "false",
                                           "False", "FALSE", "off", "Off", "OFF"};
  if (IsOneOf(text, kNull)) return Value();
  if (IsOneOf(text, kTrue)) return Value(true);
  if (IsOneOf(text, kFalse)) return Value(false);
  return std::nullopt;
}

bool IsNonFinite(absl::string_view text) {
  static constexpr const char* kWords[] = {".nan",  ".NaN",  ".NAN",  ".inf",  ".Inf",  ".INF",
                                           "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF"};
  return IsOneOf(text, kWords);
}

// Digits of a base after sign and prefix; nullopt when they are none or beyond 64 bits.
std::optional<Value> ParseDigits(absl::string_view digits, int base, bool negative) {
  uint64_t magnitude = 0;
  const char* end = digits.data() + digits.size();
  auto result = std::from_chars(digits.data(), end, magnitude, base);
  if (digits.empty() || result.ec != std::errc() || result.ptr != end) return std::nullopt;
  constexpr uint64_t kLowest = uint64_t{1} << 63;
  if (negative) {
    if (magnitude > kLowest) return std::nullopt;
    return Value(static_cast<int64_t>(~magnitude + 1));
  }
  if (magnitude >= kLowest) return Value(static_cast<double>(magnitude));
  return Value(static_cast<int64_t>(magnitude));
}

std::optional<Value> ParseInteger(absl::string_view text, bool* is_signed) {
  bool negative = absl::StartsWith(text, "-");
  *is_signed = negative || absl::StartsWith(text, "+");
  if (*is_signed) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    char prefix = text[1];
    base = prefix == 'x' || prefix == 'X' ? 16 : prefix == 'b' || prefix == 'B' ? 2 : 8;
    bool has_letter = base != 8 || prefix == 'o' || prefix == 'O';
    text.remove_prefix(has_letter ? 2 : 1);
  }
  return ParseDigits(text, base, negative);
}

// [-+]? ( .digits | digits [ . digits? ] ) ( [eE] [-+]? digits )?
bool LooksLikeFloat(absl::string_view text) {
  size_t at = 0;
  auto peek = [&] { return at < text.size() ? text[at] : ' '; };
  auto digits = [&] {
    size_t from = at;
    while (absl::ascii_isdigit(peek())) ++at;
    return at > from;
  };
  if (peek() == '-' || peek() == '+') ++at;
  bool whole = digits();
  if (peek() == '.') {
    ++at;
    if (!digits() && !whole) return false;
  } else if (!whole) {
    return false;
  }
  if (peek() == 'e' || peek() == 'E') {
    ++at;
    if (peek() == '-' || peek() == '+') ++at;
    if (!digits()) return false;
  }
  return at == text.size();
}

std::optional<Value> ParseFloat(absl::string_view text) {
  if (!LooksLikeFloat(text)) return std::nullopt;
  std::string decimal(text[0] == '+' ? text.substr(1) : text);
  // Beyond the range of a double it stays a string, as in go-yaml.
  return NumberFromDecimal(decimal);
}

// nullopt: a string.
std::optional<Value> ResolvePlain(absl::string_view text) {
  if (std::optional<Value> word = ResolveWord(text)) return word;
  char first = text[0];
  if (first == '.') return ParseFloat(text);
  if (!absl::ascii_isdigit(first) && first != '-' && first != '+') return std::nullopt;
  std::string plain = absl::StrReplaceAll(text, {{"_", ""}});
  if (plain.empty()) return std::nullopt;
  bool is_signed = false;
  std::optional<Value> integer = ParseInteger(plain, &is_signed);
  // Only an unsigned integer may use the 64th bit; with a sign it goes the way of a float.
  if (integer.has_value() && !(is_signed && integer->is_double())) return integer;
  return ParseFloat(plain);
}

ScalarResult ResolveTagged(absl::string_view text, absl::string_view type) {
  if (type == "str" || type == "timestamp") return {Value(text), "", false};
  if (type == "binary") {
    return {{}, "!!binary is not supported: write the base64 text itself, in quotes", false};
  }
  std::optional<Value> plain = ResolvePlain(text);
  bool fits = (type == "int" && plain.has_value() && plain->is_int()) ||
              (type == "float" && plain.has_value() && plain->is_number()) ||
              (type == "bool" && plain.has_value() && plain->is_bool()) ||
              (type == "null" && plain.has_value() && plain->is_null());
  if (fits) return {*std::move(plain), "", false};
  bool known = type == "int" || type == "float" || type == "bool" || type == "null";
  if (!known) return {Value(text), "", true};
  return {
      {}, absl::StrCat("\"", text, "\" is not of the type that its tag !!", type, " says"), false};
}

}  // namespace

ScalarResult ResolveScalar(absl::string_view text, absl::string_view tag) {
  if (tag == "!") return {Value(text), "", false};
  bool plain = tag.empty() || tag == "?";
  if (!plain && !absl::StartsWith(tag, kYamlTagPrefix)) return {Value(text), "", true};
  bool number = plain || absl::EndsWith(tag, ":float");
  if (number && IsNonFinite(text)) {
    return {{}, absl::StrCat(text, " is a number that JSON does not have"), false};
  }
  if (!plain) return ResolveTagged(text, tag.substr(kYamlTagPrefix.size()));
  std::optional<Value> value = ResolvePlain(text);
  return {value.has_value() ? *std::move(value) : Value(text), "", false};
}

bool ResolvesToOther(absl::string_view text) {
  if (IsNonFinite(text) || ResolvePlain(text).has_value()) return true;
  if (text == "<<" || text == "=") return true;
  // 12:30 and 2001-01-01 are numbers and dates for other parsers of YAML 1.1.
  size_t at = text[0] == '-' || text[0] == '+' ? 1 : 0;
  size_t digits = at;
  while (digits < text.size() && (absl::ascii_isdigit(text[digits]) || text[digits] == '_'))
    ++digits;
  if (digits == at || digits == text.size()) return false;
  bool only_digits = text.find_first_not_of("0123456789:-_.TtZz +") == absl::string_view::npos;
  return only_digits && (text[digits] == ':' || text[digits] == '-');
}

}  // namespace nave
