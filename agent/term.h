// One leadership of an agent: from an identity over the durable state to the session with the hub.
#ifndef NAVE_AGENT_TERM_H_
#define NAVE_AGENT_TERM_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "agent/agent_options.h"
#include "agent/desired/secret_desired_store.h"
#include "agent/enroll/renewal.h"
#include "agent/facts.h"
#include "agent/leader/leadership.h"
#include "agent/report.h"
#include "agent/session/hub_session.h"

namespace nave {

// Loop thread only. Made when leadership was gained, destroyed when it is lost; a new one begins
// from what is durable.
//
//   kube-system uid ─> identity (Enrollment) ─> state (DesiredStore::Load) ─> Reconciler and
//   HubSession
class AgentTerm final : public HubLinkListener {
 public:
  // `on_end`: this term cannot go on (another agent wrote the state, the identity is another
  // cluster's); called once, as a task.
  AgentTerm(const AgentOptions& options, Leadership& leadership, uint64_t seed,
            std::function<void(absl::Status)> on_end);
  ~AgentTerm() override;
  AgentTerm(const AgentTerm&) = delete;
  AgentTerm& operator=(const AgentTerm&) = delete;

  void Start();
  // No request starts after this returns.
  void Stop();

  // Adds what this term knows.
  void FillReport(AgentReport* report) const;
  // nullptr before the state was loaded.
  const HubSession* session() const { return session_.get(); }
  const DesiredStore* store() const { return store_.get(); }

  void OnStreamUp(uint64_t attempt) override;
  void OnWritten(uint64_t attempt) override;
  void OnFrame(uint64_t attempt, HubFrame frame) override;
  void OnStreamDown(uint64_t attempt, absl::Status status) override;
  void OnBlob(uint64_t fetch, const Digest& digest, std::string compressed) override;
  void OnFetchDone(uint64_t fetch, absl::Status status, std::vector<Digest> superseded) override;

 private:
  using Event = absl::AnyInvocable<Effects(HubSession&, absl::Time)>;

  void ReadClusterUid();
  void Enroll();
  void OnIdentity(AgentIdentity identity);
  void StartRenewal();
  void LoadState();
  void OnLoaded(LoadOutcome outcome);
  void StartSession(bool state_lost, std::string frozen_reason);
  void StartReconciler();
  void StopReconciler();
  void ReloadIdentity();

  // Lets the session take `event` and does what it wants done.
  void Act(Event event);
  void Run(Effects effects);
  void RunReconciler(const Effects& effects);
  void RunStore(Effects* effects);
  void RunStream(Effects* effects);
  void RenewCertificate();
  void OnStored(const absl::Status& status, absl::string_view what);
  void OnReconcilerStatus(const AssignmentStatus& status);
  void SendFacts();
  void ScheduleTick();
  void NoteSession();
  void End(absl::Status why);
  void Retry(absl::Duration delay, void (AgentTerm::*step)());
  void TrimLater();
  absl::Time Now() const { return options_.executor->Now(); }
  template <typename F>
  auto Guarded(F task);

  const AgentOptions& options_;
  Leadership& leadership_;
  SplitMix random_;
  std::function<void(absl::Status)> on_end_;
  bool stopped_ = false;
  bool ended_ = false;

  std::string kube_system_uid_;
  AgentIdentity identity_;
  std::unique_ptr<Enrollment> enrollment_;
  std::unique_ptr<Renewal> renewal_;
  std::unique_ptr<SecretDesiredStore> store_;
  std::unique_ptr<Reconciler> reconciler_;
  std::unique_ptr<HubSession> session_;
  std::unique_ptr<FactsReader> facts_reader_;

  std::deque<Event> events_;
  bool acting_ = false;
  TimerId tick_timer_ = 0;
  TimerId step_timer_ = 0;
  TimerId trim_timer_ = 0;
  Facts facts_;
  std::string waits_for_;

  // As last logged.
  bool was_live_ = false;
  std::string was_hold_;
  bool was_skewed_ = false;
  absl::Time skewed_since_ = absl::InfinitePast();

  uint64_t dials_ = 0;
  uint64_t sessions_ = 0;
  uint64_t streams_lost_ = 0;
  uint64_t renewals_ = 0;
  absl::Time renewed_at_ = absl::InfinitePast();
  std::map<Uuid, Phase> phases_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

template <typename F>
auto AgentTerm::Guarded(F task) {
  return [alive = std::weak_ptr<bool>(alive_), task = std::move(task)](auto&&... args) mutable {
    if (alive.lock() != nullptr) task(std::forward<decltype(args)>(args)...);
  };
}

}  // namespace nave

#endif  // NAVE_AGENT_TERM_H_
