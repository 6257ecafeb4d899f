#include "hub/rpc/bundle_read.h"
#include "hub/rpc/bundle_write.h"
#include "hub/rpc/diagnose.h"
#include "hub/rpc/event_handlers.h"
#include "hub/rpc/services.h"
#include "hub/rpc/tenancy_handlers.h"
#include "hub/rpc/watch.h"
#include "nave/v1/bundle.grpc.pb.h"
#include "nave/v1/event.grpc.pb.h"
#include "nave/v1/project.grpc.pb.h"
#include "nave/v1/role_binding.grpc.pb.h"

namespace nave {
namespace {

using google::protobuf::Empty;

class ProjectApi : public v1::ProjectService::CallbackService {
 public:
  ProjectApi(CallRunner* runner, Watches* watches) : runner_(runner), watches_(watches) {}
  NAVE_UNARY(ProjectService, GetProject, v1::GetProjectRequest, v1::Project)
  NAVE_UNARY(ProjectService, ListProjects, v1::ListProjectsRequest, v1::ListProjectsResponse)
  NAVE_UNARY(ProjectService, CreateProject, v1::CreateProjectRequest, v1::Project)
  NAVE_UNARY(ProjectService, UpdateProject, v1::UpdateProjectRequest, v1::Project)
  NAVE_UNARY(ProjectService, DeleteProject, v1::DeleteProjectRequest, Empty)
  NAVE_WATCH(ProjectService, WatchProjects, Project, v1::WatchProjectsRequest,
             v1::WatchProjectsResponse)

 private:
  CallRunner* const runner_;
  Watches* const watches_;
};

class RoleBindingApi : public v1::RoleBindingService::CallbackService {
 public:
  RoleBindingApi(CallRunner* runner, Watches* watches) : runner_(runner), watches_(watches) {}
  NAVE_UNARY(RoleBindingService, GetRoleBinding, v1::GetRoleBindingRequest, v1::RoleBinding)
  NAVE_UNARY(RoleBindingService, ListRoleBindings, v1::ListRoleBindingsRequest,
             v1::ListRoleBindingsResponse)
  NAVE_UNARY(RoleBindingService, CreateRoleBinding, v1::CreateRoleBindingRequest, v1::RoleBinding)
  NAVE_UNARY(RoleBindingService, UpdateRoleBinding, v1::UpdateRoleBindingRequest, v1::RoleBinding)
  NAVE_UNARY(RoleBindingService, DeleteRoleBinding, v1::DeleteRoleBindingRequest, Empty)
  NAVE_WATCH(RoleBindingService, WatchRoleBindings, RoleBinding, v1::WatchRoleBindingsRequest,
             v1::WatchRoleBindingsResponse)

 private:
  CallRunner* const runner_;
  Watches* const watches_;
};

class BundleApi : public v1::BundleService::CallbackService {
 public:
  BundleApi(CallRunner* runner, Watches* watches) : runner_(runner), watches_(watches) {}
  NAVE_UNARY(BundleService, GetBundle, v1::GetBundleRequest, v1::Bundle)
  NAVE_UNARY(BundleService, ListBundles, v1::ListBundlesRequest, v1::ListBundlesResponse)
  NAVE_UNARY(BundleService, CreateBundle, v1::CreateBundleRequest, v1::Bundle)
  NAVE_UNARY(BundleService, UpdateBundle, v1::UpdateBundleRequest, v1::Bundle)
  NAVE_UNARY(BundleService, DeleteBundle, v1::DeleteBundleRequest, v1::Bundle)
  NAVE_WATCH(BundleService, WatchBundles, Bundle, v1::WatchBundlesRequest, v1::WatchBundlesResponse)
  NAVE_UNARY(BundleService, ConfirmBundle, v1::ConfirmBundleRequest, v1::Bundle)
  NAVE_UNARY(BundleService, ListBundleAssignments, v1::ListBundleAssignmentsRequest,
             v1::ListBundleAssignmentsResponse)
  NAVE_UNARY(BundleService, ListBundleObjects, v1::ListBundleObjectsRequest,
             v1::ListBundleObjectsResponse)
  NAVE_UNARY(BundleService, DiagnoseBundle, v1::DiagnoseBundleRequest, v1::Diagnosis)
  NAVE_UNARY(BundleService, GetBundleRevision, v1::GetBundleRevisionRequest, v1::BundleRevision)
  NAVE_UNARY(BundleService, ListBundleRevisions, v1::ListBundleRevisionsRequest,
             v1::ListBundleRevisionsResponse)

 private:
  CallRunner* const runner_;
  Watches* const watches_;
};

class EventApi : public v1::EventService::CallbackService {
 public:
  EventApi(CallRunner* runner, Watches* watches) : runner_(runner), watches_(watches) {}
  NAVE_UNARY(EventService, GetEvent, v1::GetEventRequest, v1::Event)
  NAVE_UNARY(EventService, ListEvents, v1::ListEventsRequest, v1::ListEventsResponse)
  NAVE_WATCH(EventService, WatchEvents, Event, v1::WatchEventsRequest, v1::WatchEventsResponse)

 private:
  CallRunner* const runner_;
  Watches* const watches_;
};

}  // namespace

std::vector<std::unique_ptr<grpc::Service>> MakeProjectServices(CallRunner* runner,
                                                                Watches* watches) {
  std::vector<std::unique_ptr<grpc::Service>> services;
  services.push_back(std::make_unique<ProjectApi>(runner, watches));
  services.push_back(std::make_unique<RoleBindingApi>(runner, watches));
  services.push_back(std::make_unique<BundleApi>(runner, watches));
  services.push_back(std::make_unique<EventApi>(runner, watches));
  return services;
}

}  // namespace nave
