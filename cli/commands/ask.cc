#include "cli/commands/ask.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"

namespace nave::cli {

absl::Status AskName(Session& session, const std::string& name, absl::string_view effect,
                     std::string* confirm) {
  if (confirm->empty() && session.CanAsk()) {
    *confirm = session.Ask(absl::StrCat("This will ", effect, ".\nType \"", name, "\" to go on: "));
    if (confirm->empty()) return MakeError(Reason::kNotConfirmed, "nothing was done");
  }
  if (confirm->empty() || *confirm == name) return absl::OkStatus();
  return MakeError(Reason::kConfirmMismatch,
                   absl::StrCat("the confirmation must be '", name, "', got '", *confirm,
                                "'; nothing was done"));
}

absl::Status AskYes(Session& session, absl::string_view question) {
  if (!session.CanAsk()) return absl::OkStatus();
  std::string answer = session.Ask(absl::StrCat(question, " [y/N] "));
  if (absl::EqualsIgnoreCase(answer, "y") || absl::EqualsIgnoreCase(answer, "yes"))
    return absl::OkStatus();
  return MakeError(Reason::kNotConfirmed, "nothing was done");
}

}  // namespace nave::cli
