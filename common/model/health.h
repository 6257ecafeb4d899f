// Health words and their order, shared by agent (per object), hub (roll-up) and CLI.
#ifndef NAVE_COMMON_MODEL_HEALTH_H_
#define NAVE_COMMON_MODEL_HEALTH_H_

#include "absl/strings/string_view.h"

namespace nave {

// In order of the roll-up, worst last. kstatus: Current = Healthy, InProgress = Progressing, Failed
// = Degraded, NotFound = Missing.
enum class Health {
  kHealthy = 0,
  kSuspended,
  kProgressing,
  kTerminating,
  kUnknown,
  kMissing,
  kDegraded,
};

absl::string_view FormatHealth(Health health);

// The worse of two: the health of a parent is that of its worst child.
inline Health Worse(Health a, Health b) { return a > b ? a : b; }

}  // namespace nave

#endif  // NAVE_COMMON_MODEL_HEALTH_H_
