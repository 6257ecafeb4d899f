#include "tests/faultproxy/orders.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace nave {
namespace {

using Kind = ProxyOrder::Kind;

enum class Argument { kNone, kSwitch, kNumber };

struct Row {
  const char* name;
  Kind kind;
  Argument argument;
  bool directed;
};

constexpr Row kRows[] = {
    {"cut", Kind::kCut, Argument::kNone, false},
    {"reset", Kind::kReset, Argument::kNone, false},
    {"freeze", Kind::kFreeze, Argument::kNone, false},
    {"stall", Kind::kStall, Argument::kSwitch, true},
    {"refuse", Kind::kRefuse, Argument::kSwitch, false},
    {"delay", Kind::kDelay, Argument::kNumber, true},
    {"rate", Kind::kRate, Argument::kNumber, false},
    {"cut-after", Kind::kCutAfter, Argument::kNumber, true},
    {"heal", Kind::kHeal, Argument::kNone, false},
    {"count", Kind::kCount, Argument::kNone, false},
};

bool ParseArgument(const Row& row, absl::string_view word, ProxyOrder* order) {
  if (row.argument == Argument::kNumber) {
    return absl::SimpleAtoi(word, &order->number) && order->number >= 0;
  }
  order->on = word == "on";
  return word == "on" || word == "off";
}

}  // namespace

bool ParseProxyOrder(absl::string_view line, ProxyOrder* order, std::string* problem) {
  std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipWhitespace());
  for (const Row& row : kRows) {
    if (words.empty() || words[0] != row.name) continue;
    *order = {};
    order->kind = row.kind;
    size_t next = 1;
    if (row.argument != Argument::kNone) {
      if (words.size() < 2 || !ParseArgument(row, words[1], order)) {
        *problem = absl::StrCat(row.name, ": want ",
                                row.argument == Argument::kSwitch ? "on or off" : "a number");
        return false;
      }
      next = 2;
    }
    if (row.directed && next < words.size()) {
      absl::string_view direction = words[next++];
      order->up = direction != "down";
      order->down = direction != "up";
      if (direction != "up" && direction != "down" && direction != "both") next = words.size() + 1;
    }
    if (next == words.size()) return true;
    *problem = absl::StrCat(row.name, ": too many words, or not up, down or both");
    return false;
  }
  *problem = absl::StrCat("unknown order: ", line);
  return false;
}

}  // namespace nave
