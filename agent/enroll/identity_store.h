// Where an agent's identity is kept: a file for a process outside a cluster, the Secret
// nave-identity inside one.
#ifndef NAVE_AGENT_ENROLL_IDENTITY_STORE_H_
#define NAVE_AGENT_ENROLL_IDENTITY_STORE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/enroll/identity.h"
#include "agent/kube/kube_client.h"
#include "common/runtime/executor.h"

namespace nave {

// Owned by the loop thread. One call at a time; each callback runs there, later, exactly once, and
// not after the store was destroyed.
class IdentityStore {
 public:
  using Loaded = absl::AnyInvocable<void(absl::StatusOr<std::optional<AgentIdentity>>) &&>;
  using Saved = absl::AnyInvocable<void(absl::Status) &&>;

  virtual ~IdentityStore() = default;
  // nullopt: there is none. IDENTITY_INVALID: there is one that cannot be read; nothing may be
  // written then.
  virtual void Load(Loaded done) = 0;
  // Replaces the whole identity, durably, in one step. ABORTED when another agent wrote since Load:
  // load again.
  virtual void Save(AgentIdentity identity, Saved done) = 0;
};

// `directory`/identity.json, mode 0600. The directory is made, mode 0700, when it is missing.
std::unique_ptr<IdentityStore> MakeFileIdentityStore(Executor& loop, std::string directory);

inline constexpr char kIdentitySecretName[] = "nave-identity";

// The Secret nave-identity in namespace `ns`. `client` must outlive the store.
std::unique_ptr<IdentityStore> MakeSecretIdentityStore(KubeClient& client, std::string ns);

}  // namespace nave

#endif  // NAVE_AGENT_ENROLL_IDENTITY_STORE_H_
