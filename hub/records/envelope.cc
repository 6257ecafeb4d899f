#include "hub/records/envelope.h"

#include <openssl/evp.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/base/uuid.h"
#include "common/compress/zstd.h"

namespace nave {
namespace {

constexpr size_t kHeaderBytes = 6;
constexpr size_t kNonceBytes = 12;
constexpr size_t kTagBytes = 16;

enum Codec : uint8_t { kNone = 0, kZstd = 1 };

struct Header {
  uint8_t codec = kNone;
  uint32_t key_id = 0;
};

std::string FormatHeader(const Header& header) {
  std::string bytes(kHeaderBytes, '\0');
  bytes[0] = static_cast<char>(kEnvelopeFormat);
  bytes[1] = static_cast<char>(header.codec);
  for (int i = 0; i < 4; ++i) bytes[2 + i] = static_cast<char>(header.key_id >> (24 - 8 * i));
  return bytes;
}

absl::StatusOr<Header> ParseHeader(absl::string_view value) {
  if (value.size() < kHeaderBytes) {
    return MakeError(Reason::kStoreCorrupt, absl::StrCat("value: want a header of ", kHeaderBytes,
                                                         " bytes, got ", value.size()));
  }
  auto format = static_cast<uint8_t>(value[0]);
  if (format > kEnvelopeFormat) {
    return MakeError(Reason::kStoreTooNew, absl::StrCat("value: want format ", kEnvelopeFormat,
                                                        " at most, got ", format));
  }
  Header header;
  header.codec = static_cast<uint8_t>(value[1]);
  for (int i = 0; i < 4; ++i)
    header.key_id = header.key_id << 8 | static_cast<uint8_t>(value[2 + i]);
  if (format == 0 || header.codec > kZstd) {
    return MakeError(Reason::kStoreCorrupt,
                     absl::StrCat("value: format ", format, " with codec ", header.codec));
  }
  return header;
}

absl::StatusOr<std::string> Decompress(const Header& header, std::string payload) {
  if (header.codec == kNone) return payload;
  absl::StatusOr<std::string> content = ZstdDecompress(payload, kRecordBytesMax);
  if (content.ok()) return content;
  return MakeError(Reason::kStoreCorrupt, absl::StrCat("value: ", content.status().message()));
}

using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

const unsigned char* Bytes(absl::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// Encrypts or decrypts `in` to `out` of the same size. `tag` is written or checked; `nonce` and
// `tag` are of their sizes.
bool RunGcm(bool encrypt, const std::string& key, absl::string_view nonce, absl::string_view bound,
            absl::string_view in, char* out, char* tag) {
  CipherContext context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  auto* to = reinterpret_cast<unsigned char*>(out);
  int moved = 0;
  bool ok =
      EVP_CipherInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, Bytes(key), Bytes(nonce),
                        encrypt ? 1 : 0) == 1 &&
      EVP_CipherUpdate(context.get(), nullptr, &moved, Bytes(bound),
                       static_cast<int>(bound.size())) == 1 &&
      EVP_CipherUpdate(context.get(), to, &moved, Bytes(in), static_cast<int>(in.size())) == 1;
  if (ok && !encrypt) {
    ok = EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag) == 1;
  }
  ok = ok && EVP_CipherFinal_ex(context.get(), to + moved, &moved) == 1;
  if (ok && encrypt) {
    ok = EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, tag) == 1;
  }
  return ok;
}

}  // namespace

std::string WrapPlain(absl::string_view payload) {
  if (payload.size() > kCompressAbove) {
    std::string compressed = ZstdCompress(payload);
    if (compressed.size() < payload.size()) {
      return absl::StrCat(FormatHeader({kZstd, 0}), compressed);
    }
  }
  return absl::StrCat(FormatHeader({kNone, 0}), payload);
}

absl::StatusOr<std::string> UnwrapPlain(absl::string_view value) {
  ASSIGN_OR_RETURN(Header header, ParseHeader(value));
  if (header.key_id != 0) {
    return MakeError(Reason::kStoreCorrupt, "value: encrypted where it must not be");
  }
  return Decompress(header, std::string(value.substr(kHeaderBytes)));
}

std::string Seal(const EncryptionKeys& keys, absl::string_view store_key,
                 absl::string_view payload) {
  const std::string* key = keys.Find(keys.writing_id());
  std::string sealed = FormatHeader({kNone, keys.writing_id()});
  std::string bound = absl::StrCat(sealed, store_key);
  std::string nonce = RandomBytes(kNonceBytes);
  sealed += nonce;
  size_t at = sealed.size();
  sealed.resize(at + payload.size() + kTagBytes);
  char* tag = sealed.data() + at + payload.size();
  // With a key of 32 bytes, which EncryptionKeys grants, only a lack of memory can fail: then
  // nothing sensible goes on.
  if (key == nullptr || !RunGcm(true, *key, nonce, bound, payload, sealed.data() + at, tag))
    abort();
  return sealed;
}

absl::StatusOr<std::string> Unseal(const EncryptionKeys& keys, absl::string_view store_key,
                                   absl::string_view value) {
  ASSIGN_OR_RETURN(Header header, ParseHeader(value));
  if (header.key_id == 0 || value.size() < kSealedOverhead) {
    return MakeError(Reason::kStoreCorrupt, absl::StrCat(store_key, ": not encrypted"));
  }
  const std::string* key = keys.Find(header.key_id);
  if (key == nullptr) {
    return MakeError(Reason::kKeyMissing,
                     absl::StrCat(store_key, ": encrypted with key ", header.key_id,
                                  ", which the key file does not have"));
  }
  std::string bound = absl::StrCat(value.substr(0, kHeaderBytes), store_key);
  absl::string_view nonce = value.substr(kHeaderBytes, kNonceBytes);
  absl::string_view rest = value.substr(kHeaderBytes + kNonceBytes);
  absl::string_view encrypted = rest.substr(0, rest.size() - kTagBytes);
  std::string tag(rest.substr(encrypted.size()));
  std::string payload(encrypted.size(), '\0');
  if (!RunGcm(false, *key, nonce, bound, encrypted, payload.data(), tag.data())) {
    return MakeError(Reason::kStoreCorrupt,
                     absl::StrCat(store_key, ": does not decrypt with key ", header.key_id));
  }
  return Decompress(header, std::move(payload));
}

}  // namespace nave
