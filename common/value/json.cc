#include <cstdint>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/value/codec.h"
#include "common/value/json_reader.h"
#include "common/value/number.h"
#include "common/value/utf8.h"

namespace nave {
namespace {

absl::StatusOr<Value> ParseOne(absl::string_view text, bool lenient) {
  JsonReader reader(text, lenient);
  Value value;
  RETURN_IF_ERROR(reader.Read(&value));
  if (!reader.AtEnd()) {
    return MakeError(
        Reason::kManifestInvalid,
        absl::StrCat("line ", reader.line(), ": text after the end of the JSON value"));
  }
  return value;
}

// What server-side apply's YAML 1.1 parser would refuse or fold away when it stands there raw.
bool NeedsEscape(uint32_t character) {
  return character < 0x20 || (character >= 0x7f && character <= 0x9f) || character == 0x2028 ||
         character == 0x2029 || character == 0xfeff || character == 0xfffe || character == 0xffff;
}

void AppendEscaped(std::string* out, uint32_t character) {
  switch (character) {
    case '\b':
      out->append("\\b");
      return;
    case '\f':
      out->append("\\f");
      return;
    case '\n':
      out->append("\\n");
      return;
    case '\r':
      out->append("\\r");
      return;
    case '\t':
      out->append("\\t");
      return;
    default:
      absl::StrAppend(out, "\\u", absl::Hex(character, absl::kZeroPad4));
  }
}

void AppendString(std::string* out, absl::string_view text) {
  out->push_back('"');
  size_t plain_from = 0;
  size_t at = 0;
  auto flush = [&] { out->append(text.data() + plain_from, at - plain_from); };
  while (at < text.size()) {
    unsigned char c = static_cast<unsigned char>(text[at]);
    if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
      ++at;
      continue;
    }
    size_t size = Utf8CharacterSize(text, at);
    uint32_t character = size == 0 ? 0xfffd : Utf8Decode(text, at, size);
    if (size > 1 && !NeedsEscape(character)) {
      at += size;
      continue;
    }
    flush();
    if (size == 0) {
      Utf8Append(out, character);
      size = 1;
    } else if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(static_cast<char>(c));
    } else {
      AppendEscaped(out, character);
    }
    at += size;
    plain_from = at;
  }
  flush();
  out->push_back('"');
}

// `indent` < 0: canonical form, without spaces.
void Append(std::string* out, const Value& value, int indent) {
  auto new_line = [&](int depth) {
    if (indent < 0) return;
    out->push_back('\n');
    out->append(2 * depth, ' ');
  };
  int inner = indent < 0 ? indent : indent + 1;
  if (const Object* members = value.object()) {
    out->push_back('{');
    for (auto it = members->begin(); it != members->end(); ++it) {
      if (it != members->begin()) out->push_back(',');
      new_line(inner);
      AppendString(out, it->first);
      out->append(indent < 0 ? ":" : ": ");
      Append(out, it->second, inner);
    }
    if (!members->empty()) new_line(indent);
    out->push_back('}');
  } else if (const Array* items = value.array()) {
    out->push_back('[');
    for (size_t i = 0; i < items->size(); ++i) {
      if (i > 0) out->push_back(',');
      new_line(inner);
      Append(out, (*items)[i], inner);
    }
    if (!items->empty()) new_line(indent);
    out->push_back(']');
  } else if (const std::string* text = value.string()) {
    AppendString(out, *text);
  } else if (value.is_null()) {
    out->append("null");
  } else if (value.is_bool()) {
    out->append(value.BoolOr(false) ? "true" : "false");
  } else if (value.is_int()) {
    absl::StrAppend(out, value.IntOr(0));
  } else {
    AppendDouble(out, value.DoubleOr(0));
  }
}

}  // namespace

absl::StatusOr<Value> ParseJson(absl::string_view text) {
  return ParseOne(text, /*lenient=*/false);
}

absl::StatusOr<Value> ParseJsonLenient(absl::string_view text) {
  return ParseOne(text, /*lenient=*/true);
}

std::string FormatJson(const Value& value) {
  std::string out;
  Append(&out, value, -1);
  return out;
}

std::string FormatJsonPretty(const Value& value) {
  std::string out;
  Append(&out, value, 0);
  return out;
}

}  // namespace nave
