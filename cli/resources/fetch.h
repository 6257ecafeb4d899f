// Reading resources of any kind from the hub.
#ifndef NAVE_CLI_RESOURCES_FETCH_H_
#define NAVE_CLI_RESOURCES_FETCH_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "cli/client/hub_client.h"
#include "cli/resources/requests.h"
#include "cli/resources/target.h"

namespace nave::cli {

// The answer's type is the method's.
absl::StatusOr<MessagePtr> CallAny(HubClient* hub, const google::protobuf::Message& request);

absl::StatusOr<MessagePtr> FetchOne(HubClient* hub, const Target& target, bool full = false);

// Every page, in the hub's order.
absl::StatusOr<std::vector<MessagePtr>> FetchAll(HubClient* hub, const KindInfo& kind,
                                                 const ListOptions& options);

// All pages of a list that is none of resources: assignments, objects. `request` has page_token and
// page_size; `take` gets each answer.
absl::Status FetchPages(HubClient* hub, google::protobuf::Message* request,
                        google::protobuf::Message* response, absl::FunctionRef<void()> take);

}  // namespace nave::cli

#endif  // NAVE_CLI_RESOURCES_FETCH_H_
