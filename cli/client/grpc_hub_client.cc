#include "cli/client/grpc_hub_client.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <chrono>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/pki/tls_credentials.h"
#include "common/wire/grpc_status.h"

namespace nave::cli {
namespace {

using google::protobuf::Message;

// A bundle is at most 16 MiB and a request 20 MiB.
constexpr int kMessageBytesMax = 64 << 20;

std::chrono::system_clock::time_point ToDeadline(absl::Time time) {
  return time == absl::InfiniteFuture() ? std::chrono::system_clock::time_point::max()
                                        : absl::ToChronoTime(time);
}

class GrpcHubClient : public HubClient {
 public:
  explicit GrpcHubClient(const ConnectionOptions& options)
      : options_(options), stub_(MakeChannel()) {}

  absl::Status Call(const Message& request, Message* response) override {
    RETURN_IF_ERROR(Connect());
    grpc::ClientContext context;
    Prepare(&context, absl::Now() + options_.request_timeout);
    grpc::CompletionQueue queue;
    grpc::Status status;
    auto reader = stub_.PrepareUnaryCall(&context, MethodPath(*MethodOf(request)), request, &queue);
    reader->StartCall();
    reader->Finish(response, &status, this);
    Await(&queue);
    return FromHub(status);
  }

  absl::Status Stream(const Message& request, absl::Time deadline, Message* response,
                      absl::FunctionRef<bool()> on_response) override {
    RETURN_IF_ERROR(Connect());
    grpc::ClientContext context;
    Prepare(&context, deadline);
    grpc::CompletionQueue queue;
    auto stream = stub_.PrepareCall(&context, MethodPath(*MethodOf(request)), &queue);
    stream->StartCall(this);
    bool going = Await(&queue);
    if (going) {
      stream->WriteLast(request, grpc::WriteOptions(), this);
      going = Await(&queue);
    }
    bool stopped = false;
    while (going && !stopped) {
      stream->Read(response, this);
      going = Await(&queue);
      if (going) stopped = !on_response();
    }
    if (stopped) context.TryCancel();
    grpc::Status status;
    stream->Finish(&status, this);
    Await(&queue);
    if (stopped) return absl::OkStatus();
    if (status.ok()) return Unreachable("the stream ended");
    return FromHub(status);
  }

 private:
  std::shared_ptr<grpc::Channel> MakeChannel() {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
    arguments.SetMaxSendMessageSize(kMessageBytesMax);
    arguments.SetUserAgentPrefix(options_.user_agent);
    // One process may speak to several hubs of one address after another (tests, contexts).
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel_ = grpc::CreateCustomChannel(
        options_.hub,
        MakeChannelCredentials(options_.roots_pem, options_.certificate_pem, options_.key_pem),
        arguments);
    return channel_;
  }

  void Prepare(grpc::ClientContext* context, absl::Time deadline) const {
    context->set_deadline(ToDeadline(deadline));
    if (!options_.bearer_token.empty()) {
      context->AddMetadata("authorization", absl::StrCat("Bearer ", options_.bearer_token));
    }
  }

  static bool Await(grpc::CompletionQueue* queue) {
    void* tag = nullptr;
    bool ok = false;
    return queue->Next(&tag, &ok) && ok;
  }

  // Tells a hub that does not answer from a call that takes long. A failed attempt is left to the
  // call, which has its text.
  absl::Status Connect() {
    auto deadline = ToDeadline(absl::Now() + options_.connect_timeout);
    grpc_connectivity_state state = channel_->GetState(true);
    while (state == GRPC_CHANNEL_IDLE || state == GRPC_CHANNEL_CONNECTING) {
      if (!channel_->WaitForStateChange(state, deadline)) {
        return Unreachable(
            absl::StrCat("no connection within ", absl::FormatDuration(options_.connect_timeout)));
      }
      state = channel_->GetState(true);
    }
    return absl::OkStatus();
  }

  absl::Status Unreachable(absl::string_view why, ErrorMetadata metadata = {}) const {
    return MakeError(Reason::kHubUnreachable,
                     absl::StrCat("hub ", options_.hub, " does not answer: ", why),
                     std::move(metadata));
  }

  absl::Status FromHub(const grpc::Status& wire) const {
    absl::Status status = FromGrpcStatus(wire);
    if (status.ok() || ErrorReason(status) != GetReasonInfo(Reason::kHubUnreachable).upper)
      return status;
    absl::string_view text = status.message();
    if (absl::StrContains(text, "CERTIFICATE_VERIFY_FAILED") ||
        absl::StrContains(text, "certificate verify failed")) {
      return Unreachable("its certificate is not by the CA of the context",
                         {{"help", "Use the context of this hub: navectl config get-contexts."}});
    }
    if (absl::StrContains(text, "is not in peer certificate") ||
        absl::StrContains(text, "Hostname Verification")) {
      return Unreachable(
          "its certificate does not name this address",
          {{"help", "Call it by a name that it advertises, or start the hub with --advertise."}});
    }
    return Unreachable(text);
  }

  const ConnectionOptions options_;
  std::shared_ptr<grpc::Channel> channel_;
  grpc::TemplatedGenericStub<Message, Message> stub_;
};

}  // namespace

std::unique_ptr<HubClient> MakeGrpcHubClient(const ConnectionOptions& options) {
  return std::make_unique<GrpcHubClient>(options);
}

}  // namespace nave::cli
