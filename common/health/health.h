// Health of one live object by its status. Pure.
#ifndef NAVE_COMMON_HEALTH_HEALTH_H_
#define NAVE_COMMON_HEALTH_HEALTH_H_

#include <string>

#include "absl/time/time.h"
#include "common/model/health.h"
#include "common/value/value.h"

namespace nave {

struct HealthResult {
  Health health = Health::kUnknown;
  // CamelCase; empty only when Healthy.
  std::string reason;
  std::string message;
  // When the verdict changes by the passing of time alone (a pod that stays unschedulable);
  // InfiniteFuture: never.
  absl::Time recheck = absl::InfiniteFuture();
};

// The kstatus rules in their order, with the corrections of docs "apply engine" §0.20. `first_seen`
// is when the agent first saw the object at its present generation in its present state (for rules
// that need a duration).
HealthResult EvaluateHealth(const Value& object, absl::Time now, absl::Time first_seen);

}  // namespace nave

#endif  // NAVE_COMMON_HEALTH_HEALTH_H_
