// get: resources of any kind.
#include "cli/commands/get.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "cli/commands/command.h"
#include "cli/commands/follow.h"
#include "cli/commands/output.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "cli/resources/columns.h"
#include "cli/resources/fetch.h"
#include "cli/resources/print.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/model/names.h"
#include "common/value/codec.h"
#include "common/wire/file_form.h"
#include "nave/v1/hub.pb.h"

namespace nave::cli {
namespace {

using google::protobuf::Message;

TableOptions TableOptionsOf(const GetOptions& options) {
  return {options.all_projects, options.show_labels, options.no_headers};
}

// Clusters that the hub has no record of stand beside those that it has. Who may not see them sees
// none.
std::vector<v1::UnknownCluster> FetchUnknown(Session& session, HubClient* hub) {
  auto answer = hub->Ask<v1::Hub>(v1::GetHubRequest());
  if (!answer.ok()) {
    session.Say(absl::StrCat(
        "Clusters unknown to this hub are not shown: ", answer.status().message(), "\n"));
    return {};
  }
  if (answer->unknown_clusters_total() > static_cast<uint32_t>(answer->unknown_clusters_size())) {
    session.Say(absl::StrCat("Of ", answer->unknown_clusters_total(),
                             " clusters unknown to this hub only ", answer->unknown_clusters_size(),
                             " are shown.\n"));
  }
  return {answer->unknown_clusters().begin(), answer->unknown_clusters().end()};
}

absl::Status PrintAll(Session& session, HubClient* hub, const KindInfo& kind,
                      const std::vector<MessagePtr>& all, const GetOptions& options) {
  std::vector<const Message*> resources;
  for (const MessagePtr& resource : all) resources.push_back(resource.get());
  bool table = session.output() == OutputFormat::kTable || session.output() == OutputFormat::kWide;
  if (!table) return PrintList(session, resources, false, {});
  std::vector<v1::UnknownCluster> unknown;
  if (kind.kind == "Cluster" && options.selector.empty()) unknown = FetchUnknown(session, hub);
  if (resources.empty() && unknown.empty()) {
    session.Say(absl::StrCat("There are no ", kind.words[1],
                             options.selector.empty() ? "" : " with these labels", ".\n"));
    return absl::OkStatus();
  }
  ColumnOptions columns{session.output() == OutputFormat::kWide, options.all_projects,
                        options.show_labels, session.Now()};
  Table rows(Headers(kind, columns));
  for (const Message* resource : resources) rows.Add(MakeRow(kind, *resource, columns));
  for (const v1::UnknownCluster& cluster : unknown) rows.Add(MakeRow(cluster, columns));
  session.Print(rows.Format(session.out_style(), !options.no_headers));
  if (session.world().err_is_terminal) session.Say(Summary(kind, resources));
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> GetNamed(Session& session, HubClient* hub,
                                  const std::vector<Target>& targets, const GetOptions& options) {
  std::vector<MessagePtr> found;
  absl::Status first_error;
  for (const Target& target : targets) {
    auto resource = FetchOne(hub, target, options.full);
    if (resource.ok()) {
      found.push_back(*std::move(resource));
    } else if (targets.size() == 1) {
      return resource.status();
    } else {
      session.Warn(absl::StrCat("Error: ", resource.status().message(), "\n"));
      if (first_error.ok()) first_error = resource.status();
    }
  }
  // A table for each kind, in the order of the command line.
  std::vector<const Message*> all;
  std::vector<std::pair<const KindInfo*, std::vector<const Message*>>> by_kind;
  for (const MessagePtr& resource : found) {
    all.push_back(resource.get());
    const KindInfo* kind = KindOf(*resource);
    if (by_kind.empty() || by_kind.back().first != kind) by_kind.push_back({kind, {}});
    by_kind.back().second.push_back(resource.get());
  }
  if (session.output() == OutputFormat::kTable || session.output() == OutputFormat::kWide) {
    for (size_t i = 0; i < by_kind.size(); ++i) {
      if (i > 0) session.Print("\n");
      RETURN_IF_ERROR(PrintList(session, by_kind[i].second, true, TableOptionsOf(options)));
    }
  } else {
    RETURN_IF_ERROR(PrintList(session, all, targets.size() == 1, {}));
  }
  return ExitCodeOf(first_error);
}

// One changed resource of a watch, in the form of -o.
std::string FormatChange(const Session& session, const KindInfo& kind, const WatchEvent& event,
                         const Table& table, const ColumnOptions& columns,
                         const std::string& project) {
  bool deleted = event.type == WatchEvent::Type::kDeleted;
  switch (session.output()) {
    case OutputFormat::kJson: {
      Value line;
      line["type"] = Value(deleted ? "DELETED" : "ITEM");
      line["object"] = ToValue(*event.item);
      return FormatJson(line) + "\n";
    }
    case OutputFormat::kYaml:
      return absl::StrCat("---\n", FormatAsYaml({event.item}));
    case OutputFormat::kName:
      return FormatAsNames({event.item}, project);
    default:
      break;
  }
  if (deleted)
    return table.FormatMore({IdOf(NameOf(*event.item)), Cell("Deleted", Tone::kFaint)},
                            session.out_style());
  return table.FormatMore(MakeRow(kind, *event.item, columns), session.out_style());
}

absl::StatusOr<ExitCode> WatchKind(Session& session, const KindInfo& kind, const ListOptions& list,
                                   const std::vector<Target>& only, const GetOptions& options) {
  ASSIGN_OR_RETURN(std::string project, session.Project());
  bool as_table =
      session.output() == OutputFormat::kTable || session.output() == OutputFormat::kWide;
  ColumnOptions columns{session.output() == OutputFormat::kWide, options.all_projects,
                        options.show_labels, session.Now()};
  Table table(Headers(kind, columns));
  std::vector<std::string> shown;
  bool synced = false;
  bool matched = false;
  absl::Status status =
      Follow(session, kind, list, absl::InfiniteFuture(), [&](const WatchEvent& event) {
        columns.now = session.Now();
        if (event.type == WatchEvent::Type::kSynced) {
          if (!synced && as_table)
            session.Print(table.Format(session.out_style(), !options.no_headers));
          synced = true;
          return only.empty() || matched;
        }
        if (event.item == nullptr) return true;
        const std::string& name = NameOf(*event.item);
        if (!only.empty() &&
            std::none_of(only.begin(), only.end(), [&](const Target& t) { return t.name == name; }))
          return true;
        matched = true;
        // The items that are there form the table; then rows are added.
        if (!synced && as_table) {
          table.Add(MakeRow(kind, *event.item, columns));
        } else {
          session.Print(FormatChange(session, kind, event, table, columns, project));
        }
        return true;
      });
  RETURN_IF_ERROR(status);
  return MakeError(Reason::kNotFound,
                   absl::StrCat(KindWord(kind), " \"", IdOf(only[0].name), "\" does not exist"));
}

}  // namespace

absl::StatusOr<ExitCode> RunGet(Session& session, const GetOptions& options) {
  RETURN_IF_ERROR(UseOutput(session, options.output));
  ASSIGN_OR_RETURN(std::string project, session.Project());
  std::vector<std::string> arguments = options.what;
  // "get revisions web" lists those of bundle web.
  std::string bundle;
  if (arguments.size() == 2) {
    const KindInfo* kind = FindKind(arguments[0]);
    if (kind != nullptr && kind->collection == "revisions" && IsId(arguments[1])) {
      bundle = arguments[1];
      arguments.pop_back();
    }
  }
  ASSIGN_OR_RETURN(Selection selection, ParseSelection(arguments, project));
  ASSIGN_OR_RETURN(HubClient * hub, session.Hub());
  if (!selection.targets.empty() && !options.selector.empty()) {
    return MakeError(Reason::kUsageInvalid, "names and a selector cannot be given together");
  }
  if (!options.watch && !selection.targets.empty())
    return GetNamed(session, hub, selection.targets, options);
  const KindInfo& kind = selection.targets.empty() ? *selection.kind : *selection.targets[0].kind;
  ListOptions list;
  list.label_selector = options.selector;
  if (kind.collection == "revisions") {
    if (bundle.empty())
      return MakeError(Reason::kUsageInvalid,
                       "revisions are those of one bundle: get revisions BUNDLE");
    list.parent = BundleName(project, bundle);
  } else if (kind.collection == "events") {
    list.parent = options.all_projects ? "-" : ProjectName(project);
  } else if (kind.in_project) {
    list.parent = ProjectName(options.all_projects ? kAnyProject : absl::string_view(project));
    if (!selection.targets.empty()) list.parent = ParentOf(selection.targets[0]);
  }
  if (options.watch) return WatchKind(session, kind, list, selection.targets, options);
  ASSIGN_OR_RETURN(std::vector<MessagePtr> all, FetchAll(hub, kind, list));
  RETURN_IF_ERROR(PrintAll(session, hub, kind, all, options));
  return ExitCode::kOk;
}

void DeclareGetFlags(ArgumentList& arguments, GetOptions* options) {
  DeclareOutput(arguments, &options->output);
  arguments.Text("-l,--selector", &options->selector, "SELECTOR",
                 "only those with these labels: a=b,c!=d,e in (x,y),!f");
  arguments.Flag("-w,--watch", &options->watch, "go on with every change");
  arguments.Flag("--show-labels", &options->show_labels, "a column with the labels");
  arguments.Flag("--no-headers", &options->no_headers, "no first line");
}

void AddGetCommands(std::vector<Command>* table) {
  table->push_back(MakeCommand<GetOptions>(
      "get",
      "Show resources: clusters, clustersets, bundles, revisions, projects, rolebindings, tokens, "
      "events",
      {"navectl get clusters -o wide", "navectl get bundle/web -o yaml",
       "navectl get bundles -A -w", "navectl get revisions web",
       "navectl get clusters -l 'env=prod,region in (eu,us)'"},
      [](ArgumentList& arguments, GetOptions* options) {
        arguments.Positionals("KIND[/NAME]", &options->what, "KIND, KIND NAME..., or KIND/NAME...");
        DeclareGetFlags(arguments, options);
        arguments.Flag("-A,--all-projects", &options->all_projects, "those of every project");
        arguments.Flag("--full", &options->full,
                       "bundles by name: with the content of their manifests");
      },
      &RunGet));
}

}  // namespace nave::cli
