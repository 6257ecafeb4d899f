// Printing of resources by -o.
#ifndef NAVE_CLI_COMMANDS_OUTPUT_H_
#define NAVE_CLI_COMMANDS_OUTPUT_H_

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/commands/command.h"
#include "cli/commands/session.h"

namespace nave::cli {

inline constexpr char kOutputHelp[] = "table, wide, json, yaml or name";

// Declares -o; Session::set_output is to be called with it.
inline void DeclareOutput(ArgumentList& arguments, std::string* out) {
  arguments.Text("-o,--output", out, "FORMAT", kOutputHelp);
}

// Parses -o and makes it the session's, so that errors have its form.
absl::Status UseOutput(Session& session, const std::string& word);

// A verb's result: with -o json, yaml or name the resource, else `sentence` (with a line feed).
absl::Status PrintResult(Session& session, const google::protobuf::Message& resource,
                         const std::string& sentence);

// A list of one kind. Tables have a PROJECT column with `show_project`.
struct TableOptions {
  bool show_project = false;
  bool show_labels = false;
  bool no_headers = false;
};
absl::Status PrintList(Session& session,
                       const std::vector<const google::protobuf::Message*>& resources, bool single,
                       const TableOptions& options);

// An answer that is no resource: JSON or YAML.
std::string FormatAnswer(const google::protobuf::Message& answer, OutputFormat format);

}  // namespace nave::cli

#endif  // NAVE_CLI_COMMANDS_OUTPUT_H_
