// `get`, which other commands are short forms of.
#ifndef NAVE_CLI_COMMANDS_GET_H_
#define NAVE_CLI_COMMANDS_GET_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/commands/command.h"
#include "cli/output/exit_code.h"

namespace nave::cli {

struct GetOptions {
  std::vector<std::string> what;
  std::string output;
  std::string selector;
  bool watch = false;
  bool all_projects = false;
  bool show_labels = false;
  bool no_headers = false;
  bool full = false;
};

absl::StatusOr<ExitCode> RunGet(Session& session, const GetOptions& options);

// -o, -l, -w and the flags of tables.
void DeclareGetFlags(ArgumentList& arguments, GetOptions* options);

}  // namespace nave::cli

#endif  // NAVE_CLI_COMMANDS_GET_H_
