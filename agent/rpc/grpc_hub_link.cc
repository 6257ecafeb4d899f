#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <map>
#include <utility>

#include "agent/rpc/grpc_calls.h"
#include "agent/rpc/hub_link.h"
#include "common/base/error.h"
#include "common/model/assignment.h"
#include "common/pki/tls_credentials.h"

namespace nave {
namespace {

constexpr int kKeepaliveMs = 20'000;
constexpr int kKeepaliveTimeoutMs = 10'000;

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  // A connection of its own for each attempt.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // No TXT queries.
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  // This is also how gRPC comes to set TCP_USER_TIMEOUT.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Each probe is work for a hub with thousands of agents.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_CHANNELZ, 0);
  arguments.SetMaxReceiveMessageSize(static_cast<int>(kFrameBytesMax));
  arguments.SetMaxSendMessageSize(static_cast<int>(kFrameBytesMax));
  return arguments;
}

class GrpcHubLink final : public HubLink {
 public:
  explicit GrpcHubLink(Executor& loop) : share_(std::make_shared<CallShare>(loop, nullptr)) {}

  ~GrpcHubLink() override {
    share_->SetListener(nullptr);
    if (stream_ != nullptr) stream_->Close();
    for (auto& [id, fetch] : fetches_) fetch->Cancel();
    share_->WaitForCalls();
  }

  void SetListener(HubLinkListener* listener) override { share_->SetListener(listener); }

  void Dial(uint64_t attempt, HubEndpoint endpoint) override {
    if (stream_ != nullptr) stream_->Close();
    std::shared_ptr<grpc::Channel> channel = grpc::CreateCustomChannel(
        endpoint.address,
        MakeChannelCredentials(endpoint.ca_pem, endpoint.certificate_pem, endpoint.key_pem),
        Arguments());
    stream_ = std::make_shared<StreamCall>(share_, attempt, std::move(channel));
    stream_->Start();
  }

  void Send(uint64_t attempt, const AgentFrame& frame) override {
    if (IsCurrent(attempt)) stream_->Send(frame);
  }

  void Close(uint64_t attempt) override {
    if (!IsCurrent(attempt)) return;
    stream_->Close();
    stream_.reset();
  }

  void Fetch(const FetchRequest& request) override {
    std::erase_if(fetches_, [](const auto& fetch) { return fetch.second->over(); });
    std::shared_ptr<grpc::Channel> channel = stream_ == nullptr ? nullptr : stream_->channel();
    if (channel == nullptr) {
      share_->Tell([id = request.id](HubLinkListener& listener) {
        listener.OnFetchDone(id, MakeError(Reason::kHubUnreachable, "no stream"), {});
      });
      return;
    }
    auto call = std::make_shared<FetchCall>(share_, request, std::move(channel));
    fetches_[request.id] = call;
    call->Start();
  }

  void CancelFetch(uint64_t fetch) override {
    auto found = fetches_.find(fetch);
    if (found == fetches_.end()) return;
    found->second->Cancel();
    fetches_.erase(found);
  }

 private:
  bool IsCurrent(uint64_t attempt) const {
    return stream_ != nullptr && stream_->attempt() == attempt;
  }

  const std::shared_ptr<CallShare> share_;
  std::shared_ptr<StreamCall> stream_;
  std::map<uint64_t, std::shared_ptr<FetchCall>> fetches_;
};

}  // namespace

std::unique_ptr<HubLink> MakeGrpcHubLink(Executor& loop) {
  return std::make_unique<GrpcHubLink>(loop);
}

}  // namespace nave
