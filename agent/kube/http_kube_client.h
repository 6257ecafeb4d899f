// KubeClient over HTTP/2 to a real API server.
#ifndef NAVE_AGENT_KUBE_HTTP_KUBE_CLIENT_H_
#define NAVE_AGENT_KUBE_HTTP_KUBE_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/kube/credentials.h"
#include "agent/kube/kube_client.h"
#include "common/http2/io_thread.h"
#include "common/runtime/executor.h"

namespace nave {

struct HttpKubeOptions {
  std::unique_ptr<KubeCredentials> credentials;
  // The loop; must outlive the client.
  Executor* executor = nullptr;
  // Null: a thread of its own.
  std::shared_ptr<IoThread> io;
  // "name/version (os/arch)".
  std::string user_agent = "nave-agent";
  // Requests other than watches under way at once; further ones wait.
  size_t requests_in_flight_max = 16;
  // For the lifetimes of watches.
  uint64_t seed = 0;
  absl::Duration connect_timeout = absl::Seconds(15);
  absl::Duration header_timeout = absl::Seconds(60);
  absl::Duration ping_after = absl::Seconds(15);
  absl::Duration ping_timeout = absl::Seconds(10);
};

// Requests go over one connection, watches over others, so that a request never waits behind
// streams that stay open. CONFIG_INVALID or INVALID_ARGUMENT when the credentials cannot be used;
// that the server is not there shows at the first request.
//
// Beyond the contract of KubeClient: a 401 is answered by reading the credentials again and one
// more attempt; a GET, LIST or apply that lost its connection is sent once more. Everything else is
// for the caller to retry.
absl::StatusOr<std::unique_ptr<KubeClient>> MakeHttpKubeClient(HttpKubeOptions options);

}  // namespace nave

#endif  // NAVE_AGENT_KUBE_HTTP_KUBE_CLIENT_H_
