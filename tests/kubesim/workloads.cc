#include "tests/kubesim/workloads.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/value/codec.h"
#include "tests/kubesim/admission.h"
#include "tests/kubesim/controllers.h"
#include "tests/kubesim/selectors.h"

namespace nave::kubesim {
namespace {

bool Terminating(const Value& object) {
  return object.Find("metadata", "deletionTimestamp") != nullptr;
}

int64_t IntAt(const Value& object, absl::string_view part, absl::string_view name,
              int64_t otherwise) {
  const Value* found = object.Find(part, name);
  return found == nullptr ? otherwise : found->IntOr(otherwise);
}

bool PodReady(const Value& pod) {
  const Value* conditions = pod.Find("status", "conditions");
  if (conditions == nullptr || conditions->array() == nullptr) return false;
  for (const Value& condition : *conditions->array()) {
    if (condition.StringAt("type") == "Ready") return condition.StringAt("status") == "True";
  }
  return false;
}

// Counts are left out of a status when they are zero.
void SetCount(Value* status, const char* name, int64_t count) {
  if (count > 0) {
    (*status)[name] = Value(count);
  } else if (Object* object = status->mutable_object()) {
    object->erase(name);
  }
}

Value ControllerReference(const Value& owner) {
  return Value(Object{{"apiVersion", Value(owner.StringAt("apiVersion"))},
                      {"kind", Value(owner.StringAt("kind"))},
                      {"name", Value(owner.StringAt("metadata", "name"))},
                      {"uid", Value(owner.StringAt("metadata", "uid"))},
                      {"controller", Value(true)},
                      {"blockOwnerDeletion", Value(true)}});
}

Value& StatusOf(Value* object) {
  Value& status = (*object)["status"];
  if (!status.is_object()) status = Value(Object());
  const Value* generation = object->Find("metadata", "generation");
  if (generation != nullptr) status["observedGeneration"] = *generation;
  return status;
}

struct PodCounts {
  int64_t all = 0;
  int64_t ready = 0;
};

PodCounts Count(const std::vector<ObjectPtr>& pods) {
  PodCounts out;
  for (const ObjectPtr& pod : pods) {
    if (Terminating(*pod)) continue;
    ++out.all;
    out.ready += PodReady(*pod) ? 1 : 0;
  }
  return out;
}

}  // namespace

std::string Workloads::Suffix(absl::string_view of) const {
  // No vowels, as the real thing.
  static constexpr char kLetters[] = "bcdfghjklmnpqrstvwxz2456789";
  Digest digest = Sha256(of);
  std::string out;
  for (size_t i = 0; i < 10; ++i) out.push_back(kLetters[digest.bytes[i] % 27]);
  return out;
}

void Workloads::OnChange(const StoreEvent& event) {
  static const auto* const relevant =
      new std::set<std::string, std::less<>>{"deployments.apps",
                                             "replicasets.apps",
                                             "statefulsets.apps",
                                             "daemonsets.apps",
                                             "jobs.batch",
                                             "pods",
                                             "nodes",
                                             "services",
                                             "persistentvolumeclaims",
                                             "poddisruptionbudgets.policy"};
  if (relevant->count(event.resource) > 0) dirty_ = true;
}

absl::Time Workloads::NextStep() const {
  if (!controllers_->sim().options().workloads) return absl::InfiniteFuture();
  return dirty_ ? absl::InfinitePast() : next_;
}

void Workloads::WakeAt(absl::Time when) { next_ = std::min(next_, when); }

void Workloads::Step(absl::Time now) {
  if (NextStep() > now) return;
  now_ = now;
  dirty_ = false;
  next_ = absl::InfiniteFuture();
  const ObjectStore& store = controllers_->sim().store();
  // Copies: the passes change what they walk over.
  auto each = [&](absl::string_view resource, auto visit) {
    ObjectMap all = store.All(resource);
    for (const auto& [name, object] : all) {
      if (!Terminating(*object)) visit(*object);
    }
  };
  std::map<std::string, Children> replica_sets = ByController("replicasets.apps");
  each("deployments.apps", [&](const Value& d) { StepDeployment(d, Of(replica_sets, d)); });
  std::map<std::string, Children> pods = ByController("pods");
  each("replicasets.apps", [&](const Value& rs) { StepReplicaSet(rs, Of(pods, rs)); });
  each("statefulsets.apps", [&](const Value& sts) { StepStatefulSet(sts, Of(pods, sts)); });
  each("daemonsets.apps", [&](const Value& ds) { StepDaemonSet(ds, Of(pods, ds)); });
  each("jobs.batch", [&](const Value& job) { StepJob(job, Of(pods, job)); });
  each("pods", [&](const Value& pod) { StepPod(pod); });
  each("persistentvolumeclaims", [&](const Value& claim) { StepClaim(claim); });
  each("services", [&](const Value& service) { StepService(service); });
  each("poddisruptionbudgets.policy", [&](const Value& budget) { StepBudget(budget); });
}

std::map<std::string, Workloads::Children> Workloads::ByController(
    absl::string_view resource) const {
  std::map<std::string, Children> out;
  for (const auto& [name, object] : controllers_->sim().store().All(resource)) {
    const Value* references = object->Find("metadata", "ownerReferences");
    if (references == nullptr || references->array() == nullptr) continue;
    for (const Value& reference : *references->array()) {
      const Value* controller = reference.Find("controller");
      if (controller != nullptr && controller->BoolOr(false)) {
        out[reference.StringAt("uid")].push_back(object);
      }
    }
  }
  return out;
}

const Workloads::Children& Workloads::Of(const std::map<std::string, Children>& children,
                                         const Value& owner) const {
  static const Children* const none = new Children();
  auto it = children.find(owner.StringAt("metadata", "uid"));
  return it == children.end() ? *none : it->second;
}

void Workloads::Put(absl::string_view resource, const Value& live, Value updated) {
  if (!(updated == live)) {
    controllers_->ReplaceObject(controllers_->Kind(resource), std::move(updated), "", now_);
  }
}

void Workloads::PutStatus(absl::string_view resource, const Value& live, Value updated) {
  if (!(updated == live)) {
    controllers_->ReplaceObject(controllers_->Kind(resource), std::move(updated), "status", now_);
  }
}

void Workloads::Delete(absl::string_view resource, const Value& object) {
  controllers_->DeleteObject(
      controllers_->Kind(resource),
      {object.StringAt("metadata", "namespace"), object.StringAt("metadata", "name")}, now_);
}

Value Workloads::NewPod(const Value& owner, const std::string& name) const {
  Value pod;
  if (const Value* metadata = owner.Find("spec", "template", "metadata")) {
    for (const char* part : {"labels", "annotations", "finalizers"}) {
      if (const Value* value = metadata->Find(part)) pod["metadata"][part] = *value;
    }
  }
  pod["metadata"]["name"] = Value(name);
  pod["metadata"]["ownerReferences"] = Value(Array{ControllerReference(owner)});
  if (const Value* spec = owner.Find("spec", "template", "spec")) pod["spec"] = *spec;
  return pod;
}

void Workloads::CreatePod(const Value& owner, Value pod) {
  controllers_->CreateObject(controllers_->Kind("pods"), owner.StringAt("metadata", "namespace"),
                             std::move(pod), now_);
}

void Workloads::StepDeployment(const Value& deployment, const Children& replica_sets) {
  const Value* pod_template = deployment.Find("spec", "template");
  if (pod_template == nullptr) return;
  std::string hash = Suffix(FormatJson(*pod_template));
  int64_t want = IntAt(deployment, "spec", "replicas", 1);
  const Value* paused = deployment.Find("spec", "paused");
  bool is_paused = paused != nullptr && paused->BoolOr(false);
  const Value* current = nullptr;
  int64_t revision = 0;
  for (const ObjectPtr& replica_set : replica_sets) {
    const Value* labels = replica_set->Find("metadata", "labels");
    if (labels != nullptr && labels->StringAt("pod-template-hash") == hash) {
      current = replica_set.get();
    }
    ++revision;
  }
  if (current == nullptr && !is_paused) {
    Value made;
    std::string name = absl::StrCat(deployment.StringAt("metadata", "name"), "-", hash);
    made["spec"]["template"] = *pod_template;
    made["spec"]["template"]["metadata"]["labels"]["pod-template-hash"] = Value(hash);
    made["metadata"]["labels"] = *made.Find("spec", "template", "metadata", "labels");
    made["metadata"]["name"] = Value(name);
    made["metadata"]["annotations"]["deployment.kubernetes.io/revision"] =
        Value(absl::StrCat(revision + 1));
    made["metadata"]["ownerReferences"] = Value(Array{ControllerReference(deployment)});
    made["spec"]["replicas"] = Value(want);
    if (const Value* selector = deployment.Find("spec", "selector")) {
      made["spec"]["selector"] = *selector;
    }
    made["spec"]["selector"]["matchLabels"]["pod-template-hash"] = Value(hash);
    controllers_->CreateObject(controllers_->Kind("replicasets.apps"),
                               deployment.StringAt("metadata", "namespace"), std::move(made), now_);
    Value noted = deployment;
    noted["metadata"]["annotations"]["deployment.kubernetes.io/revision"] =
        Value(absl::StrCat(revision + 1));
    Put("deployments.apps", deployment, std::move(noted));
    return;
  }
  if (current != nullptr && IntAt(*current, "spec", "replicas", 0) != want) {
    Value scaled = *current;
    scaled["spec"]["replicas"] = Value(want);
    Put("replicasets.apps", *current, std::move(scaled));
  }
  // Old pods go when the new ones serve.
  if (current != nullptr && IntAt(*current, "status", "availableReplicas", 0) >= want) {
    for (const ObjectPtr& old : replica_sets) {
      if (old.get() == current || IntAt(*old, "spec", "replicas", 0) == 0) continue;
      Value scaled = *old;
      scaled["spec"]["replicas"] = Value(0);
      Put("replicasets.apps", *old, std::move(scaled));
    }
  }
  SetDeploymentStatus(deployment, replica_sets, hash);
}

void Workloads::SetDeploymentStatus(const Value& deployment, const Children& replica_sets,
                                    const std::string& hash) {
  int64_t want = IntAt(deployment, "spec", "replicas", 1);
  int64_t replicas = 0, updated = 0, ready = 0, available = 0;
  for (const ObjectPtr& replica_set : replica_sets) {
    int64_t count = IntAt(*replica_set, "status", "replicas", 0);
    replicas += count;
    ready += IntAt(*replica_set, "status", "readyReplicas", 0);
    available += IntAt(*replica_set, "status", "availableReplicas", 0);
    const Value* labels = replica_set->Find("metadata", "labels");
    if (labels != nullptr && labels->StringAt("pod-template-hash") == hash) updated += count;
  }
  Value next = deployment;
  Value& status = StatusOf(&next);
  SetCount(&status, "replicas", replicas);
  SetCount(&status, "updatedReplicas", updated);
  SetCount(&status, "readyReplicas", ready);
  SetCount(&status, "availableReplicas", available);
  SetCount(&status, "unavailableReplicas", std::max<int64_t>(0, want - available));
  bool serves = available >= want - want / 4;
  SetCondition(&next, "Available", serves,
               serves ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
               serves ? "Deployment has minimum availability."
                      : "Deployment does not have minimum availability.",
               now_);
  std::string name = deployment.StringAt("metadata", "name");
  bool complete = updated == want && replicas == want && available == want;
  std::string progress =
      absl::StrCat(deployment.StringAt("metadata", "uid"), "/", hash, "/", updated, "/", available);
  absl::Time since = progress_since_.emplace(progress, now_).first->second;
  absl::Time deadline =
      since + absl::Seconds(IntAt(deployment, "spec", "progressDeadlineSeconds", 600));
  if (complete) {
    SetCondition(&next, "Progressing", true, "NewReplicaSetAvailable",
                 absl::StrCat("ReplicaSet \"", name, "-", hash, "\" has successfully progressed."),
                 now_);
  } else if (deadline <= now_) {
    SetCondition(&next, "Progressing", false, "ProgressDeadlineExceeded",
                 absl::StrCat("ReplicaSet \"", name, "-", hash, "\" has timed out progressing."),
                 now_);
  } else {
    SetCondition(&next, "Progressing", true, "ReplicaSetUpdated",
                 absl::StrCat("ReplicaSet \"", name, "-", hash, "\" is progressing."), now_);
    WakeAt(deadline);
  }
  PutStatus("deployments.apps", deployment, std::move(next));
}

void Workloads::StepReplicaSet(const Value& replica_set, const Children& pods) {
  int64_t want = IntAt(replica_set, "spec", "replicas", 1);
  std::vector<const Value*> alive;
  for (const ObjectPtr& pod : pods) {
    if (!Terminating(*pod)) alive.push_back(pod.get());
  }
  for (int64_t i = static_cast<int64_t>(alive.size()); i < want; ++i) {
    std::string name = replica_set.StringAt("metadata", "name");
    std::string suffix =
        Suffix(absl::StrCat(controllers_->sim().options().seed, "/", name, "/", next_pod_++))
            .substr(0, 5);
    CreatePod(replica_set, NewPod(replica_set, absl::StrCat(name, "-", suffix)));
  }
  for (size_t i = alive.size(); static_cast<int64_t>(i) > want; --i) Delete("pods", *alive[i - 1]);
  PodCounts counts = Count(pods);
  Value next = replica_set;
  Value& status = StatusOf(&next);
  status["replicas"] = Value(counts.all);
  SetCount(&status, "fullyLabeledReplicas", counts.all);
  SetCount(&status, "readyReplicas", counts.ready);
  SetCount(&status, "availableReplicas", counts.ready);
  PutStatus("replicasets.apps", replica_set, std::move(next));
}

void Workloads::StepStatefulSet(const Value& stateful_set, const Children& pods) {
  const Value* pod_template = stateful_set.Find("spec", "template");
  if (pod_template == nullptr) return;
  int64_t want = IntAt(stateful_set, "spec", "replicas", 1);
  std::string name = stateful_set.StringAt("metadata", "name");
  std::string revision = absl::StrCat(name, "-", Suffix(FormatJson(*pod_template)));
  std::map<std::string, const Value*> by_name;
  for (const ObjectPtr& pod : pods) by_name[pod->StringAt("metadata", "name")] = pod.get();
  PodCounts counts = Count(pods);
  int64_t updated = 0;
  bool replaced = false;
  std::set<std::string> wanted;
  for (int64_t i = want - 1; i >= 0; --i) {
    std::string pod_name = absl::StrCat(name, "-", i);
    wanted.insert(pod_name);
    auto found = by_name.find(pod_name);
    if (found != by_name.end()) {
      const Value* labels = found->second->Find("metadata", "labels");
      if (labels != nullptr && labels->StringAt("controller-revision-hash") == revision) {
        ++updated;
      } else if (!replaced && counts.ready == want &&
                 stateful_set.StringAt("spec", "updateStrategy", "type") != "OnDelete") {
        // One at a time, from the last.
        replaced = true;
        Delete("pods", *found->second);
      }
      continue;
    }
    Value pod = NewPod(stateful_set, pod_name);
    pod["metadata"]["labels"]["controller-revision-hash"] = Value(revision);
    pod["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] = Value(pod_name);
    const Value* claims = stateful_set.Find("spec", "volumeClaimTemplates");
    for (size_t c = 0;
         claims != nullptr && claims->array() != nullptr && c < claims->array()->size(); ++c) {
      Value claim = (*claims->array())[c];
      std::string volume = claim.StringAt("metadata", "name");
      claim["metadata"]["name"] = Value(absl::StrCat(volume, "-", pod_name));
      controllers_->CreateObject(controllers_->Kind("persistentvolumeclaims"),
                                 stateful_set.StringAt("metadata", "namespace"), std::move(claim),
                                 now_);
      Value& volumes = pod["spec"]["volumes"];
      if (!volumes.is_array()) volumes = Value(Array());
      Value entry;
      entry["name"] = Value(volume);
      entry["persistentVolumeClaim"]["claimName"] = Value(absl::StrCat(volume, "-", pod_name));
      volumes.mutable_array()->push_back(std::move(entry));
    }
    CreatePod(stateful_set, std::move(pod));
  }
  for (const auto& [pod_name, pod] : by_name) {
    if (wanted.count(pod_name) == 0) Delete("pods", *pod);
  }
  Value next = stateful_set;
  Value& status = StatusOf(&next);
  status["replicas"] = Value(counts.all);
  status["availableReplicas"] = Value(counts.ready);
  status["collisionCount"] = Value(0);
  SetCount(&status, "readyReplicas", counts.ready);
  SetCount(&status, "updatedReplicas", updated);
  status["updateRevision"] = Value(revision);
  if (status.Find("currentRevision") == nullptr || updated == want) {
    status["currentRevision"] = Value(revision);
  }
  bool current = status.StringAt("currentRevision") == revision;
  SetCount(&status, "currentReplicas", current ? updated : counts.all - updated);
  PutStatus("statefulsets.apps", stateful_set, std::move(next));
}

}  // namespace nave::kubesim
