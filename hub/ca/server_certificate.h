// The certificate that the hub's ports serve with: made at first start, renewed in place.
#ifndef NAVE_HUB_CA_SERVER_CERTIFICATE_H_
#define NAVE_HUB_CA_SERVER_CERTIFICATE_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/pki/authority.h"
#include "common/pki/certificate.h"
#include "common/pki/certificate_files.h"
#include "hub/ca/issue.h"

namespace nave {

// A certificate is renewed when less than this is left of its life.
inline constexpr absl::Duration kServerCertificateRenewBefore = absl::Hours(24 * 30);

// Whether a certificate of this hub's own making has to be made anew.
bool ServerCertificateIsDue(const CertificateInfo& present, const ServerNames& wanted,
                            absl::Time now);

// Makes the files of `paths` that are missing, and a new certificate for the same key when one is
// due, so that there is never a moment at which key and certificate do not match. One that the
// hub's CAs did not sign was supplied by people and is left alone. Returns whether anything was
// written. CertificateFiles picks it up.
absl::StatusOr<bool> EnsureServerCertificate(const CertificatePaths& paths,
                                             const CertificateAuthority& authority,
                                             const ServerNames& names, absl::Time now);

}  // namespace nave

#endif  // NAVE_HUB_CA_SERVER_CERTIFICATE_H_
