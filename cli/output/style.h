// Colour and glyphs, decided per stream. Pure. A tone never says anything that a word or a glyph
// does not say too.
#ifndef NAVE_CLI_OUTPUT_STYLE_H_
#define NAVE_CLI_OUTPUT_STYLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace nave::cli {

enum class Tone { kPlain, kGood, kBusy, kBad, kFaint, kStrong };

enum class ColorChoice { kAuto, kAlways, kNever };

// What decides about one stream.
struct StyleInput {
  bool is_terminal = false;
  ColorChoice color = ColorChoice::kAuto;
  bool ascii = false;       // --ascii.
  std::string no_color;     // $NO_COLOR
  std::string force_color;  // $FORCE_COLOR
  std::string term;         // $TERM
  std::string locale;       // $LC_ALL, else $LC_CTYPE, else $LANG.
};

class Style {
 public:
  // Plain ASCII.
  Style() = default;
  Style(bool color, bool unicode) : color_(color), unicode_(unicode) {}
  // Colour: --color, then NO_COLOR, then FORCE_COLOR, then whether it is a terminal other than
  // "dumb". Unicode: a UTF-8 locale without --ascii.
  static Style Decide(const StyleInput& input);

  std::string Paint(Tone tone, absl::string_view text) const;
  absl::string_view Mark(Tone tone) const;  // One column: ✔ ‼ ✗ or + ! x; "·" for the rest.
  absl::string_view Bullet() const { return unicode_ ? "•" : "-"; }
  absl::string_view Ellipsis() const { return unicode_ ? "…" : "..."; }

  bool color() const { return color_; }
  bool unicode() const { return unicode_; }

 private:
  bool color_ = false;
  bool unicode_ = false;
};

}  // namespace nave::cli

#endif  // NAVE_CLI_OUTPUT_STYLE_H_
