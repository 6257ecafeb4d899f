// Keeps an agent's certificate young: a new one from two thirds of the life on, and at once when
// the hub says that it has expired. The old one stays in use until the new one is stored; sessions
// that stand are not touched.
#ifndef NAVE_AGENT_ENROLL_RENEWAL_H_
#define NAVE_AGENT_ENROLL_RENEWAL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/enroll/hub_calls.h"
#include "agent/enroll/identity.h"
#include "agent/enroll/identity_store.h"
#include "common/base/backoff.h"
#include "common/runtime/executor.h"

namespace nave {

// When to renew a certificate of this life: at two thirds of it and up to a tenth later. `uniform`
// is in [0, 1): it spreads agents that joined at one moment.
absl::Time RenewTime(absl::Time not_before, absl::Time not_after, double uniform);

// The identity with the hub's answer for `key_pem` in it. INTERNAL when the answer is for another
// key.
absl::StatusOr<AgentIdentity> TakeRenewAnswer(const AgentIdentity& present, std::string key_pem,
                                              RenewAnswer answer);

// Owned by the loop thread. What it is given must outlive it.
class Renewal {
 public:
  using OnRenewed = std::function<void(const AgentIdentity&)>;

  // `store` must have loaded or saved `identity`. `on_error` may be null; the next attempt follows
  // by itself, after 10 s, growing to 10 min.
  Renewal(Executor& loop, IdentityStore& store, HubCalls& hub, AgentIdentity identity,
          uint64_t seed, OnRenewed on_renewed, std::function<void(const absl::Status&)> on_error);
  ~Renewal();
  Renewal(const Renewal&) = delete;
  Renewal& operator=(const Renewal&) = delete;

  // Begins to watch the clock.
  void Start();
  // The hub said CERT_EXPIRED, or a person wants it. Nothing when a renewal is under way or waits
  // after a failure.
  void RenewNow();

 private:
  // Looks at the clock; at least every hour, because timers do not follow a wall clock that was
  // set.
  void Tick();
  void Renew();
  void OnAnswer(std::string key_pem, absl::StatusOr<RenewAnswer> answer);
  void OnSaved(AgentIdentity renewed, const absl::Status& saved);
  void Take(AgentIdentity renewed);
  void Fail(const absl::Status& status);
  template <typename F>
  auto Guarded(F task);

  Executor& loop_;
  IdentityStore& store_;
  HubCalls& hub_;
  AgentIdentity identity_;
  const OnRenewed on_renewed_;
  const std::function<void(const absl::Status&)> on_error_;

  absl::Time renew_time_ = absl::InfiniteFuture();
  bool busy_ = false;
  // The timer is that of an attempt after a failure.
  bool retrying_ = false;
  Backoff backoff_{absl::Seconds(20), absl::Minutes(10)};
  SplitMix random_;
  TimerId timer_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace nave

#endif  // NAVE_AGENT_ENROLL_RENEWAL_H_
