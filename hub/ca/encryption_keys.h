// The key file that the store's values are encrypted under.
//
//   # comment
//   <key id, 8 hexadecimal digits> <key, 32 bytes as 64 hexadecimal digits>
//
// The first key writes; all of them read, so that a new one can be put in front of the old one.
#ifndef NAVE_HUB_CA_ENCRYPTION_KEYS_H_
#define NAVE_HUB_CA_ENCRYPTION_KEYS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace nave {

struct EncryptionKey {
  // 8 lower-case hexadecimal digits; stored with every value.
  std::string id;
  // 32 bytes, AES-256. Never logged.
  std::string key;
  bool operator==(const EncryptionKey&) const = default;
};

std::string FormatEncryptionKeys(const std::vector<EncryptionKey>& keys);
// CONFIG_INVALID names the line. At least one key; no id twice.
absl::StatusOr<std::vector<EncryptionKey>> ParseEncryptionKeys(absl::string_view text);
EncryptionKey RandomEncryptionKey();

}  // namespace nave

#endif  // NAVE_HUB_CA_ENCRYPTION_KEYS_H_
