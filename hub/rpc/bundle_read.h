// Reads of bundles, their revisions and assignments.
#ifndef NAVE_HUB_RPC_BUNDLE_READ_H_
#define NAVE_HUB_RPC_BUNDLE_READ_H_

#include "absl/status/status.h"
#include "hub/rpc/api_call.h"
#include "nave/v1/bundle.pb.h"

namespace nave {

absl::Status GetBundle(ApiCall* call, const v1::GetBundleRequest& request, v1::Bundle* response);
absl::Status ListBundles(ApiCall* call, const v1::ListBundlesRequest& request,
                         v1::ListBundlesResponse* response);
absl::Status GetBundleRevision(ApiCall* call, const v1::GetBundleRevisionRequest& request,
                               v1::BundleRevision* response);
absl::Status ListBundleRevisions(ApiCall* call, const v1::ListBundleRevisionsRequest& request,
                                 v1::ListBundleRevisionsResponse* response);
absl::Status ListBundleAssignments(ApiCall* call, const v1::ListBundleAssignmentsRequest& request,
                                   v1::ListBundleAssignmentsResponse* response);
absl::Status ListBundleObjects(ApiCall* call, const v1::ListBundleObjectsRequest& request,
                               v1::ListBundleObjectsResponse* response);

// Refuses a parent of one project that the caller may not view; of projects/- what it may view is
// shown.
absl::Status CheckParent(const ApiCall& call, const std::string& project);

}  // namespace nave

#endif  // NAVE_HUB_RPC_BUNDLE_READ_H_
