#include "hub/rpc/tenancy_handlers.h"

#include "hub/rpc/record_handlers.h"

namespace nave {

template <>
void WriteHooks<Project>::Carry(const Project& before, absl::Time, Project* after) {
  if (!before.id.empty()) after->id = before.id;
}
template <>
bool WriteHooks<Project>::SameSpec(const Project& a, const Project& b) {
  return a.cluster_sets == b.cluster_sets;
}

template <>
void WriteHooks<ClusterSet>::Carry(const ClusterSet& before, absl::Time, ClusterSet* after) {
  if (!before.id.empty()) after->id = before.id;
}
template <>
bool WriteHooks<ClusterSet>::SameSpec(const ClusterSet& a, const ClusterSet& b) {
  return a.description == b.description;
}

template <>
void WriteHooks<RoleBinding>::Carry(const RoleBinding& before, absl::Time, RoleBinding* after) {
  if (!before.id.empty()) after->id = before.id;
}
template <>
bool WriteHooks<RoleBinding>::SameSpec(const RoleBinding& a, const RoleBinding& b) {
  return a.subjects == b.subjects && a.role == b.role && a.project == b.project &&
         a.cluster_set == b.cluster_set;
}

absl::Status GetProject(ApiCall* call, const v1::GetProjectRequest& request,
                        v1::Project* response) {
  return GetRecord<Project>(call, request, response);
}
absl::Status ListProjects(ApiCall* call, const v1::ListProjectsRequest& request,
                          v1::ListProjectsResponse* response) {
  return ListRecords<Project>(call, request, "", nullptr, response->mutable_projects(), response);
}
absl::Status CreateProject(ApiCall* call, const v1::CreateProjectRequest& request,
                           v1::Project* response) {
  return CreateRecord<Project>(call, request, request.project_id(), "project_id", request.project(),
                               response);
}
absl::Status UpdateProject(ApiCall* call, const v1::UpdateProjectRequest& request,
                           v1::Project* response) {
  return UpdateRecord<Project>(call, request, request.project(), response);
}
absl::Status DeleteProject(ApiCall* call, const v1::DeleteProjectRequest& request,
                           google::protobuf::Empty* response) {
  return DeleteRecord<Project>(call, request, response);
}

absl::Status GetClusterSet(ApiCall* call, const v1::GetClusterSetRequest& request,
                           v1::ClusterSet* response) {
  return GetRecord<ClusterSet>(call, request, response);
}
absl::Status ListClusterSets(ApiCall* call, const v1::ListClusterSetsRequest& request,
                             v1::ListClusterSetsResponse* response) {
  return ListRecords<ClusterSet>(call, request, "", nullptr, response->mutable_cluster_sets(),
                                 response);
}
absl::Status CreateClusterSet(ApiCall* call, const v1::CreateClusterSetRequest& request,
                              v1::ClusterSet* response) {
  return CreateRecord<ClusterSet>(call, request, request.cluster_set_id(), "cluster_set_id",
                                  request.cluster_set(), response);
}
absl::Status UpdateClusterSet(ApiCall* call, const v1::UpdateClusterSetRequest& request,
                              v1::ClusterSet* response) {
  return UpdateRecord<ClusterSet>(call, request, request.cluster_set(), response);
}
absl::Status DeleteClusterSet(ApiCall* call, const v1::DeleteClusterSetRequest& request,
                              google::protobuf::Empty* response) {
  return DeleteRecord<ClusterSet>(call, request, response);
}

absl::Status GetRoleBinding(ApiCall* call, const v1::GetRoleBindingRequest& request,
                            v1::RoleBinding* response) {
  return GetRecord<RoleBinding>(call, request, response);
}
absl::Status ListRoleBindings(ApiCall* call, const v1::ListRoleBindingsRequest& request,
                              v1::ListRoleBindingsResponse* response) {
  return ListRecords<RoleBinding>(call, request, "", nullptr, response->mutable_role_bindings(),
                                  response);
}
absl::Status CreateRoleBinding(ApiCall* call, const v1::CreateRoleBindingRequest& request,
                               v1::RoleBinding* response) {
  return CreateRecord<RoleBinding>(call, request, request.role_binding_id(), "role_binding_id",
                                   request.role_binding(), response);
}
absl::Status UpdateRoleBinding(ApiCall* call, const v1::UpdateRoleBindingRequest& request,
                               v1::RoleBinding* response) {
  return UpdateRecord<RoleBinding>(call, request, request.role_binding(), response);
}
absl::Status DeleteRoleBinding(ApiCall* call, const v1::DeleteRoleBindingRequest& request,
                               google::protobuf::Empty* response) {
  return DeleteRecord<RoleBinding>(call, request, response);
}

}  // namespace nave
