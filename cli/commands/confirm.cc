// confirm: lets removals happen that the mass-delete guard holds.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands/ask.h"
#include "cli/commands/command.h"
#include "cli/commands/details.h"
#include "cli/output/text.h"
#include "cli/resources/fetch.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "nave/v1/bundle.pb.h"

namespace nave::cli {
namespace {

struct ConfirmOptions {
  std::string bundle;
  std::string cluster;
  std::string shown;
  bool yes = false;
};

// One thing that is held.
struct Held {
  std::string cluster;  // Empty: the decision.
  std::string shown;
  std::string text;
};

std::vector<Held> HeldOf(const v1::Bundle& bundle, const std::vector<v1::Assignment>& assignments,
                         const std::string& only_cluster) {
  std::vector<Held> held;
  const v1::BundleStatus& status = bundle.status();
  if (!status.held_hash().empty() && only_cluster.empty()) {
    held.push_back({"", status.held_hash(),
                    absl::StrCat("it leaves ", Count(status.held_clusters_size(), "cluster"), ": ",
                                 absl::StrJoin(status.held_clusters(), ", "))});
  }
  for (const v1::Assignment& assignment : assignments) {
    if (assignment.confirm_digest().empty()) continue;
    if (!only_cluster.empty() && assignment.cluster() != only_cluster) continue;
    std::string what =
        assignment.message().empty()
            ? absl::StrCat("removals of ", Count(assignment.counts().total(), "object"))
            : assignment.message();
    held.push_back({assignment.cluster(), assignment.confirm_digest(),
                    absl::StrCat("on ", assignment.cluster(), ": ", PrintableText(what))});
  }
  return held;
}

absl::Status Confirm(HubClient* hub, Session& session, const std::string& bundle,
                     const std::string& cluster, const std::string& shown) {
  v1::ConfirmBundleRequest request;
  request.set_name(bundle);
  request.set_cluster(cluster);
  request.set_shown(shown);
  request.set_request_id(session.RequestId());
  return hub->Ask<v1::Bundle>(request).status();
}

absl::StatusOr<ExitCode> RunConfirm(Session& session, const ConfirmOptions& options) {
  ASSIGN_OR_RETURN(std::string project, session.Project());
  bool full = options.bundle.find('/') != std::string::npos;
  auto target = full ? ParseTarget(options.bundle, project)
                     : MakeTarget(*FindKind("bundle"), options.bundle, project);
  RETURN_IF_ERROR(target.status());
  if (target->kind->kind != "Bundle")
    return MakeError(Reason::kUsageInvalid, "only a bundle's removals can be confirmed");
  ASSIGN_OR_RETURN(HubClient * hub, session.Hub());
  std::string id = IdOf(target->name);
  if (!options.shown.empty()) {
    RETURN_IF_ERROR(Confirm(hub, session, target->name, options.cluster, options.shown));
    session.Print(absl::StrCat("bundle/", id, " confirmed\n"));
    return ExitCode::kOk;
  }
  ASSIGN_OR_RETURN(MessagePtr bundle, FetchOne(hub, *target));
  ASSIGN_OR_RETURN(std::vector<v1::Assignment> assignments, FetchAssignments(hub, target->name));
  std::vector<Held> held =
      HeldOf(static_cast<const v1::Bundle&>(*bundle), assignments, options.cluster);
  if (held.empty()) {
    std::string where =
        options.cluster.empty() ? "" : absl::StrCat(" on cluster \"", options.cluster, "\"");
    return MakeError(Reason::kNothingToConfirm,
                     absl::StrCat("nothing of bundle \"", id, "\" is held", where));
  }
  session.Say(absl::StrCat("Held of bundle ", id, ":\n"));
  for (const Held& item : held)
    session.Say(absl::StrCat("  ", session.err_style().Bullet(), " ", item.text, "\n"));
  if (!options.yes) RETURN_IF_ERROR(AskYes(session, "Let it happen?"));
  for (const Held& item : held) {
    RETURN_IF_ERROR(Confirm(hub, session, target->name, item.cluster, item.shown));
    session.Print(absl::StrCat("bundle/", id, " confirmed",
                               item.cluster.empty() ? "" : absl::StrCat(" on ", item.cluster),
                               "\n"));
  }
  return ExitCode::kOk;
}

}  // namespace

void AddConfirmCommands(std::vector<Command>* table) {
  table->push_back(MakeCommand<ConfirmOptions>(
      "confirm", "Let removals of a bundle happen that are held",
      {"navectl confirm web", "navectl confirm web --cluster edge-17 --yes"},
      [](ArgumentList& arguments, ConfirmOptions* options) {
        arguments.Positional("BUNDLE", &options->bundle, "the bundle's name");
        arguments.Text("--cluster", &options->cluster, "NAME", "only what is held on this cluster");
        arguments.Text(
            "--shown", &options->shown, "HASH",
            "what was looked at: the bundle's heldHash or an assignment's confirmDigest");
        arguments.Flag("-y,--yes", &options->yes, "do not ask");
      },
      &RunConfirm));
}

}  // namespace nave::cli
