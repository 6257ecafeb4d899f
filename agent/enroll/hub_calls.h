// The calls that an agent makes to get and keep its identity.
#ifndef NAVE_AGENT_ENROLL_HUB_CALLS_H_
#define NAVE_AGENT_ENROLL_HUB_CALLS_H_

#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "agent/enroll/identity.h"
#include "common/base/digest.h"
#include "common/runtime/executor.h"

namespace nave {

struct EnrollRequestData {
  std::string hub_address;
  std::string ca_pem;
  // The join token's text. Never logged.
  std::string token;
  std::string csr_pem;
  std::string kube_system_uid;
  std::string agent_version;
};

struct EnrollAnswer {
  std::string certificate_pem;
  std::string ca_pem;
  std::string cluster_uid;
  std::string cluster_name;
  std::string hub_id;
};

struct RenewAnswer {
  std::string certificate_pem;
  std::string ca_pem;
};

// Owned by the loop thread. Every callback runs there, later, exactly once, and not after the
// object was destroyed. Errors carry the hub's reason code; HUB_UNREACHABLE when it was not
// reached.
class HubCalls {
 public:
  template <typename T>
  using Callback = absl::AnyInvocable<void(absl::StatusOr<T>) &&>;

  virtual ~HubCalls() = default;
  // The CA at the end of the hub's chain, PEM, when it is the pinned one: see CheckPinnedChain.
  virtual void FetchCa(std::string hub_address, Digest pin, Callback<std::string> done) = 0;
  virtual void Enroll(EnrollRequestData request, Callback<EnrollAnswer> done) = 0;
  // With the certificate of `identity`, which may have expired.
  virtual void Renew(AgentIdentity identity, std::string csr_pem, Callback<RenewAnswer> done) = 0;
};

// Over TLS and gRPC. Has a thread of its own, on which one call at a time is made, each at most 15
// s long; the destructor cuts a running one short.
std::unique_ptr<HubCalls> MakeGrpcHubCalls(Executor& loop);

}  // namespace nave

#endif  // NAVE_AGENT_ENROLL_HUB_CALLS_H_
