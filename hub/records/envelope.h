// What every stored value looks like: a small header that says how to read the payload, and the
// payload.
//
//   byte 0      format, now 1
//   byte 1      codec of the payload: 0 none, 1 zstd
//   bytes 2-5   id of the key that encrypts it, big-endian; 0: not encrypted
//   then        only when encrypted: 12 bytes nonce
//   then        the payload; when encrypted AES-256-GCM, with its 16 bytes tag at the end
//
// Encrypted values are bound to their place: the header and the store key are authenticated with
// them.
#ifndef NAVE_HUB_RECORDS_ENVELOPE_H_
#define NAVE_HUB_RECORDS_ENVELOPE_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace nave {

inline constexpr uint8_t kEnvelopeFormat = 1;
// What an envelope adds to an encrypted payload.
inline constexpr size_t kSealedOverhead = 6 + 12 + 16;
// Records larger than this are compressed. Below it the time is better spent elsewhere: status
// summaries are 2 KB.
inline constexpr size_t kCompressAbove = 4 << 10;
// No value says that it is larger when decompressed.
inline constexpr size_t kRecordBytesMax = 16 << 20;

// Keys for what is encrypted at rest. Several may read, one writes. Immutable; thread-safe.
class EncryptionKeys {
 public:
  // One "ID HEX" a line: a number from 1 to 4294967295 and 64 hexadecimal digits. The first one
  // writes. Empty lines and those that begin with # are skipped. CONFIG_INVALID names the line,
  // never what stands in it.
  static absl::StatusOr<EncryptionKeys> Parse(absl::string_view text);
  // The text of a file with one new key, of a random id: after a loss of the file a new one does
  // not pass for it.
  static std::string NewFileText();

  uint32_t writing_id() const { return writing_id_; }
  // nullptr when there is no such key. 32 bytes.
  const std::string* Find(uint32_t id) const;
  bool operator==(const EncryptionKeys&) const = default;

 private:
  uint32_t writing_id_ = 0;
  std::map<uint32_t, std::string> keys_;
};

// A value that is not encrypted; compressed when that helps.
std::string WrapPlain(absl::string_view payload);
// STORE_TOO_NEW for a newer format, STORE_CORRUPT for anything that WrapPlain did not make.
absl::StatusOr<std::string> UnwrapPlain(absl::string_view value);

// A value that is encrypted, with a random nonce. `store_key` is where it will stand.
std::string Seal(const EncryptionKeys& keys, absl::string_view store_key,
                 absl::string_view payload);
// KEY_MISSING names the key's id; STORE_TOO_NEW; STORE_CORRUPT when it was changed or moved.
absl::StatusOr<std::string> Unseal(const EncryptionKeys& keys, absl::string_view store_key,
                                   absl::string_view value);

}  // namespace nave

#endif  // NAVE_HUB_RECORDS_ENVELOPE_H_
