// What flags of several commands mean.
#ifndef NAVE_CLI_COMMANDS_APPLY_H_
#define NAVE_CLI_COMMANDS_APPLY_H_

#include <string>

#include "absl/status/statusor.h"

namespace nave::cli {

// Value of --dry-run: whether the hub is to check only. USAGE_INVALID.
absl::StatusOr<bool> ParseDryRun(const std::string& word);

}  // namespace nave::cli

#endif  // NAVE_CLI_COMMANDS_APPLY_H_
