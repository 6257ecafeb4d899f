#include "hub/rpc/event_handlers.h"

#include "common/model/names.h"
#include "hub/rpc/bundle_read.h"
#include "hub/rpc/record_handlers.h"

namespace nave {

bool EventFilter::Matches(const Event& event) const {
  if (in_projects && event.project.empty()) return false;
  if (project != kAnyProject && event.project != project) return false;
  // A bundle's trouble on a cluster is the cluster's too.
  return about.empty() || event.about == about ||
         (!event.cluster.empty() && about == ClusterName(event.cluster));
}

absl::StatusOr<EventFilter> ParseEventFilter(const ApiCall& call, const std::string& parent,
                                             const std::string& about) {
  EventFilter filter;
  filter.about = about;
  if (parent == "-") {
    filter.project = std::string(kAnyProject);
  } else if (!parent.empty()) {
    ASSIGN_OR_RETURN(filter.project, ParseProjectParent("parent", parent));
    filter.in_projects = filter.project == kAnyProject;
    RETURN_IF_ERROR(CheckParent(call, filter.project));
  }
  return filter;
}

absl::Status GetEvent(ApiCall* call, const v1::GetEventRequest& request, v1::Event* response) {
  return GetRecord<Event>(call, request, response);
}

absl::Status ListEvents(ApiCall* call, const v1::ListEventsRequest& request,
                        v1::ListEventsResponse* response) {
  ASSIGN_OR_RETURN(EventFilter filter, ParseEventFilter(*call, request.parent(), request.about()));
  return ListRecords<Event>(
      call, request, filter.project, [&](const Event& event) { return filter.Matches(event); },
      response->mutable_events(), response);
}

}  // namespace nave
