#include "agent/term.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/pki/certificate.h"

namespace nave {
namespace {

constexpr absl::Duration kRetry = absl::Seconds(2);

}  // namespace

AgentTerm::AgentTerm(const AgentOptions& options, Leadership& leadership, uint64_t seed,
                     std::function<void(absl::Status)> on_end)
    : options_(options), leadership_(leadership), random_(seed), on_end_(std::move(on_end)) {}

AgentTerm::~AgentTerm() { Stop(); }

void AgentTerm::Retry(absl::Duration delay, void (AgentTerm::*step)()) {
  delay *= 0.75 + 0.5 * random_.Uniform();
  step_timer_ = options_.executor->PostAfter(delay, Guarded([this, step] {
                                               if (!stopped_) (this->*step)();
                                             }));
}

void AgentTerm::Start() { ReadClusterUid(); }

void AgentTerm::Stop() {
  if (std::exchange(stopped_, true)) return;
  StopReconciler();
  options_.link->SetListener(nullptr);
  if (session_ != nullptr) options_.link->Close(session_->connection().attempt());
  for (TimerId* timer : {&tick_timer_, &step_timer_, &trim_timer_}) {
    options_.executor->Cancel(*timer);
  }
  facts_reader_.reset();
  renewal_.reset();
  enrollment_.reset();
}

void AgentTerm::End(absl::Status why) {
  if (std::exchange(ended_, true)) return;
  LogWarning("starting over", {{"reason", ErrorReason(why)}, {"error", why.message()}});
  options_.executor->Post(Guarded([this, why = std::move(why)] { on_end_(why); }));
}

// --- The steps before a session

void AgentTerm::ReadClusterUid() {
  waits_for_ = "its API server";
  options_.kube->Get(NamespaceType(), "", "kube-system", Guarded([this](KubeResult result) {
                       if (stopped_) return;
                       if (result.error.ok()) {
                         kube_system_uid_ = result.object.StringAt("metadata", "uid");
                         return Enroll();
                       }
                       // With rights in some namespaces only it cannot be known.
                       if (result.error.http_status == 403) return Enroll();
                       LogWarning("kube-system not read", {{"error", result.error.message}});
                       Retry(kRetry, &AgentTerm::ReadClusterUid);
                     }));
}

void AgentTerm::Enroll() {
  waits_for_ = "an identity";
  EnrollmentOptions enrollment;
  enrollment.agent_version = options_.version;
  enrollment.kube_system_uid = kube_system_uid_;
  enrollment.seed = random_.Next();
  enrollment_ = std::make_unique<Enrollment>(
      *options_.executor, *options_.identity_store, *options_.hub_calls, options_.read_token,
      std::move(enrollment), [](const absl::Status& status) {
        LogWarning("not enrolled", {{"reason", ErrorReason(status)}, {"error", status.message()}});
      });
  enrollment_->Start(Guarded([this](AgentIdentity identity) { OnIdentity(std::move(identity)); }));
}

void AgentTerm::OnIdentity(AgentIdentity identity) {
  if (stopped_) return;
  identity_ = std::move(identity);
  LogInfo("identity", {{"cluster", identity_.cluster_name},
                       {"cluster_uid", identity_.cluster_uid},
                       {"hub", identity_.hub_address}});
  StartRenewal();
  LoadState();
}

void AgentTerm::StartRenewal() {
  renewal_ = std::make_unique<Renewal>(
      *options_.executor, *options_.identity_store, *options_.hub_calls, identity_, random_.Next(),
      [this](const AgentIdentity& renewed) {
        identity_ = renewed;
        ++renewals_;
        renewed_at_ = Now();
        if (session_ != nullptr) {
          Act([](HubSession& session, absl::Time now) {
            return session.OnCertificateRenewed(true, now);
          });
        }
      },
      [this](const absl::Status&) {
        if (session_ != nullptr) {
          Act([](HubSession& session, absl::Time now) {
            return session.OnCertificateRenewed(false, now);
          });
        }
      });
  renewal_->Start();
}

// A new token may be there, or another process may have renewed.
void AgentTerm::ReloadIdentity() {
  enrollment_->Start(Guarded([this](AgentIdentity identity) {
    if (stopped_ || identity == identity_) return;
    if (identity.cluster_uid != identity_.cluster_uid || identity.hub_id != identity_.hub_id) {
      return End(MakeError(Reason::kIdentityInvalid, "the identity is another one now"));
    }
    identity_ = std::move(identity);
    StartRenewal();
  }));
}

void AgentTerm::LoadState() {
  waits_for_ = "its state";
  SecretStoreOptions store;
  store.client = options_.kube;
  store.executor = options_.executor;
  store.ns = options_.ns;
  store.writer = (options_.new_uuid ? options_.new_uuid() : Uuid::Random()).ToString();
  store.seed = random_.Next();
  store_ = std::make_unique<SecretDesiredStore>(std::move(store));
  store_->Load(kube_system_uid_, Guarded([this](LoadOutcome outcome) { OnLoaded(outcome); }));
}

void AgentTerm::OnLoaded(LoadOutcome outcome) {
  if (stopped_) return;
  switch (outcome) {
    case LoadOutcome::kUnavailable:
      return Retry(kRetry, &AgentTerm::LoadState);
    case LoadOutcome::kOk:
      return StartSession(/*state_lost=*/false, "");
    case LoadOutcome::kStateLost:
      return StartSession(/*state_lost=*/true, "");
    case LoadOutcome::kStateTooNew:
      return StartSession(/*state_lost=*/false, std::string(Camel(Reason::kStateTooNew)));
    case LoadOutcome::kWrongCluster:
      return StartSession(/*state_lost=*/false, std::string(Camel(Reason::kWrongCluster)));
  }
}

void AgentTerm::StartSession(bool state_lost, std::string frozen_reason) {
  waits_for_ = "the hub";
  LogInfo("state loaded", {{"assignments", store_->state().assignments.size()},
                           {"revision", store_->state().at.revision},
                           {"state_lost", state_lost},
                           {"frozen", frozen_reason}});
  HubSession::Options session;
  session.agent_version = options_.version;
  session.instance_id = options_.new_uuid ? options_.new_uuid() : Uuid::Random();
  session.cluster_uid = identity_.cluster_uid;
  session.kube_system_uid = kube_system_uid_;
  session.seed = random_.Next();
  session.frozen_reason = std::move(frozen_reason);
  session.status_gather = kStatusGather;
  session_ =
      std::make_unique<HubSession>(std::move(session), store_->state(), state_lost, store_.get());
  options_.link->SetListener(this);
  if (!session_->frozen()) StartReconciler();
  facts_reader_ =
      std::make_unique<FactsReader>(*options_.kube, *options_.executor, [this](const Facts& facts) {
        facts_ = facts;
        SendFacts();
      });
  facts_reader_->Start();
  Act([](HubSession& session, absl::Time now) { return session.OnTick(now); });
  TrimLater();
}

void AgentTerm::StartReconciler() {
  ReconcilerOptions reconciler;
  reconciler.kube = options_.kube;
  reconciler.store = store_.get();
  reconciler.executor = options_.executor;
  reconciler.agent_namespace = options_.ns;
  reconciler.may_write = [this] { return leadership_.MayWrite(); };
  reconciler.on_fenced = Guarded([this] {
    End(MakeError(Reason::kStateTakenOver, "another agent of this cluster wrote its state"));
  });
  reconciler.concurrency = options_.apply_concurrency;
  reconciler.seed = random_.Next();
  reconciler_ = options_.make_reconciler(std::move(reconciler));
  reconciler_->SetHold(session_->holding());
  reconciler_->Start([this](const AssignmentStatus& status) { OnReconcilerStatus(status); });
}

void AgentTerm::StopReconciler() {
  if (reconciler_ == nullptr) return;
  reconciler_->Stop();
  reconciler_.reset();
}

void AgentTerm::FillReport(AgentReport* report) const {
  report->live = session_ != nullptr && session_->live();
  report->hold_reason = session_ == nullptr ? "" : session_->hold_reason();
  report->waits_for = waits_for_;
  report->cluster_name = identity_.cluster_name;
  report->dials += dials_;
  report->sessions += sessions_;
  report->streams_lost += streams_lost_;
  report->renewals += renewals_;
  if (absl::StatusOr<CertificateInfo> info = ParseCertificate(identity_.certificate_pem);
      info.ok()) {
    report->certificate_not_after = info->not_after;
  }
  for (const auto& [key, phase] : phases_) ++report->phases[std::string(FormatPhase(phase))];
}

}  // namespace nave
