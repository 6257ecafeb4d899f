// status: one screen.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands/command.h"
#include "cli/commands/details.h"
#include "cli/commands/output.h"
#include "cli/commands/version.h"
#include "cli/output/text.h"
#include "cli/resources/describe.h"
#include "cli/resources/fetch.h"
#include "cli/resources/words.h"
#include "cli/view/status_screen.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/model/names.h"
#include "nave/v1/hub.pb.h"

namespace nave::cli {
namespace {

struct StatusOptions {
  std::vector<std::string> what;
  std::string output;
  bool check = false;
};

// One bundle or cluster: its line and where it stands.
absl::StatusOr<ExitCode> StatusOfOne(Session& session, HubClient* hub, const Target& target) {
  ASSIGN_OR_RETURN(MessagePtr resource, FetchOne(hub, target));
  if (session.output() == OutputFormat::kJson || session.output() == OutputFormat::kYaml) {
    RETURN_IF_ERROR(PrintList(session, {resource.get()}, true, {}));
    return ExitCode::kOk;
  }
  bool bundle = target.kind->kind == "Bundle";
  if (!bundle && target.kind->kind != "Cluster") {
    return MakeError(Reason::kUsageInvalid,
                     absl::StrCat("a ", KindWord(*target.kind), " has no status of its own"));
  }
  RETURN_IF_ERROR(PrintList(session, {resource.get()}, true, {}));
  if (bundle && !static_cast<const v1::Bundle&>(*resource).status().held_hash().empty()) {
    const auto& held = static_cast<const v1::Bundle&>(*resource).status();
    session.Print(absl::StrCat("Held until confirmed: it would leave ",
                               Count(held.held_clusters_size(), "cluster"), ": ",
                               absl::StrJoin(held.held_clusters(), ", "), "\n  navectl confirm ",
                               IdOf(target.name), "\n"));
  }
  ASSIGN_OR_RETURN(std::vector<v1::Assignment> assignments, FetchAssignments(hub, target.name));
  session.Print(absl::StrCat(
      "\n", FormatAssignments(assignments, bundle, session.out_style(), session.Now())));
  for (const v1::Assignment& assignment : assignments) {
    if (assignment.confirm_digest().empty()) continue;
    session.Print(absl::StrCat("  Removals on ", assignment.cluster(),
                               " are held: navectl confirm ", IdOf(assignment.bundle()),
                               " --cluster ", assignment.cluster(), "\n"));
  }
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunStatus(Session& session, const StatusOptions& options) {
  RETURN_IF_ERROR(UseOutput(session, options.output));
  ASSIGN_OR_RETURN(std::string project, session.Project());
  Selection selection;
  if (!options.what.empty()) {
    ASSIGN_OR_RETURN(selection, ParseSelection(options.what, project));
    if (selection.targets.size() != 1)
      return MakeError(Reason::kUsageInvalid, "at most one KIND/NAME can be given");
  }
  ASSIGN_OR_RETURN(HubClient * hub, session.Hub());
  if (!selection.targets.empty()) return StatusOfOne(session, hub, selection.targets[0]);
  StatusInput input;
  ASSIGN_OR_RETURN(input.hub, hub->Ask<v1::Hub>(v1::GetHubRequest()));
  if (session.output() == OutputFormat::kJson || session.output() == OutputFormat::kYaml) {
    session.Print(FormatAnswer(input.hub, session.output()));
    return ExitCode::kOk;
  }
  ListOptions list;
  list.page_size = 1000;
  ASSIGN_OR_RETURN(std::vector<MessagePtr> clusters, FetchAll(hub, *FindKind("cluster"), list));
  list.parent = ProjectName(kAnyProject);
  ASSIGN_OR_RETURN(std::vector<MessagePtr> bundles, FetchAll(hub, *FindKind("bundle"), list));
  for (const MessagePtr& cluster : clusters)
    input.clusters.push_back(static_cast<const v1::Cluster*>(cluster.get()));
  for (const MessagePtr& bundle : bundles)
    input.bundles.push_back(static_cast<const v1::Bundle*>(bundle.get()));
  input.project = project;
  input.client_version = kVersion;
  session.Print(FormatStatus(input, session.out_style(), session.Now()));
  return options.check && !IsWell(input) ? ExitCode::kNegative : ExitCode::kOk;
}

}  // namespace

void AddStatusCommands(std::vector<Command>* table) {
  table->push_back(MakeCommand<StatusOptions>(
      "status", "Show the hub, the fleet and what is not ready on one screen",
      {"navectl status", "navectl status bundle/web",
       "navectl status --check   # exit code 1 unless all is well"},
      [](ArgumentList& arguments, StatusOptions* options) {
        arguments.Positionals("KIND/NAME", &options->what,
                              "only this bundle or cluster, with its objects that are not right",
                              false);
        arguments.Flag("--check", &options->check, "exit code 1 when something is not ready");
        DeclareOutput(arguments, &options->output);
      },
      &RunStatus));
}

}  // namespace nave::cli
