// config: contexts.
#include "cli/context/config.h"

#include "absl/strings/str_cat.h"
#include "cli/commands/command.h"
#include "cli/commands/session.h"
#include "cli/output/table.h"
#include "common/base/error.h"
#include "common/base/nearest_word.h"
#include "common/base/status_macros.h"

namespace nave::cli {
namespace {

struct ConfigOptions {
  std::string name;
  std::string file;
  bool overwrite = false;
  bool origins = false;
};

void DeclareNothing(ArgumentList&, ConfigOptions*) {}

absl::StatusOr<ExitCode> RunGetContexts(Session& session, const ConfigOptions&) {
  ASSIGN_OR_RETURN(Config config, session.ReadConfig());
  if (config.contexts.empty()) {
    session.Say(absl::StrCat("There are no contexts in ", session.config_path().value, ".\n"));
    return ExitCode::kOk;
  }
  Table table({"CURRENT", "NAME", "HUB", "PROJECT", "AS"});
  for (const Context& context : config.contexts) {
    table.Add({context.name == config.current_context ? "*" : " ", context.name, context.hub,
               context.project,
               !context.token_file.empty()   ? "token"
               : context.certificate.empty() ? ""
                                             : "certificate"});
  }
  session.Print(table.Format(session.out_style()));
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunUseContext(Session& session, const ConfigOptions& options) {
  ASSIGN_OR_RETURN(Config config, session.ReadConfig());
  if (config.Find(options.name) == nullptr) {
    std::string nearest = NearestWord(options.name, config.Names());
    std::string hint = nearest.empty() ? "" : absl::StrCat("; did you mean \"", nearest, "\"?");
    return MakeError(Reason::kNoContext, absl::StrCat("context \"", options.name, "\" is not in ",
                                                      session.config_path().value, hint));
  }
  config.current_context = options.name;
  RETURN_IF_ERROR(session.WriteConfig(config));
  session.Print(absl::StrCat("context ", options.name, " is the current one\n"));
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunCurrentContext(Session& session, const ConfigOptions&) {
  ASSIGN_OR_RETURN(const Settings* settings, session.GetSettings());
  if (settings->context.value.empty())
    return MakeError(Reason::kNoContext, "there is no current context");
  session.Print(settings->context.value + "\n");
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunView(Session& session, const ConfigOptions& options) {
  if (!options.origins) {
    ASSIGN_OR_RETURN(Config config, session.ReadConfig());
    session.Print(FormatConfig(config, true));
    return ExitCode::kOk;
  }
  ASSIGN_OR_RETURN(const Settings* settings, session.GetSettings());
  Table table({"SETTING", "VALUE", "FROM"});
  table.Add({"config", session.config_path().value, session.config_path().origin});
  for (const std::vector<std::string>& row : settings->Rows())
    table.Add(Row(row.begin(), row.end()));
  session.Print(table.Format(session.out_style()));
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunImport(Session& session, const ConfigOptions& options) {
  ASSIGN_OR_RETURN(std::string text, ReadFile(options.file));
  ASSIGN_OR_RETURN(Config from, ParseConfig(options.file, text));
  if (from.contexts.empty()) {
    return MakeError(Reason::kConfigInvalid, absl::StrCat(options.file, ": has no contexts"));
  }
  ASSIGN_OR_RETURN(Config config, session.ReadConfig());
  RETURN_IF_ERROR(MergeConfig(from, options.name, options.overwrite, &config));
  RETURN_IF_ERROR(session.WriteConfig(config));
  session.Print(absl::StrCat("context ", config.current_context, " is the current one\n"));
  return ExitCode::kOk;
}

}  // namespace

void AddConfigCommands(std::vector<Command>* table) {
  table->push_back(MakeCommand<ConfigOptions>("config get-contexts", "List the contexts",
                                              {"navectl config get-contexts"}, &DeclareNothing,
                                              &RunGetContexts));
  table->push_back(MakeCommand<ConfigOptions>(
      "config use-context", "Make a context the current one",
      {"navectl config use-context production"},
      [](ArgumentList& arguments, ConfigOptions* options) {
        arguments.Positional("NAME", &options->name, "of the context");
      },
      &RunUseContext));
  table->push_back(MakeCommand<ConfigOptions>(
      "config current-context", "Print the name of the current context",
      {"navectl config current-context"}, &DeclareNothing, &RunCurrentContext));
  table->push_back(MakeCommand<ConfigOptions>(
      "config view", "Show the configuration without its keys",
      {"navectl config view", "navectl config view --origins"},
      [](ArgumentList& arguments, ConfigOptions* options) {
        arguments.Flag("--origins", &options->origins,
                       "the settings in effect and where each comes from");
      },
      &RunView));
  table->push_back(MakeCommand<ConfigOptions>(
      "config import",
      "Take over the contexts of a file, as the admin.yaml that a hub writes at its first start",
      {"navectl config import /var/lib/nave/admin.yaml --name production"},
      [](ArgumentList& arguments, ConfigOptions* options) {
        arguments.Positional("FILE", &options->file, "with contexts");
        arguments.Text("--name", &options->name, "NAME", "what to call it here");
        arguments.Flag("--overwrite", &options->overwrite, "replace a context of that name");
      },
      &RunImport));
}

}  // namespace nave::cli
