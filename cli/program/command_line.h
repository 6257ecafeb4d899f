// Command lines to handlers: finds the command, parses its flags, and says what is nearest when
// something is unknown. The only place that sees CLI11.
#ifndef NAVE_CLI_PROGRAM_COMMAND_LINE_H_
#define NAVE_CLI_PROGRAM_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/commands/command.h"
#include "cli/commands/session.h"

namespace nave::cli {

struct ParsedLine {
  GlobalFlags flags;
  // What to run; null when `text` is the answer: a help text.
  Handler handler;
  std::string text;
  // -o of the command, as typed, for the form of errors that come before it runs.
  std::string output;
};

// `arguments` without the program's name. USAGE_INVALID.
absl::StatusOr<ParsedLine> ParseCommandLine(const std::vector<Command>& table,
                                            const std::vector<std::string>& arguments);

}  // namespace nave::cli

#endif  // NAVE_CLI_PROGRAM_COMMAND_LINE_H_
