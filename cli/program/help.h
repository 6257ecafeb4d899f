// Help texts: a line, examples, arguments, exit codes. Pure.
#ifndef NAVE_CLI_PROGRAM_HELP_H_
#define NAVE_CLI_PROGRAM_HELP_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cli/commands/command.h"

namespace nave::cli {

struct FlagHelp {
  std::string names;
  std::string value;
  std::string help;
};
struct PositionalHelp {
  std::string name;
  std::string help;
  bool required = true;
  bool many = false;
};
struct ArgumentHelp {
  std::vector<FlagHelp> flags;
  std::vector<PositionalHelp> positionals;
};

std::string FormatCommandHelp(const Command& command, const ArgumentHelp& own,
                              const ArgumentHelp& global);

// The commands below `group`; empty: all.
std::string FormatGroupHelp(const std::vector<Command>& table, absl::string_view group);

}  // namespace nave::cli

#endif  // NAVE_CLI_PROGRAM_HELP_H_
