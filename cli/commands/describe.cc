// describe: a resource with what belongs to it.
#include "cli/resources/describe.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cli/commands/command.h"
#include "cli/commands/details.h"
#include "cli/commands/output.h"
#include "cli/resources/fetch.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/model/names.h"
#include "nave/v1/bundle.pb.h"
#include "nave/v1/cluster.pb.h"

namespace nave::cli {
namespace {

struct DescribeOptions {
  std::vector<std::string> what;
  std::string selector;
  bool objects = false;
  bool all_projects = false;
};

absl::Status Describe(Session& session, HubClient* hub, const google::protobuf::Message& resource,
                      bool objects) {
  DescribeInput input;
  input.resource = &resource;
  const KindInfo& kind = *KindOf(resource);
  const std::string name = NameOf(resource);
  ASSIGN_OR_RETURN(input.assignments, FetchAssignments(hub, name));
  if (objects && kind.kind == "Bundle") {
    ASSIGN_OR_RETURN(input.objects, FetchObjects(session, hub, name));
  }
  if (kind.kind == "Bundle" || kind.kind == "Cluster") {
    ASSIGN_OR_RETURN(input.events, FetchEvents(hub, name));
  }
  session.Print(FormatDescription(input, session.out_style(), session.Now()));
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> RunDescribe(Session& session, const DescribeOptions& options) {
  ASSIGN_OR_RETURN(std::string project, session.Project());
  ASSIGN_OR_RETURN(Selection selection, ParseSelection(options.what, project));
  ASSIGN_OR_RETURN(HubClient * hub, session.Hub());
  std::vector<MessagePtr> resources;
  for (const Target& target : selection.targets) {
    ASSIGN_OR_RETURN(MessagePtr resource, FetchOne(hub, target));
    resources.push_back(std::move(resource));
  }
  if (selection.targets.empty()) {
    if (selection.kind->collection == "revisions") {
      return MakeError(Reason::kUsageInvalid,
                       "a revision must be named: describe revision/BUNDLE@NUMBER");
    }
    ListOptions list;
    list.label_selector = options.selector;
    if (selection.kind->in_project)
      list.parent = ProjectName(options.all_projects ? kAnyProject : absl::string_view(project));
    ASSIGN_OR_RETURN(resources, FetchAll(hub, *selection.kind, list));
  }
  for (size_t i = 0; i < resources.size(); ++i) {
    if (i > 0) session.Print("\n");
    RETURN_IF_ERROR(Describe(session, hub, *resources[i], options.objects));
  }
  return ExitCode::kOk;
}

struct ClusterOptions {
  std::string name;
};

absl::StatusOr<ExitCode> RunDescribeCluster(Session& session, const ClusterOptions& options) {
  DescribeOptions describe;
  describe.what = {"cluster", options.name};
  return RunDescribe(session, describe);
}

}  // namespace

absl::StatusOr<std::vector<v1::Assignment>> FetchAssignments(HubClient* hub,
                                                             const std::string& name) {
  std::vector<v1::Assignment> all;
  auto fetch = [&](auto request, auto response) -> absl::Status {
    request.set_name(name);
    request.set_page_size(500);
    request.set_view(v1::VIEW_FULL);
    return FetchPages(hub, &request, &response, [&] {
      all.insert(all.end(), response.assignments().begin(), response.assignments().end());
    });
  };
  if (ParseName("name", "clusters", name).ok()) {
    RETURN_IF_ERROR(
        fetch(v1::ListClusterAssignmentsRequest(), v1::ListClusterAssignmentsResponse()));
  } else if (ParseBundleName("name", name).ok()) {
    RETURN_IF_ERROR(fetch(v1::ListBundleAssignmentsRequest(), v1::ListBundleAssignmentsResponse()));
  }
  return all;
}

absl::StatusOr<std::vector<v1::ObjectState>> FetchObjects(Session& session, HubClient* hub,
                                                          const std::string& bundle) {
  v1::ListBundleObjectsRequest request;
  request.set_name(bundle);
  request.set_page_size(1000);
  v1::ListBundleObjectsResponse response;
  std::vector<v1::ObjectState> all;
  std::vector<std::string> unreachable;
  RETURN_IF_ERROR(FetchPages(hub, &request, &response, [&] {
    all.insert(all.end(), response.objects().begin(), response.objects().end());
    for (const std::string& cluster : response.unreachable()) {
      if (std::find(unreachable.begin(), unreachable.end(), cluster) == unreachable.end())
        unreachable.push_back(cluster);
    }
  }));
  for (const std::string& cluster : unreachable) {
    session.Say(absl::StrCat("Cluster ", cluster,
                             " is not connected: its objects are as they were reported last.\n"));
  }
  return all;
}

absl::StatusOr<std::vector<v1::Event>> FetchEvents(HubClient* hub, const std::string& name) {
  ListOptions list;
  auto bundle = ParseBundleName("name", name);
  list.parent = bundle.ok() ? ProjectName(bundle->project) : "";
  list.about = bundle.ok() ? absl::StrCat("bundles/", bundle->bundle) : name;
  ASSIGN_OR_RETURN(std::vector<MessagePtr> found, FetchAll(hub, *FindKind("event"), list));
  std::vector<v1::Event> events;
  for (const MessagePtr& event : found) events.push_back(static_cast<const v1::Event&>(*event));
  return events;
}

void AddDescribeCommands(std::vector<Command>* table) {
  table->push_back(MakeCommand<DescribeOptions>(
      "describe",
      "Show everything about a resource: its clusters or bundles, what is not right there, its "
      "events",
      {"navectl describe bundle/web", "navectl describe bundle web --objects",
       "navectl describe cluster/edge-17"},
      [](ArgumentList& arguments, DescribeOptions* options) {
        arguments.Positionals("KIND[/NAME]", &options->what, "KIND, KIND NAME..., or KIND/NAME...");
        arguments.Text("-l,--selector", &options->selector, "SELECTOR",
                       "only those with these labels");
        arguments.Flag("-A,--all-projects", &options->all_projects, "those of every project");
        arguments.Flag("--objects", &options->objects,
                       "of a bundle: every object, healthy ones too");
      },
      &RunDescribe));
  table->push_back(MakeCommand<ClusterOptions>(
      "cluster describe", "Show everything about a cluster", {"navectl cluster describe edge-17"},
      [](ArgumentList& arguments, ClusterOptions* options) {
        arguments.Positional("NAME", &options->name, "of the cluster");
      },
      &RunDescribeCluster));
}

}  // namespace nave::cli
