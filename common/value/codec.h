// JSON and YAML in and out. The only place that sees a JSON or a YAML library.
#ifndef NAVE_COMMON_VALUE_CODEC_H_
#define NAVE_COMMON_VALUE_CODEC_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/value/value.h"

namespace nave {

// One JSON text (trailing white space allowed). Refuses duplicate keys (DUPLICATE_KEY with the
// path), invalid UTF-8, numbers out of range and nesting deeper than 1,000. Integers that fit int64
// stay exact.
absl::StatusOr<Value> ParseJson(absl::string_view text);

// The same for answers of an API server, which may hold what we would not accept from users:
// duplicate keys, the last one wins. Faster.
absl::StatusOr<Value> ParseJsonLenient(absl::string_view text);

// Canonical JSON: no spaces, keys sorted bytewise, and only what the YAML 1.1 parser behind
// server-side apply reads back unchanged: non-BMP characters raw, C0, 0x7f, C1, U+2028, U+2029,
// U+FEFF and U+FFFE as \uXXXX, `/` never escaped.
std::string FormatJson(const Value& value);

// The same with two spaces of indentation, for people.
std::string FormatJsonPretty(const Value& value);

// YAML for people and for `apply -f`: strings that another type could be read from are quoted.
std::string FormatYaml(const Value& value);

// One YAML document of a stream.
struct YamlDocument {
  Value value;
  // Line of the document's first content line in the text, from 1.
  int line = 1;
};

// A stream of YAML or JSON documents with the rules of kubectl (YAML 1.1 scalars as go-yaml v2
// resolves them; `---` at column 0 separates; concatenated JSON objects are allowed) and stricter
// where kubectl loses data: duplicate keys, invalid UTF-8, non-string keys that cannot be names,
// `!!binary`, .nan and .inf are errors (MANIFEST_INVALID or DUPLICATE_KEY) that name document and
// line. Empty, comment-only and null documents are skipped. A byte-order mark is dropped; UTF-16
// with one is read. Alias expansion is bounded. `warnings` (may be null) gets what is suspicious
// but accepted.
absl::StatusOr<std::vector<YamlDocument>> ParseYamlStream(absl::string_view text,
                                                          std::vector<std::string>* warnings);

}  // namespace nave

#endif  // NAVE_COMMON_VALUE_CODEC_H_
