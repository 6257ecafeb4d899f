#include "agent/session/connection.h"

#include <algorithm>

namespace nave {
namespace {

constexpr absl::Duration kWriteTimeout = absl::Seconds(20);
constexpr absl::Duration kStable = absl::Minutes(1);
constexpr absl::Duration kRefusalDelayMax = absl::Minutes(5);
// Fixed delays get up to this share on top, or refused agents would come back in step.
constexpr double kFixedDelayJitter = 0.1;

struct RefusalRule {
  RefusalReason reason;
  Connection::RefusalAction action;
  // Zero: the usual back-off.
  absl::Duration delay;
  // The delay doubles from refusal to refusal, up to kRefusalDelayMax.
  bool grows = false;
};

// protocol §3, the table of refusals.
const RefusalRule& RuleOf(RefusalReason reason) {
  static const RefusalRule* rules = new RefusalRule[]{
      {RefusalReason::kUnspecified, {}, absl::ZeroDuration()},
      {RefusalReason::kNotAccepted, {}, absl::Seconds(30)},
      {RefusalReason::kRejected, {.hold = "Rejected"}, absl::Seconds(60), true},
      {RefusalReason::kRevoked, {.hold = "Revoked"}, absl::Seconds(60), true},
      {RefusalReason::kUnknownCluster, {.hold = "UnknownCluster"}, absl::Seconds(60), true},
      {RefusalReason::kWrongCluster, {.hold = {}, .freeze = true}, absl::Seconds(60), true},
      {RefusalReason::kCertExpired, {.hold = {}, .renew_certificate = true}, absl::ZeroDuration()},
      {RefusalReason::kCertUntrusted,
       {.hold = "CertUntrusted", .reload_ca = true},
       absl::Seconds(60)},
      {RefusalReason::kSuperseded, {.hold = {}, .check_lease = true}, absl::ZeroDuration()},
      {RefusalReason::kStaleAttempt, {}, absl::ZeroDuration()},
      {RefusalReason::kDuplicateIdentity, {.hold = "DuplicateIdentity"}, absl::Seconds(60)},
      {RefusalReason::kProtocolUnsupported, {}, absl::Minutes(5)},
      {RefusalReason::kHubStarting, {}, absl::ZeroDuration()},
      {RefusalReason::kBehind, {}, absl::ZeroDuration()},
      {RefusalReason::kOverloaded, {}, absl::ZeroDuration()},
      {RefusalReason::kDraining, {}, absl::ZeroDuration()},
      {RefusalReason::kProtocolError, {}, absl::ZeroDuration()},
  };
  const auto index = static_cast<size_t>(reason);
  return rules[index <= static_cast<size_t>(RefusalReason::kProtocolError) ? index : 0];
}

}  // namespace

std::optional<uint64_t> Connection::TakeDial(absl::Time now) {
  if (phase_ != Phase::kWaiting || now < dial_at_) return std::nullopt;
  phase_ = Phase::kDialing;
  last_received_ = now;
  return ++attempt_;
}

void Connection::OnOpened(absl::Time now) {
  phase_ = Phase::kGreeting;
  last_received_ = now;
}

void Connection::OnWelcome(const Welcome& welcome, absl::Time now) {
  phase_ = Phase::kLive;
  live_since_ = now;
  last_ping_ = now;
  refusals_ = 0;
  ping_interval_ = welcome.ping_interval;
  dead_after_ = welcome.dead_after;
  reconnect_spread_ = welcome.reconnect_spread;
  if (welcome.hub_time != absl::InfinitePast()) clock_offset_ = welcome.hub_time - now;
}

void Connection::OnLost(absl::Time now) {
  if (phase_ != Phase::kLive) return WaitFor(backoff_.Next(random_.Uniform()), now);
  absl::Duration delay = reconnect_spread_ * random_.Uniform();
  if (now - live_since_ >= kStable) {
    backoff_.Reset();
  } else {
    // A session that does not last is a failure, or a hub that flaps would be stormed.
    delay = std::max(delay, backoff_.Next(random_.Uniform()));
  }
  WaitFor(delay, now);
}

Connection::RefusalAction Connection::OnRefused(const Refusal& refusal, absl::Time now) {
  const RefusalRule& rule = RuleOf(refusal.reason);
  absl::Duration delay = rule.delay;
  if (refusal.retry_after.has_value()) {
    delay = *refusal.retry_after;
  } else if (delay == absl::ZeroDuration()) {
    delay = backoff_.Next(random_.Uniform());
  } else {
    for (int i = 0; rule.grows && i < refusals_ && delay < kRefusalDelayMax; ++i) delay *= 2;
    delay = std::min(delay, kRefusalDelayMax) * (1 + kFixedDelayJitter * random_.Uniform());
  }
  if (rule.grows) ++refusals_;
  WaitFor(delay, now);
  if (rule.action.renew_certificate || rule.action.check_lease) phase_ = Phase::kSuspended;
  return rule.action;
}

void Connection::OnDrain(absl::Time now) { WaitFor(reconnect_spread_ * random_.Uniform(), now); }

void Connection::Resume(bool at_once, absl::Time now) {
  if (phase_ != Phase::kSuspended) return;
  phase_ = Phase::kWaiting;
  if (at_once) {
    dial_at_ = now;
  } else {
    WaitFor(backoff_.Next(random_.Uniform()), now);
  }
}

void Connection::WaitFor(absl::Duration delay, absl::Time now) {
  phase_ = Phase::kWaiting;
  dial_at_ = now + delay;
  write_deadline_ = absl::InfiniteFuture();
}

void Connection::OnWriteStarted(absl::Time now) { write_deadline_ = now + kWriteTimeout; }

void Connection::OnWritten(absl::Time now) {
  write_deadline_ = absl::InfiniteFuture();
  last_sent_ = now;
}

absl::Time Connection::PingTime() const {
  return std::max(std::min(last_sent_, last_received_), last_ping_) + ping_interval_;
}

absl::string_view Connection::Expired(absl::Time now) const {
  if (phase_ == Phase::kWaiting || phase_ == Phase::kSuspended) return "";
  if (now >= write_deadline_) return "a write did not finish";
  if (now < DeadTime()) return "";
  return phase_ == Phase::kLive ? "the hub is silent" : "the hub does not answer";
}

absl::Time Connection::NextDeadline() const {
  switch (phase_) {
    case Phase::kWaiting:
      return dial_at_;
    case Phase::kSuspended:
      return absl::InfiniteFuture();
    case Phase::kDialing:
    case Phase::kGreeting:
      return std::min(DeadTime(), write_deadline_);
    case Phase::kLive:
      break;
  }
  // A ping waits for the write that is on its way.
  return std::min(DeadTime(), writing() ? write_deadline_ : PingTime());
}

}  // namespace nave
