// What a certificate or key in PEM form says. Reading only; authority.h makes them, verify_peer.h
// decides on trust.
#ifndef NAVE_COMMON_PKI_CERTIFICATE_H_
#define NAVE_COMMON_PKI_CERTIFICATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/digest.h"

namespace nave {

struct CertificateInfo {
  std::string common_name;
  // Lower-case hexadecimal digits.
  std::string serial;
  // The first 4 of the serial number's 16 bytes: see CertificateSpec::generation. 0 for a longer
  // serial number.
  uint32_t generation = 0;
  absl::Time not_before = absl::InfinitePast();
  absl::Time not_after = absl::InfinitePast();
  // SHA-256 of the SubjectPublicKeyInfo.
  Digest spki;
  // Subject alternative names; addresses in their text form.
  std::vector<std::string> uri_sans;
  std::vector<std::string> dns_sans;
  std::vector<std::string> ip_sans;
  bool is_ca = false;
  // Issuer and subject are the same name. Says nothing about trust.
  bool self_issued = false;
  bool operator==(const CertificateInfo&) const = default;
};

// Of the first certificate in `pem`. CERTIFICATE_INVALID when there is none.
absl::StatusOr<CertificateInfo> ParseCertificate(absl::string_view pem);

// Each certificate of `pem` as a text of its own, in order. CERTIFICATE_INVALID when there is none
// or one is damaged.
absl::StatusOr<std::vector<std::string>> SplitCertificates(absl::string_view pem);

// SHA-256 of the SubjectPublicKeyInfo of the first certificate in `pem`: the pin of a join token
// when it is a CA's.
absl::StatusOr<Digest> SpkiPin(absl::string_view pem);

// OK when the first certificate in `certificate_pem` is for the private key in `key_pem`; else
// CERTIFICATE_INVALID.
absl::Status CheckKeyMatches(absl::string_view certificate_pem, absl::string_view key_pem);

// `chain_pem` up to and with the root that issued it: when the chain does not end with a
// certificate of `roots_pem`, the root that signed its last certificate is added. Unchanged when no
// root did.
std::string CompleteChain(absl::string_view chain_pem, absl::string_view roots_pem);

}  // namespace nave

#endif  // NAVE_COMMON_PKI_CERTIFICATE_H_
