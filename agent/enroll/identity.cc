#include "agent/enroll/identity.h"

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/pki/certificate.h"

namespace nave {
namespace {

constexpr absl::string_view kFormatKey = "format";
constexpr absl::string_view kFormat = "1";

struct Member {
  // Names that people know from Secrets of type kubernetes.io/tls.
  const char* key;
  std::string AgentIdentity::*member;
};

constexpr Member kMembers[] = {
    {"tls.key", &AgentIdentity::key_pem},
    {"tls.crt", &AgentIdentity::certificate_pem},
    {"ca.crt", &AgentIdentity::ca_pem},
    {"cluster-uid", &AgentIdentity::cluster_uid},
    {"cluster-name", &AgentIdentity::cluster_name},
    {"hub-id", &AgentIdentity::hub_id},
    {"hub-address", &AgentIdentity::hub_address},
    {"token-id", &AgentIdentity::token_id},
    {"pending.key", &AgentIdentity::pending_key_pem},
    {"pending-token-id", &AgentIdentity::pending_token_id},
};

absl::Status Invalid(absl::string_view why) {
  return MakeError(Reason::kIdentityInvalid, absl::StrCat("stored identity: ", why));
}

}  // namespace

IdentityData FormatIdentity(const AgentIdentity& identity) {
  IdentityData data;
  data[std::string(kFormatKey)] = std::string(kFormat);
  for (const Member& member : kMembers) {
    const std::string& value = identity.*member.member;
    if (!value.empty()) data[member.key] = value;
  }
  return data;
}

absl::StatusOr<AgentIdentity> ParseIdentity(const IdentityData& data) {
  auto format = data.find(std::string(kFormatKey));
  if (format == data.end() || format->second != kFormat) {
    return Invalid("of a format that this version does not know");
  }
  AgentIdentity identity;
  for (const Member& member : kMembers) {
    auto found = data.find(member.key);
    if (found != data.end()) identity.*member.member = found->second;
  }
  if (!identity.enrolled()) return identity;
  absl::Status matches = CheckKeyMatches(identity.certificate_pem, identity.key_pem);
  if (!matches.ok()) return Invalid(matches.message());
  bool complete = !identity.ca_pem.empty() && !identity.cluster_uid.empty() &&
                  !identity.hub_id.empty() && !identity.hub_address.empty();
  if (!complete) return Invalid("incomplete");
  return identity;
}

}  // namespace nave
