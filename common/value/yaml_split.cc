#include "common/value/yaml_split.h"

#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/value/utf8.h"

namespace nave {
namespace {

constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

absl::StatusOr<std::string> DecodeUtf16(absl::string_view text, bool big_endian) {
  std::string out;
  out.reserve(text.size());
  auto unit = [&](size_t at) -> uint32_t {
    uint32_t a = static_cast<unsigned char>(text[at]);
    uint32_t b = static_cast<unsigned char>(text[at + 1]);
    return big_endian ? (a << 8) | b : (b << 8) | a;
  };
  size_t at = 2;
  for (; at + 1 < text.size(); at += 2) {
    uint32_t character = unit(at);
    if (character >= 0xd800 && character <= 0xdfff) {
      bool paired = character < 0xdc00 && at + 3 < text.size() && unit(at + 2) >= 0xdc00 &&
                    unit(at + 2) <= 0xdfff;
      if (!paired) return MakeError(Reason::kManifestInvalid, "the text is not well-formed UTF-16");
      character = 0x10000 + ((character - 0xd800) << 10) + (unit(at + 2) - 0xdc00);
      at += 2;
    }
    Utf8Append(&out, character);
  }
  if (at != text.size()) {
    return MakeError(Reason::kManifestInvalid,
                     "the text is UTF-16 with half a character at its end");
  }
  return out;
}

// UTF-8 with '\n' line ends. Refuses what no document of either syntax may hold raw.
absl::StatusOr<std::string> Normalize(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  int line = 1;
  for (size_t at = 0; at < text.size();) {
    unsigned char c = static_cast<unsigned char>(text[at]);
    if (c == '\r' || c == '\n') {
      at += c == '\r' && at + 1 < text.size() && text[at + 1] == '\n' ? 2 : 1;
      out.push_back('\n');
      ++line;
      continue;
    }
    if (c < 0x20 && c != '\t') {
      return MakeError(
          Reason::kManifestInvalid,
          absl::StrCat("line ", line, ": raw control character 0x", absl::Hex(c, absl::kZeroPad2)));
    }
    size_t size = Utf8CharacterSize(text, at);
    if (size == 0) {
      return MakeError(
          Reason::kManifestInvalid,
          absl::StrCat("line ", line, ": byte 0x", absl::Hex(c, absl::kZeroPad2), " is not UTF-8"));
    }
    out.append(text.data() + at, size);
    at += size;
  }
  return out;
}

bool HasContent(absl::string_view chunk) {
  while (!chunk.empty()) {
    size_t end = chunk.find('\n');
    absl::string_view line = chunk.substr(0, end);
    size_t first = line.find_first_not_of(" \t");
    if (first != absl::string_view::npos && line[first] != '#') return true;
    chunk.remove_prefix(end == absl::string_view::npos ? chunk.size() : end + 1);
  }
  return false;
}

}  // namespace

absl::StatusOr<std::vector<YamlChunk>> SplitYamlStream(absl::string_view text) {
  std::string decoded;
  bool big_endian = absl::StartsWith(text, "\xfe\xff");
  if (big_endian || absl::StartsWith(text, "\xff\xfe")) {
    ASSIGN_OR_RETURN(decoded, DecodeUtf16(text, big_endian));
    text = decoded;
  }
  ASSIGN_OR_RETURN(std::string normal, Normalize(text));
  absl::string_view rest = normal;
  std::vector<YamlChunk> chunks;
  YamlChunk chunk;
  auto finish = [&](int next_line) {
    if (HasContent(chunk.text)) chunks.push_back(std::move(chunk));
    chunk = {"", next_line};
  };
  int number = 0;
  while (!rest.empty()) {
    ++number;
    size_t end = rest.find('\n');
    size_t size = end == absl::string_view::npos ? rest.size() : end + 1;
    absl::string_view line = rest.substr(0, size);
    rest.remove_prefix(size);
    absl::string_view unmarked = absl::StripPrefix(line, kByteOrderMark);
    if (!absl::StartsWith(unmarked, "---")) {
      // A mark is dropped where a document may begin; anywhere else it is content.
      bool at_start = chunk.text.empty();
      chunk.text.append((at_start ? unmarked : line).data(), (at_start ? unmarked : line).size());
      continue;
    }
    absl::string_view after = unmarked.substr(3);
    size_t first = after.find_first_not_of(" \t\n");
    if (first != absl::string_view::npos && after[first] != '#') {
      return MakeError(
          Reason::kManifestInvalid,
          absl::StrCat("line ", number,
                       ": nothing but a comment may follow the document separator ---"));
    }
    finish(number + 1);
  }
  finish(number + 1);
  return chunks;
}

}  // namespace nave
