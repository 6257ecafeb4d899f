// Clusters: their records, and the verbs of their life.
#ifndef NAVE_HUB_RPC_CLUSTER_HANDLERS_H_
#define NAVE_HUB_RPC_CLUSTER_HANDLERS_H_

#include "absl/status/status.h"
#include "hub/rpc/api_call.h"
#include "nave/v1/cluster.pb.h"

namespace nave {

absl::Status GetCluster(ApiCall* call, const v1::GetClusterRequest& request, v1::Cluster* response);
absl::Status ListClusters(ApiCall* call, const v1::ListClustersRequest& request,
                          v1::ListClustersResponse* response);
absl::Status CreateCluster(ApiCall* call, const v1::CreateClusterRequest& request,
                           v1::Cluster* response);
absl::Status UpdateCluster(ApiCall* call, const v1::UpdateClusterRequest& request,
                           v1::Cluster* response);

absl::Status AcceptCluster(ApiCall* call, const v1::AcceptClusterRequest& request,
                           v1::Cluster* response);
absl::Status RejectCluster(ApiCall* call, const v1::RejectClusterRequest& request,
                           v1::Cluster* response);
absl::Status CordonCluster(ApiCall* call, const v1::CordonClusterRequest& request,
                           v1::Cluster* response);
absl::Status UncordonCluster(ApiCall* call, const v1::UncordonClusterRequest& request,
                             v1::Cluster* response);
absl::Status RevokeCluster(ApiCall* call, const v1::RevokeClusterRequest& request,
                           v1::Cluster* response);
absl::Status RemoveCluster(ApiCall* call, const v1::RemoveClusterRequest& request,
                           v1::Cluster* response);
absl::Status ForgetCluster(ApiCall* call, const v1::ForgetClusterRequest& request,
                           v1::ForgetClusterResponse* response);
absl::Status UnlockCluster(ApiCall* call, const v1::UnlockClusterRequest& request,
                           v1::Cluster* response);
absl::Status AdoptCluster(ApiCall* call, const v1::AdoptClusterRequest& request,
                          v1::AdoptClusterResponse* response);

}  // namespace nave

#endif  // NAVE_HUB_RPC_CLUSTER_HANDLERS_H_
