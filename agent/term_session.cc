// AgentTerm: the session's events in, its effects out.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/term.h"
#include "common/base/error.h"
#include "common/base/log.h"

namespace nave {
namespace {

constexpr absl::Duration kClockSkewMax = absl::Minutes(5);
constexpr absl::Duration kRenewalsApart = absl::Minutes(1);
// After the last content that came.
constexpr absl::Duration kTrimDelay = absl::Seconds(5);

}  // namespace

void AgentTerm::Act(Event event) {
  if (stopped_) return;
  // What the session wants done is done before it is asked again.
  events_.push_back(std::move(event));
  if (std::exchange(acting_, true)) return;
  while (!events_.empty() && !stopped_) {
    Event next = std::move(events_.front());
    events_.pop_front();
    Run(next(*session_, Now()));
  }
  acting_ = false;
  if (stopped_) return;
  NoteSession();
  ScheduleTick();
}

void AgentTerm::ScheduleTick() {
  options_.executor->Cancel(tick_timer_);
  const absl::Time next = session_->NextDeadline();
  if (next == absl::InfiniteFuture()) return;
  tick_timer_ = options_.executor->PostAt(
      std::max(next, Now()), Guarded([this] {
        Act([](HubSession& session, absl::Time now) { return session.OnTick(now); });
      }));
}

void AgentTerm::Run(Effects effects) {
  if (effects.close_stream) {
    LogInfo("stream closed", {{"reason", effects.close_reason}});
    ++streams_lost_;
    options_.link->Close(session_->connection().attempt());
  }
  RunReconciler(effects);
  RunStore(&effects);
  RunStream(&effects);
}

void AgentTerm::RunReconciler(const Effects& effects) {
  if (effects.frozen.has_value()) {
    if (*effects.frozen) {
      StopReconciler();
    } else if (reconciler_ == nullptr) {
      StartReconciler();
    }
  }
  if (effects.hold.has_value() && reconciler_ != nullptr) reconciler_->SetHold(*effects.hold);
  for (const Uuid& key : effects.changed) {
    if (!store_->state().assignments.contains(key)) phases_.erase(key);
    if (reconciler_ != nullptr) reconciler_->OnAssignmentChanged(key);
  }
  for (const auto& [key, pending] : effects.pending) {
    if (reconciler_ != nullptr) reconciler_->SetPending(key, pending);
  }
}

void AgentTerm::RunStore(Effects* effects) {
  for (const Uuid& key : effects->abandon_content) store_->AbandonContent(key);
  for (ContentWrite& write : effects->write_content) {
    const Uuid key = write.key;
    const Digest digest = write.content->digest;
    store_->WriteContent(key, std::move(write.content),
                         Guarded([this, key, digest](absl::Status status) {
                           OnStored(status, "content not stored");
                           Act([key, digest, status](HubSession& session, absl::Time now) {
                             return session.OnContentStored(key, digest, status, now);
                           });
                         }));
    TrimLater();
  }
  if (!effects->commit.has_value()) return;
  store_->Commit(*std::move(effects->commit), Guarded([this](absl::Status status) {
    OnStored(status, "not committed");
    Act([status](HubSession& session, absl::Time now) { return session.OnCommitted(status, now); });
  }));
}

void AgentTerm::OnStored(const absl::Status& status, absl::string_view what) {
  if (status.ok()) return;
  if (absl::IsFailedPrecondition(status)) return End(status);
  LogWarning(what, {{"reason", ErrorReason(status)}, {"error", status.message()}});
}

void AgentTerm::RunStream(Effects* effects) {
  for (uint64_t fetch : effects->cancel_fetches) options_.link->CancelFetch(fetch);
  for (const FetchRequest& fetch : effects->fetches) options_.link->Fetch(fetch);
  if (effects->renew_certificate) RenewCertificate();
  const std::string hold = session_->hold_reason();
  if (effects->reload_ca || (effects->close_stream && hold == "Revoked")) ReloadIdentity();
  if (effects->check_lease) {
    leadership_.Check(Guarded([this](bool still_leader) {
      Act([still_leader](HubSession& session, absl::Time now) {
        return session.OnLeaseChecked(still_leader, now);
      });
    }));
  }
  if (effects->dial.has_value()) {
    ++dials_;
    HubEndpoint endpoint;
    endpoint.address =
        options_.hub_endpoint.empty() ? identity_.hub_address : options_.hub_endpoint;
    endpoint.ca_pem = identity_.ca_pem;
    endpoint.certificate_pem = identity_.certificate_pem;
    endpoint.key_pem = identity_.key_pem;
    LogDebug("dialling", {{"hub", endpoint.address}, {"attempt", *effects->dial}});
    options_.link->Dial(*effects->dial, std::move(endpoint));
  }
  if (effects->frame.has_value()) {
    options_.link->Send(session_->connection().attempt(), *effects->frame);
  }
}

void AgentTerm::RenewCertificate() {
  if (Now() - renewed_at_ >= kRenewalsApart) return renewal_->RenewNow();
  // A hub that calls a new certificate expired has another clock; only waiting helps.
  options_.executor->Post(Guarded([this] {
    Act([](HubSession& session, absl::Time now) {
      return session.OnCertificateRenewed(false, now);
    });
  }));
}

// --- Events

void AgentTerm::OnStreamUp(uint64_t attempt) {
  Act([attempt](HubSession& session, absl::Time now) { return session.OnStreamUp(attempt, now); });
}

void AgentTerm::OnWritten(uint64_t attempt) {
  Act([attempt](HubSession& session, absl::Time now) { return session.OnWritten(attempt, now); });
}

void AgentTerm::OnFrame(uint64_t attempt, HubFrame frame) {
  Act([attempt, frame = std::move(frame)](HubSession& session, absl::Time now) mutable {
    return session.OnFrame(attempt, std::move(frame), now);
  });
}

void AgentTerm::OnStreamDown(uint64_t attempt, absl::Status status) {
  LogInfo("stream ended",
          {{"attempt", attempt}, {"reason", ErrorReason(status)}, {"error", status.message()}});
  ++streams_lost_;
  Act([attempt](HubSession& session, absl::Time now) {
    return session.OnStreamDown(attempt, now);
  });
}

void AgentTerm::OnBlob(uint64_t fetch, const Digest& digest, std::string compressed) {
  Act([fetch, digest, compressed = std::move(compressed)](HubSession& session,
                                                          absl::Time now) mutable {
    return session.OnBlob(fetch, digest, std::move(compressed), now);
  });
}

void AgentTerm::OnFetchDone(uint64_t fetch, absl::Status status, std::vector<Digest> superseded) {
  Act([fetch, status = std::move(status), superseded = std::move(superseded)](HubSession& session,
                                                                              absl::Time now) {
    return session.OnFetchDone(fetch, status, superseded, now);
  });
}

// In a task of its own: the reconciler may be in the middle of something that the session's answer
// would call into.
void AgentTerm::OnReconcilerStatus(const AssignmentStatus& status) {
  const bool owns_objects = reconciler_ != nullptr && reconciler_->HasInventory(status.key);
  phases_[status.key] = status.phase;
  options_.executor->Post(Guarded([this, status, owns_objects] {
    Act([status, owns_objects](HubSession& session, absl::Time now) {
      return session.OnStatus(status, owns_objects, now);
    });
  }));
}

void AgentTerm::SendFacts() {
  Facts facts = facts_;
  if (was_skewed_) {
    Condition skew;
    skew.type = std::string(Camel(Reason::kClockSkew));
    skew.status = ConditionStatus::kTrue;
    skew.reason = skew.type;
    skew.message = "the clocks of hub and spoke differ by more than 5 minutes";
    skew.since = skewed_since_;
    SetCondition(&facts.conditions, std::move(skew));
  }
  Act([facts](HubSession& session, absl::Time now) { return session.OnFacts(facts, now); });
}

// What a person would ask about.
void AgentTerm::NoteSession() {
  const bool live = session_->live();
  if (live != was_live_) {
    was_live_ = live;
    if (live) {
      ++sessions_;
      waits_for_.clear();
      LogInfo("connected",
              {{"cluster", identity_.cluster_name}, {"attempt", session_->connection().attempt()}});
    } else {
      waits_for_ = "the hub";
    }
  }
  const std::string hold = session_->hold_reason();
  if (hold != was_hold_) {
    was_hold_ = hold;
    if (hold.empty()) {
      LogInfo("hold ended");
    } else {
      LogWarning("on hold", {{"reason", hold}});
    }
  }
  const absl::Duration offset = session_->connection().clock_offset();
  const bool skewed = offset > kClockSkewMax || offset < -kClockSkewMax;
  if (live && skewed != was_skewed_) {
    was_skewed_ = skewed;
    skewed_since_ = Now();
    if (skewed) LogWarning("clock skew", {{"offset", absl::FormatDuration(offset)}});
    SendFacts();
  }
}

void AgentTerm::TrimLater() {
  if (!options_.trim_memory) return;
  options_.executor->Cancel(trim_timer_);
  trim_timer_ =
      options_.executor->PostAfter(kTrimDelay, Guarded([this] { options_.trim_memory(); }));
}

}  // namespace nave
