// Exit codes of navectl: part of its contract with scripts.
#ifndef NAVE_CLI_OUTPUT_EXIT_CODE_H_
#define NAVE_CLI_OUTPUT_EXIT_CODE_H_

#include "absl/status/status.h"

namespace nave::cli {

enum class ExitCode {
  kOk = 0,
  // The answer to a yes-or-no question is no.
  kNegative = 1,
  // The command line, a file or a field is not right.
  kUsage = 2,
  // The caller is not known or may not.
  kDenied = 3,
  kNotFound = 4,
  // The state of things does not allow it.
  kConflict = 5,
  kUnreachable = 6,
  kTimeout = 7,
  // A write over several records succeeded for some of them only.
  kPartial = 8,
  kInternal = 70,
  kInterrupted = 130,
};

// By the error's canonical code.
ExitCode ExitCodeOf(const absl::Status& status);

}  // namespace nave::cli

#endif  // NAVE_CLI_OUTPUT_EXIT_CODE_H_
