// Early return for absl::Status and absl::StatusOr.
#ifndef NAVE_COMMON_BASE_STATUS_MACROS_H_
#define NAVE_COMMON_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define NAVE_MACRO_CONCAT_INNER(a, b) a##b
#define NAVE_MACRO_CONCAT(a, b) NAVE_MACRO_CONCAT_INNER(a, b)

// Returns from the enclosing function when `expr` is not OK.
#define RETURN_IF_ERROR(expr)                  \
  do {                                         \
    ::absl::Status nave_status = (expr);       \
    if (!nave_status.ok()) return nave_status; \
  } while (false)

// ASSIGN_OR_RETURN(auto x, F()) assigns the value or returns the error.
#define ASSIGN_OR_RETURN(lhs, expr) \
  NAVE_ASSIGN_OR_RETURN_INNER(NAVE_MACRO_CONCAT(nave_status_or_, __LINE__), lhs, expr)
#define NAVE_ASSIGN_OR_RETURN_INNER(var, lhs, expr) \
  auto var = (expr);                                \
  if (!var.ok()) return std::move(var).status();    \
  lhs = std::move(var).value()

#endif  // NAVE_COMMON_BASE_STATUS_MACROS_H_
