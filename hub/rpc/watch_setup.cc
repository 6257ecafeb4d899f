#include "hub/rpc/watch_setup.h"

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/model/names.h"
#include "hub/records/codec.h"
#include "hub/rpc/bundle_read.h"
#include "hub/rpc/event_handlers.h"

namespace nave {
namespace {

constexpr size_t kStorePage = 500;
constexpr absl::Duration kSnapshotWait = absl::Seconds(5);

absl::Status Compacted(absl::string_view text) {
  return MakeError(Reason::kRevisionCompacted, text);
}

// What the caller could see at `setup->resume`.
template <typename Record>
absl::Status ReadSent(const ApiCall& call, WatchSetup<Record>* setup) {
  uint64_t at = setup->resume->revision;
  std::string last;
  for (;;) {
    ASSIGN_OR_RETURN(RangePage page, call.store().Range(setup->prefix, last, kStorePage, at));
    for (const KeyValue& item : page.items) {
      ASSIGN_OR_RETURN(Record record, DecodeRecord<Record>(item.value));
      if (setup->filter.Matches(call, record))
        setup->sent[item.key] = {record.meta.uid, item.mod_revision, 0};
      last = item.key;
    }
    if (!page.more) return absl::OkStatus();
  }
}

template <typename Record, typename Request>
absl::Status SetUp(const ApiCall& call, const Request& request, WatchSetup<Record>* setup) {
  ASSIGN_OR_RETURN(setup->filter.selector,
                   Selector::Parse("label_selector", request.label_selector()));
  if (setup->prefix.empty()) setup->prefix = std::string(KindPrefix(Kind<Record>::kKey));
  setup->call = std::make_unique<ApiCall>(call);
  ASSIGN_OR_RETURN(RangePage head, call.store().Range(setup->prefix, "", 1, 0));
  setup->revision = head.revision;
  if (request.resource_version().empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(setup->resume, ParseWatchVersion(request.resource_version()));
  uint64_t revision = setup->resume->revision;
  // Of a history that this hub does not have (it was restored).
  if (revision > head.revision) {
    return Compacted(absl::StrCat("resource_version: revision ", revision,
                                  " is ahead of this hub's ", head.revision));
  }
  if (!call.backend().AwaitRevision(revision, kSnapshotWait)) {
    return MakeError(Reason::kHubStarting, "the hub's index is behind this revision",
                     {{"retry_after", "1s"}});
  }
  return ReadSent(call, setup);
}

}  // namespace

absl::Status SetUpWatch(const ApiCall& call, const v1::WatchProjectsRequest& request,
                        WatchSetup<Project>* setup) {
  return SetUp(call, request, setup);
}
absl::Status SetUpWatch(const ApiCall& call, const v1::WatchClusterSetsRequest& request,
                        WatchSetup<ClusterSet>* setup) {
  return SetUp(call, request, setup);
}
absl::Status SetUpWatch(const ApiCall& call, const v1::WatchClustersRequest& request,
                        WatchSetup<Cluster>* setup) {
  return SetUp(call, request, setup);
}
absl::Status SetUpWatch(const ApiCall& call, const v1::WatchRoleBindingsRequest& request,
                        WatchSetup<RoleBinding>* setup) {
  return SetUp(call, request, setup);
}
absl::Status SetUpWatch(const ApiCall& call, const v1::WatchJoinTokensRequest& request,
                        WatchSetup<JoinToken>* setup) {
  return SetUp(call, request, setup);
}

absl::Status SetUpWatch(const ApiCall& call, const v1::WatchBundlesRequest& request,
                        WatchSetup<Bundle>* setup) {
  ASSIGN_OR_RETURN(setup->filter.project, ParseProjectParent("parent", request.parent()));
  RETURN_IF_ERROR(CheckParent(call, setup->filter.project));
  if (setup->filter.project != kAnyProject)
    setup->prefix = ProjectPrefix(KeyKind::kBundle, setup->filter.project);
  std::string project = setup->filter.project;
  if (project != kAnyProject) {
    setup->filter.matches = [project](const Bundle& bundle) { return bundle.project == project; };
  }
  return SetUp(call, request, setup);
}

absl::Status SetUpWatch(const ApiCall& call, const v1::WatchEventsRequest& request,
                        WatchSetup<Event>* setup) {
  ASSIGN_OR_RETURN(EventFilter filter, ParseEventFilter(call, request.parent(), request.about()));
  setup->filter.project = filter.project;
  if (filter.project != kAnyProject) setup->prefix = ProjectPrefix(KeyKind::kEvent, filter.project);
  setup->filter.matches = [filter](const Event& event) { return filter.Matches(event); };
  return SetUp(call, request, setup);
}

}  // namespace nave
