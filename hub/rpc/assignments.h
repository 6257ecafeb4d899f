// Assignments as the API gives them.
#ifndef NAVE_HUB_RPC_ASSIGNMENTS_H_
#define NAVE_HUB_RPC_ASSIGNMENTS_H_

#include "absl/status/status.h"
#include "hub/decide/rollup.h"
#include "hub/fleet/live.h"
#include "hub/rpc/api_call.h"
#include "nave/v1/assignment.pb.h"
#include "nave/v1/cluster.pb.h"

namespace nave {

bool IsConnected(const LiveTable::Map& live, const Uuid& cluster);

// `full`: with the objects that are not right.
void ToProto(const AssignmentView& view, bool connected, bool full, v1::Assignment* out);

absl::Status ListClusterAssignments(ApiCall* call, const v1::ListClusterAssignmentsRequest& request,
                                    v1::ListClusterAssignmentsResponse* response);

}  // namespace nave

#endif  // NAVE_HUB_RPC_ASSIGNMENTS_H_
