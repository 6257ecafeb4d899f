#include "hub/rpc/assignments.h"
#include "hub/rpc/cluster_handlers.h"
#include "hub/rpc/diagnose.h"
#include "hub/rpc/hub_handlers.h"
#include "hub/rpc/join_token_handlers.h"
#include "hub/rpc/services.h"
#include "hub/rpc/tenancy_handlers.h"
#include "hub/rpc/watch.h"
#include "nave/v1/cluster.grpc.pb.h"
#include "nave/v1/cluster_set.grpc.pb.h"
#include "nave/v1/hub.grpc.pb.h"
#include "nave/v1/join_token.grpc.pb.h"

namespace nave {
namespace {

using google::protobuf::Empty;

class ClusterApi : public v1::ClusterService::CallbackService {
 public:
  ClusterApi(CallRunner* runner, Watches* watches) : runner_(runner), watches_(watches) {}
  NAVE_UNARY(ClusterService, GetCluster, v1::GetClusterRequest, v1::Cluster)
  NAVE_UNARY(ClusterService, ListClusters, v1::ListClustersRequest, v1::ListClustersResponse)
  NAVE_UNARY(ClusterService, CreateCluster, v1::CreateClusterRequest, v1::Cluster)
  NAVE_UNARY(ClusterService, UpdateCluster, v1::UpdateClusterRequest, v1::Cluster)
  NAVE_WATCH(ClusterService, WatchClusters, Cluster, v1::WatchClustersRequest,
             v1::WatchClustersResponse)
  NAVE_UNARY(ClusterService, AcceptCluster, v1::AcceptClusterRequest, v1::Cluster)
  NAVE_UNARY(ClusterService, RejectCluster, v1::RejectClusterRequest, v1::Cluster)
  NAVE_UNARY(ClusterService, CordonCluster, v1::CordonClusterRequest, v1::Cluster)
  NAVE_UNARY(ClusterService, UncordonCluster, v1::UncordonClusterRequest, v1::Cluster)
  NAVE_UNARY(ClusterService, RevokeCluster, v1::RevokeClusterRequest, v1::Cluster)
  NAVE_UNARY(ClusterService, RemoveCluster, v1::RemoveClusterRequest, v1::Cluster)
  NAVE_UNARY(ClusterService, ForgetCluster, v1::ForgetClusterRequest, v1::ForgetClusterResponse)
  NAVE_UNARY(ClusterService, UnlockCluster, v1::UnlockClusterRequest, v1::Cluster)
  NAVE_UNARY(ClusterService, AdoptCluster, v1::AdoptClusterRequest, v1::AdoptClusterResponse)
  NAVE_UNARY(ClusterService, DiagnoseCluster, v1::DiagnoseClusterRequest, v1::Diagnosis)
  NAVE_UNARY(ClusterService, ListClusterAssignments, v1::ListClusterAssignmentsRequest,
             v1::ListClusterAssignmentsResponse)

 private:
  CallRunner* const runner_;
  Watches* const watches_;
};

class ClusterSetApi : public v1::ClusterSetService::CallbackService {
 public:
  ClusterSetApi(CallRunner* runner, Watches* watches) : runner_(runner), watches_(watches) {}
  NAVE_UNARY(ClusterSetService, GetClusterSet, v1::GetClusterSetRequest, v1::ClusterSet)
  NAVE_UNARY(ClusterSetService, ListClusterSets, v1::ListClusterSetsRequest,
             v1::ListClusterSetsResponse)
  NAVE_UNARY(ClusterSetService, CreateClusterSet, v1::CreateClusterSetRequest, v1::ClusterSet)
  NAVE_UNARY(ClusterSetService, UpdateClusterSet, v1::UpdateClusterSetRequest, v1::ClusterSet)
  NAVE_UNARY(ClusterSetService, DeleteClusterSet, v1::DeleteClusterSetRequest, Empty)
  NAVE_WATCH(ClusterSetService, WatchClusterSets, ClusterSet, v1::WatchClusterSetsRequest,
             v1::WatchClusterSetsResponse)

 private:
  CallRunner* const runner_;
  Watches* const watches_;
};

class JoinTokenApi : public v1::JoinTokenService::CallbackService {
 public:
  JoinTokenApi(CallRunner* runner, Watches* watches) : runner_(runner), watches_(watches) {}
  NAVE_UNARY(JoinTokenService, GetJoinToken, v1::GetJoinTokenRequest, v1::JoinToken)
  NAVE_UNARY(JoinTokenService, ListJoinTokens, v1::ListJoinTokensRequest,
             v1::ListJoinTokensResponse)
  NAVE_UNARY(JoinTokenService, CreateJoinToken, v1::CreateJoinTokenRequest,
             v1::CreateJoinTokenResponse)
  NAVE_UNARY(JoinTokenService, DeleteJoinToken, v1::DeleteJoinTokenRequest, Empty)
  NAVE_WATCH(JoinTokenService, WatchJoinTokens, JoinToken, v1::WatchJoinTokensRequest,
             v1::WatchJoinTokensResponse)

 private:
  CallRunner* const runner_;
  Watches* const watches_;
};

class HubApi : public v1::HubService::CallbackService {
 public:
  explicit HubApi(CallRunner* runner) : runner_(runner) {}
  NAVE_UNARY(HubService, GetHub, v1::GetHubRequest, v1::Hub)
  NAVE_UNARY(HubService, AdoptHub, v1::AdoptHubRequest, v1::AdoptHubResponse)
  NAVE_UNARY(HubService, WhoAmI, v1::WhoAmIRequest, v1::WhoAmIResponse)

 private:
  CallRunner* const runner_;
};

}  // namespace

std::vector<std::unique_ptr<grpc::Service>> MakeFleetServices(CallRunner* runner,
                                                              Watches* watches) {
  std::vector<std::unique_ptr<grpc::Service>> services;
  services.push_back(std::make_unique<ClusterApi>(runner, watches));
  services.push_back(std::make_unique<ClusterSetApi>(runner, watches));
  services.push_back(std::make_unique<JoinTokenApi>(runner, watches));
  services.push_back(std::make_unique<HubApi>(runner));
  return services;
}

}  // namespace nave
