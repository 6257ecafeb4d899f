// hub adopt, version, whoami, explain-error.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands/ask.h"
#include "cli/commands/command.h"
#include "cli/commands/output.h"
#include "cli/commands/version.h"
#include "cli/output/error_text.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "common/base/error.h"
#include "common/base/nearest_word.h"
#include "common/base/status_macros.h"
#include "common/value/codec.h"
#include "common/wire/file_form.h"
#include "nave/v1/hub.pb.h"

namespace nave::cli {
namespace {

struct AdoptOptions {
  bool accept_unknown = false;
  bool remove_unclaimed = false;
  std::string confirm;
  bool dry_run = false;
  std::string output;
};

absl::StatusOr<ExitCode> RunAdopt(Session& session, const AdoptOptions& options) {
  RETURN_IF_ERROR(UseOutput(session, options.output));
  std::string confirm = options.confirm;
  if (options.remove_unclaimed && !options.dry_run) {
    RETURN_IF_ERROR(AskName(
        session, "hub", "remove what runs on the clusters and the hub does not know", &confirm));
  }
  v1::AdoptHubRequest request;
  request.set_accept_unknown(options.accept_unknown);
  request.set_remove_unclaimed(options.remove_unclaimed);
  request.set_confirm(confirm);
  request.set_validate_only(options.dry_run);
  request.set_request_id(session.RequestId());
  ASSIGN_OR_RETURN(HubClient * hub, session.Hub());
  ASSIGN_OR_RETURN(auto answer, hub->Ask<v1::AdoptHubResponse>(request));
  if (session.output() == OutputFormat::kJson || session.output() == OutputFormat::kYaml) {
    session.Print(FormatAnswer(answer, session.output()));
    return ExitCode::kOk;
  }
  auto list = [](const auto& names) {
    return names.empty() ? "" : absl::StrCat(": ", absl::StrJoin(names, ", "));
  };
  std::string dry = options.dry_run ? " (server dry run)" : "";
  session.Print(absl::StrCat(Count(answer.adopted_total(), "cluster"), " adopted",
                             list(answer.adopted()), dry, "\n"));
  if (options.accept_unknown) {
    session.Print(absl::StrCat(Count(answer.accepted_total(), "unknown cluster"), " accepted",
                               list(answer.accepted()), dry, "\n"));
  }
  if (answer.not_desired_total() > 0) {
    session.Say(
        absl::StrCat(Count(answer.not_desired_total(), "key"), " that the hub does not know ",
                     options.remove_unclaimed
                         ? "will be removed.\n"
                         : "stay as NotDesired: apply their bundles again, or navectl hub adopt "
                           "--remove-unclaimed\n"));
  }
  session.Say("All join tokens are void.\n");
  return ExitCode::kOk;
}

struct VersionOptions {
  std::string output;
  bool client = false;
};

absl::StatusOr<ExitCode> RunVersion(Session& session, const VersionOptions& options) {
  RETURN_IF_ERROR(UseOutput(session, options.output));
  Value value;
  value["client"] = Value(kVersion);
  absl::Status error;
  if (!options.client) {
    auto hub = session.Hub();
    auto answer = hub.ok() ? (*hub)->Ask<v1::Hub>(v1::GetHubRequest())
                           : absl::StatusOr<v1::Hub>(hub.status());
    error = answer.status();
    // Without a configured hub there is just the one version to tell.
    if (ErrorReason(error) == GetReasonInfo(Reason::kNoContext).upper) error = absl::OkStatus();
    if (answer.ok()) {
      value["hub"]["version"] = Value(answer->version());
      value["hub"]["hubId"] = Value(answer->hub_id());
      value["hub"]["featureLevel"] = Value(static_cast<int64_t>(answer->feature_level()));
    }
  }
  if (session.output() == OutputFormat::kJson) {
    session.Print(FormatJsonPretty(value) + "\n");
  } else if (session.output() == OutputFormat::kYaml) {
    session.Print(FormatYaml(value));
  } else {
    session.Print(absl::StrCat("navectl  ", kVersion, "\n"));
    if (value.Find("hub") != nullptr) {
      session.Print(absl::StrCat("hub      ", value.StringAt("hub", "version"), "   id ",
                                 value.StringAt("hub", "hubId"), "\n"));
    }
  }
  if (!error.ok()) return error;
  return ExitCode::kOk;
}

struct WhoAmIOptions {
  std::string output;
};

absl::StatusOr<ExitCode> RunWhoAmI(Session& session, const WhoAmIOptions& options) {
  RETURN_IF_ERROR(UseOutput(session, options.output));
  ASSIGN_OR_RETURN(HubClient * hub, session.Hub());
  ASSIGN_OR_RETURN(auto answer, hub->Ask<v1::WhoAmIResponse>(v1::WhoAmIRequest()));
  if (session.output() == OutputFormat::kJson || session.output() == OutputFormat::kYaml) {
    session.Print(FormatAnswer(answer, session.output()));
    return ExitCode::kOk;
  }
  std::string groups = answer.groups().empty()
                           ? ""
                           : absl::StrCat("   groups ", absl::StrJoin(answer.groups(), ", "));
  session.Print(absl::StrCat("user ", PrintableText(answer.user()), "   by ",
                             answer.authenticated_by(), PrintableText(groups), "\n"));
  Table rights({"ROLE", "SCOPE", "BY"});
  for (const auto& right : answer.rights())
    rights.Add({right.role(), right.scope(), right.role_binding()});
  if (rights.empty()) {
    session.Print("no rights\n");
  } else {
    session.Print(rights.Format(session.out_style()));
  }
  return ExitCode::kOk;
}

struct ExplainOptions {
  std::string code;
};

absl::StatusOr<ExitCode> RunExplain(Session& session, const ExplainOptions& options) {
  if (const ReasonInfo* info = FindReason(options.code)) {
    session.Print(ExplainReason(*info));
    return ExitCode::kOk;
  }
  std::vector<std::string> words;
#define NAVE_REASON(camel, upper, code, summary, next) words.push_back(#upper);
#include "common/base/reasons.def"
#undef NAVE_REASON
#define NAVE_REASON(camel, upper, code, summary, next) words.push_back(#camel);
#include "common/base/reasons.def"
#undef NAVE_REASON
  std::string nearest = NearestWord(options.code, words);
  std::string hint = nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?");
  return MakeError(
      Reason::kNotFound, absl::StrCat("there is no reason code '", options.code, "'", hint),
      {{"help",
        "A code is in brackets at the end of an error's first line, or a condition's reason."}});
}

}  // namespace

void AddHubCommands(std::vector<Command>* table) {
  table->push_back(MakeCommand<AdoptOptions>(
      "hub adopt",
      "After a restore or a lost database: let every agent in HOLD follow the hub's present state",
      {"navectl hub adopt", "navectl hub adopt --accept-unknown",
       "navectl hub adopt --remove-unclaimed --confirm hub"},
      [](ArgumentList& arguments, AdoptOptions* options) {
        arguments.Flag("--accept-unknown", &options->accept_unknown,
                       "also accept every cluster that is UnknownToThisHub");
        arguments.Flag("--remove-unclaimed", &options->remove_unclaimed,
                       "also remove what the hub does not know (NotDesired)");
        arguments.Text("--confirm", &options->confirm, "hub",
                       "the removals are confirmed: nothing is asked and nothing held back");
        arguments.Flag("--dry-run", &options->dry_run, "the hub checks and changes nothing");
        DeclareOutput(arguments, &options->output);
      },
      &RunAdopt));
  table->push_back(MakeCommand<WhoAmIOptions>(
      "whoami", "Show who the hub takes you for, and what you may do", {"navectl whoami"},
      [](ArgumentList& arguments, WhoAmIOptions* options) {
        DeclareOutput(arguments, &options->output);
      },
      &RunWhoAmI));
  table->push_back(MakeCommand<ExplainOptions>(
      "explain-error", "Say what a reason code means and what to do; needs no hub",
      {"navectl explain-error REMOVAL_HELD", "navectl explain-error NotOwned"},
      [](ArgumentList& arguments, ExplainOptions* options) {
        arguments.Positional("CODE", &options->code, "in either spelling");
      },
      &RunExplain));
  table->push_back(MakeCommand<VersionOptions>(
      "version", "Show the versions of navectl and the hub",
      {"navectl version", "navectl version --client"},
      [](ArgumentList& arguments, VersionOptions* options) {
        arguments.Flag("--client", &options->client, "only that of navectl");
        DeclareOutput(arguments, &options->output);
      },
      &RunVersion));
}

}  // namespace nave::cli
