#include "common/health/health.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/health/subject.h"
#include "common/manifest/object_key.h"

namespace nave {
namespace {

// A member that is absent, null or no number is absent.
std::optional<int64_t> IntegerAt(const Value* map, absl::string_view field) {
  const Value* value = map == nullptr ? nullptr : map->Find(field);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  // A fraction is no integer either: two different defaults tell it apart.
  int64_t integer = value->IntOr(0);
  return integer == 0 && value->IntOr(1) == 1 ? std::nullopt : std::optional<int64_t>(integer);
}

// A text member of a condition; false when it is there but no text.
bool ReadText(const Value& condition, absl::string_view field, std::string* out) {
  const Value* value = condition.Find(field);
  if (value == nullptr || value->is_null()) return true;
  if (!value->is_string()) return false;
  *out = *value->string();
  return true;
}

// False when status or its conditions have not the shape that every kind gives them.
bool ReadConditions(const Value& object, std::vector<StatusCondition>* out) {
  const Value* status = object.Find("status");
  if (status == nullptr || status->is_null()) return true;
  if (!status->is_object()) return false;
  const Value* conditions = status->Find("conditions");
  if (conditions == nullptr || conditions->is_null()) return true;
  if (!conditions->is_array()) return false;
  for (const Value& item : *conditions->array()) {
    StatusCondition condition;
    bool readable = item.is_object() && ReadText(item, "type", &condition.type) &&
                    ReadText(item, "status", &condition.status) &&
                    ReadText(item, "reason", &condition.reason) &&
                    ReadText(item, "message", &condition.message);
    if (!readable) return false;
    out->push_back(std::move(condition));
  }
  return true;
}

HealthResult TerminatingHealth(const Value& object) {
  std::vector<std::string> finalizers;
  if (const Value* list = object.Find("metadata", "finalizers");
      list != nullptr && list->is_array()) {
    for (const Value& finalizer : *list->array()) finalizers.push_back(finalizer.StringOr(""));
  }
  std::string message = "is being deleted";
  if (!finalizers.empty())
    absl::StrAppend(&message, ", waits for ", absl::StrJoin(finalizers, ", "));
  return Verdict(Health::kTerminating, "Terminating", message);
}

// Rules that any kind may follow; nullopt: go on.
std::optional<HealthResult> GeneralHealth(const HealthSubject& subject) {
  std::optional<int64_t> generation = IntegerAt(subject.object.Find("metadata"), "generation");
  std::optional<int64_t> observed = subject.Status("observedGeneration");
  if (generation.has_value() && observed.has_value() && *generation != *observed) {
    return Progressing("LatestGenerationNotObserved",
                       absl::StrCat("generation is ", *generation, ", observed is ", *observed));
  }
  for (const StatusCondition& condition : subject.conditions) {
    if (!condition.IsTrue()) continue;
    if (condition.type == "Reconciling")
      return VerdictOf(Health::kProgressing, condition, "Reconciling");
    if (condition.type == "Stalled") return VerdictOf(Health::kDegraded, condition, "Stalled");
  }
  return std::nullopt;
}

std::optional<HealthResult> KindHealth(const ObjectKey& key, const HealthSubject& subject) {
  const std::string& kind = key.kind;
  bool is_apps = key.group == "apps" || key.group == "extensions";
  if (is_apps && kind == "Deployment") return DeploymentHealth(subject);
  if (is_apps && kind == "StatefulSet") return StatefulSetHealth(subject);
  if (is_apps && kind == "DaemonSet") return DaemonSetHealth(subject);
  if (is_apps && kind == "ReplicaSet") return ReplicaSetHealth(subject);
  if (key.group == "batch" && kind == "Job") return JobHealth(subject);
  if (key.group == "batch" && kind == "CronJob") return Healthy();
  if (key.group == "policy" && kind == "PodDisruptionBudget")
    return DisruptionBudgetHealth(subject);
  if (key.group == "autoscaling" && kind == "HorizontalPodAutoscaler")
    return AutoscalerHealth(subject);
  if (key.group == "apiextensions.k8s.io" && kind == "CustomResourceDefinition")
    return CrdHealth(subject);
  if (key.group == "apiregistration.k8s.io" && kind == "APIService")
    return ApiServiceHealth(subject);
  if (!key.group.empty()) return std::nullopt;
  if (kind == "Pod") return PodHealth(subject);
  if (kind == "PersistentVolumeClaim") return ClaimHealth(subject);
  if (kind == "PersistentVolume") return VolumeHealth(subject);
  if (kind == "Service") return ServiceHealth(subject);
  if (kind == "Namespace") return NamespaceHealth(subject);
  if (kind == "ConfigMap" || kind == "Secret") return Healthy();
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> HealthSubject::Spec(absl::string_view field) const {
  return IntegerAt(object.Find("spec"), field);
}

std::optional<int64_t> HealthSubject::Status(absl::string_view field) const {
  return IntegerAt(object.Find("status"), field);
}

const StatusCondition* HealthSubject::Condition(absl::string_view type) const {
  for (const StatusCondition& condition : conditions) {
    if (condition.type == type) return &condition;
  }
  return nullptr;
}

absl::Time HealthSubject::Created() const {
  absl::Time created;
  std::string error;
  std::string text = object.StringAt("metadata", "creationTimestamp");
  if (!absl::ParseTime(absl::RFC3339_full, text, &created, &error)) return first_seen;
  return std::min(created, first_seen);
}

HealthResult Healthy() {
  HealthResult result;
  result.health = Health::kHealthy;
  return result;
}

HealthResult Verdict(Health health, absl::string_view reason, absl::string_view message) {
  HealthResult result;
  result.health = health;
  result.reason = std::string(reason);
  result.message = std::string(message);
  return result;
}

HealthResult VerdictOf(Health health, const StatusCondition& condition,
                       absl::string_view otherwise) {
  return Verdict(health, condition.reason.empty() ? otherwise : absl::string_view(condition.reason),
                 condition.message.empty() ? absl::StrCat(condition.type, " is ", condition.status)
                                           : condition.message);
}

HealthResult EvaluateHealth(const Value& object, absl::Time now, absl::Time first_seen) {
  const Value* deletion = object.Find("metadata", "deletionTimestamp");
  if (deletion != nullptr && !deletion->is_null()) return TerminatingHealth(object);
  HealthSubject subject{object, {}, now, first_seen};
  if (!object.is_object() || !ReadConditions(object, &subject.conditions)) {
    return Verdict(Health::kUnknown, "StatusMalformed",
                   "status cannot be read: its conditions are no conditions");
  }
  if (std::optional<HealthResult> result = GeneralHealth(subject)) return *std::move(result);
  if (std::optional<HealthResult> result = KindHealth(KeyOf(object), subject))
    return *std::move(result);
  const StatusCondition* ready = subject.Condition("Ready");
  if (ready == nullptr || ready->IsTrue()) return Healthy();
  return VerdictOf(Health::kProgressing, *ready, "NotReady");
}

}  // namespace nave
