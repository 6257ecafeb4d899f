// The hub as navectl sees it: calls and streams of nave.v1. Commands talk through this interface,
// tests put a fake behind it.
#ifndef NAVE_CLI_CLIENT_HUB_CLIENT_H_
#define NAVE_CLI_CLIENT_HUB_CLIENT_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace nave::cli {

// Not thread-safe.
class HubClient {
 public:
  virtual ~HubClient() = default;

  // One unary call. The method is the one that takes `request`'s type; `response` must be of its
  // answer's. Errors carry reason and metadata as the hub sent them; HUB_UNREACHABLE, TIMEOUT.
  virtual absl::Status Call(const google::protobuf::Message& request,
                            google::protobuf::Message* response) = 0;

  // A server's stream: `on_response` is called for each message, which is in `response` then, until
  // it returns false (OK), the stream ends (its error; HUB_UNREACHABLE when it ended without one)
  // or `deadline` passes (TIMEOUT).
  virtual absl::Status Stream(const google::protobuf::Message& request, absl::Time deadline,
                              google::protobuf::Message* response,
                              absl::FunctionRef<bool()> on_response) = 0;

  template <typename Response>
  absl::StatusOr<Response> Ask(const google::protobuf::Message& request) {
    Response response;
    absl::Status status = Call(request, &response);
    if (!status.ok()) return status;
    return response;
  }
};

// The one method of the API that takes `request`; nullptr when there is none.
const google::protobuf::MethodDescriptor* MethodOf(const google::protobuf::Message& request);

// "/nave.v1.ClusterService/GetCluster".
std::string MethodPath(const google::protobuf::MethodDescriptor& method);

// An empty message of `type`, which must be linked in.
std::unique_ptr<google::protobuf::Message> NewMessage(const google::protobuf::Descriptor& type);

}  // namespace nave::cli

#endif  // NAVE_CLI_CLIENT_HUB_CLIENT_H_
