#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/value/codec.h"
#include "common/value/utf8.h"
#include "common/value/yaml_scalar.h"

namespace nave {
namespace {

bool IsPlainCharacter(uint32_t c) {
  if (c < 0x80) return c >= 0x20 && c < 0x7f;
  return c > 0xa0 && c != 0x2028 && c != 0x2029 && c != 0xfeff && c != 0xfffe && c != 0xffff;
}

// Whether every character may stand in a scalar without escapes (`lines`: also line feeds).
bool IsPrintable(absl::string_view text, bool lines) {
  for (size_t at = 0; at < text.size();) {
    size_t size = Utf8CharacterSize(text, at);
    if (size == 0) return false;
    uint32_t character = Utf8Decode(text, at, size);
    if (!IsPlainCharacter(character) && !(lines && character == '\n')) return false;
    at += size;
  }
  return true;
}

bool IsPlain(absl::string_view text) {
  if (text.empty() || ResolvesToOther(text) || !IsPrintable(text, /*lines=*/false)) return false;
  constexpr absl::string_view kIndicators = "-?:,[]{}#&*!|>'\"%@`=<. ~";
  bool leading_ok = kIndicators.find(text[0]) == absl::string_view::npos ||
                    (text.size() > 1 && (text[0] == '.' || text[0] == '<') && text[1] != ' ');
  return leading_ok && text.back() != ' ' && text.back() != ':' && !absl::StrContains(text, ": ") &&
         !absl::StrContains(text, " #");
}

// Whether `text` can be a literal block: several lines, all printable, no leading space that would
// be taken as indentation, and no line of spaces at the end that the chomping would take.
bool IsBlock(absl::string_view text) {
  size_t end = text.find('\n');
  if (end == absl::string_view::npos || !IsPrintable(text, /*lines=*/true)) return false;
  size_t first = text.find_first_not_of('\n');
  return first != absl::string_view::npos && text[first] != ' ' && text.back() != ' ';
}

void AppendScalarText(std::string* out, absl::string_view text) {
  if (IsPlain(text)) {
    out->append(text.data(), text.size());
  } else {
    out->append(FormatJson(Value(text)));
  }
}

void AppendBlock(std::string* out, absl::string_view text, int indent) {
  bool ends_with_line = text.back() == '\n';
  bool ends_with_blank = absl::EndsWith(text, "\n\n");
  out->append(!ends_with_line ? "|-" : ends_with_blank ? "|+" : "|");
  if (ends_with_line) text.remove_suffix(1);
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    out->push_back('\n');
    if (!line.empty()) absl::StrAppend(out, std::string(indent, ' '), line);
  }
  out->push_back('\n');
}

// Appends `value` after "key:" or "-"; what follows on new lines stands at `indent`.
void AppendNode(std::string* out, const Value& value, int indent, bool in_list);

void AppendMembers(std::string* out, const Object& members, int indent, bool first_inline) {
  for (const auto& [key, value] : members) {
    if (!first_inline) out->append(indent, ' ');
    first_inline = false;
    AppendScalarText(out, key);
    out->push_back(':');
    AppendNode(out, value, indent, /*in_list=*/false);
  }
}

void AppendNode(std::string* out, const Value& value, int indent, bool in_list) {
  const Object* members = value.object();
  const Array* items = value.array();
  if (members != nullptr && !members->empty()) {
    out->append(in_list ? " " : "\n");
    AppendMembers(out, *members, indent + 2, /*first_inline=*/in_list);
  } else if (items != nullptr && !items->empty()) {
    // Lists stand at the column of their key, as kubectl writes them.
    int column = in_list ? indent + 2 : indent;
    bool first_inline = in_list;
    out->append(in_list ? " " : "\n");
    for (const Value& item : *items) {
      if (!first_inline) out->append(column, ' ');
      first_inline = false;
      out->push_back('-');
      AppendNode(out, item, column, /*in_list=*/true);
    }
  } else if (const std::string* text = value.string(); text != nullptr && IsBlock(*text)) {
    out->push_back(' ');
    AppendBlock(out, *text, indent + 2);
  } else {
    out->push_back(' ');
    if (text != nullptr) {
      AppendScalarText(out, *text);
    } else {
      out->append(FormatJson(value));
    }
    out->push_back('\n');
  }
}

}  // namespace

std::string FormatYaml(const Value& value) {
  std::string out;
  if (const Object* members = value.object(); members != nullptr && !members->empty()) {
    AppendMembers(&out, *members, 0, /*first_inline=*/false);
  } else if (const Array* items = value.array(); items != nullptr && !items->empty()) {
    for (const Value& item : *items) {
      out.push_back('-');
      AppendNode(&out, item, 0, /*in_list=*/true);
    }
  } else {
    out = FormatJson(value);
    out.push_back('\n');
  }
  return out;
}

}  // namespace nave
