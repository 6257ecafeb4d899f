#include "hub/ca/issue.h"

#include <arpa/inet.h>

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/pki/verify_peer.h"

namespace nave {
namespace {

// A common name holds 64 bytes; who looks at the names of a server reads the alternative ones.
constexpr char kServerCommonName[] = "nave-hub";

// The canonical text of an address; empty when `text` is none.
std::string CanonicalAddress(const std::string& text) {
  unsigned char raw[16];
  char canonical[INET6_ADDRSTRLEN] = {};
  for (int family : {AF_INET, AF_INET6}) {
    if (inet_pton(family, text.c_str(), raw) != 1) continue;
    return inet_ntop(family, raw, canonical, sizeof(canonical));
  }
  return "";
}

bool IsDnsName(absl::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  absl::ConsumePrefix(&name, "*.");
  for (absl::string_view label : absl::StrSplit(name, '.')) {
    bool ok = !label.empty() && label.size() <= 63 && label.front() != '-' && label.back() != '-' &&
              std::all_of(label.begin(), label.end(), [](char c) {
                return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
              });
    if (!ok) return false;
  }
  return true;
}

// "host", "host:port", "[v6]:port", "[v6]" or "v6" without its port and brackets.
absl::string_view WithoutPort(absl::string_view name) {
  if (absl::ConsumePrefix(&name, "[")) return name.substr(0, name.find(']'));
  size_t colon = name.find(':');
  uint32_t port = 0;
  bool has_port =
      colon != absl::string_view::npos && absl::SimpleAtoi(name.substr(colon + 1), &port);
  return has_port ? name.substr(0, colon) : name;
}

}  // namespace

absl::StatusOr<std::string> IssueAgentCertificate(const CertificateAuthority& authority,
                                                  absl::string_view hub_id, const Cluster& cluster,
                                                  uint32_t generation, const Csr& csr,
                                                  absl::Time now) {
  CertificateSpec spec;
  spec.common_name = cluster.id;
  spec.public_key = csr.public_key;
  spec.uri_sans = {
      FormatPeerUri({std::string(hub_id), PeerKind::kCluster, cluster.meta.uid.ToString()})};
  spec.client = true;
  spec.generation = generation;
  spec.validity = kAgentCertificateValidity;
  return authority.Issue(spec, now);
}

absl::StatusOr<std::string> IssueUserCertificate(const CertificateAuthority& authority,
                                                 absl::string_view hub_id, absl::string_view name,
                                                 absl::string_view key_pem, absl::Time now) {
  CertificateSpec spec;
  spec.common_name = std::string(name);
  spec.uri_sans = {FormatPeerUri({std::string(hub_id), PeerKind::kUser, std::string(name)})};
  if (!ParsePeerUri(spec.uri_sans.front()).has_value()) {
    return MakeError(
        Reason::kInvalidField,
        absl::StrCat("user name: want 1 to 63 of a-z A-Z 0-9 . _ @ -, got \"", name, "\""));
  }
  ASSIGN_OR_RETURN(spec.public_key, PublicKeyOf(key_pem));
  spec.client = true;
  spec.validity = kUserCertificateValidity;
  return authority.Issue(spec, now);
}

absl::StatusOr<ServerNames> ServerNamesOf(const std::vector<std::string>& advertise) {
  std::set<std::string> dns = {"localhost"};
  std::set<std::string> ip = {"127.0.0.1", "::1"};
  for (const std::string& name : advertise) {
    std::string host(WithoutPort(name));
    std::string address = CanonicalAddress(host);
    if (!address.empty()) {
      ip.insert(address);
    } else if (IsDnsName(host)) {
      dns.insert(absl::AsciiStrToLower(host));
    } else {
      return MakeError(
          Reason::kInvalidField,
          absl::StrCat("advertised name \"", name, "\": must be a DNS name or an IP address"));
    }
  }
  return ServerNames{{dns.begin(), dns.end()}, {ip.begin(), ip.end()}};
}

absl::StatusOr<std::string> IssueServerCertificate(const CertificateAuthority& authority,
                                                   const ServerNames& names,
                                                   absl::string_view key_pem, absl::Time now) {
  CertificateSpec spec;
  spec.common_name = kServerCommonName;
  ASSIGN_OR_RETURN(spec.public_key, PublicKeyOf(key_pem));
  spec.dns_sans = names.dns;
  spec.ip_sans = names.ip;
  spec.server = true;
  spec.validity = kServerCertificateValidity;
  return authority.Issue(spec, now);
}

}  // namespace nave
