// In which order kinds are applied and removed.
#ifndef NAVE_AGENT_PLAN_ORDER_H_
#define NAVE_AGENT_PLAN_ORDER_H_

#include <string>

#include "absl/strings/string_view.h"
#include "common/manifest/object_key.h"

namespace nave {

// Objects of a stage start when none of an earlier stage of the same bundle is on its way any more
// (applied or refused: one that failed holds up nobody). Removal walks the stages backwards.
enum class Stage : uint8_t {
  kFoundation,  // Namespace, CustomResourceDefinition
  kConfig,      // classes, RBAC, accounts, quotas, configuration, volumes
  kWorkload,    // services and what runs pods
  kCustom,      // kinds that an operator among the workloads may serve or finalize
  kWebhook,     // webhook configurations and APIServices: they reach into every other request
};
inline constexpr int kStages = 5;

Stage StageOf(const ObjectKey& key);

// Total order for applying: stage, then kinds that others of the stage refer to first, then
// identity.
bool AppliesBefore(const ObjectKey& a, const ObjectKey& b);

bool IsNamespace(const ObjectKey& key);
bool IsCrd(const ObjectKey& key);

// default, kube-* and the agent's own namespace are never deleted.
bool IsProtectedNamespace(const ObjectKey& key, absl::string_view agent_namespace);

}  // namespace nave

#endif  // NAVE_AGENT_PLAN_ORDER_H_
