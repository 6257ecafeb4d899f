#include "cli/program/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/program/help.h"
#include "common/base/error.h"
#include "common/base/nearest_word.h"
#include "common/base/status_macros.h"

namespace nave::cli {
namespace {

absl::Status Usage(absl::string_view text, ErrorMetadata metadata = {}) {
  return MakeError(Reason::kUsageInvalid, text, std::move(metadata));
}

// Declares into a CLI11 application and notes what help and suggestions need.
class Declarer : public ArgumentList {
 public:
  Declarer(CLI::App* app, ArgumentHelp* help) : app_(app), help_(help) {}

  void Flag(const char* names, bool* out, const char* help) override {
    app_->add_flag(names, *out, help);
    Note(names, "", help);
  }
  void Text(const char* names, std::string* out, const char* value, const char* help) override {
    app_->add_option(names, *out, help)->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    Note(names, value, help);
  }
  void Texts(const char* names, std::vector<std::string>* out, const char* value,
             const char* help) override {
    // One value for each time that the flag is given, so that names after it stay names.
    app_->add_option(names, *out, help)
        ->allow_extra_args(false)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    Note(names, value, help);
  }
  void Positional(const char* name, std::string* out, const char* help, bool required) override {
    app_->add_option(Plain(name), *out, help)->required(required);
    help_->positionals.push_back({name, help, required, false});
  }
  void Positionals(const char* name, std::vector<std::string>* out, const char* help,
                   bool required) override {
    app_->add_option(Plain(name), *out, help)->required(required);
    help_->positionals.push_back({name, help, required, true});
  }

 private:
  // CLI11 has its own ideas of what a name may be.
  static std::string Plain(const char* name) {
    std::string plain;
    for (const char* c = name; *c != '\0'; ++c) {
      if (std::isalnum(static_cast<unsigned char>(*c)) != 0) plain += *c;
    }
    return plain;
  }
  void Note(const char* names, const char* value, const char* help) {
    help_->flags.push_back({names, value, help});
  }

