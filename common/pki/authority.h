// Makes keys, certificate requests and certificates: the hub's own CA, and the requests of agents.
#ifndef NAVE_COMMON_PKI_AUTHORITY_H_
#define NAVE_COMMON_PKI_AUTHORITY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/digest.h"

namespace nave {

// How long before its issue a certificate begins, so that a peer whose clock is behind accepts it.
inline constexpr absl::Duration kCertificateBackdate = absl::Hours(1);

// A new P-256 key, PKCS #8 PEM. INTERNAL when the generator fails.
absl::StatusOr<std::string> GenerateKey();

// DER of the public key (SubjectPublicKeyInfo) of a private key. CERTIFICATE_INVALID.
absl::StatusOr<std::string> PublicKeyOf(absl::string_view key_pem);

// A certificate request, PEM, signed with the key. The hub believes nothing of it but the public
// key.
absl::StatusOr<std::string> MakeCsr(absl::string_view key_pem, absl::string_view common_name);

// What the hub takes from a request.
struct Csr {
  // DER of the SubjectPublicKeyInfo, and its SHA-256.
  std::string public_key;
  Digest spki;
};

// CSR_INVALID: no PEM request, a signature that is not by its own key, or another key type than
// P-256.
absl::StatusOr<Csr> ParseCsr(absl::string_view csr_pem);

// A self-signed CA certificate for `key_pem`, PEM. It signs leaves only.
absl::StatusOr<std::string> MakeCaCertificate(absl::string_view key_pem,
                                              absl::string_view common_name,
                                              absl::Duration validity, absl::Time now);

// A leaf to issue.
struct CertificateSpec {
  // At most 64 bytes.
  std::string common_name;
  // DER of the SubjectPublicKeyInfo: Csr::public_key or PublicKeyOf.
  std::string public_key;
  std::vector<std::string> uri_sans;
  std::vector<std::string> dns_sans;
  // Text form of IPv4 and IPv6 addresses.
  std::vector<std::string> ip_sans;
  bool server = false;
  bool client = false;
  // The serial number is these 4 bytes, big-endian, then 12 random ones. Less than 2^31.
  uint32_t generation = 0;
  // From `now`; cut at the end of the CA's own life.
  absl::Duration validity = absl::Hours(7 * 24);
};

// A CA with its key. Immutable and thread-safe.
class CertificateAuthority {
 public:
  // CERTIFICATE_INVALID: unreadable, not matching, or the certificate may not sign others.
  static absl::StatusOr<std::shared_ptr<const CertificateAuthority>> Load(
      absl::string_view certificate_pem, absl::string_view key_pem);

  ~CertificateAuthority();
  CertificateAuthority(const CertificateAuthority&) = delete;
  CertificateAuthority& operator=(const CertificateAuthority&) = delete;

  // The new certificate, then the CA's, PEM. INVALID_FIELD for a name or an address that cannot be
  // written.
  absl::StatusOr<std::string> Issue(const CertificateSpec& spec, absl::Time now) const;

  // PEM; what peers trust.
  const std::string& certificate_pem() const { return certificate_pem_; }
  // SHA-256 of the CA's SubjectPublicKeyInfo: what join tokens carry.
  const Digest& pin() const { return pin_; }
  absl::Time not_after() const { return not_after_; }

 private:
  struct Handles;
  CertificateAuthority();

  std::unique_ptr<Handles> handles_;
  std::string certificate_pem_;
  Digest pin_;
  absl::Time not_after_;
};

}  // namespace nave

#endif  // NAVE_COMMON_PKI_AUTHORITY_H_
