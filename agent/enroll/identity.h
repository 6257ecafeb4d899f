// What makes an agent the agent of its cluster: its key and certificate, the CAs it trusts, and
// where its hub is.
#ifndef NAVE_AGENT_ENROLL_IDENTITY_H_
#define NAVE_AGENT_ENROLL_IDENTITY_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace nave {

struct AgentIdentity {
  // Never logged.
  std::string key_pem;
  // The certificate, then what leads to the root.
  std::string certificate_pem;
  // The roots to trust; two while the hub's CA is being changed.
  std::string ca_pem;
  std::string cluster_uid;
  std::string cluster_name;
  std::string hub_id;
  // host:port of the hub's port for agents.
  std::string hub_address;
  // Id of the token that gave this identity: another one in the token file is an order to join
  // anew.
  std::string token_id;

  // An enrolment under way: stored before the hub is asked, so that a crash in between repeats with
  // the same key, which is the only one that the token will answer.
  std::string pending_key_pem;
  std::string pending_token_id;

  // There is a certificate to call the hub with.
  bool enrolled() const { return !certificate_pem.empty(); }
  bool operator==(const AgentIdentity&) const = default;
};

// As the data of a Secret: names of keys to plain (not yet base64) values. Empty members are left
// out.
using IdentityData = std::map<std::string, std::string>;
IdentityData FormatIdentity(const AgentIdentity& identity);

// IDENTITY_INVALID: a format of a later release, or key and certificate that do not belong
// together. The error repeats no content.
absl::StatusOr<AgentIdentity> ParseIdentity(const IdentityData& data);

}  // namespace nave

#endif  // NAVE_AGENT_ENROLL_IDENTITY_H_
