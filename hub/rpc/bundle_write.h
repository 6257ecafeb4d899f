// Writes of bundles: what a create, an update, a delete and a confirm put into the store.
#ifndef NAVE_HUB_RPC_BUNDLE_WRITE_H_
#define NAVE_HUB_RPC_BUNDLE_WRITE_H_

#include "absl/status/status.h"
#include "hub/rpc/api_call.h"
#include "nave/v1/bundle.pb.h"

namespace nave {

absl::Status CreateBundle(ApiCall* call, const v1::CreateBundleRequest& request,
                          v1::Bundle* response);
absl::Status UpdateBundle(ApiCall* call, const v1::UpdateBundleRequest& request,
                          v1::Bundle* response);
absl::Status DeleteBundle(ApiCall* call, const v1::DeleteBundleRequest& request,
                          v1::Bundle* response);
absl::Status ConfirmBundle(ApiCall* call, const v1::ConfirmBundleRequest& request,
                           v1::Bundle* response);

}  // namespace nave

#endif  // NAVE_HUB_RPC_BUNDLE_WRITE_H_
