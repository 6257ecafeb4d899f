// Errors that users meet: a canonical code, a stable reason code, a text and the next step.
#ifndef NAVE_COMMON_BASE_ERROR_H_
#define NAVE_COMMON_BASE_ERROR_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/reasons.h"

namespace nave {

// One dynamic part of an error's text, so that programs need not parse the text.
using ErrorMetadata = std::vector<std::pair<std::string, std::string>>;

// An error with `reason` attached. `message`: lower case, no full stop, subject: rule, actual. The
// canonical code and the next step are those of the reason's entry in reasons.def.
absl::Status MakeError(Reason reason, absl::string_view message, ErrorMetadata metadata = {});

// The reason attached by MakeError, UPPER_SNAKE; "INTERNAL" for an error without one; empty for OK.
std::string ErrorReason(const absl::Status& status);

// What MakeError was given as metadata.
ErrorMetadata ErrorMetadataOf(const absl::Status& status);

// `status` with "`context`: " before its text; keeps reason and metadata.
absl::Status Prepend(const absl::Status& status, absl::string_view context);

// The same error with another canonical code and reason as they came from the wire. An unknown
// reason word is kept.
absl::Status ErrorFromWire(absl::StatusCode code, absl::string_view message,
                           absl::string_view reason, ErrorMetadata metadata);

}  // namespace nave

#endif  // NAVE_COMMON_BASE_ERROR_H_
