#include "agent/kube/kube_client.h"

#include <algorithm>

namespace nave {
namespace {

ResourceType Known(const char* group, const char* version, const char* kind, const char* plural,
                   bool namespaced) {
  return {group,  version,    kind,
          plural, namespaced, {"create", "delete", "get", "list", "patch", "update", "watch"}};
}

}  // namespace

bool ResourceType::Can(absl::string_view verb) const {
  return std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
}

const ResourceType& SecretType() {
  static const auto& type = *new ResourceType(Known("", "v1", "Secret", "secrets", true));
  return type;
}

const ResourceType& NamespaceType() {
  static const auto& type = *new ResourceType(Known("", "v1", "Namespace", "namespaces", false));
  return type;
}

const ResourceType& LeaseType() {
  static const auto& type =
      *new ResourceType(Known("coordination.k8s.io", "v1", "Lease", "leases", true));
  return type;
}

}  // namespace nave
