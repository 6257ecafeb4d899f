// The hub itself.
#ifndef NAVE_HUB_RPC_HUB_HANDLERS_H_
#define NAVE_HUB_RPC_HUB_HANDLERS_H_

#include "absl/status/status.h"
#include "hub/rpc/api_call.h"
#include "nave/v1/hub.pb.h"

namespace nave {

absl::Status GetHub(ApiCall* call, const v1::GetHubRequest& request, v1::Hub* response);
absl::Status AdoptHub(ApiCall* call, const v1::AdoptHubRequest& request,
                      v1::AdoptHubResponse* response);
absl::Status WhoAmI(ApiCall* call, const v1::WhoAmIRequest& request, v1::WhoAmIResponse* response);

}  // namespace nave

#endif  // NAVE_HUB_RPC_HUB_HANDLERS_H_
