// The registry of reason codes. One word each: CamelCase in conditions and status, UPPER_SNAKE in
// errors and refusals.
#ifndef NAVE_COMMON_BASE_REASONS_H_
#define NAVE_COMMON_BASE_REASONS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace nave {

enum class Reason {
#define NAVE_REASON(camel, upper, code, summary, next) k##camel,
#include "common/base/reasons.def"
#undef NAVE_REASON
};

struct ReasonInfo {
  Reason reason;
  absl::string_view camel;
  absl::string_view upper;
  // Canonical code of an error with this reason.
  absl::StatusCode code;
  // What it means, a sentence.
  absl::string_view summary;
  // What the user does next.
  absl::string_view next;
};

const ReasonInfo& GetReasonInfo(Reason reason);

// CamelCase word of `reason`, for conditions and status.
inline absl::string_view Camel(Reason reason) { return GetReasonInfo(reason).camel; }

// Finds by either spelling; nullptr when there is none.
const ReasonInfo* FindReason(absl::string_view word);

}  // namespace nave

#endif  // NAVE_COMMON_BASE_REASONS_H_
