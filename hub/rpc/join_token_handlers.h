// Join tokens.
#ifndef NAVE_HUB_RPC_JOIN_TOKEN_HANDLERS_H_
#define NAVE_HUB_RPC_JOIN_TOKEN_HANDLERS_H_

#include <google/protobuf/empty.pb.h>

#include "absl/status/status.h"
#include "hub/rpc/api_call.h"
#include "nave/v1/join_token.pb.h"

namespace nave {

absl::Status GetJoinToken(ApiCall* call, const v1::GetJoinTokenRequest& request,
                          v1::JoinToken* response);
absl::Status ListJoinTokens(ApiCall* call, const v1::ListJoinTokensRequest& request,
                            v1::ListJoinTokensResponse* response);
absl::Status CreateJoinToken(ApiCall* call, const v1::CreateJoinTokenRequest& request,
                             v1::CreateJoinTokenResponse* response);
absl::Status DeleteJoinToken(ApiCall* call, const v1::DeleteJoinTokenRequest& request,
                             google::protobuf::Empty* response);

}  // namespace nave

#endif  // NAVE_HUB_RPC_JOIN_TOKEN_HANDLERS_H_
