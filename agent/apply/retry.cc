#include "agent/apply/retry.h"

#include <algorithm>

namespace nave {
namespace {

struct Schedule {
  Reason reason;
  absl::Duration base;
  absl::Duration cap;
};

Schedule ScheduleOf(KubeErrorClass error_class) {
  const absl::Duration second = absl::Seconds(1);
  switch (error_class) {
    case KubeErrorClass::kUnreachable:
    case KubeErrorClass::kUnauthorized:
      return {Reason::kApiServerUnavailable, second, absl::Seconds(30)};
    case KubeErrorClass::kServerError:
    case KubeErrorClass::kThrottled:
      return {Reason::kApiServerUnavailable, second, absl::Minutes(1)};
    case KubeErrorClass::kForbidden:
      return {Reason::kForbidden, absl::Seconds(30), absl::Minutes(5)};
    case KubeErrorClass::kRbacEscalation:
      return {Reason::kRbacEscalation, absl::Seconds(30), absl::Minutes(5)};
    case KubeErrorClass::kAdmissionRefused:
      return {Reason::kForbidden, second, absl::Minutes(1)};
    case KubeErrorClass::kNamespaceTerminating:
      return {Reason::kNamespaceTerminating, second, absl::Seconds(10)};
    case KubeErrorClass::kNamespaceMissing:
      return {Reason::kNamespaceMissing, second, absl::Seconds(30)};
    case KubeErrorClass::kKindNotServed:
      return {Reason::kUnknownKind, second, absl::Minutes(1)};
    case KubeErrorClass::kFieldConflict:
      return {Reason::kFieldManagerConflict, absl::Minutes(1), absl::Minutes(10)};
    case KubeErrorClass::kTooLarge:
    case KubeErrorClass::kInvalid:
      return {Reason::kApplyFailed, absl::Minutes(10), absl::Hours(1)};
    case KubeErrorClass::kNone:
    case KubeErrorClass::kNotFound:
    case KubeErrorClass::kConflict:
    case KubeErrorClass::kGone:
      return {Reason::kApplyFailed, second, absl::Seconds(30)};
  }
  return {Reason::kApplyFailed, second, absl::Seconds(30)};
}

}  // namespace

absl::Duration RetryDelay(absl::Duration base, absl::Duration cap, int failures, double uniform) {
  const absl::Duration full = std::min(base * (1 << std::clamp(failures, 0, 12)), cap);
  return full / 2 + full / 2 * uniform;
}

RetryAdvice AdviseRetry(const KubeError& error, int failures, double uniform) {
  const Schedule schedule = ScheduleOf(error.error_class);
  RetryAdvice advice;
  advice.reason = schedule.reason;
  advice.delay = RetryDelay(schedule.base, schedule.cap, failures, uniform);
  advice.rediscover = error.error_class == KubeErrorClass::kKindNotServed;
  advice.permanent = error.error_class == KubeErrorClass::kInvalid ||
                     error.error_class == KubeErrorClass::kTooLarge;
  // A structural 500 is worth one more try, in case it was not.
  if (advice.permanent && error.http_status == 500 && failures == 0) {
    advice.delay = absl::Seconds(2);
  }
  if (error.retry_after) advice.delay = std::max(advice.delay, *error.retry_after);
  return advice;
}

}  // namespace nave
