// The certificates that a hub issues: whose names they bear and how long they live.
#ifndef NAVE_HUB_CA_ISSUE_H_
#define NAVE_HUB_CA_ISSUE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/model/cluster.h"
#include "common/pki/authority.h"

namespace nave {

inline constexpr absl::Duration kAgentCertificateValidity = absl::Hours(24 * 7);
inline constexpr absl::Duration kServerCertificateValidity = absl::Hours(24 * 90);
inline constexpr absl::Duration kUserCertificateValidity = absl::Hours(24 * 365);
inline constexpr absl::Duration kCaValidity = absl::Hours(24 * 3650);

// For the agent of `cluster`: the certificate, then the CA's, PEM.
absl::StatusOr<std::string> IssueAgentCertificate(const CertificateAuthority& authority,
                                                  absl::string_view hub_id, const Cluster& cluster,
                                                  uint32_t generation, const Csr& csr,
                                                  absl::Time now);

// For a person. `name` must be one that a peer's URI may bear (PeerUri::name).
absl::StatusOr<std::string> IssueUserCertificate(const CertificateAuthority& authority,
                                                 absl::string_view hub_id, absl::string_view name,
                                                 absl::string_view key_pem, absl::Time now);

// DNS names and IP addresses, sorted and without duplicates.
struct ServerNames {
  std::vector<std::string> dns;
  std::vector<std::string> ip;
  bool operator==(const ServerNames&) const = default;
};

// What a hub that advertises `names` is called by: those, and this machine's own (localhost,
// 127.0.0.1, ::1). A port at the end of a name is dropped. INVALID_FIELD for what is neither a DNS
// name nor an address.
absl::StatusOr<ServerNames> ServerNamesOf(const std::vector<std::string>& advertise);

// For the hub's ports: the certificate, then the CA's, PEM.
absl::StatusOr<std::string> IssueServerCertificate(const CertificateAuthority& authority,
                                                   const ServerNames& names,
                                                   absl::string_view key_pem, absl::Time now);

}  // namespace nave

#endif  // NAVE_HUB_CA_ISSUE_H_
