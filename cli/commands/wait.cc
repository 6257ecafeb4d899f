// wait: until a resource is in a state, exists, or is gone.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/commands/command.h"
#include "cli/commands/follow.h"
#include "cli/resources/fetch.h"
#include "cli/view/wait_for.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/model/names.h"

namespace nave::cli {
namespace {

struct WaitOptions {
  std::vector<std::string> what;
  std::string wait_for;
  std::string timeout;
  std::string selector;
  bool all = false;
};

std::string Wanted(const WaitFor& wait) {
  switch (wait.kind) {
    case WaitFor::Kind::kDelete:
      return "gone";
    case WaitFor::Kind::kCreate:
      return "there";
    case WaitFor::Kind::kCondition:
      return absl::StrCat(wait.name, "=", wait.value);
    case WaitFor::Kind::kPath:
      return absl::StrCat(wait.name, wait.value.empty() ? "" : absl::StrCat("=", wait.value));
    default:
      return wait.name;
  }
}

absl::Status TooLate(const std::string& name, const WaitFor& wait, const std::string& present,
                     const Target& target) {
  std::string is = present.empty() ? "" : absl::StrCat(", it is ", present);
  ErrorMetadata next;
  if (target.kind->kind == "Bundle" || target.kind->kind == "Cluster")
    next.emplace_back("help", absl::StrCat("navectl why ", name));
  return MakeError(Reason::kTimeout, absl::StrCat(name, " is not ", Wanted(wait), " in time", is),
                   std::move(next));
}

// `deadline` in the past: looks once.
absl::Status WaitOne(Session& session, HubClient* hub, const Target& target, const WaitFor& wait,
                     absl::Time deadline, const std::string& project) {
  std::string name = ShortName(*target.kind, target.name, project);
  std::string present;
  bool missing = false;
  auto settled = [&](const google::protobuf::Message* state) {
    missing = state == nullptr;
    present = missing ? "" : PresentState(*state);
    if (missing) return wait.kind == WaitFor::Kind::kDelete;
    return Holds(wait, *state);
  };
  auto first = FetchOne(hub, target);
  if (!first.ok() && first.status().code() != absl::StatusCode::kNotFound) return first.status();
  if (settled(first.ok() ? first->get() : nullptr)) return absl::OkStatus();
  // What does not exist does not come into a state by waiting, unless it is waited for.
  if (missing && wait.kind != WaitFor::Kind::kCreate) return first.status();
  if (deadline <= session.Now()) return TooLate(name, wait, present, target);
  bool gone = false;
  absl::Status status =
      FollowOne(session, target, deadline, [&](const google::protobuf::Message* state) {
        if (settled(state)) return false;
        gone = missing && wait.kind != WaitFor::Kind::kCreate;
        return !gone;
      });
  if (gone)
    return MakeError(Reason::kNotFound,
                     absl::StrCat(name, " was deleted while waiting for ", Wanted(wait)));
  if (status.code() == absl::StatusCode::kDeadlineExceeded)
    return TooLate(name, wait, present, target);
  return status;
}

absl::StatusOr<std::vector<Target>> WaitTargets(HubClient* hub, const Selection& selection,
                                                const WaitOptions& options,
                                                const std::string& project) {
  if (!selection.targets.empty()) return selection.targets;
  if (!options.all && options.selector.empty()) {
    return MakeError(Reason::kUsageInvalid,
                     "what to wait for must be named: KIND/NAME, or KIND with -l or --all");
  }
  ListOptions list;
  list.label_selector = options.selector;
  if (selection.kind->in_project) list.parent = ProjectName(project);
  ASSIGN_OR_RETURN(std::vector<MessagePtr> found, FetchAll(hub, *selection.kind, list));
  if (found.empty())
    return MakeError(Reason::kNotFound,
                     absl::StrCat("no ", KindWord(*selection.kind), " has these labels"));
  std::vector<Target> targets;
  for (const MessagePtr& resource : found) targets.push_back({selection.kind, NameOf(*resource)});
  return targets;
}

absl::StatusOr<ExitCode> RunWait(Session& session, const WaitOptions& options) {
  ASSIGN_OR_RETURN(WaitFor wait, ParseWaitFor(options.wait_for));
  ASSIGN_OR_RETURN(absl::Duration timeout,
                   ParseSpanFlag("--timeout", options.timeout, absl::Minutes(5)));
  // As kubectl has it: negative is a week, 0 looks once.
  if (timeout < absl::ZeroDuration()) timeout = absl::Hours(24 * 7);
  ASSIGN_OR_RETURN(std::string project, session.Project());
  ASSIGN_OR_RETURN(Selection selection, ParseSelection(options.what, project));
  ASSIGN_OR_RETURN(HubClient * hub, session.Hub());
  ASSIGN_OR_RETURN(std::vector<Target> targets, WaitTargets(hub, selection, options, project));
  absl::Time deadline = session.Now() + timeout;
  for (const Target& target : targets) {
    RETURN_IF_ERROR(WaitOne(session, hub, target, wait, deadline, project));
    session.Print(
        absl::StrCat(ShortName(*target.kind, target.name, project), " is ", Wanted(wait), "\n"));
  }
  return ExitCode::kOk;
}

}  // namespace

void AddWaitCommands(std::vector<Command>* table) {
  table->push_back(MakeCommand<WaitOptions>(
      "wait", "Wait until resources are in a state, exist, or are gone",
      {"navectl wait cluster/edge-17 --for=Ready",
       "navectl wait bundle/web --for=condition=Ready --timeout=10m",
       "navectl wait bundle/web --for=delete", "navectl wait clusters -l env=prod --for=Ready"},
      [](ArgumentList& arguments, WaitOptions* options) {
        arguments.Positionals("KIND/NAME", &options->what,
                              "KIND NAME..., KIND/NAME..., or KIND with -l or --all");
        arguments.Text("--for", &options->wait_for, "WHAT",
                       "delete, create, a state, condition=NAME[=VALUE], jsonpath={.path}=VALUE");
        arguments.Text("--timeout", &options->timeout, "DURATION",
                       "default 5m; 0 looks once, negative waits a week");
        arguments.Text("-l,--selector", &options->selector, "SELECTOR", "those with these labels");
        arguments.Flag("--all", &options->all, "all of the kind");
      },
      &RunWait));
}

}  // namespace nave::cli
