// The life of a cluster after it was added: accept to forget.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands/ask.h"
#include "cli/commands/command.h"
#include "cli/commands/follow.h"
#include "cli/commands/get.h"
#include "cli/commands/output.h"
#include "cli/output/text.h"
#include "cli/resources/fetch.h"
#include "cli/resources/words.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/model/names.h"
#include "nave/v1/cluster.pb.h"

namespace nave::cli {
namespace {

struct LifeOptions {
  std::string name;
  std::string output;
  std::string confirm;
  std::string uid;
  std::string cluster_set;
  std::string timeout;
  bool dry_run = false;
  bool no_wait = false;
  bool remove_unclaimed = false;
};

void DeclareLife(ArgumentList& arguments, LifeOptions* options) {
  arguments.Positional("NAME", &options->name, "of the cluster");
  arguments.Flag("--dry-run", &options->dry_run, "the hub checks and changes nothing");
  DeclareOutput(arguments, &options->output);
}

// Fields that all verbs have; the rest is left as it is in `request`.
template <typename Request>
absl::StatusOr<Request> MakeRequest(Session& session, const LifeOptions& options) {
  RETURN_IF_ERROR(UseOutput(session, options.output));
  // Also "cluster/edge-17", as other commands take it.
  absl::string_view name = options.name;
  if (absl::StartsWith(name, "cluster/") || absl::StartsWith(name, "clusters/"))
    name.remove_prefix(name.find('/') + 1);
  ASSIGN_OR_RETURN(Target target, MakeTarget(*FindKind("cluster"), name, ""));
  Request request;
  request.set_name(target.name);
  request.set_validate_only(options.dry_run);
  request.set_request_id(session.RequestId());
  return request;
}

std::string Done(absl::string_view name, absl::string_view what, bool dry_run) {
  return absl::StrCat("cluster/", IdOf(name), " ", what, dry_run ? " (server dry run)" : "", "\n");
}

// A verb without arguments of its own.
template <typename Request>
absl::StatusOr<ExitCode> RunSimple(Session& session, const LifeOptions& options,
                                   absl::string_view what) {
  ASSIGN_OR_RETURN(Request request, MakeRequest<Request>(session, options));
  ASSIGN_OR_RETURN(HubClient * hub, session.Hub());
  ASSIGN_OR_RETURN(v1::Cluster cluster, hub->Ask<v1::Cluster>(request));
  RETURN_IF_ERROR(PrintResult(session, cluster, Done(cluster.name(), what, options.dry_run)));
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunReject(Session& session, const LifeOptions& options) {
  return RunSimple<v1::RejectClusterRequest>(session, options, "rejected");
}
absl::StatusOr<ExitCode> RunCordon(Session& session, const LifeOptions& options) {
  return RunSimple<v1::CordonClusterRequest>(session, options, "cordoned");
}
absl::StatusOr<ExitCode> RunUncordon(Session& session, const LifeOptions& options) {
  return RunSimple<v1::UncordonClusterRequest>(session, options, "uncordoned");
}
absl::StatusOr<ExitCode> RunUnlock(Session& session, const LifeOptions& options) {
  return RunSimple<v1::UnlockClusterRequest>(session, options, "unlocked");
}
absl::StatusOr<ExitCode> RunRevoke(Session& session, const LifeOptions& options) {
  ASSIGN_OR_RETURN(ExitCode code, RunSimple<v1::RevokeClusterRequest>(session, options, "revoked"));
  session.Say(
      absl::StrCat("What runs there stays. It comes back with: navectl token create --cluster ",
                   IdOf(options.name), " --rejoin\n"));
  return code;
}

absl::StatusOr<ExitCode> RunAccept(Session& session, const LifeOptions& options) {
  ASSIGN_OR_RETURN(auto request, MakeRequest<v1::AcceptClusterRequest>(session, options));
  request.set_unknown_uid(options.uid);
  request.set_cluster_set(options.cluster_set);
  ASSIGN_OR_RETURN(HubClient * hub, session.Hub());
  auto cluster = hub->Ask<v1::Cluster>(request);
  std::string what = "accepted";
  if (!cluster.ok() &&
      ErrorReason(cluster.status()) == GetReasonInfo(Reason::kClusterStateConflict).upper) {
    // Accepting what is accepted changes nothing.
    v1::GetClusterRequest get;
    get.set_name(request.name());
    auto present = hub->Ask<v1::Cluster>(get);
    bool is_in = present.ok() && present->status().admission() == v1::CLUSTER_ADMISSION_ACCEPTED &&
                 !present->status().revoked() && !present->status().removing();
    if (is_in) {
      cluster = *std::move(present);
      what = "is accepted already";
    }
  }
  RETURN_IF_ERROR(cluster.status());
  RETURN_IF_ERROR(PrintResult(session, *cluster, Done(cluster->name(), what, options.dry_run)));
  return ExitCode::kOk;
}

absl::Status WaitUntilRemoved(Session& session, const std::string& name,
                              const LifeOptions& options) {
  ASSIGN_OR_RETURN(absl::Duration timeout,
                   ParseSpanFlag("--timeout", options.timeout, absl::Minutes(10)));
  ASSIGN_OR_RETURN(Target target, ParseTarget(name, ""));
  std::string said;
  return FollowOne(
      session, target, session.Now() + timeout, [&](const google::protobuf::Message* state) {
        if (state == nullptr) return false;
        StateWord word = StateOf(static_cast<const v1::Cluster&>(*state));
        std::string line =
            absl::StrCat(word.word, word.reason.empty() ? "" : ": ", word.reason,
                         word.message.empty() ? "" : ": ", PrintableText(word.message), "\n");
        if (line != said) session.Say(line);
        said = line;
        return true;
      });
}

absl::StatusOr<ExitCode> RunRemove(Session& session, const LifeOptions& options) {
  ASSIGN_OR_RETURN(auto request, MakeRequest<v1::RemoveClusterRequest>(session, options));
  std::string confirm = options.confirm;
  if (!options.dry_run) {
    RETURN_IF_ERROR(AskName(session, IdOf(request.name()),
                            "remove everything that bundles put there, its identity and its record",
                            &confirm));
  }
  request.set_confirm(confirm);
  ASSIGN_OR_RETURN(HubClient * hub, session.Hub());
  ASSIGN_OR_RETURN(v1::Cluster cluster, hub->Ask<v1::Cluster>(request));
  if (options.dry_run || options.no_wait) {
    RETURN_IF_ERROR(
        PrintResult(session, cluster, Done(cluster.name(), "is being removed", options.dry_run)));
    return ExitCode::kOk;
  }
  RETURN_IF_ERROR(WaitUntilRemoved(session, request.name(), options));
  RETURN_IF_ERROR(PrintResult(session, cluster, Done(request.name(), "removed", false)));
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunForget(Session& session, const LifeOptions& options) {
  ASSIGN_OR_RETURN(auto request, MakeRequest<v1::ForgetClusterRequest>(session, options));
  std::string confirm = options.confirm;
  if (!options.dry_run) {
    RETURN_IF_ERROR(AskName(session, IdOf(request.name()),
                            "drop its record and leave behind whatever runs there", &confirm));
    if (confirm.empty()) {
      return MakeError(Reason::kNotConfirmed,
                       absl::StrCat("cluster \"", IdOf(request.name()), "\" was not forgotten"),
                       {{"help", absl::StrCat("navectl cluster forget ", IdOf(request.name()),
                                              " --confirm ", IdOf(request.name()))}});
    }
  }
  request.set_confirm(confirm);
  ASSIGN_OR_RETURN(HubClient * hub, session.Hub());
  ASSIGN_OR_RETURN(auto answer, hub->Ask<v1::ForgetClusterResponse>(request));
  if (session.output() == OutputFormat::kJson || session.output() == OutputFormat::kYaml) {
    session.Print(FormatAnswer(answer, session.output()));
    return ExitCode::kOk;
  }
  session.Print(Done(request.name(), "forgotten", options.dry_run));
  if (answer.left_behind_total() > 0) {
    session.Say(absl::StrCat("Left behind there: ", Count(answer.left_behind_total(), "bundle"),
                             ": ", absl::StrJoin(answer.left_behind(), ", "), "\n"));
  }
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunAdopt(Session& session, const LifeOptions& options) {
  ASSIGN_OR_RETURN(auto request, MakeRequest<v1::AdoptClusterRequest>(session, options));
  std::string confirm = options.confirm;
  if (options.remove_unclaimed && !options.dry_run) {
    RETURN_IF_ERROR(AskName(session, IdOf(request.name()),
                            "remove what runs there and the hub does not know", &confirm));
  }
  request.set_remove_unclaimed(options.remove_unclaimed);
  request.set_confirm(confirm);
  ASSIGN_OR_RETURN(HubClient * hub, session.Hub());
  ASSIGN_OR_RETURN(auto answer, hub->Ask<v1::AdoptClusterResponse>(request));
  if (session.output() == OutputFormat::kJson || session.output() == OutputFormat::kYaml) {
    session.Print(FormatAnswer(answer, session.output()));
    return ExitCode::kOk;
  }
  session.Print(
      Done(request.name(), "follows the hub's present state from now on", options.dry_run));
  if (answer.not_desired_total() > 0) {
    session.Say(
        absl::StrCat(options.remove_unclaimed ? "Removed: " : "Not known to the hub, and kept: ",
                     Count(answer.not_desired_total(), "key"), ": ",
                     absl::StrJoin(answer.not_desired(), ", "), "\n"));
  }
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunList(Session& session, const GetOptions& options) {
  GetOptions get = options;
  get.what = {"clusters"};
  return RunGet(session, get);
}

using Runner = absl::StatusOr<ExitCode> (*)(Session&, const LifeOptions&);

void Add(const char* verb, const char* summary, Runner run, std::vector<Command>* table) {
  table->push_back(MakeCommand<LifeOptions>(absl::StrCat("cluster ", verb), summary,
                                            {absl::StrCat("navectl cluster ", verb, " edge-17")},
                                            &DeclareLife, run));
}

void DeclareRemoval(ArgumentList& arguments, LifeOptions* options) {
  DeclareLife(arguments, options);
  arguments.Text("--confirm", &options->confirm, "NAME",
                 "the cluster's name again: nothing is asked and nothing held back");
}

}  // namespace

void AddClusterLifeCommands(std::vector<Command>* table) {
  table->push_back(MakeCommand<GetOptions>(
      "cluster list", "List clusters",
      {"navectl cluster list -o wide", "navectl cluster list -l env=prod -w"},
      [](ArgumentList& arguments, GetOptions* options) { DeclareGetFlags(arguments, options); },
      &RunList));
  table->push_back(MakeCommand<LifeOptions>(
      "cluster accept", "Let the agent of a cluster connect",
      {"navectl cluster accept edge-17",
       "navectl cluster accept edge-17 --uid 0b5f3c1e-…   # one that the hub lost"},
      [](ArgumentList& arguments, LifeOptions* options) {
        DeclareLife(arguments, options);
        arguments.Text("--uid", &options->uid, "UID",
                       "of a cluster that is UnknownToThisHub; NAME is then its new name");
        arguments.Text("--set", &options->cluster_set, "SET",
                       "cluster set of a record that is made anew");
      },
      &RunAccept));
  Add("reject", "Refuse the agent of a cluster that waits", &RunReject, table);
  Add("cordon", "Decide no new assignment for a cluster", &RunCordon, table);
  Add("uncordon", "End a cordon", &RunUncordon, table);
  Add("revoke", "Refuse all certificates of a cluster; what runs there stays", &RunRevoke, table);
  table->push_back(MakeCommand<LifeOptions>(
      "cluster remove",
      "Take down what bundles put on a cluster, then drop its identity and its record",
      {"navectl cluster remove edge-17 --confirm edge-17"},
      [](ArgumentList& arguments, LifeOptions* options) {
        DeclareRemoval(arguments, options);
        arguments.Flag("--no-wait", &options->no_wait, "do not wait until it is gone");
        arguments.Text("--timeout", &options->timeout, "DURATION", "how long to wait, default 10m");
      },
      &RunRemove));
  table->push_back(MakeCommand<LifeOptions>(
      "cluster forget",
      "Drop the record of a cluster that is gone for good; what runs there is left behind",
      {"navectl cluster forget edge-17 --confirm edge-17"}, &DeclareRemoval, &RunForget));
  Add("unlock", "Let agents connect again after DuplicateIdentity", &RunUnlock, table);
  table->push_back(MakeCommand<LifeOptions>(
      "cluster adopt", "End the HOLD of a cluster: its agent follows the hub's present state",
      {"navectl cluster adopt edge-17", "navectl cluster adopt edge-17 --remove-unclaimed"},
      [](ArgumentList& arguments, LifeOptions* options) {
        DeclareRemoval(arguments, options);
        arguments.Flag("--remove-unclaimed", &options->remove_unclaimed,
                       "also remove what the hub does not know (NotDesired)");
      },
      &RunAdopt));
}

}  // namespace nave::cli
