// The public API: every service of nave.v1, ready to be registered with a gRPC server.
#ifndef NAVE_HUB_RPC_API_SERVICES_H_
#define NAVE_HUB_RPC_API_SERVICES_H_

#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "common/base/uuid.h"
#include "hub/fleet/snapshot.h"
#include "hub/rpc/backend.h"

namespace grpc {
class Service;
}

namespace nave {

class TokenFile;

struct ApiOptions {
  // Threads that handlers run on; they block on the store.
  int threads = 8;
  // Calls that wait for a thread; beyond it they are refused UNAVAILABLE HUB_BUSY.
  size_t queue_max = 1000;
  // Changes of records and of status are collected for so long before watches look at them.
  absl::Duration watch_interval = absl::Milliseconds(200);
  // Messages that one watch may owe its reader beyond the first items; then it ends WATCH_TOO_SLOW.
  size_t watch_backlog_max = 4096;
  // Refused attempts of one caller are one audit record in this time.
  absl::Duration refusal_interval = absl::Minutes(1);
};

class ApiServices {
 public:
  // Drain, if that was not called. After the server that the services are registered with.
  virtual ~ApiServices() = default;

  // For ServerBuilder::RegisterService. Owned by this object.
  virtual std::vector<grpc::Service*> services() = 0;

  // A newer snapshot is in force, or an agent reported something: watches look at what is named.
  // Any thread; short.
  virtual void OnSnapshot(const FleetChanges& changes) = 0;
  virtual void OnLiveChanged(const Uuid& cluster) = 0;

  // Ends every watch with UNAVAILABLE DRAINING, so that the server's shutdown waits for none. Any
  // thread.
  virtual void Drain() = 0;
};

// Callers are known by client certificate or by a bearer token of `tokens`. Both must outlive the
// result.
std::unique_ptr<ApiServices> MakeApiServices(ApiBackend* backend, TokenFile* tokens,
                                             const ApiOptions& options = {});

}  // namespace nave

#endif  // NAVE_HUB_RPC_API_SERVICES_H_
