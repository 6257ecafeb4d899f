#include "agent/apply/removal_task.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/apply/retry.h"
#include "agent/plan/order.h"

namespace nave {
namespace {

DeletePropagation PropagationFor(const ObjectKey&) {
  // Always said: Jobs and ReplicationControllers orphan their pods when nothing is.
  return DeletePropagation::kBackground;
}

}  // namespace

std::string DescribeTerminating(const Value& live) {
  std::string text;
  const Value* conditions = live.Find("status", "conditions");
  if (IsNamespace(KeyOf(live)) && conditions != nullptr && conditions->array() != nullptr) {
    for (const Value& condition : *conditions->array()) {
      if (condition.StringAt("status") != "True") continue;
      absl::StrAppend(&text, text.empty() ? "" : "; ", condition.StringAt("message"));
    }
  }
  const Value* finalizers = live.Find("metadata", "finalizers");
  if (text.empty() && finalizers != nullptr && finalizers->array() != nullptr &&
      !finalizers->array()->empty()) {
    text = absl::StrCat("waits for finalizer ", (*finalizers->array())[0].StringOr("?"));
  }
  return text.empty() ? "being deleted" : text;
}

std::shared_ptr<RemovalTask> RemovalTask::Start(KubeClient& kube, const Catalog& catalog,
                                                RemovalJob job, std::function<bool()> may_remove,
                                                EmptinessCheck::IsLeaving is_leaving, Done done) {
  std::shared_ptr<RemovalTask> task(new RemovalTask(kube, catalog, std::move(job),
                                                    std::move(may_remove), std::move(is_leaving),
                                                    std::move(done)));
  task->Read();
  return task;
}

RemovalTask::RemovalTask(KubeClient& kube, const Catalog& catalog, RemovalJob job,
                         std::function<bool()> may_remove, EmptinessCheck::IsLeaving is_leaving,
                         Done done)
    : kube_(kube),
      catalog_(catalog),
      job_(std::move(job)),
      may_remove_(std::move(may_remove)),
      is_leaving_(std::move(is_leaving)),
      done_(std::move(done)) {}

void RemovalTask::Cancel() {
  done_ = nullptr;
  if (check_) check_->Cancel();
}

template <typename Method>
KubeClient::Callback<KubeResult> RemovalTask::Then(Method method) {
  return [self = shared_from_this(), method](KubeResult result) {
    if (self->done_) (self.get()->*method)(std::move(result));
  };
}

void RemovalTask::Read() {
  if (++reads_ > kReadsMax) {
    KubeError error;
    error.error_class = KubeErrorClass::kConflict;
    error.message = "the object changes faster than it can be removed";
    Fail(std::move(error));
    return;
  }
  const ObjectKey& key = job_.entry.key;
  kube_.Get(job_.type, key.ns, key.name, Then(&RemovalTask::OnRead));
}

void RemovalTask::OnRead(KubeResult result) {
  if (result.error.error_class == KubeErrorClass::kNotFound ||
      result.error.error_class == KubeErrorClass::kNamespaceMissing) {
    Finish(RemovalOutcome::Kind::kGone);
    return;
  }
  if (!result.error.ok()) {
    Fail(std::move(result.error));
    return;
  }
  live_ = std::move(result.object);
  if (sent_ && job_.entry.uid == live_.StringAt("metadata", "uid")) {
    Finish(RemovalOutcome::Kind::kWaiting, DescribeTerminating(live_));
    return;
  }
  Act();
}

void RemovalTask::Act() {
  switch (DecideRemoval(&live_, job_.entry, job_.propagation, job_.claimant)) {
    case Removal::kGone:
      Finish(RemovalOutcome::Kind::kGone);
      return;
    case Removal::kForget:
      Finish(RemovalOutcome::Kind::kForgotten);
      return;
    case Removal::kWaitGone:
      Finish(RemovalOutcome::Kind::kWaiting, DescribeTerminating(live_));
      return;
    case Removal::kRelease:
      Release(RemovalOutcome::Kind::kReleased, "");
      return;
    case Removal::kCheck:
      Check();
      return;
    case Removal::kDelete:
      Delete();
      return;
  }
}

void RemovalTask::Check() {
  check_ = EmptinessCheck::Start(kube_, catalog_, live_, is_leaving_,
                                 [self = shared_from_this()](EmptinessResult result) {
                                   if (self->done_) self->OnChecked(std::move(result));
                                 });
}

void RemovalTask::OnChecked(EmptinessResult result) {
  switch (result.kind) {
    case EmptinessResult::Kind::kEmpty:
      Delete();
      return;
    case EmptinessResult::Kind::kHeld:
      Release(RemovalOutcome::Kind::kRetained, absl::StrCat("in use by ", result.Describe()));
      return;
    case EmptinessResult::Kind::kLeaving:
    case EmptinessResult::Kind::kUnknown:
      if (job_.give_up_check) {
        Release(RemovalOutcome::Kind::kRetained, result.Describe());
      } else {
        Finish(RemovalOutcome::Kind::kUnchecked, result.Describe());
      }
      return;
  }
}

bool RemovalTask::MayRemove() {
  if (may_remove_()) return true;
  Finish(RemovalOutcome::Kind::kAbandoned);
  return false;
}

void RemovalTask::Release(RemovalOutcome::Kind then, std::string detail) {
  if (!MayRemove()) return;
  PatchRequest request;
  request.type = job_.type;
  request.ns = job_.entry.key.ns;
  request.name = job_.entry.key.name;
  request.patch_type = PatchType::kMerge;
  request.body =
      UnmarkPatch(live_.StringAt("metadata", "uid"), live_.StringAt("metadata", "resourceVersion"));
  request.field_manager = FieldManagerName(job_.claimant.who.hub_id);
  kube_.Patch(std::move(request), [self = shared_from_this(), then,
                                   detail = std::move(detail)](KubeResult result) mutable {
    if (self->done_) self->OnReleased(then, std::move(detail), std::move(result));
  });
}

void RemovalTask::OnReleased(RemovalOutcome::Kind then, std::string detail, KubeResult result) {
  switch (result.error.error_class) {
    case KubeErrorClass::kNone:
      Finish(then, std::move(detail));
      return;
    case KubeErrorClass::kNotFound:
    case KubeErrorClass::kConflict:
    case KubeErrorClass::kInvalid:
      Read();
      return;
    default:
      Fail(std::move(result.error));
      return;
  }
}

void RemovalTask::Delete() {
  if (!MayRemove()) return;
  job_.entry.uid = live_.StringAt("metadata", "uid");
  DeleteRequest request;
  request.type = job_.type;
  request.ns = job_.entry.key.ns;
  request.name = job_.entry.key.name;
  request.uid = job_.entry.uid;
  request.propagation = PropagationFor(job_.entry.key);
  if (IsNamespace(job_.entry.key) || IsCrd(job_.entry.key)) {
    request.resource_version = live_.StringAt("metadata", "resourceVersion");
  }
  kube_.Delete(std::move(request), Then(&RemovalTask::OnDeleted));
}

void RemovalTask::OnDeleted(KubeResult result) {
  switch (result.error.error_class) {
    case KubeErrorClass::kNone:
      // Only reading that it is absent proves that it is gone.
      sent_ = true;
      Read();
      return;
    case KubeErrorClass::kNotFound:
    case KubeErrorClass::kConflict:
      // Made anew, changed, or a namespace that is being emptied already: look again.
      Read();
      return;
    default:
      Fail(std::move(result.error));
      return;
  }
}

void RemovalTask::Fail(KubeError error) {
  RemovalOutcome outcome;
  outcome.error = std::move(error);
  if (Done done = std::exchange(done_, nullptr); done) std::move(done)(std::move(outcome));
}

void RemovalTask::Finish(RemovalOutcome::Kind kind, std::string detail) {
  RemovalOutcome outcome;
  outcome.kind = kind;
  outcome.detail = std::move(detail);
  if (Done done = std::exchange(done_, nullptr); done) std::move(done)(std::move(outcome));
}

}  // namespace nave
