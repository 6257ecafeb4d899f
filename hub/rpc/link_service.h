// The agents' port: nave.agent.v1.AgentLink on gRPC.
#ifndef NAVE_HUB_RPC_LINK_SERVICE_H_
#define NAVE_HUB_RPC_LINK_SERVICE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "common/model/stream.h"
#include "common/pki/verify_peer.h"
#include "common/runtime/executor.h"
#include "hub/session/session_host.h"

namespace grpc {
class Service;
}

namespace nave {

// Plain forms of the unary calls.
struct EnrollCall {
  std::string token;
  std::string csr_pem;
  std::string kube_system_uid;
  std::string agent_version;
  std::string address;
};
struct EnrollReply {
  std::string certificate_pem;
  std::string ca_pem;
  Uuid cluster_uid;
  std::string cluster_name;
  std::string hub_id;
};
struct RenewCall {
  Peer peer;
  std::string csr_pem;
  std::string address;
};
struct RenewReply {
  std::string certificate_pem;
  std::string ca_pem;
};

// What stands behind the port. All but `host` is called on `worker` and may block.
class LinkBackend {
 public:
  virtual ~LinkBackend() = default;
  virtual absl::StatusOr<EnrollReply> Enroll(const EnrollCall& call) = 0;
  virtual absl::StatusOr<RenewReply> Renew(const RenewCall& call) = 0;
  // The blobs among `wants` that are assigned to the cluster, in order; nullptr for one that is
  // not. FAILED_PRECONDITION NO_SESSION.
  virtual absl::StatusOr<std::vector<BlobPtr>> FetchBlobs(const Uuid& cluster,
                                                          const std::vector<Digest>& wants) = 0;
  // Trusted client roots, PEM. Any thread; does not block.
  virtual std::string Roots() = 0;
  virtual std::string HubId() = 0;
};

// The callback service: gRPC's threads only convert and post. Frames go to `host` on `loop`. Every
// handler verifies the peer first. `loop`, `worker`, `host` and `backend` must outlive the server
// that the service is registered with.
std::unique_ptr<grpc::Service> MakeLinkService(Executor* loop, Executor* worker, SessionHost* host,
                                               LinkBackend* backend);

}  // namespace nave

#endif  // NAVE_HUB_RPC_LINK_SERVICE_H_
