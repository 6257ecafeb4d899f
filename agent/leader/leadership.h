// Leadership among the agent processes of one cluster: at most one writes, and it knows when it may
// not any more.
#ifndef NAVE_AGENT_LEADER_LEADERSHIP_H_
#define NAVE_AGENT_LEADER_LEADERSHIP_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "agent/kube/kube_client.h"
#include "agent/leader/lease_decision.h"
#include "common/base/backoff.h"
#include "common/runtime/executor.h"

namespace nave {

struct LeadershipOptions {
  // Both must outlive the leadership.
  KubeClient* client = nullptr;
  Executor* executor = nullptr;
  std::string ns = "nave-system";
  std::string lease_name = "nave-agent";
  // Name of the pod, or of the machine and process outside a cluster.
  std::string identity;
  // Random.
  std::string instance;
  uint64_t seed = 1;
  // A clock that goes on while the machine sleeps and that nobody sets (BootTime); the executor's
  // when empty.
  std::function<absl::Time()> clock;
  absl::Duration duration = absl::Seconds(15);
  absl::Duration renew_interval = absl::Seconds(5);
  absl::Duration retry_interval = absl::Seconds(2);
  // No write begins later than this after the last renewal was sent.
  absl::Duration write_limit = absl::Seconds(10);
};

// Time since the machine's start, sleep included.
absl::Time BootTime();

// Loop thread only.
class Leadership {
 public:
  explicit Leadership(LeadershipOptions options);
  ~Leadership();
  Leadership(const Leadership&) = delete;
  Leadership& operator=(const Leadership&) = delete;

  // Tries to lead, for ever. `on_elected` when it does; `on_lost` when it does no more, after which
  // it tries again by itself. Neither is called inside a call of this object.
  void Start(std::function<void()> on_elected, std::function<void()> on_lost);

  bool leading() const { return leading_; }
  // The Lease was renewed recently enough for a write to begin now.
  bool MayWrite() const;
  // When the Lease was last read or written with success, by the clock of the options.
  absl::Time last_contact() const { return last_contact_; }

  // Reads the Lease: whether this process is still the holder. False when that cannot be told.
  void Check(absl::AnyInvocable<void(bool) &&> done);
  // Gives the Lease back, so that another one need not wait; ends all trying. `done` is called in
  // any case, within about 5 s.
  void Release(absl::AnyInvocable<void() &&> done);

 private:
  void Look();
  void OnLook(KubeResult result);
  void Take(LeaseRecord lease);
  void OnTaken(const LeaseRecord& lease, absl::Time asked_at, KubeResult result);
  void Renew();
  void OnRenewed(absl::Time asked_at, KubeResult result);
  void OnReadBack(KubeResult result);
  void Lose(absl::string_view why);
  void Schedule(absl::Duration delay, void (Leadership::*next)());
  void NoteSeen(const std::optional<LeaseRecord>& lease);
  bool IsOurs(const LeaseRecord& lease) const;
  absl::Time Now() const { return options_.clock ? options_.clock() : options_.executor->Now(); }
  absl::Duration Jittered(absl::Duration delay) { return delay * (0.9 + 0.2 * random_.Uniform()); }
  template <typename F>
  auto Guarded(F task);

  const LeadershipOptions options_;
  SplitMix random_;
  std::function<void()> on_elected_;
  std::function<void()> on_lost_;

  bool leading_ = false;
  bool led_ = false;  // Ever.
  bool ended_ = false;
  LeaseRecord lease_;  // Ours, as last written.
  // Renewals without an answer: their renewTime as written, and when they were sent.
  std::map<std::string, absl::Time> sent_;
  absl::Time renewed_at_ = absl::InfinitePast();
  absl::Time last_contact_ = absl::InfinitePast();
  // Another's, as last seen, and since when.
  std::optional<LeaseRecord> seen_;
  absl::Time seen_since_ = absl::InfinitePast();
  TimerId timer_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace nave

#endif  // NAVE_AGENT_LEADER_LEADERSHIP_H_
