// When the agent dials, pings and gives up: the timers of one cluster's connection to its hub
// (protocol §3 table, §5).
#ifndef NAVE_AGENT_SESSION_CONNECTION_H_
#define NAVE_AGENT_SESSION_CONNECTION_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/backoff.h"
#include "common/model/stream.h"

namespace nave {

// Pure and not thread-safe. One stream at a time, named by its attempt number.
class Connection {
 public:
  enum class Phase {
    kWaiting,    // For the time of the next dial.
    kDialing,    // Dialled, not yet open.
    kGreeting,   // Open, Hello on its way or sent.
    kLive,       // Welcome came.
    kSuspended,  // For a certificate or a look at the Lease; Resume goes on.
  };
  // What a refusal asks for besides the time of the next dial.
  struct RefusalAction {
    // Reason word of the HOLD; empty: none.
    absl::string_view hold;
    bool freeze = false;  // Write nothing at all.
    bool renew_certificate = false;
    bool reload_ca = false;
    bool check_lease = false;
  };

  // `seed` decides all jitter.
  explicit Connection(uint64_t seed) : random_(seed) {}

  // The attempt to dial now, if it is time.
  std::optional<uint64_t> TakeDial(absl::Time now);
  void OnOpened(absl::Time now);
  void OnWelcome(const Welcome& welcome, absl::Time now);
  // The stream ended without a word, or was given up.
  void OnLost(absl::Time now);
  RefusalAction OnRefused(const Refusal& refusal, absl::Time now);
  // The hub asks to dial again, elsewhere if there is an elsewhere.
  void OnDrain(absl::Time now);
  // Ends kSuspended: dial at once, or after a back-off.
  void Resume(bool at_once, absl::Time now);

  void OnWriteStarted(absl::Time now);
  void OnWritten(absl::Time now);
  void OnReceived(absl::Time now) { last_received_ = now; }

  Phase phase() const { return phase_; }
  uint64_t attempt() const { return attempt_; }
  bool open() const { return phase_ == Phase::kGreeting || phase_ == Phase::kLive; }
  bool writing() const { return write_deadline_ != absl::InfiniteFuture(); }
  bool PingDue(absl::Time now) const { return phase_ == Phase::kLive && now >= PingTime(); }
  void OnPing(absl::Time now) { last_ping_ = now; }
  // Why the stream has to be given up now; empty: it does not.
  absl::string_view Expired(absl::Time now) const;
  absl::Time NextDeadline() const;
  // What the agent's times lack to be the hub's, as the last handshake showed.
  absl::Duration clock_offset() const { return clock_offset_; }

 private:
  absl::Time PingTime() const;
  absl::Time DeadTime() const { return last_received_ + dead_after_; }
  void WaitFor(absl::Duration delay, absl::Time now);

  SplitMix random_;
  Phase phase_ = Phase::kWaiting;
  uint64_t attempt_ = 0;
  absl::Time dial_at_ = absl::InfinitePast();
  Backoff backoff_{absl::Seconds(1), absl::Seconds(30)};
  // Refusals since the last Welcome whose delay grows.
  int refusals_ = 0;

  absl::Time live_since_ = absl::InfinitePast();
  absl::Time last_received_ = absl::InfinitePast();  // Or when the dial began.
  absl::Time last_sent_ = absl::InfinitePast();
  absl::Time last_ping_ = absl::InfinitePast();
  absl::Time write_deadline_ = absl::InfiniteFuture();
  // As Welcome said; defaults of the protocol before.
  absl::Duration ping_interval_ = absl::Seconds(10);
  absl::Duration dead_after_ = absl::Seconds(25);
  absl::Duration reconnect_spread_ = absl::Seconds(1);
  absl::Duration clock_offset_;
};

}  // namespace nave

#endif  // NAVE_AGENT_SESSION_CONNECTION_H_
