// A YAML stream as text: its encoding, line ends and documents.
#ifndef NAVE_COMMON_VALUE_YAML_SPLIT_H_
#define NAVE_COMMON_VALUE_YAML_SPLIT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace nave {

struct YamlChunk {
  // UTF-8 with '\n' as the only line end, no byte-order mark.
  std::string text;
  // Line of its first character in the stream, from 1.
  int line = 1;
};

// Splits at lines that begin with `---` (more on that line than a comment is an error, whatever
// stands around it). Chunks without content are left out. MANIFEST_INVALID for ill-formed UTF-8 or
// UTF-16 and raw control characters, with the line.
absl::StatusOr<std::vector<YamlChunk>> SplitYamlStream(absl::string_view text);

}  // namespace nave

#endif  // NAVE_COMMON_VALUE_YAML_SPLIT_H_
