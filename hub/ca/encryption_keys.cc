#include "hub/ca/encryption_keys.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/error.h"
#include "common/base/uuid.h"

namespace nave {
namespace {

constexpr size_t kIdDigits = 8;
constexpr size_t kKeyBytes = 32;

bool IsHex(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c)) || (c >= 'a' && c <= 'f');
  });
}

absl::Status BadLine(int number, absl::string_view rule) {
  // The line itself holds a key: it is not repeated.
  return MakeError(Reason::kConfigInvalid, absl::StrCat("key file, line ", number, ": ", rule));
}

}  // namespace

std::string FormatEncryptionKeys(const std::vector<EncryptionKey>& keys) {
  std::string text =
      "# Encrypts what the hub stores. Keep a copy apart from the store's backup: neither is of\n"
      "# use without the other. The first key writes, all of them read.\n";
  for (const EncryptionKey& key : keys) {
    absl::StrAppend(&text, key.id, " ", absl::BytesToHexString(key.key), "\n");
  }
  return text;
}

absl::StatusOr<std::vector<EncryptionKey>> ParseEncryptionKeys(absl::string_view text) {
  std::vector<EncryptionKey> keys;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line.front() == '#') continue;
    std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.size() != 2 || words[0].size() != kIdDigits || !IsHex(words[0])) {
      return BadLine(number, "must be a key id of 8 hexadecimal digits, a space and a key");
    }
    if (words[1].size() != 2 * kKeyBytes || !IsHex(words[1])) {
      return BadLine(number, "the key must be 64 lower-case hexadecimal digits");
    }
    bool twice = std::any_of(keys.begin(), keys.end(),
                             [&](const EncryptionKey& key) { return key.id == words[0]; });
    if (twice) return BadLine(number, absl::StrCat("key id ", words[0], " stands there twice"));
    keys.push_back({std::string(words[0]), absl::HexStringToBytes(words[1])});
  }
  if (keys.empty()) return MakeError(Reason::kConfigInvalid, "key file: holds no key");
  return keys;
}

EncryptionKey RandomEncryptionKey() {
  return {absl::BytesToHexString(RandomBytes(kIdDigits / 2)), RandomBytes(kKeyBytes)};
}

}  // namespace nave