  CLI::App* app_;
  ArgumentHelp* help_;
};

void DeclareGlobal(ArgumentList& arguments, GlobalFlags* flags) {
  ConnectionFlags& connection = flags->connection;
  arguments.Text("--context", &connection.context, "NAME",
                 "context of the configuration ($NAVECTL_CONTEXT)");
  arguments.Text("--config", &connection.config, "FILE", "configuration ($NAVECTL_CONFIG)");
  arguments.Text("--hub", &connection.hub, "HOST:PORT", "address of the hub's API ($NAVECTL_HUB)");
  arguments.Text("-p,--project", &connection.project, "NAME",
                 "project of bundles ($NAVECTL_PROJECT)");
  arguments.Text("--ca-file", &connection.ca_file, "FILE",
                 "CA to know the hub by ($NAVECTL_CA_FILE)");
  arguments.Text("--cert-file", &connection.cert_file, "FILE",
                 "client certificate ($NAVECTL_CERT_FILE)");
  arguments.Text("--key-file", &connection.key_file, "FILE", "its key ($NAVECTL_KEY_FILE)");
  arguments.Text("--token-file", &connection.token_file, "FILE",
                 "bearer token, - for stdin ($NAVECTL_TOKEN_FILE)");
  arguments.Text("--request-timeout", &flags->request_timeout, "DURATION",
                 "of one call, default 30s");
  arguments.Text("--color", &flags->color, "auto|always|never", "colour of output");
  arguments.Flag("--ascii", &flags->ascii, "no characters beyond ASCII");
  arguments.Flag("-q,--quiet", &flags->quiet, "no talk on stderr");
  arguments.Flag("--no-input", &flags->no_input, "never ask");
}

// Global flags may stand before the command; these take a value in the next word.
bool TakesValue(const std::string& word) {
  static const std::vector<std::string>* kFlags = [] {
    CLI::App app;
    ArgumentHelp help;
    Declarer declarer(&app, &help);
    GlobalFlags flags;
    DeclareGlobal(declarer, &flags);
    auto* names = new std::vector<std::string>();
    for (const FlagHelp& flag : help.flags) {
      if (flag.value.empty()) continue;
      for (absl::string_view name : absl::StrSplit(flag.names, ',')) names->emplace_back(name);
    }
    return names;
  }();
  return std::find(kFlags->begin(), kFlags->end(), word) != kFlags->end();
}

bool IsHelp(const std::string& word) { return word == "-h" || word == "--help"; }

std::vector<std::string> PathOf(const Command& command) {
  return absl::StrSplit(command.path, ' ');
}

// The words of the command line that name a command, and the rest.
struct Split {
  std::vector<std::string> path;
  std::vector<std::string> rest;
};

// Whether some command's path begins with `path`.
bool IsPrefix(const std::vector<Command>& table, const std::vector<std::string>& path) {
  return std::any_of(table.begin(), table.end(), [&](const Command& command) {
    std::vector<std::string> words = PathOf(command);
    return words.size() >= path.size() && std::equal(path.begin(), path.end(), words.begin());
  });
}

Split SplitLine(const std::vector<Command>& table, const std::vector<std::string>& arguments) {
  Split split;
  size_t i = 0;
  bool open = true;  // The path may go on.
  for (; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--") break;
    if (absl::StartsWith(word, "-")) {
      split.rest.push_back(word);
      if (open && TakesValue(word) && i + 1 < arguments.size())
        split.rest.push_back(arguments[++i]);
      continue;
    }
    if (open) {
      std::vector<std::string> longer = split.path;
      longer.push_back(word);
      if (IsPrefix(table, longer)) {
        split.path = std::move(longer);
        continue;
      }
      open = false;
    }
    split.rest.push_back(word);
  }
  split.rest.insert(split.rest.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i),
                    arguments.end());
  return split;
}

// The words that could follow `path`.
std::vector<std::string> NextWords(const std::vector<Command>& table,
                                   const std::vector<std::string>& path) {
  std::vector<std::string> words;
  for (const Command& command : table) {
    std::vector<std::string> full = PathOf(command);
    if (full.size() <= path.size() || !std::equal(path.begin(), path.end(), full.begin())) continue;
    const std::string& next = full[path.size()];
    if (std::find(words.begin(), words.end(), next) == words.end()) words.push_back(next);
  }
  return words;
}

absl::Status UnknownCommand(const std::vector<Command>& table, const Split& split) {
  std::vector<std::string> words = NextWords(table, split.path);
  std::string group = split.path.empty() ? "" : absl::StrJoin(split.path, " ") + " ";
  auto word = split.rest.begin();
  while (word != split.rest.end() && absl::StartsWith(*word, "-")) {
    // With the flag goes its value.
    word += TakesValue(*word) && word + 1 != split.rest.end() ? 2 : 1;
  }
  std::string help = absl::StrCat("navectl ", group, "--help");
  if (word == split.rest.end()) {
    return Usage(
        absl::StrCat("a command must be given: navectl ", group, absl::StrJoin(words, "|")),
        {{"help", help}});
  }
  std::string nearest = NearestWord(*word, words);
  if (nearest.empty()) {
    // "navectl accept edge-17": the verb stands elsewhere in the tree.
    for (const Command& command : table) {
      if (PathOf(command).back() == *word && nearest.empty()) {
        return Usage(absl::StrCat("there is no command '", group, *word, "'; did you mean '",
                                  command.path, "'?"),
                     {{"help", help}});
      }
    }
    return Usage(absl::StrCat("there is no command '", group, *word, "'"), {{"help", help}});
  }
  return Usage(absl::StrCat("there is no command '", group, *word, "'; did you mean '", group,
                            nearest, "'?"),
               {{"help", help}});
}

absl::Status UnknownArgument(const std::string& word, const Command& command,
                             const ArgumentHelp& own, const ArgumentHelp& global) {
  std::string help = absl::StrCat("navectl ", command.path, " --help");
  if (!absl::StartsWith(word, "-")) {
    return Usage(absl::StrCat("'", word, "' is one argument too many for '", command.path, "'"),
                 {{"help", help}});
  }
  std::string flag = word.substr(0, word.find('='));
  std::vector<std::string> known;
  for (const ArgumentHelp* from : {&own, &global}) {
    for (const FlagHelp& candidate : from->flags) {
      for (absl::string_view name : absl::StrSplit(candidate.names, ',')) {
        if (absl::StartsWith(name, "--")) known.emplace_back(name);
      }
    }
  }
  std::string nearest = NearestWord(flag, known);
  std::string hint = nearest.empty() ? "" : absl::StrCat("; did you mean '", nearest, "'?");
  return Usage(absl::StrCat("'", command.path, "' has no flag '", flag, "'", hint),
               {{"help", help}});
}

// What CLI11 does not take as people mean it: "--timeout -1" has a value, "--selector=" has none,
// "-o=json" is "-o json".
std::vector<std::string> JoinValues(const std::vector<std::string>& words,
                                    const ArgumentHelp& own) {
  std::vector<std::string> joined;
  for (size_t i = 0; i < words.size(); ++i) {
    bool takes = false;
    for (const FlagHelp& flag : own.flags) {
      std::vector<std::string> names = absl::StrSplit(flag.names, ',');
      takes = takes || (!flag.value.empty() &&
                        std::find(names.begin(), names.end(), words[i]) != names.end() &&
                        absl::StartsWith(words[i], "--"));
    }
    bool value = i + 1 < words.size() && words[i + 1].size() > 1 && words[i + 1][0] == '-' &&
                 std::isdigit(static_cast<unsigned char>(words[i + 1][1])) != 0;
    size_t equals = words[i].find('=');
    if (absl::StartsWith(words[i], "--") && equals + 1 == words[i].size()) continue;
    if (equals == 2 && words[i][0] == '-' &&
        std::isalpha(static_cast<unsigned char>(words[i][1])) != 0) {
      joined.push_back(words[i].substr(0, 2));
      joined.push_back(words[i].substr(3));
      continue;
    }
    if (takes && value) {
      joined.push_back(absl::StrCat(words[i], "=", words[i + 1]));
      ++i;
    } else {
      joined.push_back(words[i]);
    }
  }
  return joined;
}

// -o as typed, however far the parse got.
std::string OutputWord(const std::vector<std::string>& words) {
  for (size_t i = 0; i < words.size(); ++i) {
    for (absl::string_view prefix : {"--output=", "-o="}) {
      if (absl::StartsWith(words[i], prefix)) return words[i].substr(prefix.size());
    }
    if ((words[i] == "-o" || words[i] == "--output") && i + 1 < words.size()) return words[i + 1];
    if (absl::StartsWith(words[i], "-o") && words[i].size() > 2) return words[i].substr(2);
  }
  return "";
}

absl::StatusOr<ParsedLine> ParseCommand(const Command& command,
                                        const std::vector<std::string>& words) {
  ParsedLine parsed;
  parsed.output = OutputWord(words);
  CLI::App app;
  app.set_help_flag();
  ArgumentHelp own;
  ArgumentHelp global;
  Declarer declarer(&app, &own);
  Handler handler = command.bind(declarer);
  Declarer global_declarer(&app, &global);
  DeclareGlobal(global_declarer, &parsed.flags);
  if (std::any_of(words.begin(), words.end(), IsHelp)) {
    parsed.text = FormatCommandHelp(command, own, global);
    return parsed;
  }
  app.allow_extras();
  std::vector<std::string> reversed = JoinValues(words, own);
  std::reverse(reversed.begin(), reversed.end());
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    std::vector<std::string> extras = app.remaining();
    for (const std::string& extra : extras) {
      if (absl::StartsWith(extra, "-") && extra != "--")
        return UnknownArgument(extra, command, own, global);
    }
    for (const PositionalHelp& positional : own.positionals) {
      bool missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
      if (missing && positional.required) {
        return Usage(
            absl::StrCat("'", command.path, "' needs ", positional.name, ": ", positional.help),
            {{"help", absl::StrCat("navectl ", command.path, " --help")}});
      }
    }
    return Usage(absl::StrCat("'", command.path, "': ", error.what()),
                 {{"help", absl::StrCat("navectl ", command.path, " --help")}});
  }
  std::vector<std::string> extras = app.remaining();
  extras.erase(std::remove(extras.begin(), extras.end(), "--"), extras.end());
  if (!extras.empty()) return UnknownArgument(extras[0], command, own, global);
  parsed.handler = std::move(handler);
  return parsed;
}

}  // namespace

absl::StatusOr<ParsedLine> ParseCommandLine(const std::vector<Command>& table,
                                            const std::vector<std::string>& arguments) {
  std::vector<std::string> words = arguments;
  // "navectl help get" is "navectl get --help".
  if (!words.empty() && words[0] == "help") {
    words.erase(words.begin());
    words.push_back("--help");
  }
  if (words.size() == 1 && words[0] == "--version") words = {"version", "--client"};
  Split split = SplitLine(table, words);
  for (const Command& command : table) {
    if (PathOf(command) == split.path) return ParseCommand(command, split.rest);
  }
  bool help = std::any_of(words.begin(), words.end(), IsHelp);
  bool named = std::any_of(split.rest.begin(), split.rest.end(),
                           [](const std::string& word) { return !absl::StartsWith(word, "-"); });
  if (words.empty() || (help && !named)) {
    ParsedLine parsed;
    parsed.text = FormatGroupHelp(table, absl::StrJoin(split.path, " "));
    return parsed;
  }
  return UnknownCommand(table, split);
}

}  // namespace nave::cli
