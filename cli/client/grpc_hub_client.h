// HubClient over gRPC.
#ifndef NAVE_CLI_CLIENT_GRPC_HUB_CLIENT_H_
#define NAVE_CLI_CLIENT_GRPC_HUB_CLIENT_H_

#include <memory>

#include "cli/client/connection_options.h"
#include "cli/client/hub_client.h"

namespace nave::cli {

// Does not connect yet: the first call does. Errors of a call name the hub's address; a hub whose
// certificate is not to be trusted gets its own next step.
std::unique_ptr<HubClient> MakeGrpcHubClient(const ConnectionOptions& options);

}  // namespace nave::cli

#endif  // NAVE_CLI_CLIENT_GRPC_HUB_CLIENT_H_
