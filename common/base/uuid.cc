#include "common/base/uuid.h"

#include <openssl/rand.h>

#include <cstdlib>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace nave {

std::string Uuid::ToString() const {
  std::string hex = absl::BytesToHexString(View());
  return absl::StrCat(hex.substr(0, 8), "-", hex.substr(8, 4), "-", hex.substr(12, 4), "-",
                      hex.substr(16, 4), "-", hex.substr(20));
}

std::optional<Uuid> Uuid::Parse(absl::string_view text) {
  if (text.size() != 36) return std::nullopt;
  std::string hex;
  for (size_t i = 0; i < text.size(); ++i) {
    bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (is_dash != (text[i] == '-')) return std::nullopt;
    if (is_dash) continue;
    bool is_hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f') ||
                  (text[i] >= 'A' && text[i] <= 'F');
    if (!is_hex) return std::nullopt;
    hex.push_back(text[i]);
  }
  return FromBytes(absl::HexStringToBytes(hex));
}

std::optional<Uuid> Uuid::FromBytes(absl::string_view raw) {
  Uuid uuid;
  if (raw.size() != uuid.bytes.size()) return std::nullopt;
  std::memcpy(uuid.bytes.data(), raw.data(), raw.size());
  return uuid;
}

Uuid Uuid::Random() {
  Uuid uuid = *FromBytes(RandomBytes(16));
  uuid.bytes[6] = (uuid.bytes[6] & 0x0f) | 0x40;
  uuid.bytes[8] = (uuid.bytes[8] & 0x3f) | 0x80;
  return uuid;
}

std::string RandomBytes(size_t size) {
  std::string bytes(size, '\0');
  // Without random numbers there are no keys and no uids: nothing sensible can go on.
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(size)) != 1)
    abort();
  return bytes;
}

}  // namespace nave
