#include <cstring>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/error.h"
#include "common/base/uuid.h"
#include "hub/records/envelope.h"

namespace nave {
namespace {

constexpr size_t kKeyBytes = 32;

absl::Status BadLine(int line, absl::string_view what) {
  return MakeError(Reason::kConfigInvalid,
                   absl::StrCat("encryption keys: line ", line, ": ", what));
}

bool IsKeyHex(absl::string_view text) {
  if (text.size() != 2 * kKeyBytes) return false;
  for (char c : text) {
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(c))) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<EncryptionKeys> EncryptionKeys::Parse(absl::string_view text) {
  EncryptionKeys keys;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    uint32_t id = 0;
    if (words.size() != 2 || !absl::SimpleAtoi(words[0], &id) || id == 0) {
      return BadLine(number, "want a number from 1 on, and a key");
    }
    if (!IsKeyHex(words[1])) return BadLine(number, "want a key of 64 hexadecimal digits");
    if (!keys.keys_.emplace(id, absl::HexStringToBytes(words[1])).second) {
      return BadLine(number, absl::StrCat("key ", id, " stands twice"));
    }
    if (keys.writing_id_ == 0) keys.writing_id_ = id;
  }
  if (keys.keys_.empty())
    return MakeError(Reason::kConfigInvalid, "encryption keys: the file has no key");
  return keys;
}

std::string EncryptionKeys::NewFileText() {
  uint32_t id = 0;
  while (id == 0) std::memcpy(&id, RandomBytes(sizeof(id)).data(), sizeof(id));
  return absl::StrCat(
      "# Keys of what the hub encrypts at rest. The first one writes, all of them read. Without "
      "this\n",
      "# file the store's content is lost: keep a copy apart from the store's backup.\n", id, " ",
      absl::BytesToHexString(RandomBytes(kKeyBytes)), "\n");
}

const std::string* EncryptionKeys::Find(uint32_t id) const {
  auto it = keys_.find(id);
  return it == keys_.end() ? nullptr : &it->second;
}

}  // namespace nave
