// Questions to a person before something severe.
#ifndef NAVE_CLI_COMMANDS_ASK_H_
#define NAVE_CLI_COMMANDS_ASK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cli/commands/session.h"

namespace nave::cli {

// `confirm` given: it must be `name` (CONFIRM_MISMATCH). Else on a terminal the person types the
// name; an empty line is NOT_CONFIRMED. Without a terminal `confirm` stays empty: the hub's guard
// decides.
absl::Status AskName(Session& session, const std::string& name, absl::string_view effect,
                     std::string* confirm);

// Yes or no; without a terminal yes: the command is the order. NOT_CONFIRMED.
absl::Status AskYes(Session& session, absl::string_view question);

}  // namespace nave::cli

#endif  // NAVE_CLI_COMMANDS_ASK_H_
