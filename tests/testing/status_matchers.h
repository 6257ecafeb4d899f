// Matchers for absl::Status and absl::StatusOr.
#ifndef NAVE_TESTS_TESTING_STATUS_MATCHERS_H_
#define NAVE_TESTS_TESTING_STATUS_MATCHERS_H_

#include <gmock/gmock.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/error.h"

namespace nave {

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& status_or) {
  return status_or.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).ok();
}

// HasReason(Reason::kNotFound, HasSubstr("web")): an error of that reason whose message matches.
MATCHER_P2(HasReason, reason, message, "") {
  const absl::Status& status = StatusOf(arg);
  *result_listener << ErrorReason(status) << ": " << std::string(status.message());
  return !status.ok() && ErrorReason(status) == GetReasonInfo(reason).upper &&
         testing::ExplainMatchResult(message, std::string(status.message()), result_listener);
}

}  // namespace nave

#endif  // NAVE_TESTS_TESTING_STATUS_MATCHERS_H_
