#include "agent/plan/order.h"

#include <tuple>

#include "absl/strings/match.h"

namespace nave {
namespace {

struct KindOrder {
  absl::string_view group;
  absl::string_view kind;
  Stage stage;
};

// By place in this table within a stage.
constexpr KindOrder kKinds[] = {
    {"", "Namespace", Stage::kFoundation},
    {"apiextensions.k8s.io", "CustomResourceDefinition", Stage::kFoundation},
    {"scheduling.k8s.io", "PriorityClass", Stage::kConfig},
    {"node.k8s.io", "RuntimeClass", Stage::kConfig},
    {"storage.k8s.io", "StorageClass", Stage::kConfig},
    {"", "ResourceQuota", Stage::kConfig},
    {"", "LimitRange", Stage::kConfig},
    {"", "ServiceAccount", Stage::kConfig},
    {"rbac.authorization.k8s.io", "ClusterRole", Stage::kConfig},
    {"rbac.authorization.k8s.io", "Role", Stage::kConfig},
    {"rbac.authorization.k8s.io", "ClusterRoleBinding", Stage::kConfig},
    {"rbac.authorization.k8s.io", "RoleBinding", Stage::kConfig},
    {"networking.k8s.io", "NetworkPolicy", Stage::kConfig},
    {"", "Secret", Stage::kConfig},
    {"", "ConfigMap", Stage::kConfig},
    {"", "PersistentVolume", Stage::kConfig},
    {"", "PersistentVolumeClaim", Stage::kConfig},
    {"policy", "PodDisruptionBudget", Stage::kConfig},
    {"", "Endpoints", Stage::kConfig},
    {"discovery.k8s.io", "EndpointSlice", Stage::kConfig},
    {"", "Service", Stage::kWorkload},
    {"apps", "DaemonSet", Stage::kWorkload},
    {"apps", "StatefulSet", Stage::kWorkload},
    {"apps", "Deployment", Stage::kWorkload},
    {"apps", "ReplicaSet", Stage::kWorkload},
    {"", "ReplicationController", Stage::kWorkload},
    {"", "Pod", Stage::kWorkload},
    {"batch", "CronJob", Stage::kWorkload},
    {"batch", "Job", Stage::kWorkload},
    {"networking.k8s.io", "Ingress", Stage::kWorkload},
    {"autoscaling", "HorizontalPodAutoscaler", Stage::kWorkload},
    {"apiregistration.k8s.io", "APIService", Stage::kWebhook},
    {"admissionregistration.k8s.io", "MutatingWebhookConfiguration", Stage::kWebhook},
    {"admissionregistration.k8s.io", "ValidatingWebhookConfiguration", Stage::kWebhook},
};
constexpr int kUnknownPlace = 1000;

std::pair<Stage, int> PlaceOf(const ObjectKey& key) {
  int place = 0;
  for (const KindOrder& known : kKinds) {
    if (known.kind == key.kind && known.group == key.group) return {known.stage, place};
    ++place;
  }
  // Classes are referred to by what comes later: VolumeSnapshotClass, GatewayClass, ClusterClass,
  // ...
  if (absl::EndsWith(key.kind, "Class")) return {Stage::kConfig, -1};
  return {Stage::kCustom, kUnknownPlace};
}

}  // namespace

Stage StageOf(const ObjectKey& key) { return PlaceOf(key).first; }

bool AppliesBefore(const ObjectKey& a, const ObjectKey& b) {
  const auto place_a = PlaceOf(a);
  const auto place_b = PlaceOf(b);
  return std::tie(place_a, a) < std::tie(place_b, b);
}

bool IsNamespace(const ObjectKey& key) { return key.group.empty() && key.kind == "Namespace"; }

bool IsCrd(const ObjectKey& key) {
  return key.group == "apiextensions.k8s.io" && key.kind == "CustomResourceDefinition";
}

bool IsProtectedNamespace(const ObjectKey& key, absl::string_view agent_namespace) {
  return IsNamespace(key) && (key.name == "default" || absl::StartsWith(key.name, "kube-") ||
                              key.name == agent_namespace);
}

}  // namespace nave
