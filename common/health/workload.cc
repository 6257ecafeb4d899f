#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/health/subject.h"

namespace nave {
namespace {

// A deployment whose rollout is over gets this long before missing pods count as a failure.
constexpr absl::Duration kUnavailableGrace = absl::Seconds(30);
// A pod that no node takes.
constexpr absl::Duration kUnschedulableGrace = absl::Seconds(15);
// A job between two pods.
constexpr absl::Duration kJobIdleGrace = absl::Seconds(60);

std::string Counts(absl::string_view what, int64_t actual, int64_t want) {
  return absl::StrCat(what, ": ", actual, " of ", want);
}

// A verdict that holds until `since` + `grace`, and the one after.
HealthResult After(const HealthSubject& subject, absl::Time since, absl::Duration grace,
                   HealthResult before, HealthResult after) {
  if (subject.now - since >= grace) return after;
  before.recheck = since + grace;
  return before;
}

HealthResult DeploymentCounters(const HealthSubject& subject, bool progressing_ok,
                                bool available_ok) {
  int64_t want = subject.Want();
  int64_t replicas = subject.StatusOrZero("replicas");
  int64_t updated = subject.StatusOrZero("updatedReplicas");
  int64_t ready = subject.StatusOrZero("readyReplicas");
  int64_t available = subject.StatusOrZero("availableReplicas");
  if (want > replicas) return Progressing("LessReplicas", Counts("replicas", replicas, want));
  if (want > updated) return Progressing("LessUpdated", Counts("updated", updated, want));
  if (replicas > want) {
    return Progressing("ExtraPods", absl::StrCat("pods that are to go: ", replicas - want));
  }
  if (updated > available)
    return Progressing("LessAvailable", Counts("available", available, updated));
  if (want > ready) return Progressing("LessReady", Counts("ready", ready, want));
  if (!progressing_ok)
    return Progressing("ReplicaSetNotAvailable", "the new ReplicaSet is not available");
  if (!available_ok)
    return Progressing("DeploymentNotAvailable", "the deployment is not available");
  return Healthy();
}

}  // namespace

HealthResult DeploymentHealth(const HealthSubject& subject) {
  constexpr int64_t kNoDeadline = std::numeric_limits<int32_t>::max();
  const StatusCondition* progressing = subject.Condition("Progressing");
  const StatusCondition* available = subject.Condition("Available");
  const StatusCondition* failure = subject.Condition("ReplicaFailure");
  if (progressing != nullptr && progressing->reason == "ProgressDeadlineExceeded") {
    return VerdictOf(Health::kDegraded, *progressing, "ProgressDeadlineExceeded");
  }
  if (failure != nullptr && failure->IsTrue()) {
    return VerdictOf(Health::kDegraded, *failure, "ReplicaFailure");
  }
  const Value* paused = subject.object.Find("spec", "paused");
  int64_t updated = subject.StatusOrZero("updatedReplicas");
  if (paused != nullptr && paused->BoolOr(false) && updated < subject.Want()) {
    return Verdict(Health::kSuspended, "DeploymentPaused",
                   Counts("paused; updated", updated, subject.Want()));
  }
  bool rolled_out = progressing != nullptr && progressing->reason == "NewReplicaSetAvailable";
  bool progressing_ok =
      subject.Spec("progressDeadlineSeconds").value_or(kNoDeadline) == kNoDeadline ||
      (rolled_out && progressing->IsTrue());
  bool available_ok = available != nullptr && available->IsTrue();
  HealthResult result = DeploymentCounters(subject, progressing_ok, available_ok);
  // With the rollout over nothing else will say that pods went away for good.
  bool lost = rolled_out && available != nullptr && available->IsFalse();
  if (result.health != Health::kProgressing || !lost) return result;
  HealthResult degraded = result;
  degraded.health = Health::kDegraded;
  return After(subject, subject.first_seen, kUnavailableGrace, std::move(result),
               std::move(degraded));
}

HealthResult StatefulSetHealth(const HealthSubject& subject) {
  int64_t want = subject.Want();
  int64_t replicas = subject.StatusOrZero("replicas");
  int64_t ready = subject.StatusOrZero("readyReplicas");
  int64_t updated = subject.StatusOrZero("updatedReplicas");
  int64_t current = subject.StatusOrZero("currentReplicas");
  if (subject.object.StringAt("spec", "updateStrategy", "type") == "OnDelete") {
    // What version the pods are of is the user's affair; that they run is not.
    int64_t available = subject.StatusOrZero("availableReplicas");
    if (want > ready) return Progressing("LessReady", Counts("ready", ready, want));
    if (want > available) return Progressing("LessAvailable", Counts("available", available, want));
    return Healthy();
  }
  if (want > replicas) return Progressing("LessReplicas", Counts("replicas", replicas, want));
  if (want > ready) return Progressing("LessReady", Counts("ready", ready, want));
  if (replicas > want) {
    return Progressing("ExtraPods", absl::StrCat("pods that are to go: ", replicas - want));
  }
  const Value* partition =
      subject.object.Find("spec", "updateStrategy", "rollingUpdate", "partition");
  if (partition != nullptr && partition->is_number()) {
    int64_t wanted = want - partition->IntOr(0);
    if (updated < wanted)
      return Progressing("PartitionRollout", Counts("updated", updated, wanted));
    return Healthy();
  }
  if (want > current) return Progressing("LessCurrent", Counts("current", current, want));
  std::string current_revision = subject.object.StringAt("status", "currentRevision");
  std::string update_revision = subject.object.StringAt("status", "updateRevision");
  if (current_revision != update_revision) {
    return Progressing("RevisionMismatch", absl::StrCat("waits for revision ", update_revision));
  }
  return Healthy();
}

HealthResult DaemonSetHealth(const HealthSubject& subject) {
  const Value* generation = subject.object.Find("metadata", "generation");
  if (generation == nullptr || !generation->is_number()) {
    return Progressing("NoGeneration", "metadata.generation is absent");
  }
  if (!subject.Status("observedGeneration").has_value()) {
    return Progressing("NoObservedGeneration", "status.observedGeneration is absent");
  }
  std::optional<int64_t> desired = subject.Status("desiredNumberScheduled");
  if (!desired.has_value()) {
    return Progressing("NoDesiredNumber", "status.desiredNumberScheduled is absent");
  }
  int64_t current = subject.StatusOrZero("currentNumberScheduled");
  int64_t updated = subject.StatusOrZero("updatedNumberScheduled");
  int64_t available = subject.StatusOrZero("numberAvailable");
  int64_t ready = subject.StatusOrZero("numberReady");
  bool on_delete = subject.object.StringAt("spec", "updateStrategy", "type") == "OnDelete";
  if (*desired > current) return Progressing("LessCurrent", Counts("current", current, *desired));
  if (*desired > updated && !on_delete) {
    return Progressing("LessUpdated", Counts("updated", updated, *desired));
  }
  if (*desired > available)
    return Progressing("LessAvailable", Counts("available", available, *desired));
  if (*desired > ready) return Progressing("LessReady", Counts("ready", ready, *desired));
  return Healthy();
}

HealthResult ReplicaSetHealth(const HealthSubject& subject) {
  const StatusCondition* failure = subject.Condition("ReplicaFailure");
  if (failure != nullptr && failure->IsTrue()) {
    return VerdictOf(Health::kDegraded, *failure, "ReplicaFailure");
  }
  int64_t want = subject.Want();
  int64_t labelled = subject.StatusOrZero("fullyLabeledReplicas");
  int64_t available = subject.StatusOrZero("availableReplicas");
  int64_t ready = subject.StatusOrZero("readyReplicas");
  int64_t replicas = subject.StatusOrZero("replicas");
  if (want > labelled) return Progressing("LessLabelled", Counts("labelled", labelled, want));
  if (want > available) return Progressing("LessAvailable", Counts("available", available, want));
  if (want > ready) return Progressing("LessReady", Counts("ready", ready, want));
  if (replicas > want) {
    return Progressing("ExtraPods", absl::StrCat("pods that are to go: ", replicas - want));
  }
  return Healthy();
}

namespace {

// Name of the first container that starts and fails again and again.
std::optional<std::string> CrashLoopingContainer(const Value& pod) {
  const Value* statuses = pod.Find("status", "containerStatuses");
  if (statuses == nullptr || !statuses->is_array()) return std::nullopt;
  for (const Value& status : *statuses->array()) {
    if (status.StringAt("state", "waiting", "reason") == "CrashLoopBackOff")
      return status.StringAt("name");
  }
  return std::nullopt;
}

HealthResult RunningPodHealth(const HealthSubject& subject) {
  const StatusCondition* ready = subject.Condition("Ready");
  if (ready != nullptr && ready->IsTrue()) return Healthy();
  if (std::optional<std::string> name = CrashLoopingContainer(subject.object)) {
    return Verdict(Health::kDegraded, "ContainerCrashLooping",
                   absl::StrCat("container ", *name, " crashes again and again"));
  }
  return Progressing("PodRunningNotReady", ready == nullptr ? "not ready yet" : ready->message);
}

HealthResult PendingPodHealth(const HealthSubject& subject) {
  const StatusCondition* scheduled = subject.Condition("PodScheduled");
  if (scheduled == nullptr || !scheduled->IsFalse() || scheduled->reason != "Unschedulable") {
    return Progressing("PodPending", "waits to be started");
  }
  return After(subject, subject.Created(), kUnschedulableGrace,
               Progressing("PodNotScheduled", scheduled->message),
               Verdict(Health::kDegraded, "PodUnschedulable", scheduled->message));
}

}  // namespace

HealthResult PodHealth(const HealthSubject& subject) {
  std::string phase = subject.object.StringAt("status", "phase");
  if (phase.empty()) return Progressing("PodNotObserved", "no status yet");
  if (phase == "Succeeded" || phase == "Failed") return Healthy();
  if (phase == "Running") return RunningPodHealth(subject);
  if (phase == "Pending") return PendingPodHealth(subject);
  return Verdict(Health::kUnknown, "PodPhaseUnknown", absl::StrCat("the phase is ", phase));
}

HealthResult JobHealth(const HealthSubject& subject) {
  const Value* suspend = subject.object.Find("spec", "suspend");
  bool is_suspended = suspend != nullptr && suspend->BoolOr(false);
  for (const StatusCondition& condition : subject.conditions) {
    if (!condition.IsTrue()) continue;
    if (condition.type == "Complete") return Healthy();
    if (condition.type == "Failed") return VerdictOf(Health::kDegraded, condition, "JobFailed");
    if (condition.type == "FailureTarget")
      return VerdictOf(Health::kDegraded, condition, "JobFailing");
    if (condition.type == "Suspended" && is_suspended) return Healthy();
  }
  if (subject.object.StringAt("status", "startTime").empty()) {
    return Progressing("JobNotStarted", "the job has not started");
  }
  if (subject.StatusOrZero("active") > 0 || subject.StatusOrZero("ready") > 0) return Healthy();
  return After(subject, subject.first_seen, kJobIdleGrace, Healthy(),
               Progressing("JobNotActive", "the job has started but no pod of it runs"));
}

}  // namespace nave
