// How an agent comes to its identity: the stored one, or a new one for its join token.
//
// The key is stored before the hub is asked. So a crash anywhere repeats with the same key, which a
// spent token still answers; and an identity that stands is replaced only by one that the hub has
// given.
#ifndef NAVE_AGENT_ENROLL_ENROLLMENT_H_
#define NAVE_AGENT_ENROLL_ENROLLMENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/enroll/hub_calls.h"
#include "agent/enroll/identity.h"
#include "agent/enroll/identity_store.h"
#include "common/base/backoff.h"
#include "common/pki/join_token.h"
#include "common/runtime/executor.h"

namespace nave {

enum class EnrollStep {
  // The stored identity is the one to use.
  kUseIdentity,
  // Neither identity nor token.
  kWaitForToken,
  // Ask the hub with the pending key.
  kAskHub,
  // Make and store a pending key for this token, then ask.
  kMakeKey,
};

// Pure. A token that the stored identity did not come from is an order to join (again) with it.
EnrollStep DecideEnrollStep(const std::optional<AgentIdentity>& identity,
                            const std::optional<JoinTokenText>& token);

// The identity that the hub's answer makes of `pending`. INTERNAL when the answer is for another
// key, or names its cluster otherwise than its certificate does.
absl::StatusOr<AgentIdentity> TakeEnrollAnswer(const AgentIdentity& pending,
                                               const JoinTokenText& token, EnrollAnswer answer);

struct EnrollmentOptions {
  std::string agent_version;
  // UID of the namespace kube-system; may be empty.
  std::string kube_system_uid;
  uint64_t seed = 0;
};

// Owned by the loop thread. What it is given must outlive it.
class Enrollment {
 public:
  // Reads the token's text anew for each attempt, because a person may replace it; empty: there is
  // none.
  using TokenReader = std::function<absl::StatusOr<std::string>()>;
  using Done = absl::AnyInvocable<void(AgentIdentity) &&>;

  // `on_error` hears of every attempt that failed; may be null. The next attempt follows by itself:
  // after 1 s, growing to 60 s, when the hub or the API server was not reached; after 30 s, growing
  // to 5 min, when a person has to do something.
  Enrollment(Executor& loop, IdentityStore& store, HubCalls& hub, TokenReader read_token,
             EnrollmentOptions options, std::function<void(const absl::Status&)> on_error);
  ~Enrollment();
  Enrollment(const Enrollment&) = delete;
  Enrollment& operator=(const Enrollment&) = delete;

  // Calls `done` once there is an identity. When one is stored and a new token brings no other,
  // that is the stored one, whatever the reason: an agent that can work works. May be called again
  // after `done`, as when the hub says REVOKED and a new token may have come.
  void Start(Done done);

 private:
  void Attempt();
  void OnLoaded(absl::StatusOr<std::optional<AgentIdentity>> loaded);
  void StoreKey();
  void FetchCa();
  void AskHub(std::string ca_pem);
  void OnAnswer(absl::StatusOr<EnrollAnswer> answer);
  void Finish(AgentIdentity identity);
  // Reports; then falls back to the stored identity or tries again later.
  void Fail(const absl::Status& status);
  // `task` as a callback that does nothing once this object is gone.
  template <typename F>
  auto Guarded(F task);

  Executor& loop_;
  IdentityStore& store_;
  HubCalls& hub_;
  const TokenReader read_token_;
  const EnrollmentOptions options_;
  const std::function<void(const absl::Status&)> on_error_;

  Done done_;
  AgentIdentity identity_;
  std::string token_text_;
  JoinTokenText token_;
  Backoff quick_{absl::Seconds(2), absl::Seconds(60)};
  Backoff slow_{absl::Seconds(60), absl::Minutes(5)};
  SplitMix random_;
  TimerId timer_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace nave

#endif  // NAVE_AGENT_ENROLL_ENROLLMENT_H_
