// The gRPC classes of nave.v1's services: each method hands its call to a runner or to the watches.
#ifndef NAVE_HUB_RPC_SERVICES_H_
#define NAVE_HUB_RPC_SERVICES_H_

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>

#include <memory>
#include <vector>

#include "hub/rpc/call_runner.h"

namespace nave {

class Watches;

// Both must outlive the services.
std::vector<std::unique_ptr<grpc::Service>> MakeFleetServices(CallRunner* runner, Watches* watches);
std::vector<std::unique_ptr<grpc::Service>> MakeProjectServices(CallRunner* runner,
                                                                Watches* watches);

}  // namespace nave

// A unary method whose handler has its name.
#define NAVE_UNARY(Service, Method, Request, Response)                                           \
  grpc::ServerUnaryReactor* Method(grpc::CallbackServerContext* context, const Request* request, \
                                   Response* response) override {                                \
    return runner_->Run<Request, Response>(context, "nave.v1." #Service "/" #Method, request,    \
                                           response, &nave::Method);                             \
  }

// A watch of records of one kind.
#define NAVE_WATCH(Service, Method, Record, Request, Response)                              \
  grpc::ServerWriteReactor<Response>* Method(grpc::CallbackServerContext* context,          \
                                             const Request* request) override {             \
    return StartWatch<Record, Request, Response>(runner_, watches_, context,                \
                                                 "nave.v1." #Service "/" #Method, request); \
  }

#endif  // NAVE_HUB_RPC_SERVICES_H_
