#include "agent/leader/leadership.h"

#include <time.h>

#include <algorithm>
#include <utility>

#include "common/base/log.h"
#include "common/value/codec.h"

namespace nave {
namespace {

// Renewals without an answer that are remembered.
constexpr size_t kSentMax = 16;
constexpr absl::Duration kReleaseTimeout = absl::Seconds(5);

}  // namespace

absl::Time BootTime() {
  timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return absl::TimeFromTimespec(now);
}

Leadership::Leadership(LeadershipOptions options)
    : options_(std::move(options)), random_(options_.seed) {}

Leadership::~Leadership() { options_.executor->Cancel(timer_); }

template <typename F>
auto Leadership::Guarded(F task) {
  return [alive = std::weak_ptr<bool>(alive_), task = std::move(task)](auto&&... args) mutable {
    if (alive.lock() != nullptr) task(std::forward<decltype(args)>(args)...);
  };
}

void Leadership::Start(std::function<void()> on_elected, std::function<void()> on_lost) {
  on_elected_ = std::move(on_elected);
  on_lost_ = std::move(on_lost);
  Look();
}

bool Leadership::MayWrite() const { return leading_ && Now() - renewed_at_ < options_.write_limit; }

bool Leadership::IsOurs(const LeaseRecord& lease) const {
  return lease.holder == options_.identity && lease.instance == options_.instance;
}

void Leadership::Schedule(absl::Duration delay, void (Leadership::*next)()) {
  options_.executor->Cancel(timer_);
  timer_ = options_.executor->PostAfter(delay, Guarded([this, next] { (this->*next)(); }));
}

void Leadership::NoteSeen(const std::optional<LeaseRecord>& lease) {
  last_contact_ = Now();
  if (seen_ == lease && seen_since_ != absl::InfinitePast()) return;
  seen_ = lease;
  seen_since_ = last_contact_;
}

// --- Not leading

void Leadership::Look() {
  if (ended_) return;
  options_.client->Get(LeaseType(), options_.ns, options_.lease_name,
                       Guarded([this](KubeResult result) { OnLook(std::move(result)); }));
}

void Leadership::OnLook(KubeResult result) {
  if (ended_) return;
  const bool none = result.error.error_class == KubeErrorClass::kNotFound;
  if (!result.error.ok() && !none) {
    LogWarning("lease not read", {{"error", result.error.message}});
    return Schedule(Jittered(options_.retry_interval), &Leadership::Look);
  }
  NoteSeen(none ? std::nullopt : std::optional<LeaseRecord>(ParseLease(result.object)));
  LeaseDecision decision = DecideLease(seen_, seen_since_, options_.identity, options_.instance,
                                       !led_, options_.duration, Now(), options_.executor->Now());
  if (decision.take.has_value()) return Take(*std::move(decision.take));
  Schedule(Jittered(std::min(options_.retry_interval, decision.look_at - Now())),
           &Leadership::Look);
}

void Leadership::Take(LeaseRecord lease) {
  const absl::Time asked_at = Now();
  std::string body =
      FormatJson(FormatLease(lease, options_.ns, options_.lease_name, options_.executor->Now()));
  auto done = Guarded(
      [this, lease, asked_at](KubeResult result) { OnTaken(lease, asked_at, std::move(result)); });
  if (lease.resource_version.empty()) {
    options_.client->Create(LeaseType(), options_.ns, std::move(body), std::move(done));
  } else {
    options_.client->Replace(LeaseType(), options_.ns, options_.lease_name, std::move(body),
                             std::move(done));
  }
}

void Leadership::OnTaken(const LeaseRecord& lease, absl::Time asked_at, KubeResult result) {
  if (ended_) return;
  if (!result.error.ok()) {
    // Somebody was faster, or the answer was lost: then the next look finds our own.
    if (result.error.error_class != KubeErrorClass::kConflict) {
      LogWarning("lease not taken", {{"error", result.error.message}});
    }
    return Schedule(Jittered(options_.retry_interval), &Leadership::Look);
  }
  lease_ = lease;
  lease_.resource_version = result.object.StringAt("metadata", "resourceVersion");
  leading_ = true;
  led_ = true;
  renewed_at_ = asked_at;
  last_contact_ = Now();
  LogInfo("leading", {{"lease", options_.lease_name}, {"identity", options_.identity}});
  Schedule(options_.renew_interval, &Leadership::Renew);
  on_elected_();
}

// --- Leading

void Leadership::Renew() {
  if (ended_ || !leading_) return;
  if (Now() - renewed_at_ >= options_.duration) return Lose("not renewed in time");
  const absl::Time asked_at = Now();
  Value body = FormatLease(lease_, options_.ns, options_.lease_name, options_.executor->Now());
  if (!sent_.empty() && sent_.size() >= kSentMax) sent_.erase(sent_.begin());
  sent_[body.StringAt("spec", "renewTime")] = asked_at;
  options_.client->Replace(
      LeaseType(), options_.ns, options_.lease_name, FormatJson(body),
      Guarded([this, asked_at](KubeResult result) { OnRenewed(asked_at, std::move(result)); }));
  // The answer moves it; without one this is when to give up at the latest.
  Schedule(std::max(absl::ZeroDuration(), renewed_at_ + options_.duration - asked_at),
           &Leadership::Renew);
}

void Leadership::OnRenewed(absl::Time asked_at, KubeResult result) {
  if (ended_ || !leading_) return;
  if (result.error.ok()) {
    lease_.resource_version = result.object.StringAt("metadata", "resourceVersion");
    renewed_at_ = std::max(renewed_at_, asked_at);
    last_contact_ = Now();
    sent_.clear();
    return Schedule(options_.renew_interval, &Leadership::Renew);
  }
  const KubeErrorClass error = result.error.error_class;
  if (error == KubeErrorClass::kConflict) {
    // Another one took it, or our own write of before arrived after all.
    options_.client->Get(LeaseType(), options_.ns, options_.lease_name,
                         Guarded([this](KubeResult read) { OnReadBack(std::move(read)); }));
    return;
  }
  if (error == KubeErrorClass::kNotFound) return Lose("the lease was deleted");
  LogWarning("lease not renewed", {{"error", result.error.message}});
  const absl::Duration left = renewed_at_ + options_.duration - Now();
  Schedule(std::max(absl::ZeroDuration(), std::min(Jittered(options_.retry_interval), left)),
           &Leadership::Renew);
}

void Leadership::OnReadBack(KubeResult result) {
  if (ended_ || !leading_) return;
  if (result.error.ok()) {
    LeaseRecord found = ParseLease(result.object);
    if (!IsOurs(found)) return Lose("another one took the lease");
    lease_.resource_version = found.resource_version;
    last_contact_ = Now();
    // The one whose answer was lost renewed it all the same.
    auto sent = sent_.find(result.object.StringAt("spec", "renewTime"));
    if (sent != sent_.end()) renewed_at_ = std::max(renewed_at_, sent->second);
    return Renew();
  }
  if (result.error.error_class == KubeErrorClass::kNotFound) return Lose("the lease was deleted");
  Schedule(Jittered(options_.retry_interval), &Leadership::Renew);
}

void Leadership::Lose(absl::string_view why) {
  leading_ = false;
  seen_.reset();
  seen_since_ = absl::InfinitePast();
  LogWarning("leadership lost", {{"reason", why}});
  Schedule(Jittered(options_.retry_interval), &Leadership::Look);
  on_lost_();
}

void Leadership::Check(absl::AnyInvocable<void(bool) &&> done) {
  options_.client->Get(LeaseType(), options_.ns, options_.lease_name,
                       Guarded([this, done = std::move(done)](KubeResult result) mutable {
                         const bool ours =
                             leading_ && result.error.ok() && IsOurs(ParseLease(result.object));
                         std::move(done)(ours);
                       }));
}

void Leadership::Release(absl::AnyInvocable<void() &&> done) {
  ended_ = true;
  options_.executor->Cancel(timer_);
  if (!std::exchange(leading_, false)) {
    options_.executor->Post(std::move(done));
    return;
  }
  LeaseRecord released = lease_;
  released.holder.clear();
  released.instance.clear();
  released.duration = absl::Seconds(1);
  Value body = FormatLease(released, options_.ns, options_.lease_name, options_.executor->Now());
  auto once = std::make_shared<absl::AnyInvocable<void() &&>>(std::move(done));
  auto end = Guarded([this, once] {
    options_.executor->Cancel(timer_);
    absl::AnyInvocable<void()&&> call = std::exchange(*once, nullptr);
    if (call != nullptr) std::move(call)();
  });
  auto shared = std::make_shared<decltype(end)>(std::move(end));
  timer_ = options_.executor->PostAfter(kReleaseTimeout, [shared] { (*shared)(); });
  options_.client->Replace(LeaseType(), options_.ns, options_.lease_name, FormatJson(body),
                           [shared](KubeResult) { (*shared)(); });
}

}  // namespace nave
