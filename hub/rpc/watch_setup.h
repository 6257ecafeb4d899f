// The blocking part of a watch's beginning: what it is about, and from where it goes on.
#ifndef NAVE_HUB_RPC_WATCH_SETUP_H_
#define NAVE_HUB_RPC_WATCH_SETUP_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "hub/rpc/watch_feed.h"

namespace nave {

template <typename Record>
struct WatchSetup {
  std::unique_ptr<ApiCall> call;
  WatchFilter<Record> filter;
  std::optional<WatchVersion> resume;
  // What was visible at that version.
  typename WatchFeed<Record>::SentMap sent;
  // Of the store, for kinds that are not in the snapshot: it is watched from there.
  std::string prefix;
  uint64_t revision = 0;
};

// INVALID_FIELD, PERMISSION_DENIED, OUT_OF_RANGE REVISION_COMPACTED.
absl::Status SetUpWatch(const ApiCall& call, const v1::WatchProjectsRequest& request,
                        WatchSetup<Project>* setup);
absl::Status SetUpWatch(const ApiCall& call, const v1::WatchClusterSetsRequest& request,
                        WatchSetup<ClusterSet>* setup);
absl::Status SetUpWatch(const ApiCall& call, const v1::WatchClustersRequest& request,
                        WatchSetup<Cluster>* setup);
absl::Status SetUpWatch(const ApiCall& call, const v1::WatchRoleBindingsRequest& request,
                        WatchSetup<RoleBinding>* setup);
absl::Status SetUpWatch(const ApiCall& call, const v1::WatchJoinTokensRequest& request,
                        WatchSetup<JoinToken>* setup);
absl::Status SetUpWatch(const ApiCall& call, const v1::WatchBundlesRequest& request,
                        WatchSetup<Bundle>* setup);
absl::Status SetUpWatch(const ApiCall& call, const v1::WatchEventsRequest& request,
                        WatchSetup<Event>* setup);

}  // namespace nave

#endif  // NAVE_HUB_RPC_WATCH_SETUP_H_
