// events: what happened.
#include "absl/strings/str_cat.h"
#include "cli/commands/command.h"
#include "cli/commands/follow.h"
#include "cli/commands/output.h"
#include "cli/output/table.h"
#include "cli/resources/columns.h"
#include "cli/resources/fetch.h"
#include "cli/resources/print.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/model/names.h"
#include "common/value/codec.h"
#include "common/wire/file_form.h"

namespace nave::cli {
namespace {

struct EventOptions {
  std::vector<std::string> about;
  std::string output;
  bool watch = false;
  bool all = false;
  bool no_headers = false;
};

// Which events: of a bundle or a cluster, of the hub, or all that there are.
absl::StatusOr<ListOptions> ScopeOf(const EventOptions& options, const std::string& project) {
  ListOptions list;
  list.parent = options.all ? "-" : "";
  if (options.about.empty()) {
    list.parent = "-";
    return list;
  }
  if (options.about.size() == 1 && options.about[0] == "hub") {
    list.about = "hub";
    return list;
  }
  ASSIGN_OR_RETURN(Selection selection, ParseSelection(options.about, project));
  if (selection.targets.size() != 1)
    return MakeError(Reason::kUsageInvalid, "events are about one thing: KIND/NAME or hub");
  const Target& target = selection.targets[0];
  if (target.kind->kind == "Cluster") {
    list.about = target.name;
  } else if (target.kind->kind == "Bundle") {
    list.parent = ParentOf(target);
    list.about = absl::StrCat("bundles/", IdOf(target.name));
  } else {
    return MakeError(Reason::kUsageInvalid, "events are about bundles, clusters and the hub");
  }
  return list;
}

absl::StatusOr<ExitCode> RunEvents(Session& session, const EventOptions& options) {
  RETURN_IF_ERROR(UseOutput(session, options.output));
  ASSIGN_OR_RETURN(std::string project, session.Project());
  ASSIGN_OR_RETURN(ListOptions list, ScopeOf(options, project));
  ASSIGN_OR_RETURN(HubClient * hub, session.Hub());
  const KindInfo& kind = *FindKind("event");
  if (!options.watch) {
    ASSIGN_OR_RETURN(std::vector<MessagePtr> found, FetchAll(hub, kind, list));
    std::vector<const google::protobuf::Message*> events;
    for (const MessagePtr& event : found) events.push_back(event.get());
    if (events.empty() && session.output() == OutputFormat::kTable)
      session.Say("There are no events.\n");
    RETURN_IF_ERROR(PrintList(session, events, false, {false, false, options.no_headers}));
    return ExitCode::kOk;
  }
  ColumnOptions columns{session.output() == OutputFormat::kWide, false, false, session.Now()};
  Table table(Headers(kind, columns));
  bool synced = false;
  RETURN_IF_ERROR(Follow(session, kind, list, absl::InfiniteFuture(), [&](const WatchEvent& event) {
    columns.now = session.Now();
    bool as_table =
        session.output() == OutputFormat::kTable || session.output() == OutputFormat::kWide;
    if (event.type == WatchEvent::Type::kSynced && !synced) {
      if (as_table) session.Print(table.Format(session.out_style(), !options.no_headers));
      synced = true;
    }
    // That an old event is no longer kept is no news.
    if (event.type != WatchEvent::Type::kItem || event.item == nullptr) return true;
    Row row = MakeRow(kind, *event.item, columns);
    if (!as_table) {
      session.Print(session.output() == OutputFormat::kYaml
                        ? absl::StrCat("---\n", FormatAsYaml({event.item}))
                        : FormatJson(ToFile(*event.item)) + "\n");
    } else if (synced) {
      session.Print(table.FormatMore(row, session.out_style()));
    } else {
      table.Add(std::move(row));
    }
    return true;
  }));
  return ExitCode::kOk;
}

}  // namespace

void AddEventCommands(std::vector<Command>* table) {
  table->push_back(MakeCommand<EventOptions>(
      "events", "Show what happened, to everything or to one bundle, cluster or the hub",
      {"navectl events", "navectl events bundle/web -w", "navectl events hub"},
      [](ArgumentList& arguments, EventOptions* options) {
        arguments.Positionals("KIND/NAME", &options->about, "a bundle, a cluster, or hub", false);
        arguments.Flag("-w,--watch", &options->watch, "go on with every new event");
        arguments.Flag("-A,--all-projects", &options->all,
                       "of every project (the default without KIND/NAME)");
        arguments.Flag("--no-headers", &options->no_headers, "no first line");
        DeclareOutput(arguments, &options->output);
      },
      &RunEvents));
}

}  // namespace nave::cli
