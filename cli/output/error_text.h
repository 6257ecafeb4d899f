// Errors for people and for programs: what happened, why, what next, and the code. Pure.
#ifndef NAVE_CLI_OUTPUT_ERROR_TEXT_H_
#define NAVE_CLI_OUTPUT_ERROR_TEXT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cli/output/style.h"
#include "common/base/reasons.h"
#include "common/value/value.h"

namespace nave::cli {

//   Error: cluster "edge-17" does not exist (NOT_FOUND)
//     There is no record of that name.
//     - `spec.role`: must be one of viewer, editor, admin         (further fields, when there are
//     several) Next:  navectl get clusters Docs:  navectl explain-error NOT_FOUND     request-id
//     4f0c…
// Ends with a line feed. The reason's own next step is shown when the error brings none.
std::string FormatError(const absl::Status& status, const Style& style);

// The same for -o json: {error: {code, reason, message, why, next: [], fields: {}, metadata: {}}}.
Value ErrorToValue(const absl::Status& status);

// The long text of `navectl explain-error`.
std::string ExplainReason(const ReasonInfo& info);

}  // namespace nave::cli

#endif  // NAVE_CLI_OUTPUT_ERROR_TEXT_H_
