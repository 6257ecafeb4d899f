// Events.
#ifndef NAVE_HUB_RPC_EVENT_HANDLERS_H_
#define NAVE_HUB_RPC_EVENT_HANDLERS_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hub/rpc/api_call.h"
#include "nave/v1/event.pb.h"

namespace nave {

absl::Status GetEvent(ApiCall* call, const v1::GetEventRequest& request, v1::Event* response);
absl::Status ListEvents(ApiCall* call, const v1::ListEventsRequest& request,
                        v1::ListEventsResponse* response);

// Parent and `about` of a list or watch of events.
struct EventFilter {
  // For VisitRecords.
  std::string project;
  // Only events of projects (projects/-).
  bool in_projects = false;
  std::string about;
  bool Matches(const Event& event) const;
};
absl::StatusOr<EventFilter> ParseEventFilter(const ApiCall& call, const std::string& parent,
                                             const std::string& about);

}  // namespace nave

#endif  // NAVE_HUB_RPC_EVENT_HANDLERS_H_
