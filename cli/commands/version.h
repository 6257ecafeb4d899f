// The version of navectl.
#ifndef NAVE_CLI_COMMANDS_VERSION_H_
#define NAVE_CLI_COMMANDS_VERSION_H_

namespace nave::cli {

// Of this program.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace nave::cli

#endif  // NAVE_CLI_COMMANDS_VERSION_H_
