#include "cli/output/text.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace nave::cli {
namespace {

std::string TwoUnits(int64_t big, absl::string_view big_unit, int64_t small,
                     absl::string_view small_unit) {
  return small == 0 ? absl::StrCat(big, big_unit) : absl::StrCat(big, big_unit, small, small_unit);
}

}  // namespace

std::string FormatAge(absl::Duration age) {
  int64_t seconds = std::max<int64_t>(0, absl::ToInt64Seconds(age));
  int64_t minutes = seconds / 60;
  int64_t hours = minutes / 60;
  int64_t days = hours / 24;
  if (seconds < 120) return absl::StrCat(seconds, "s");
  if (minutes < 10) return TwoUnits(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return absl::StrCat(minutes, "m");
  if (hours < 8) return TwoUnits(hours, "h", minutes % 60, "m");
  if (hours < 48) return absl::StrCat(hours, "h");
  if (days < 8) return TwoUnits(days, "d", hours % 24, "h");
  if (days < 730) return absl::StrCat(days, "d");
  return TwoUnits(days / 365, "y", days % 365, "d");
}

std::string FormatAgeOf(absl::Time time, absl::Time now) {
  return time == absl::InfinitePast() ? "-" : FormatAge(now - time);
}

std::string FormatAgo(absl::Time time, absl::Time now) {
  return time == absl::InfinitePast() ? "never" : absl::StrCat(FormatAge(now - time), " ago");
}

std::string FormatBytes(uint64_t bytes) {
  static constexpr absl::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double amount = static_cast<double>(bytes);
  size_t unit = 0;
  while (amount >= 1024 && unit + 1 < std::size(kUnits)) {
    amount /= 1024;
    ++unit;
  }
  // At most one decimal, and none where it says nothing.
  std::string digits = absl::StrFormat("%.*f", amount < 10 && unit > 0 ? 1 : 0, amount);
  if (digits.size() > 2 && digits.substr(digits.size() - 2) == ".0")
    digits.resize(digits.size() - 2);
  return absl::StrCat(digits, kUnits[unit]);
}

std::string FormatCpu(uint64_t millis) {
  if (millis % 1000 == 0 || millis >= 10000) return absl::StrCat(millis / 1000);
  return absl::StrFormat("%.1f", static_cast<double>(millis) / 1000);
}

std::string Count(uint64_t number, absl::string_view one, absl::string_view many) {
  if (number == 1) return absl::StrCat("1 ", one);
  return many.empty() ? absl::StrCat(number, " ", one, "s") : absl::StrCat(number, " ", many);
}

std::string PrintableText(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    auto c = static_cast<unsigned char>(text[i]);
    // C1 controls are C2 80 to C2 9F in UTF-8.
    bool c1 = c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (c1) {
      out += '?';
      ++i;
    } else if (c == '\n' || c == '\t' || c == '\r') {
      out += ' ';
    } else {
      out += c < 0x20 || c == 0x7f ? '?' : text[i];
    }
  }
  return out;
}

size_t TextWidth(absl::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

bool ParseTimeSpan(absl::string_view text, absl::Duration* out) {
  int64_t seconds = 0;
  if (absl::SimpleAtoi(text, &seconds)) {
    *out = absl::Seconds(seconds);
    return true;
  }
  return absl::ParseDuration(text, out) && *out != absl::InfiniteDuration() &&
         *out != -absl::InfiniteDuration();
}

}  // namespace nave::cli
