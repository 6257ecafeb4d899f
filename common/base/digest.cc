#include "common/base/digest.h"

#include <openssl/evp.h>

#include "absl/strings/escaping.h"

namespace nave {

std::string Digest::Hex() const { return absl::BytesToHexString(View()); }

std::optional<Digest> Digest::FromBytes(absl::string_view raw) {
  Digest digest;
  if (raw.size() != digest.bytes.size()) return std::nullopt;
  std::memcpy(digest.bytes.data(), raw.data(), raw.size());
  return digest;
}

std::optional<Digest> Digest::FromHex(absl::string_view hex) {
  Digest digest;
  if (hex.size() != 2 * digest.bytes.size()) return std::nullopt;
  for (char c : hex) {
    bool is_hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (!is_hex) return std::nullopt;
  }
  return FromBytes(absl::HexStringToBytes(hex));
}

Digest Sha256(absl::string_view data) {
  Digest digest;
  EVP_Digest(data.data(), data.size(), digest.bytes.data(), nullptr, EVP_sha256(), nullptr);
  return digest;
}

Sha256Builder::Sha256Builder() : context_(EVP_MD_CTX_new()) {
  EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_), EVP_sha256(), nullptr);
}

Sha256Builder::~Sha256Builder() { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context_)); }

void Sha256Builder::Add(absl::string_view data) {
  EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_), data.data(), data.size());
}

Digest Sha256Builder::Finish() {
  Digest digest;
  EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_), digest.bytes.data(), nullptr);
  return digest;
}

}  // namespace nave
