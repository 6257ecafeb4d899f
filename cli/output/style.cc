#include "cli/output/style.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace nave::cli {
namespace {

bool DecideColor(const StyleInput& input) {
  if (input.color != ColorChoice::kAuto) return input.color == ColorChoice::kAlways;
  if (!input.no_color.empty()) return false;
  if (!input.force_color.empty()) return true;
  return input.is_terminal && input.term != "dumb";
}

}  // namespace

Style Style::Decide(const StyleInput& input) {
  std::string locale = absl::AsciiStrToLower(input.locale);
  bool utf8 = absl::StrContains(locale, "utf-8") || absl::StrContains(locale, "utf8");
  return Style(DecideColor(input), utf8 && !input.ascii);
}

std::string Style::Paint(Tone tone, absl::string_view text) const {
  absl::string_view code;
  switch (tone) {
    case Tone::kPlain:
      break;
    case Tone::kGood:
      code = "32";
      break;
    case Tone::kBusy:
      code = "33";
      break;
    case Tone::kBad:
      code = "31";
      break;
    case Tone::kFaint:
      code = "2";
      break;
    case Tone::kStrong:
      code = "1";
      break;
  }
  if (!color_ || code.empty() || text.empty()) return std::string(text);
  return absl::StrCat("\x1b[", code, "m", text, "\x1b[0m");
}

absl::string_view Style::Mark(Tone tone) const {
  switch (tone) {
    case Tone::kGood:
      return unicode_ ? "✔" : "+";
    case Tone::kBusy:
      return unicode_ ? "‼" : "!";
    case Tone::kBad:
      return unicode_ ? "✗" : "x";
    default:
      return unicode_ ? "·" : "-";
  }
}

}  // namespace nave::cli
