// What belongs to a bundle or a cluster, read from the hub.
#ifndef NAVE_CLI_COMMANDS_DETAILS_H_
#define NAVE_CLI_COMMANDS_DETAILS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/client/hub_client.h"
#include "cli/commands/session.h"
#include "nave/v1/assignment.pb.h"
#include "nave/v1/event.pb.h"

namespace nave::cli {

// Of a bundle or a cluster by full name, with the objects that are not right; empty for other
// kinds.
absl::StatusOr<std::vector<v1::Assignment>> FetchAssignments(HubClient* hub,
                                                             const std::string& name);

// Every object of a bundle. Clusters without a session are named on stderr.
absl::StatusOr<std::vector<v1::ObjectState>> FetchObjects(Session& session, HubClient* hub,
                                                          const std::string& bundle);

// About a bundle or a cluster, oldest first.
absl::StatusOr<std::vector<v1::Event>> FetchEvents(HubClient* hub, const std::string& name);

}  // namespace nave::cli

#endif  // NAVE_CLI_COMMANDS_DETAILS_H_
