// why: the cause of a state and the next step.
#include "absl/strings/str_cat.h"
#include "cli/commands/command.h"
#include "cli/commands/output.h"
#include "cli/resources/fetch.h"
#include "cli/view/diagnosis.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "nave/v1/bundle.pb.h"
#include "nave/v1/cluster.pb.h"

namespace nave::cli {
namespace {

struct WhyOptions {
  std::vector<std::string> what;
  std::string name;
  std::string output;
};

absl::StatusOr<v1::Diagnosis> Diagnose(HubClient* hub, const Target& target) {
  if (target.kind->kind == "Cluster") {
    v1::DiagnoseClusterRequest request;
    request.set_name(target.name);
    return hub->Ask<v1::Diagnosis>(request);
  }
  v1::DiagnoseBundleRequest request;
  request.set_name(target.name);
  return hub->Ask<v1::Diagnosis>(request);
}

absl::StatusOr<ExitCode> RunWhy(Session& session, const WhyOptions& options) {
  RETURN_IF_ERROR(UseOutput(session, options.output));
  ASSIGN_OR_RETURN(std::string project, session.Project());
  ASSIGN_OR_RETURN(Selection selection, ParseSelection(options.what, project));
  if (selection.targets.size() != 1)
    return MakeError(Reason::kUsageInvalid, "one cluster or bundle must be named: why KIND/NAME");
  const Target& target = selection.targets[0];
  if (target.kind->kind != "Cluster" && target.kind->kind != "Bundle") {
    return MakeError(
        Reason::kUsageInvalid,
        absl::StrCat("only clusters and bundles can be asked why, not a ", KindWord(*target.kind)));
  }
  ASSIGN_OR_RETURN(HubClient * hub, session.Hub());
  ASSIGN_OR_RETURN(v1::Diagnosis diagnosis, Diagnose(hub, target));
  if (session.output() == OutputFormat::kJson || session.output() == OutputFormat::kYaml) {
    session.Print(FormatAnswer(diagnosis, session.output()));
  } else {
    session.Print(FormatDiagnosis(diagnosis, session.out_style(), session.Now()));
  }
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunClusterWhy(Session& session, const WhyOptions& options) {
  WhyOptions why = options;
  why.what = {"cluster", options.name};
  return RunWhy(session, why);
}

}  // namespace

void AddWhyCommands(std::vector<Command>* table) {
  table->push_back(MakeCommand<WhyOptions>(
      "why", "Say why a cluster or a bundle is in its state, and what to do",
      {"navectl why bundle/web", "navectl why cluster/edge-17"},
      [](ArgumentList& arguments, WhyOptions* options) {
        arguments.Positionals("KIND/NAME", &options->what, "a cluster or a bundle");
        DeclareOutput(arguments, &options->output);
      },
      &RunWhy));
  table->push_back(MakeCommand<WhyOptions>(
      "cluster why", "Say why a cluster is in its state, and what to do",
      {"navectl cluster why edge-17"},
      [](ArgumentList& arguments, WhyOptions* options) {
        arguments.Positional("NAME", &options->name, "of the cluster");
        DeclareOutput(arguments, &options->output);
      },
      &RunClusterWhy));
}

}  // namespace nave::cli
