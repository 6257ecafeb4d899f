// Why something is as it is, and what to do about it.
#ifndef NAVE_HUB_RPC_DIAGNOSE_H_
#define NAVE_HUB_RPC_DIAGNOSE_H_

#include "absl/status/status.h"
#include "hub/rpc/api_call.h"
#include "nave/v1/bundle.pb.h"
#include "nave/v1/cluster.pb.h"

namespace nave {

absl::Status DiagnoseBundle(ApiCall* call, const v1::DiagnoseBundleRequest& request,
                            v1::Diagnosis* response);
absl::Status DiagnoseCluster(ApiCall* call, const v1::DiagnoseClusterRequest& request,
                             v1::Diagnosis* response);

}  // namespace nave

#endif  // NAVE_HUB_RPC_DIAGNOSE_H_
