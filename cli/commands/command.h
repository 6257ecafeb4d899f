// What a command is: where it stands in the tree, what it takes, what it does. The parser of
// command lines (cli/program) and the commands meet here only, so that neither knows the other.
#ifndef NAVE_CLI_COMMANDS_COMMAND_H_
#define NAVE_CLI_COMMANDS_COMMAND_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/output/exit_code.h"

namespace nave::cli {

class Session;

// What a command takes. `out` must live as long as the command's handler.
class ArgumentList {
 public:
  virtual ~ArgumentList() = default;
  // `names`: "-w,--watch".
  virtual void Flag(const char* names, bool* out, const char* help) = 0;
  // `value`: how help calls it, in capitals.
  virtual void Text(const char* names, std::string* out, const char* value, const char* help) = 0;
  // May be given several times.
  virtual void Texts(const char* names, std::vector<std::string>* out, const char* value,
                     const char* help) = 0;
  virtual void Positional(const char* name, std::string* out, const char* help,
                          bool required = true) = 0;
  virtual void Positionals(const char* name, std::vector<std::string>* out, const char* help,
                           bool required = true) = 0;
};

using Handler = std::function<absl::StatusOr<ExitCode>(Session&)>;

struct Command {
  // "cluster add".
  std::string path;
  // One line.
  std::string summary;
  // Command lines, as one would type them.
  std::vector<std::string> examples;
  // Declares the arguments and gives the handler that reads them.
  std::function<Handler(ArgumentList&)> bind;
};

// Each group of verbs adds its own.
void AddApplyCommands(std::vector<Command>* table);
void AddClusterJoinCommands(std::vector<Command>* table);
void AddClusterLifeCommands(std::vector<Command>* table);
void AddConfigCommands(std::vector<Command>* table);
void AddConfirmCommands(std::vector<Command>* table);
void AddDeleteCommands(std::vector<Command>* table);
void AddDescribeCommands(std::vector<Command>* table);
void AddEventCommands(std::vector<Command>* table);
void AddGetCommands(std::vector<Command>* table);
void AddHubCommands(std::vector<Command>* table);
void AddStatusCommands(std::vector<Command>* table);
void AddTokenCommands(std::vector<Command>* table);
void AddWaitCommands(std::vector<Command>* table);
void AddWhyCommands(std::vector<Command>* table);

// All of them, in the order of help.
std::vector<Command> AllCommands();

// Shorthand for the usual case: `Options` is made, `declare` binds its fields, `run` gets it.
template <typename Options>
Command MakeCommand(std::string path, std::string summary, std::vector<std::string> examples,
                    void (*declare)(ArgumentList&, Options*),
                    absl::StatusOr<ExitCode> (*run)(Session&, const Options&)) {
  return Command{
      std::move(path), std::move(summary), std::move(examples),
      [declare, run](ArgumentList& arguments) {
        auto options = std::make_shared<Options>();
        declare(arguments, options.get());
        return Handler([options, run](Session& session) { return run(session, *options); });
      }};
}

}  // namespace nave::cli

#endif  // NAVE_CLI_COMMANDS_COMMAND_H_
