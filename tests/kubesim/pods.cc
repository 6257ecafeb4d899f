// The second half of Workloads: DaemonSets, Jobs, pods, claims, Services and disruption budgets.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/kubesim/admission.h"
#include "tests/kubesim/controllers.h"
#include "tests/kubesim/selectors.h"
#include "tests/kubesim/workloads.h"

namespace nave::kubesim {
namespace {

int64_t IntAt(const Value& object, absl::string_view part, absl::string_view name,
              int64_t otherwise) {
  const Value* found = object.Find(part, name);
  return found == nullptr ? otherwise : found->IntOr(otherwise);
}

bool Broken(const Value& pod) {
  const Value* containers = pod.Find("spec", "containers");
  if (containers == nullptr || containers->array() == nullptr) return false;
  return std::any_of(containers->array()->begin(), containers->array()->end(),
                     [](const Value& container) {
                       return absl::StrContains(container.StringAt("image"), "broken");
                     });
}

bool Ready(const Value& pod) {
  const Value* statuses = pod.Find("status", "containerStatuses");
  if (statuses == nullptr || statuses->array() == nullptr || statuses->array()->empty())
    return false;
  const Value* ready = (*statuses->array())[0].Find("ready");
  return ready != nullptr && ready->BoolOr(false);
}

Value Reference(const Value& owner) {
  return Value(Object{{"apiVersion", Value(owner.StringAt("apiVersion"))},
                      {"kind", Value(owner.StringAt("kind"))},
                      {"name", Value(owner.StringAt("metadata", "name"))},
                      {"uid", Value(owner.StringAt("metadata", "uid"))},
                      {"controller", Value(true)},
                      {"blockOwnerDeletion", Value(true)}});
}

Value ContainerStatus(const Value& container, Value state, bool ready) {
  return Value(Object{{"name", Value(container.StringAt("name"))},
                      {"image", Value(container.StringAt("image"))},
                      {"imageID", Value("")},
                      {"ready", Value(ready)},
                      {"started", Value(ready)},
                      {"restartCount", Value(0)},
                      {"state", std::move(state)}});
}

}  // namespace

void Workloads::StepDaemonSet(const Value& daemon_set, const Children& pods) {
  std::string name = daemon_set.StringAt("metadata", "name");
  const Value* generation = daemon_set.Find("metadata", "generation");
  // Its template, as far as the sim tells templates apart.
  std::string revision = absl::StrCat(generation == nullptr ? 0 : generation->IntOr(0));
  std::map<std::string, const Value*> by_node;
  for (const ObjectPtr& pod : pods) by_node[pod->StringAt("spec", "nodeName")] = pod.get();
  int64_t scheduled = 0, ready = 0, updated = 0;
  const ObjectMap& nodes = controllers_->sim().store().All("nodes");
  std::vector<std::string> names;
  for (const auto& [key, node] : nodes) names.push_back(key.second);
  for (const std::string& node : names) {
    auto found = by_node.find(node);
    if (found == by_node.end()) {
      Value pod = NewPod(daemon_set, absl::StrCat(name, "-", Suffix(name + node).substr(0, 5)));
      pod["spec"]["nodeName"] = Value(node);
      pod["metadata"]["labels"]["pod-template-generation"] = Value(revision);
      CreatePod(daemon_set, std::move(pod));
      continue;
    }
    ++scheduled;
    if (Ready(*found->second)) ++ready;
    if (found->second->StringAt("metadata", "labels", "pod-template-generation") == revision) {
      ++updated;
    } else if (daemon_set.StringAt("spec", "updateStrategy", "type") != "OnDelete") {
      Delete("pods", *found->second);
    }
  }
  Value next = daemon_set;
  Value& status = next["status"];
  if (!status.is_object()) status = Value(Object());
  status["observedGeneration"] = generation == nullptr ? Value(0) : *generation;
  status["desiredNumberScheduled"] = Value(static_cast<int64_t>(names.size()));
  status["currentNumberScheduled"] = Value(scheduled);
  status["numberMisscheduled"] = Value(0);
  status["numberReady"] = Value(ready);
  status["numberAvailable"] = Value(ready);
  status["updatedNumberScheduled"] = Value(updated);
  PutStatus("daemonsets.apps", daemon_set, std::move(next));
}

void Workloads::StepJob(const Value& job, const Children& pods) {
  const Value* suspend = job.Find("spec", "suspend");
  bool suspended = suspend != nullptr && suspend->BoolOr(false);
  int64_t completions = IntAt(job, "spec", "completions", 1);
  int64_t parallelism = IntAt(job, "spec", "parallelism", 1);
  const Value* finished = job.Find("status", "completionTime");
  std::string uid = job.StringAt("metadata", "uid");
  if (finished != nullptr) {
    int64_t ttl = IntAt(job, "spec", "ttlSecondsAfterFinished", -1);
    if (ttl < 0) return;
    absl::Time due = progress_since_.emplace(absl::StrCat(uid, "/finished"), now_).first->second +
                     absl::Seconds(ttl);
    if (due <= now_) return Delete("jobs.batch", job);
    return WakeAt(due);
  }
  int64_t succeeded = 0, active = 0;
  for (const ObjectPtr& pod : pods) {
    if (pod->StringAt("status", "phase") == "Succeeded") {
      ++succeeded;
    } else {
      ++active;
    }
  }
  Value next = job;
  Value& status = next["status"];
  if (!status.is_object()) status = Value(Object());
  if (suspended) {
    SetCondition(&next, "Suspended", true, "JobSuspended", "Job suspended", now_);
  } else {
    std::string name = job.StringAt("metadata", "name");
    for (; active < parallelism && active + succeeded < completions; ++active) {
      std::string suffix = Suffix(absl::StrCat(uid, "/", next_pod_++)).substr(0, 5);
      CreatePod(job, NewPod(job, absl::StrCat(name, "-", suffix)));
    }
    if (status.Find("startTime") == nullptr) status["startTime"] = Value(FormatRfc3339(now_));
    status["active"] = Value(active);
    status["ready"] = Value(0);
    status["succeeded"] = Value(succeeded);
    status["terminating"] = Value(0);
    status["uncountedTerminatedPods"] = Value(Object());
    if (active == 0) status.mutable_object()->erase("active");
    if (succeeded == 0) status.mutable_object()->erase("succeeded");
    if (succeeded >= completions) {
      status["completionTime"] = Value(FormatRfc3339(now_));
      SetCondition(&next, "SuccessCriteriaMet", true, "CompletionsReached",
                   "Reached expected number of succeeded pods", now_);
      SetCondition(&next, "Complete", true, "CompletionsReached",
                   "Reached expected number of succeeded pods", now_);
    }
  }
  PutStatus("jobs.batch", job, std::move(next));
}

void Workloads::StepPod(const Value& pod) {
  std::string phase = pod.StringAt("status", "phase");
  if (phase == "Running" || phase == "Succeeded" || phase == "Failed") return;
  std::string uid = pod.StringAt("metadata", "uid");
  absl::Time due =
      pod_due_.emplace(uid, now_ + controllers_->sim().options().pod_delay).first->second;
  if (due > now_) return WakeAt(due);
  std::string policy = pod.StringAt("spec", "restartPolicy");
  bool runs_once = policy == "Never" || policy == "OnFailure";
  bool broken = Broken(pod);
  Value next = pod;
  Array containers;
  for (const Value& container : *pod.Find("spec", "containers")->array()) {
    Value state;
    if (broken) {
      state["waiting"] = Value(Object{{"reason", Value("ImagePullBackOff")},
                                      {"message", Value("Back-off pulling image")}});
    } else if (runs_once) {
      state["terminated"] = Value(Object{{"exitCode", Value(0)}, {"reason", Value("Completed")}});
    } else {
      state["running"] = Value(Object{{"startedAt", Value(FormatRfc3339(now_))}});
    }
    containers.push_back(ContainerStatus(container, std::move(state), !broken && !runs_once));
  }
  Value& status = next["status"];
  status["containerStatuses"] = Value(std::move(containers));
  status["phase"] = Value(broken ? "Pending" : runs_once ? "Succeeded" : "Running");
  if (status.Find("startTime") == nullptr) status["startTime"] = Value(FormatRfc3339(now_));
  std::string ip = absl::StrCat("10.244.", uid.size() < 4 ? 0 : (uid[0] * 7 + uid[1]) % 250, ".",
                                uid.size() < 4 ? 1 : (uid[2] * 7 + uid[3]) % 250 + 2);
  status["podIP"] = Value(ip);
  status["podIPs"] = Value(Array{Value(Object{{"ip", Value(ip)}})});
  bool ready = !broken && !runs_once;
  SetCondition(&next, "PodScheduled", true, "", "", now_);
  SetCondition(&next, "Initialized", true, "", "", now_);
  SetCondition(&next, "ContainersReady", ready, ready ? "" : "ContainersNotReady", "", now_);
  SetCondition(&next, "Ready", ready, ready ? "" : "ContainersNotReady", "", now_);
  PutStatus("pods", pod, std::move(next));
}

void Workloads::StepClaim(const Value& claim) {
  if (claim.StringAt("status", "phase") != "Pending") return;
  Value next = claim;
  next["status"]["phase"] = Value("Bound");
  PutStatus("persistentvolumeclaims", claim, std::move(next));
}

void Workloads::StepBudget(const Value& budget) {
  Value next = budget;
  Value& status = next["status"];
  if (!status.is_object()) status = Value(Object());
  if (const Value* generation = budget.Find("metadata", "generation")) {
    status["observedGeneration"] = *generation;
  }
  SetCondition(&next, "DisruptionAllowed", true, "SufficientPods", "", now_);
  PutStatus("poddisruptionbudgets.policy", budget, std::move(next));
}

void Workloads::StepService(const Value& service) {
  const Value* selector = service.Find("spec", "selector");
  if (selector == nullptr || selector->object() == nullptr || selector->object()->empty()) return;
  std::string ns = service.StringAt("metadata", "namespace");
  std::string name = service.StringAt("metadata", "name");
  Array endpoints;
  const ObjectMap& pods = controllers_->sim().store().All("pods");
  for (auto it = pods.lower_bound({ns, ""}); it != pods.end() && it->first.first == ns; ++it) {
    if (!LabelSelectorMatches(*selector, it->second->Find("metadata", "labels"))) continue;
    if (!Ready(*it->second)) continue;
    Value endpoint;
    endpoint["addresses"] = Value(Array{Value(it->second->StringAt("status", "podIP"))});
    endpoint["conditions"]["ready"] = Value(true);
    endpoint["targetRef"] = Value(Object{
        {"kind", Value("Pod")}, {"name", Value(it->first.second)}, {"namespace", Value(ns)}});
    endpoints.push_back(std::move(endpoint));
  }
  std::string slice_name =
      absl::StrCat(name, "-", Suffix(service.StringAt("metadata", "uid")).substr(0, 5));
  ObjectPtr live = controllers_->sim().Find("endpointslices.discovery.k8s.io", ns, slice_name);
  Value next;
  if (live != nullptr) {
    next = *live;
  } else {
    next["metadata"]["name"] = Value(slice_name);
    next["metadata"]["labels"]["kubernetes.io/service-name"] = Value(name);
    next["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"] =
        Value("endpointslice-controller.k8s.io");
    next["metadata"]["ownerReferences"] = Value(Array{Reference(service)});
    next["addressType"] = Value("IPv4");
  }
  next["endpoints"] = Value(std::move(endpoints));
  if (live != nullptr) return Put("endpointslices.discovery.k8s.io", *live, std::move(next));
  controllers_->CreateObject(controllers_->Kind("endpointslices.discovery.k8s.io"), ns,
                             std::move(next), now_);
}

}  // namespace nave::kubesim
