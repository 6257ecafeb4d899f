#include "agent/enroll/renewal.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/pki/authority.h"
#include "common/pki/certificate.h"

namespace nave {
namespace {

constexpr absl::Duration kLookAtClock = absl::Hours(1);

}  // namespace

absl::Time RenewTime(absl::Time not_before, absl::Time not_after, double uniform) {
  return not_before + (not_after - not_before) * (2.0 / 3 + uniform / 10);
}

absl::StatusOr<AgentIdentity> TakeRenewAnswer(const AgentIdentity& present, std::string key_pem,
                                              RenewAnswer answer) {
  absl::Status usable = CheckKeyMatches(answer.certificate_pem, key_pem);
  if (usable.ok()) usable = SplitCertificates(answer.ca_pem).status();
  if (!usable.ok()) {
    return MakeError(Reason::kInternal,
                     absl::StrCat("the hub's answer to Renew: ", usable.message()));
  }
  AgentIdentity renewed = present;
  renewed.key_pem = std::move(key_pem);
  renewed.certificate_pem = std::move(answer.certificate_pem);
  renewed.ca_pem = std::move(answer.ca_pem);
  return renewed;
}

Renewal::Renewal(Executor& loop, IdentityStore& store, HubCalls& hub, AgentIdentity identity,
                 uint64_t seed, OnRenewed on_renewed,
                 std::function<void(const absl::Status&)> on_error)
    : loop_(loop),
      store_(store),
      hub_(hub),
      identity_(std::move(identity)),
      on_renewed_(std::move(on_renewed)),
      on_error_(std::move(on_error)),
      random_(seed) {}

Renewal::~Renewal() { loop_.Cancel(timer_); }

template <typename F>
auto Renewal::Guarded(F task) {
  return
      [alive = std::weak_ptr<bool>(alive_), task = std::move(task)](auto&&... arguments) mutable {
        if (alive.lock() != nullptr) task(std::forward<decltype(arguments)>(arguments)...);
      };
}

void Renewal::Start() {
  // A certificate that cannot be read cannot be presented either; ask at once and say so.
  renew_time_ = absl::InfinitePast();
  absl::StatusOr<CertificateInfo> info = ParseCertificate(identity_.certificate_pem);
  if (info.ok()) renew_time_ = RenewTime(info->not_before, info->not_after, random_.Uniform());
  Tick();
}

void Renewal::Tick() {
  loop_.Cancel(timer_);
  absl::Duration left = renew_time_ - loop_.Now();
  if (left <= absl::ZeroDuration()) return Renew();
  timer_ = loop_.PostAfter(std::min(left, kLookAtClock), Guarded([this] { Tick(); }));
}

void Renewal::RenewNow() {
  if (busy_ || retrying_) return;
  Renew();
}

void Renewal::Renew() {
  loop_.Cancel(timer_);
  retrying_ = false;
  busy_ = true;
  absl::StatusOr<std::string> key = GenerateKey();
  if (!key.ok()) return Fail(key.status());
  absl::StatusOr<std::string> csr = MakeCsr(*key, "nave-agent");
  if (!csr.ok()) return Fail(csr.status());
  hub_.Renew(identity_, *csr, Guarded([this, key = *key](absl::StatusOr<RenewAnswer> answer) {
               OnAnswer(key, std::move(answer));
             }));
}

void Renewal::OnAnswer(std::string key_pem, absl::StatusOr<RenewAnswer> answer) {
  if (!answer.ok()) return Fail(answer.status());
  absl::StatusOr<AgentIdentity> renewed =
      TakeRenewAnswer(identity_, std::move(key_pem), *std::move(answer));
  if (!renewed.ok()) return Fail(renewed.status());
  store_.Save(*renewed,
              Guarded([this, renewed = *renewed](absl::Status saved) { OnSaved(renewed, saved); }));
}

void Renewal::OnSaved(AgentIdentity renewed, const absl::Status& saved) {
  if (saved.ok()) return Take(std::move(renewed));
  if (!absl::IsAborted(saved)) return Fail(saved);
  // Another agent wrote the identity: what it stored is the newer one.
  store_.Load(Guarded([this](absl::StatusOr<std::optional<AgentIdentity>> loaded) {
    if (!loaded.ok()) return Fail(loaded.status());
    if (!loaded->has_value() || !(*loaded)->enrolled()) {
      return Fail(MakeError(Reason::kNotEnrolled, "the stored identity is gone"));
    }
    Take(**std::move(loaded));
  }));
}

void Renewal::Take(AgentIdentity renewed) {
  identity_ = std::move(renewed);
  busy_ = false;
  backoff_.Reset();
  Start();
  LogInfo("certificate renewed", {{"cluster", identity_.cluster_name}});
  on_renewed_(identity_);
}

void Renewal::Fail(const absl::Status& status) {
  busy_ = false;
  retrying_ = true;
  LogWarning("certificate not renewed",
             {{"error", status.message()}, {"reason", ErrorReason(status)}});
  double uniform = 0.5 + random_.Uniform() / 2;
  timer_ = loop_.PostAfter(backoff_.Next(uniform), Guarded([this] { Renew(); }));
  if (on_error_ != nullptr) on_error_(status);
}

}  // namespace nave
