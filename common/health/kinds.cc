#include "absl/strings/str_cat.h"
#include "common/health/subject.h"

namespace nave {
namespace {

// Kinds whose controller always writes a status get this long for the first one.
constexpr absl::Duration kFirstStatusGrace = absl::Seconds(30);

std::optional<HealthResult> NotObservedYet(const HealthSubject& subject) {
  absl::Time until = subject.Created() + kFirstStatusGrace;
  if (subject.now >= until) return std::nullopt;
  HealthResult result = Progressing("NotObserved", "no status yet");
  result.recheck = until;
  return result;
}

}  // namespace

HealthResult ClaimHealth(const HealthSubject& subject) {
  std::string phase = subject.object.StringAt("status", "phase");
  if (phase == "Bound") return Healthy();
  if (phase == "Lost") {
    return Verdict(Health::kDegraded, "Lost", "the volume behind the claim is gone");
  }
  return Progressing("NotBound", absl::StrCat("the phase is ", phase.empty() ? "not set" : phase));
}

std::optional<HealthResult> VolumeHealth(const HealthSubject& subject) {
  std::string phase = subject.object.StringAt("status", "phase");
  if (phase != "Failed" && phase != "Lost") return std::nullopt;
  std::string reason = subject.object.StringAt("status", "reason");
  return Verdict(Health::kDegraded, reason.empty() ? phase : reason,
                 subject.object.StringAt("status", "message"));
}

HealthResult ServiceHealth(const HealthSubject& subject) {
  if (subject.object.StringAt("spec", "type") == "LoadBalancer" &&
      subject.object.StringAt("spec", "clusterIP").empty()) {
    return Progressing("NoIPAssigned", "spec.clusterIP is not set");
  }
  return Healthy();
}

HealthResult CrdHealth(const HealthSubject& subject) {
  for (const StatusCondition& condition : subject.conditions) {
    if (condition.type == "NamesAccepted" && condition.IsFalse()) {
      return VerdictOf(Health::kDegraded, condition, "NamesNotAccepted");
    }
    if (condition.type != "Established") continue;
    if (condition.IsTrue()) return Healthy();
    if (condition.IsFalse() && condition.reason != "Installing") {
      return VerdictOf(Health::kDegraded, condition, "NotEstablished");
    }
  }
  return Progressing("Installing", "the kind is not served yet");
}

HealthResult NamespaceHealth(const HealthSubject& subject) {
  std::string phase = subject.object.StringAt("status", "phase");
  if (phase == "Active") return Healthy();
  if (phase == "Terminating")
    return Verdict(Health::kTerminating, "Terminating", "is being deleted");
  return Progressing("NotActive", absl::StrCat("the phase is ", phase.empty() ? "not set" : phase));
}

HealthResult ApiServiceHealth(const HealthSubject& subject) {
  const StatusCondition* available = subject.Condition("Available");
  if (available == nullptr) return Progressing("NotAvailable", "no status yet");
  if (available->IsTrue()) return Healthy();
  return VerdictOf(Health::kProgressing, *available, "NotAvailable");
}

std::optional<HealthResult> AutoscalerHealth(const HealthSubject& subject) {
  if (subject.conditions.empty()) return NotObservedYet(subject);
  for (const StatusCondition& condition : subject.conditions) {
    if (!condition.IsFalse()) continue;
    bool broken = condition.type == "AbleToScale" ||
                  (condition.type == "ScalingActive" && condition.reason != "ScalingDisabled");
    if (broken) return VerdictOf(Health::kDegraded, condition, "CannotScale");
  }
  return std::nullopt;
}

std::optional<HealthResult> DisruptionBudgetHealth(const HealthSubject& subject) {
  if (!subject.Status("observedGeneration").has_value()) return NotObservedYet(subject);
  return std::nullopt;
}

}  // namespace nave
