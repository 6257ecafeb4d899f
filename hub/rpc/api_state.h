// What all handlers of the public API share.
#ifndef NAVE_HUB_RPC_API_STATE_H_
#define NAVE_HUB_RPC_API_STATE_H_

#include "hub/auth/authenticate.h"
#include "hub/rpc/api_services.h"
#include "hub/rpc/backend.h"
#include "hub/rpc/refusals.h"
#include "hub/rpc/worker_pool.h"

namespace nave {

struct ApiState {
  ApiState(ApiBackend* b, TokenFile* t, const ApiOptions& o)
      : backend(b), tokens(t), options(o), pool(o.threads, o.queue_max) {}

  ApiBackend* const backend;
  TokenFile* const tokens;
  const ApiOptions options;
  Refusals refusals;
  // Last: its tasks use what is above.
  WorkerPool pool;
};

}  // namespace nave

#endif  // NAVE_HUB_RPC_API_STATE_H_
