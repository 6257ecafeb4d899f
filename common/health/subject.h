// What the rules look at. Private to the layer.
#ifndef NAVE_COMMON_HEALTH_SUBJECT_H_
#define NAVE_COMMON_HEALTH_SUBJECT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/health/health.h"
#include "common/value/value.h"

namespace nave {

struct StatusCondition {
  std::string type;
  std::string status;
  std::string reason;
  std::string message;
  bool IsTrue() const { return status == "True"; }
  bool IsFalse() const { return status == "False"; }
};

// One object under judgement; borrows it.
struct HealthSubject {
  const Value& object;
  std::vector<StatusCondition> conditions;
  absl::Time now;
  absl::Time first_seen;

  // Integer members of spec and status; a value of a wrong type counts as absent.
  std::optional<int64_t> Spec(absl::string_view field) const;
  std::optional<int64_t> Status(absl::string_view field) const;
  int64_t StatusOrZero(absl::string_view field) const { return Status(field).value_or(0); }
  // spec.replicas, 1 when absent.
  int64_t Want() const { return Spec("replicas").value_or(1); }
  // First condition of that type; nullptr when there is none.
  const StatusCondition* Condition(absl::string_view type) const;
  // When the object came to be: by its own word, or when it was first seen if that was earlier.
  absl::Time Created() const;
};

HealthResult Healthy();
// `reason` must not be empty.
HealthResult Verdict(Health health, absl::string_view reason, absl::string_view message);
// With the condition's reason, or `otherwise` when it has none.
HealthResult VerdictOf(Health health, const StatusCondition& condition,
                       absl::string_view otherwise);
inline HealthResult Progressing(absl::string_view reason, absl::string_view message) {
  return Verdict(Health::kProgressing, reason, message);
}

// Rules of workload kinds.
HealthResult DeploymentHealth(const HealthSubject& subject);
HealthResult StatefulSetHealth(const HealthSubject& subject);
HealthResult DaemonSetHealth(const HealthSubject& subject);
HealthResult ReplicaSetHealth(const HealthSubject& subject);
HealthResult PodHealth(const HealthSubject& subject);
HealthResult JobHealth(const HealthSubject& subject);

// Rules of the other kinds. nullopt from those that leave a healthy object to the generic rule.
HealthResult ClaimHealth(const HealthSubject& subject);
HealthResult ServiceHealth(const HealthSubject& subject);
HealthResult CrdHealth(const HealthSubject& subject);
HealthResult NamespaceHealth(const HealthSubject& subject);
HealthResult ApiServiceHealth(const HealthSubject& subject);
std::optional<HealthResult> VolumeHealth(const HealthSubject& subject);
std::optional<HealthResult> AutoscalerHealth(const HealthSubject& subject);
std::optional<HealthResult> DisruptionBudgetHealth(const HealthSubject& subject);

}  // namespace nave

#endif  // NAVE_COMMON_HEALTH_SUBJECT_H_
