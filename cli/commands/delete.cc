// delete: asks when it is severe, waits until it is done.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands/apply.h"
#include "cli/commands/ask.h"
#include "cli/commands/command.h"
#include "cli/commands/follow.h"
#include "cli/commands/output.h"
#include "cli/files/documents.h"
#include "cli/output/error_text.h"
#include "cli/output/text.h"
#include "cli/resources/fetch.h"
#include "cli/resources/words.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "nave/v1/bundle.pb.h"

namespace nave::cli {
namespace {

struct DeleteFlags {
  std::vector<std::string> what;
  std::vector<std::string> files;
  bool recursive = false;
  bool orphan = false;
  bool no_wait = false;
  bool ignore_not_found = false;
  std::string wait;
  std::string confirm;
  std::string dry_run;
  std::string timeout;
};

absl::StatusOr<std::vector<Target>> TargetsOf(Session& session, const DeleteFlags& options,
                                              const std::string& project) {
  std::vector<Target> targets;
  if (options.files.empty()) {
    ASSIGN_OR_RETURN(Selection selection, ParseSelection(options.what, project));
    if (selection.targets.empty()) {
      return MakeError(Reason::kUsageInvalid, absl::StrCat("what to delete must be named: delete ",
                                                           KindWord(*selection.kind), "/NAME"));
    }
    return selection.targets;
  }
  if (!options.what.empty())
    return MakeError(Reason::kUsageInvalid, "names and -f cannot be given together");
  ASSIGN_OR_RETURN(std::vector<InputFile> files, ReadInputs(options.files, options.recursive,
                                                            [&] { return session.ReadInput(); }));
  ASSIGN_OR_RETURN(Documents documents, ReadDocuments(files, project));
  // What others name goes last.
  for (auto at = documents.resources.rbegin(); at != documents.resources.rend(); ++at) {
    targets.push_back({at->kind, NameOf(*at->message)});
  }
  if (targets.empty())
    return MakeError(Reason::kUsageInvalid, "the files name no resource of nave.dev/v1");
  return targets;
}

absl::Status CheckDeletable(const Target& target) {
  if (MakeDeleteRequest(*target.kind, target.name, {}) != nullptr) return absl::OkStatus();
  std::string id = IdOf(target.name);
  if (target.kind->kind == "Cluster") {
    return MakeError(
        Reason::kUsageInvalid,
        absl::StrCat("a cluster is removed or forgotten, not deleted: cluster \"", id, "\""),
        {{"help",
          absl::StrCat("navectl cluster remove ", id, "     # takes down what bundles put there")},
         {"help", absl::StrCat("navectl cluster forget ", id, "     # it is gone for good")}});
  }
  return MakeError(Reason::kUsageInvalid, absl::StrCat("a ", KindWord(*target.kind),
                                                       " cannot be deleted: the hub keeps them"));
}

std::string Progress(const v1::Bundle& bundle) {
  const v1::BundleStatus& status = bundle.status();
  std::string text =
      absl::StrCat("Waiting: ", Count(status.counts().removing(), "cluster"), " to go");
  if (status.counts().disconnected() > 0)
    absl::StrAppend(&text, ", ", status.counts().disconnected(), " not connected");
  StateWord state = StateOf(bundle);
  if (!state.reason.empty()) absl::StrAppend(&text, " (", state.reason, ")");
  return text + "\n";
}

// Until the record of that uid is gone.
absl::Status WaitUntilGone(Session& session, const Target& target, const std::string& uid,
                           absl::Time deadline) {
  std::string said;
  absl::Status status =
      FollowOne(session, target, deadline, [&](const google::protobuf::Message* state) {
        if (state == nullptr) return false;
        const auto& bundle = static_cast<const v1::Bundle&>(*state);
        if (bundle.metadata().uid() != uid) return false;
        std::string line = Progress(bundle);
        if (line != said) session.Say(line);
        said = line;
        return true;
      });
  if (status.code() != absl::StatusCode::kDeadlineExceeded) return status;
  std::string id = IdOf(target.name);
  return MakeError(Reason::kTimeout, absl::StrCat("bundle \"", id, "\" is still being deleted"),
                   {{"help", absl::StrCat("navectl why bundle/", id)},
                    {"help", absl::StrCat("navectl wait bundle/", id, " --for=delete")}});
}

absl::Status DeleteOne(Session& session, HubClient* hub, const Target& target,
                       const DeleteFlags& options, const std::string& project, bool dry_run) {
  std::string name = ShortName(*target.kind, target.name, project);
  bool bundle = target.kind->kind == "Bundle";
  DeleteOptions how;
  how.validate_only = dry_run;
  how.request_id = session.RequestId();
  how.orphan = options.orphan;
  how.confirm = options.confirm;
  std::string uid;
  if (bundle) {
    ASSIGN_OR_RETURN(MessagePtr present, FetchOne(hub, target));
    const auto& found = static_cast<const v1::Bundle&>(*present);
    uid = found.metadata().uid();
    uint32_t clusters = found.status().counts().clusters();
    if (!options.orphan && !dry_run && clusters > 0) {
      RETURN_IF_ERROR(
          AskName(session, IdOf(target.name),
                  absl::StrCat("delete ", name, " and its objects on ", Count(clusters, "cluster")),
                  &how.confirm));
    }
  } else if (options.orphan || !options.confirm.empty()) {
    return MakeError(Reason::kUsageInvalid,
                     absl::StrCat("--orphan and --confirm are for bundles, not for ", name));
  }
  RETURN_IF_ERROR(CallAny(hub, *MakeDeleteRequest(*target.kind, target.name, how)).status());
  if (dry_run) {
    session.Print(absl::StrCat(name, " deleted (server dry run)\n"));
    return absl::OkStatus();
  }
  if (bundle && !options.no_wait) {
    ASSIGN_OR_RETURN(absl::Duration timeout,
                     ParseSpanFlag("--timeout", options.timeout, absl::Minutes(10)));
    RETURN_IF_ERROR(WaitUntilGone(session, target, uid, session.Now() + timeout));
  }
  session.Print(
      absl::StrCat(name, bundle && options.no_wait ? " is being deleted\n" : " deleted\n"));
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> RunDelete(Session& session, const DeleteFlags& flags) {
  DeleteFlags options = flags;
  if (options.wait == "false") {
    options.no_wait = true;
  } else if (!options.wait.empty() && options.wait != "true") {
    return MakeError(Reason::kUsageInvalid,
                     absl::StrCat("`--wait`: must be true or false, got '", options.wait, "'"));
  }
  ASSIGN_OR_RETURN(bool dry_run, ParseDryRun(options.dry_run));
  ASSIGN_OR_RETURN(std::string project, session.Project());
  ASSIGN_OR_RETURN(std::vector<Target> targets, TargetsOf(session, options, project));
  for (const Target& target : targets) RETURN_IF_ERROR(CheckDeletable(target));
  if (targets.size() > 1 && !options.confirm.empty()) {
    return MakeError(Reason::kUsageInvalid,
                     "`--confirm`: confirms one name; delete them one by one");
  }
  ASSIGN_OR_RETURN(HubClient * hub, session.Hub());
  absl::Status first_error;
  size_t done = 0;
  for (const Target& target : targets) {
    absl::Status status = DeleteOne(session, hub, target, options, project, dry_run);
    if (options.ignore_not_found && status.code() == absl::StatusCode::kNotFound)
      status = absl::OkStatus();
    if (status.ok()) {
      ++done;
      continue;
    }
    if (targets.size() == 1) return status;
    session.Warn(FormatError(status, session.err_style()));
    if (first_error.ok()) first_error = status;
  }
  if (first_error.ok()) return ExitCode::kOk;
  return done == 0 ? ExitCodeOf(first_error) : ExitCode::kPartial;
}

}  // namespace

void AddDeleteCommands(std::vector<Command>* table) {
  table->push_back(MakeCommand<DeleteFlags>(
      "delete",
      "Delete resources; of a bundle its objects on all clusters too, and wait until they are gone",
      {"navectl delete bundle/web --confirm web", "navectl delete bundle web --orphan",
       "navectl delete -f fleet/"},
      [](ArgumentList& arguments, DeleteFlags* options) {
        arguments.Positionals("KIND/NAME", &options->what, "KIND NAME..., or KIND/NAME...", false);
        arguments.Texts("-f,--filename", &options->files, "PATH", "what these files name");
        arguments.Flag("-R,--recursive", &options->recursive, "sub-folders too");
        arguments.Flag("--orphan", &options->orphan, "leave the bundle's objects on the clusters");
        arguments.Text("--confirm", &options->confirm, "NAME",
                       "the bundle's name again: nothing is asked and nothing held back");
        arguments.Flag("--no-wait", &options->no_wait, "do not wait until it is gone");
        arguments.Text("--wait", &options->wait, "true|false", "false is --no-wait");
        arguments.Text("--timeout", &options->timeout, "DURATION", "how long to wait, default 10m");
        arguments.Flag("--ignore-not-found", &options->ignore_not_found,
                       "what does not exist is no error");
        arguments.Text("--dry-run", &options->dry_run, "server",
                       "the hub checks and changes nothing");
      },
      &RunDelete));
}

}  // namespace nave::cli
