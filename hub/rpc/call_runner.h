// From a gRPC call to a handler: a thread, the caller, the call's snapshot; and from its status to
// what the caller sees.
#ifndef NAVE_HUB_RPC_CALL_RUNNER_H_
#define NAVE_HUB_RPC_CALL_RUNNER_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hub/rpc/api_call.h"
#include "hub/rpc/api_state.h"

namespace nave {

template <typename Request, typename Response>
using ApiHandler = absl::Status (*)(ApiCall*, const Request&, Response*);

// Thread-safe.
class CallRunner {
 public:
  explicit CallRunner(ApiState* state) : state_(state) {}

  // `method`: nave.v1.BundleService/GetBundle.
  template <typename Request, typename Response>
  grpc::ServerUnaryReactor* Run(grpc::CallbackServerContext* context, const char* method,
                                const Request* request, Response* response,
                                ApiHandler<Request, Response> handler) {
    return RunUnary(context, method, *request, [request, response, handler](ApiCall* call) {
      return handler(call, *request, response);
    });
  }

  // For streams: authenticates and begins the call on a thread of the pool, then runs `body` there.
  // `done` gets what the caller is to see when that failed; when `body` returned OK it is not
  // called.
  void Start(grpc::CallbackServerContext* context, const char* method,
             const google::protobuf::Message& request, std::function<absl::Status(ApiCall*)> body,
             std::function<void(grpc::Status)> failed);

 private:
  grpc::ServerUnaryReactor* RunUnary(grpc::CallbackServerContext* context, const char* method,
                                     const google::protobuf::Message& request,
                                     std::function<absl::Status(ApiCall*)> body);
  absl::StatusOr<Caller> CallerOf(const grpc::CallbackServerContext& context);
  absl::Status Execute(grpc::CallbackServerContext* context, const char* method,
                       const google::protobuf::Message& request,
                       const std::function<absl::Status(ApiCall*)>& body);

  ApiState* const state_;
};

}  // namespace nave

#endif  // NAVE_HUB_RPC_CALL_RUNNER_H_
