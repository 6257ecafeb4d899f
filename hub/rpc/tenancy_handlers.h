// Projects, cluster sets and role bindings.
#ifndef NAVE_HUB_RPC_TENANCY_HANDLERS_H_
#define NAVE_HUB_RPC_TENANCY_HANDLERS_H_

#include <google/protobuf/empty.pb.h>

#include "absl/status/status.h"
#include "hub/rpc/api_call.h"
#include "nave/v1/cluster_set.pb.h"
#include "nave/v1/project.pb.h"
#include "nave/v1/role_binding.pb.h"

namespace nave {

absl::Status GetProject(ApiCall* call, const v1::GetProjectRequest& request, v1::Project* response);
absl::Status ListProjects(ApiCall* call, const v1::ListProjectsRequest& request,
                          v1::ListProjectsResponse* response);
absl::Status CreateProject(ApiCall* call, const v1::CreateProjectRequest& request,
                           v1::Project* response);
absl::Status UpdateProject(ApiCall* call, const v1::UpdateProjectRequest& request,
                           v1::Project* response);
absl::Status DeleteProject(ApiCall* call, const v1::DeleteProjectRequest& request,
                           google::protobuf::Empty* response);

absl::Status GetClusterSet(ApiCall* call, const v1::GetClusterSetRequest& request,
                           v1::ClusterSet* response);
absl::Status ListClusterSets(ApiCall* call, const v1::ListClusterSetsRequest& request,
                             v1::ListClusterSetsResponse* response);
absl::Status CreateClusterSet(ApiCall* call, const v1::CreateClusterSetRequest& request,
                              v1::ClusterSet* response);
absl::Status UpdateClusterSet(ApiCall* call, const v1::UpdateClusterSetRequest& request,
                              v1::ClusterSet* response);
absl::Status DeleteClusterSet(ApiCall* call, const v1::DeleteClusterSetRequest& request,
                              google::protobuf::Empty* response);

absl::Status GetRoleBinding(ApiCall* call, const v1::GetRoleBindingRequest& request,
                            v1::RoleBinding* response);
absl::Status ListRoleBindings(ApiCall* call, const v1::ListRoleBindingsRequest& request,
                              v1::ListRoleBindingsResponse* response);
absl::Status CreateRoleBinding(ApiCall* call, const v1::CreateRoleBindingRequest& request,
                               v1::RoleBinding* response);
absl::Status UpdateRoleBinding(ApiCall* call, const v1::UpdateRoleBindingRequest& request,
                               v1::RoleBinding* response);
absl::Status DeleteRoleBinding(ApiCall* call, const v1::DeleteRoleBindingRequest& request,
                               google::protobuf::Empty* response);

}  // namespace nave

#endif  // NAVE_HUB_RPC_TENANCY_HANDLERS_H_
