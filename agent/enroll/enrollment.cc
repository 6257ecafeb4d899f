#include "agent/enroll/enrollment.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/pki/authority.h"
#include "common/pki/certificate.h"
#include "common/pki/verify_peer.h"

namespace nave {
namespace {

// Worth another attempt without a person's help.
bool PassesByItself(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsAborted(status) || absl::IsResourceExhausted(status);
}

}  // namespace

EnrollStep DecideEnrollStep(const std::optional<AgentIdentity>& identity,
                            const std::optional<JoinTokenText>& token) {
  bool enrolled = identity.has_value() && identity->enrolled();
  if (!token.has_value()) return enrolled ? EnrollStep::kUseIdentity : EnrollStep::kWaitForToken;
  if (enrolled && identity->token_id == token->id) return EnrollStep::kUseIdentity;
  bool pending = identity.has_value() && !identity->pending_key_pem.empty() &&
                 identity->pending_token_id == token->id;
  return pending ? EnrollStep::kAskHub : EnrollStep::kMakeKey;
}

absl::StatusOr<AgentIdentity> TakeEnrollAnswer(const AgentIdentity& pending,
                                               const JoinTokenText& token, EnrollAnswer answer) {
  absl::StatusOr<CertificateInfo> info = ParseCertificate(answer.certificate_pem);
  absl::Status usable = info.status();
  if (usable.ok()) usable = CheckKeyMatches(answer.certificate_pem, pending.pending_key_pem);
  if (usable.ok()) usable = SplitCertificates(answer.ca_pem).status();
  std::vector<std::string> wanted = {
      FormatPeerUri({answer.hub_id, PeerKind::kCluster, answer.cluster_uid})};
  if (usable.ok() && info->uri_sans != wanted) {
    usable = MakeError(Reason::kInternal, "the certificate is not for the cluster it came for");
  }
  if (!usable.ok()) {
    return MakeError(Reason::kInternal,
                     absl::StrCat("the hub's answer to Enroll: ", usable.message()));
  }
  AgentIdentity identity;
  identity.key_pem = pending.pending_key_pem;
  identity.certificate_pem = std::move(answer.certificate_pem);
  identity.ca_pem = std::move(answer.ca_pem);
  identity.cluster_uid = std::move(answer.cluster_uid);
  identity.cluster_name = std::move(answer.cluster_name);
  identity.hub_id = std::move(answer.hub_id);
  identity.hub_address = token.hub_address;
  identity.token_id = token.id;
  return identity;
}

Enrollment::Enrollment(Executor& loop, IdentityStore& store, HubCalls& hub, TokenReader read_token,
                       EnrollmentOptions options, std::function<void(const absl::Status&)> on_error)
    : loop_(loop),
      store_(store),
      hub_(hub),
      read_token_(std::move(read_token)),
      options_(std::move(options)),
      on_error_(std::move(on_error)),
      random_(options_.seed) {}

Enrollment::~Enrollment() { loop_.Cancel(timer_); }

template <typename F>
auto Enrollment::Guarded(F task) {
  return
      [alive = std::weak_ptr<bool>(alive_), task = std::move(task)](auto&&... arguments) mutable {
        if (alive.lock() != nullptr) task(std::forward<decltype(arguments)>(arguments)...);
      };
}

void Enrollment::Start(Done done) {
  done_ = std::move(done);
  loop_.Cancel(timer_);
  Attempt();
}

void Enrollment::Attempt() {
  store_.Load(Guarded([this](absl::StatusOr<std::optional<AgentIdentity>> loaded) {
    OnLoaded(std::move(loaded));
  }));
}

void Enrollment::OnLoaded(absl::StatusOr<std::optional<AgentIdentity>> loaded) {
  identity_ = AgentIdentity();
  if (!loaded.ok()) return Fail(loaded.status());
  if (loaded->has_value()) identity_ = **loaded;

  std::optional<JoinTokenText> token;
  absl::StatusOr<std::string> text = read_token_();
  if (!text.ok()) return Fail(text.status());
  token_text_ = std::string(absl::StripAsciiWhitespace(*text));
  if (!token_text_.empty()) {
    absl::StatusOr<JoinTokenText> parsed = ParseJoinToken(token_text_);
    if (!parsed.ok()) return Fail(parsed.status());
    token_ = *parsed;
    token = *std::move(parsed);
  }
  switch (DecideEnrollStep(*loaded, token)) {
    case EnrollStep::kUseIdentity:
      return Finish(identity_);
    case EnrollStep::kWaitForToken:
      return Fail(MakeError(Reason::kNotEnrolled, "no identity is stored and no token is given"));
    case EnrollStep::kAskHub:
      return FetchCa();
    case EnrollStep::kMakeKey:
      return StoreKey();
  }
}

void Enrollment::StoreKey() {
  absl::StatusOr<std::string> key = GenerateKey();
  if (!key.ok()) return Fail(key.status());
  identity_.pending_key_pem = *std::move(key);
  identity_.pending_token_id = token_.id;
  store_.Save(identity_, Guarded([this](absl::Status saved) {
                if (!saved.ok()) return Fail(saved);
                FetchCa();
              }));
}

void Enrollment::FetchCa() {
  hub_.FetchCa(token_.hub_address, token_.ca_pin,
               Guarded([this](absl::StatusOr<std::string> ca_pem) {
                 if (!ca_pem.ok()) return Fail(ca_pem.status());
                 AskHub(*std::move(ca_pem));
               }));
}

void Enrollment::AskHub(std::string ca_pem) {
  absl::StatusOr<std::string> csr = MakeCsr(identity_.pending_key_pem, "nave-agent");
  if (!csr.ok()) return Fail(csr.status());
  EnrollRequestData request;
  request.hub_address = token_.hub_address;
  request.ca_pem = std::move(ca_pem);
  request.token = token_text_;
  request.csr_pem = *std::move(csr);
  request.kube_system_uid = options_.kube_system_uid;
  request.agent_version = options_.agent_version;
  hub_.Enroll(std::move(request), Guarded([this](absl::StatusOr<EnrollAnswer> answer) {
                OnAnswer(std::move(answer));
              }));
}

void Enrollment::OnAnswer(absl::StatusOr<EnrollAnswer> answer) {
  if (!answer.ok()) return Fail(answer.status());
  absl::StatusOr<AgentIdentity> identity = TakeEnrollAnswer(identity_, token_, *std::move(answer));
  if (!identity.ok()) return Fail(identity.status());
  store_.Save(*identity, Guarded([this, identity = *identity](absl::Status saved) {
    if (!saved.ok()) return Fail(saved);
    LogInfo("enrolled", {{"cluster", identity.cluster_name},
                         {"cluster_uid", identity.cluster_uid},
                         {"hub_id", identity.hub_id}});
    Finish(identity);
  }));
}

void Enrollment::Finish(AgentIdentity identity) {
  quick_.Reset();
  slow_.Reset();
  std::move(done_)(std::move(identity));
}

void Enrollment::Fail(const absl::Status& status) {
  const ReasonInfo* reason = FindReason(ErrorReason(status));
  LogWarning("not enrolled", {{"error", status.message()},
                              {"reason", ErrorReason(status)},
                              {"next", reason == nullptr ? "" : reason->next}});
  if (on_error_ != nullptr) on_error_(status);
  if (identity_.enrolled()) return Finish(identity_);
  // At least half of each delay, so that a fleet's agents do not ask all at once nor without end.
  double uniform = 0.5 + random_.Uniform() / 2;
  absl::Duration delay = (PassesByItself(status) ? quick_ : slow_).Next(uniform);
  timer_ = loop_.PostAfter(delay, Guarded([this] { Attempt(); }));
}

}  // namespace nave
