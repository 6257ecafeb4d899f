#include "cli/program/help.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/output/style.h"
#include "cli/output/table.h"

namespace nave::cli {
namespace {

constexpr absl::string_view kExitCodes =
    "Exit codes:\n"
    "  0 done   1 the answer is no   2 usage or bad input   3 not allowed   4 not found   5 "
    "conflict with the present "
    "state\n"
    "  6 hub not reachable   7 time ran out   8 done for some only   70 internal error   130 "
    "interrupted\n";

std::string FormatFlags(const std::vector<FlagHelp>& flags) {
  Table table({});
  for (const FlagHelp& flag : flags) {
    std::string names = absl::StrReplaceAll(flag.names, {{",", ", "}});
    if (!absl::StartsWith(names, "-") || absl::StartsWith(names, "--")) names = "    " + names;
    table.Add({flag.value.empty() ? names : absl::StrCat(names, " ", flag.value), flag.help});
  }
  return table.Format(Style(), false, 2);
}

}  // namespace

std::string FormatCommandHelp(const Command& command, const ArgumentHelp& own,
                              const ArgumentHelp& global) {
  std::string text = absl::StrCat(command.summary, ".\n\nUsage: navectl ", command.path);
  Table positionals({});
  for (const PositionalHelp& positional : own.positionals) {
    std::string name = absl::StrCat(positional.name, positional.many ? "..." : "");
    absl::StrAppend(&text, " ", positional.required ? name : absl::StrCat("[", name, "]"));
    positionals.Add({positional.name, positional.help});
  }
  absl::StrAppend(&text, own.flags.empty() ? "\n" : " [flags]\n", "\nExamples:\n");
  for (const std::string& example : command.examples) absl::StrAppend(&text, "  ", example, "\n");
  if (!positionals.empty())
    absl::StrAppend(&text, "\nArguments:\n", positionals.Format(Style(), false, 2));
  if (!own.flags.empty()) absl::StrAppend(&text, "\nFlags:\n", FormatFlags(own.flags));
  return absl::StrCat(text, "\nGlobal flags:\n", FormatFlags(global.flags), "\n", kExitCodes);
}

std::string FormatGroupHelp(const std::vector<Command>& table, absl::string_view group) {
  std::string text =
      group.empty() ? "navectl: the command line of a Nave hub.\n\nUsage: navectl COMMAND "
                      "[arguments] [flags]\n\n"
                    : absl::StrCat("Usage: navectl ", group, " COMMAND [arguments] [flags]\n\n");
  Table rows({});
  for (const Command& command : table) {
    if (group.empty() || absl::StartsWith(command.path, absl::StrCat(group, " ")))
      rows.Add({command.path, command.summary});
  }
  return absl::StrCat(text, "Commands:\n", rows.Format(Style(), false, 2), "\n",
                      "Add --help to a command for its flags and examples.\n\n", kExitCodes);
}

}  // namespace nave::cli
