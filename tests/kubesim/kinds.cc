#include "tests/kubesim/kinds.h"

#include <cstdio>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

namespace nave::kubesim {
namespace {

struct Row {
  const char* group;
  const char* version;
  const char* kind;
  const char* plural;
  // n: namespaced, s: status subresource, g: generation, a: category all.
  const char* flags;
  const char* short_names;
};

constexpr Row kRows[] = {
    {"", "v1", "Namespace", "namespaces", "s", "ns"},
    {"", "v1", "ConfigMap", "configmaps", "n", "cm"},
    {"", "v1", "Secret", "secrets", "n", ""},
    {"", "v1", "ServiceAccount", "serviceaccounts", "n", "sa"},
    {"", "v1", "Service", "services", "nsa", "svc"},
    {"", "v1", "Endpoints", "endpoints", "n", "ep"},
    {"", "v1", "Event", "events", "n", "ev"},
    {"", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "ns", "pvc"},
    {"", "v1", "PersistentVolume", "persistentvolumes", "s", "pv"},
    {"", "v1", "Pod", "pods", "nsga", "po"},
    {"", "v1", "Node", "nodes", "s", "no"},
    {"", "v1", "ResourceQuota", "resourcequotas", "ns", "quota"},
    {"", "v1", "LimitRange", "limitranges", "n", "limits"},
    {"apps", "v1", "Deployment", "deployments", "nsga", "deploy"},
    {"apps", "v1", "ReplicaSet", "replicasets", "nsga", "rs"},
    {"apps", "v1", "StatefulSet", "statefulsets", "nsga", "sts"},
    {"apps", "v1", "DaemonSet", "daemonsets", "nsga", "ds"},
    {"batch", "v1", "Job", "jobs", "nsga", ""},
    {"batch", "v1", "CronJob", "cronjobs", "nsga", "cj"},
    {"autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "nsga", "hpa"},
    {"policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "nsg", "pdb"},
    {"networking.k8s.io", "v1", "Ingress", "ingresses", "nsg", "ing"},
    {"networking.k8s.io", "v1", "IngressClass", "ingressclasses", "g", ""},
    {"networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", "ng", "netpol"},
    {"rbac.authorization.k8s.io", "v1", "Role", "roles", "n", ""},
    {"rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", "n", ""},
    {"rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", "", ""},
    {"rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", "", ""},
    {"apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", "sg",
     "crd,crds"},
    {"coordination.k8s.io", "v1", "Lease", "leases", "n", ""},
    {"discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", "ng", ""},
    {"admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration",
     "validatingwebhookconfigurations", "g", ""},
    {"admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration",
     "mutatingwebhookconfigurations", "g", ""},
    {"scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", "g", "pc"},
    {"storage.k8s.io", "v1", "StorageClass", "storageclasses", "", "sc"},
    {"apiregistration.k8s.io", "v1", "APIService", "apiservices", "s", ""},
};

bool HasFlag(const Row& row, char flag) {
  return absl::string_view(row.flags).find(flag) != absl::string_view::npos;
}

}  // namespace

const std::vector<KindInfo>& BuiltinKinds() {
  static const auto* const kinds = [] {
    auto* made = new std::vector<KindInfo>();
    for (const Row& row : kRows) {
      KindInfo info;
      info.group = row.group;
      info.version = row.version;
      info.kind = row.kind;
      info.plural = row.plural;
      info.singular = absl::AsciiStrToLower(row.kind);
      info.namespaced = HasFlag(row, 'n');
      info.status = HasFlag(row, 's');
      info.generation = HasFlag(row, 'g');
      if (HasFlag(row, 'a')) info.categories = {"all"};
      info.short_names = absl::StrSplit(row.short_names, ',', absl::SkipEmpty());
      info.schema = BuiltinSchemas().Find(row.kind);
      if (info.schema == nullptr) {
        std::fprintf(stderr, "kubesim: no schema for %s\n", row.kind);
        std::abort();
      }
      made->push_back(std::move(info));
    }
    return made;
  }();
  return *kinds;
}

}  // namespace nave::kubesim
