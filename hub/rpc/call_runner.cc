#include "hub/rpc/call_runner.h"

#include <google/protobuf/message.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/string_view.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/pki/tls_credentials.h"
#include "common/wire/grpc_status.h"
#include "common/wire/reserved.h"

namespace nave {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Fields of later releases. Paths within a resource are those of its file form.
absl::Status CheckRequest(const Message& request) {
  const auto* reflection = request.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(request, &fields);
  for (const FieldDescriptor* field : fields) {
    bool resource = field->message_type() != nullptr && !field->is_repeated() &&
                    field->message_type()->FindFieldByName("metadata") != nullptr;
    if (resource) RETURN_IF_ERROR(CheckSupported("", reflection->GetMessage(request, field)));
  }
  return CheckSupported("", request);
}

absl::Status Busy() {
  return MakeError(Reason::kHubBusy, "too many calls wait for the hub", {{"retry_after", "1s"}});
}

// Errors that are nobody's fault but ours.
void LogInternal(const absl::Status& status, const char* method, const std::string& id) {
  if (status.code() != absl::StatusCode::kInternal && ErrorReason(status) != "INTERNAL") return;
  LogError("call failed", {{"method", method}, {"request_id", id}, {"error", status.message()}});
}

grpc::Status Answer(const absl::Status& status, const char* method) {
  if (status.ok()) return grpc::Status::OK;
  std::string id = Uuid::Random().ToString();
  LogInternal(status, method, id);
  return ToGrpcStatus(status, id);
}

}  // namespace

absl::StatusOr<Caller> CallRunner::CallerOf(const grpc::CallbackServerContext& context) {
  std::optional<absl::string_view> authorization;
  auto header = context.client_metadata().find("authorization");
  if (header != context.client_metadata().end()) {
    authorization = absl::string_view(header->second.data(), header->second.size());
  }
  Peer peer;
  // A token decides alone.
  if (!authorization.has_value())
    peer = PeerOf(context, state_->backend->Roots(), state_->backend->Now());
  auto tokens = state_->tokens->Current();
  absl::StatusOr<Caller> caller =
      Authenticate(peer, state_->backend->Facts().hub_id, authorization, *tokens);
  if (caller.ok()) caller->address = context.peer();
  return caller;
}

absl::Status CallRunner::Execute(grpc::CallbackServerContext* context, const char* method,
                                 const Message& request,
                                 const std::function<absl::Status(ApiCall*)>& body) {
  absl::StatusOr<Caller> caller = CallerOf(*context);
  if (!caller.ok()) {
    Caller unknown;
    unknown.address = context->peer();
    state_->refusals.Add(unknown, method, caller.status(), state_->backend->Now());
    return caller.status();
  }
  ASSIGN_OR_RETURN(std::unique_ptr<ApiCall> call, ApiCall::Begin(state_->backend, *caller, method));
  RETURN_IF_ERROR(CheckRequest(request));
  absl::Status status = body(call.get());
  if (status.code() == absl::StatusCode::kPermissionDenied) {
    state_->refusals.Add(*caller, method, status, state_->backend->Now());
  }
  return status;
}

void CallRunner::Start(grpc::CallbackServerContext* context, const char* method,
                       const Message& request, std::function<absl::Status(ApiCall*)> body,
                       std::function<void(grpc::Status)> failed) {
  auto run = [this, context, method, &request, body = std::move(body), failed] {
    absl::Status status = Execute(context, method, request, body);
    if (!status.ok()) failed(Answer(status, method));
  };
  if (!state_->pool.Post(std::move(run))) failed(Answer(Busy(), method));
}

grpc::ServerUnaryReactor* CallRunner::RunUnary(grpc::CallbackServerContext* context,
                                               const char* method, const Message& request,
                                               std::function<absl::Status(ApiCall*)> body) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  auto run = [this, context, method, &request, reactor, body = std::move(body)] {
    // The caller went away while it waited: nothing was begun.
    if (context->IsCancelled())
      return reactor->Finish(grpc::Status(grpc::StatusCode::CANCELLED, "cancelled"));
    absl::Status status = Execute(context, method, request, body);
    reactor->Finish(Answer(status, method));
  };
  if (!state_->pool.Post(std::move(run))) reactor->Finish(Answer(Busy(), method));
  return reactor;
}

}  // namespace nave
