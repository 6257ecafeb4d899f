#include "cli/program/run.h"

#include <ostream>

#include "cli/commands/command.h"
#include "cli/commands/session.h"
#include "cli/output/error_text.h"
#include "cli/program/command_line.h"
#include "common/value/codec.h"

namespace nave::cli {
namespace {

int Fail(const absl::Status& error, bool as_json, const Style& style, const World& world) {
  std::string text =
      as_json ? FormatJsonPretty(ErrorToValue(error)) + "\n" : FormatError(error, style);
  *world.err << text << std::flush;
  return static_cast<int>(ExitCodeOf(error));
}

}  // namespace

int RunNavectl(const std::vector<std::string>& arguments, const World& world) {
  auto parsed = ParseCommandLine(AllCommands(), arguments);
  if (!parsed.ok()) return Fail(parsed.status(), false, Style(), world);
  if (parsed->handler == nullptr) {
    *world.out << parsed->text << std::flush;
    return static_cast<int>(ExitCode::kOk);
  }
  bool as_json = parsed->output == "json";
  auto session = Session::Make(parsed->flags, &world);
  if (!session.ok()) return Fail(session.status(), as_json, Style(), world);
  auto code = parsed->handler(**session);
  if (!code.ok()) return Fail(code.status(), as_json, (*session)->err_style(), world);
  return static_cast<int>(*code);
}

}  // namespace nave::cli
