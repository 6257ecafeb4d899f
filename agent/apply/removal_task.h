// Removes one object of the inventory: read, decide, delete with its uid (or take our marks off),
// confirm.
#ifndef NAVE_AGENT_APPLY_REMOVAL_TASK_H_
#define NAVE_AGENT_APPLY_REMOVAL_TASK_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "agent/apply/emptiness_check.h"
#include "agent/desired/desired.h"
#include "agent/kube/kube_client.h"
#include "agent/observe/catalog.h"
#include "agent/plan/ownership.h"

namespace nave {

struct RemovalJob {
  ResourceType type;
  InventoryEntry entry;
  Claimant claimant;
  Propagation propagation = Propagation::kDelete;
  // The check of a Namespace or CRD has failed for so long that it stays.
  bool give_up_check = false;
};

struct RemovalOutcome {
  enum class Kind {
    kGone,       // Confirmed: absent, or another object has its place.
    kReleased,   // It stays, without our marks.
    kForgotten,  // It stays as it is: it was not ours any more.
    kRetained,   // As kReleased, for a Namespace or CRD that others use; `detail` says who.
    kWaiting,    // Deletion was sent (or had begun): look again.
    kUnchecked,  // A Namespace or CRD could not be checked; `detail` says why.
    kFailed,     // `error`
    kAbandoned,  // Not wanted any more, or writing is not allowed now.
  };
  Kind kind = Kind::kFailed;
  KubeError error;
  std::string detail;
};

// One run; Start once. Loop thread only. Held by shared_ptr; the references outlive it.
class RemovalTask : public std::enable_shared_from_this<RemovalTask> {
 public:
  using Done = absl::AnyInvocable<void(RemovalOutcome) &&>;
  // `may_remove` is asked before every write: leadership, and that the removal is still wanted.
  static std::shared_ptr<RemovalTask> Start(KubeClient& kube, const Catalog& catalog,
                                            RemovalJob job, std::function<bool()> may_remove,
                                            EmptinessCheck::IsLeaving is_leaving, Done done);
  void Cancel();

 private:
  RemovalTask(KubeClient& kube, const Catalog& catalog, RemovalJob job,
              std::function<bool()> may_remove, EmptinessCheck::IsLeaving is_leaving, Done done);

  void Read();
  void OnRead(KubeResult result);
  void Act();
  void Check();
  void OnChecked(EmptinessResult result);
  void Release(RemovalOutcome::Kind then, std::string detail);
  void OnReleased(RemovalOutcome::Kind then, std::string detail, KubeResult result);
  void Delete();
  void OnDeleted(KubeResult result);
  bool MayRemove();
  void Finish(RemovalOutcome::Kind kind, std::string detail = "");
  void Fail(KubeError error);
  template <typename Method>
  KubeClient::Callback<KubeResult> Then(Method method);

  KubeClient& kube_;
  const Catalog& catalog_;
  RemovalJob job_;
  std::function<bool()> may_remove_;
  EmptinessCheck::IsLeaving is_leaving_;
  Done done_;
  Value live_;
  bool sent_ = false;
  int reads_ = 0;
  std::shared_ptr<EmptinessCheck> check_;
};

// Why something that is being deleted does not go: finalizers, and what a Namespace's conditions
// say.
std::string DescribeTerminating(const Value& live);

}  // namespace nave

#endif  // NAVE_AGENT_APPLY_REMOVAL_TASK_H_
