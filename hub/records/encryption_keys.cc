#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>
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
  return MakeError(Reason::kConfigInvalid, absl::StrCat("encryption keys: line ", line, ": ", what));
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
  if (keys.keys_.empty()) return MakeError(Reason::kConfigInvalid, "encryption keys: the file has no key");
  return keys;
}

absl::StatusOr<EncryptionKeys> EncryptionKeys::Load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return MakeError(Reason::kKeyMissing, absl::StrCat("encryption keys: ", path, ": ", strerror(errno)));
  }
  std::ostringstream text;
  text << file.rdbuf();
  absl::StatusOr<EncryptionKeys> keys = Parse(text.str());
  if (!keys.ok()) return Prepend(keys.status(), path);
  return keys;
}

absl::StatusOr<EncryptionKeys> EncryptionKeys::Create(const std::string& path) {
  std::string text = NewFileText();
  int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) {
    Reason reason = errno == EEXIST ? Reason::kAlreadyExists : Reason::kConfigInvalid;
    return MakeError(reason, absl::StrCat("encryption keys: ", path, ": ", strerror(errno)));
  }
  bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fsync(fd) == 0;
  int error = errno;
  close(fd);
  if (written) return Parse(text);
  // Half a key file would be taken for a whole one at the next start.
  unlink(path.c_str());
  return MakeError(error == ENOSPC ? Reason::kDiskFull : Reason::kConfigInvalid,
                   absl::StrCat("encryption keys: ", path, ": ", strerror(error)));
}

std::string EncryptionKeys::NewFileText() {
  return absl::StrCat("# Keys of what the hub encrypts at rest. The first one writes, all of them read. Without this\n",
                      "# file the store's content is lost: keep a copy apart from the store's backup.\n", "1 ",
                      absl::BytesToHexString(RandomBytes(kKeyBytes)), "\n");
}

const std::string* EncryptionKeys::Find(uint32_t id) const {
  auto it = keys_.find(id);
  return it == keys_.end() ? nullptr : &it->second;
}

}  // namespace nave
