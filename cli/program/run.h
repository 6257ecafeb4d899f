// navectl from the command line to the exit code.
#ifndef NAVE_CLI_PROGRAM_RUN_H_
#define NAVE_CLI_PROGRAM_RUN_H_

#include <string>
#include <vector>

#include "cli/commands/world.h"

namespace nave::cli {

// `arguments` without the program's name. Prints errors; returns the process's exit code.
int RunNavectl(const std::vector<std::string>& arguments, const World& world);

}  // namespace nave::cli

#endif  // NAVE_CLI_PROGRAM_RUN_H_
