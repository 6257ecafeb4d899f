// Brings one object to what its bundle wants: read where needed, decide, dry-run, apply, force what
// is ours.
#ifndef NAVE_AGENT_APPLY_APPLY_TASK_H_
#define NAVE_AGENT_APPLY_APPLY_TASK_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "agent/desired/desired.h"
#include "agent/kube/kube_client.h"
#include "agent/plan/ownership.h"
#include "common/value/value.h"

namespace nave {

// What to apply. Values, so that the task outlives whatever changes meanwhile.
struct ApplyJob {
  ResourceType type;
  ObjectKey key;
  Claimant claimant;
  std::string manager;
  // BuildBody of the object.
  Value body;
  // BuildBody of the version that was applied before, when it is known and another one: its fields
  // were ours. Null otherwise.
  Value previous;
  bool bare_namespace = false;
  // From the inventory; none for an object that it does not have.
  std::optional<InventoryEntry> entry;
  // Read the object even though the inventory names its uid.
  bool must_read = false;
  bool handed_over = false;
  bool contested = false;
  // Try again what was left to other managers.
  bool retry_left_out = false;
};

struct ApplyOutcome {
  enum class Kind {
    kApplied,
    kUsedAsIs,  // A namespace that is there already.
    kWaitGone,  // It is being deleted; made again when it is gone.
    kNotOwned,  // It is there, nobody's, and differs.
    kOwnedByOther,
    kNeedsIntention,  // It can be made or adopted now, but the inventory must say so first.
    kFailed,          // `error`
    kAbandoned,       // Not wanted any more, or writing is not allowed now.
  };
  Kind kind = Kind::kFailed;
  // Applied: what the inventory is to say.
  InventoryEntry entry;
  // The object as last answered or read; null when there was none.
  Value live;
  KubeError error;
  // Owner, or what differs, for the message.
  std::string detail;
  // Applied: a field that the server dropped; empty: none.
  std::string dropped;
  // Applied: who owns the paths that were left out, "kubectl-edit: .spec.replicas".
  std::string conflict;
  std::vector<std::string> warnings;
};

// One run; Start once. Loop thread only. Held by shared_ptr; `kube` outlives it.
class ApplyTask : public std::enable_shared_from_this<ApplyTask> {
 public:
  using Done = absl::AnyInvocable<void(ApplyOutcome) &&>;
  // `may_write` is asked before every write (leadership, and that the object is still wanted).
  static std::shared_ptr<ApplyTask> Start(KubeClient& kube, ApplyJob job,
                                          std::function<bool()> may_write, Done done);
  // `done` does not run any more, and no request starts.
  void Cancel() { done_ = nullptr; }

 private:
  ApplyTask(KubeClient& kube, ApplyJob job, std::function<bool()> may_write, Done done);

  void LeaveOutAgain();
  void Read();
  void OnRead(KubeResult result);
  void Decide();
  void DryRun();
  void OnDryRun(KubeResult result);
  void Send();
  void OnSent(KubeResult result);
  void OnFieldConflict(const KubeError& error);
  bool WasOurs(const KubeCause& cause) const;
  bool IsAsWanted() const;
  void Succeed(KubeResult result);
  void Finish(ApplyOutcome outcome);
  void Fail(KubeError error);
  template <typename Method>
  KubeClient::Callback<KubeResult> Then(Method method);
  ApplyRequest Request() const;

  KubeClient& kube_;
  ApplyJob job_;
  std::function<bool()> may_write_;
  Done done_;
  Digest sent_;                       // Of the whole body.
  bool previous_is_applied_ = false;  // job_.previous is what the inventory says was sent last.
  Value live_;                        // Null: absent or not read.
  bool read_ = false;
  Approach approach_ = Approach::kUpdate;
  bool force_ = false;
  bool adopted_ = false;
  int reads_ = 0;
  std::vector<std::string> left_out_;
  std::string conflict_;
};

}  // namespace nave

#endif  // NAVE_AGENT_APPLY_APPLY_TASK_H_
