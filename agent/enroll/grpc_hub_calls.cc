#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <utility>

#include "absl/time/clock.h"
#include "agent/enroll/fetch_chain.h"
#include "agent/enroll/hub_calls.h"
#include "agent/enroll/pinned_chain.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/pki/tls_credentials.h"
#include "common/wire/grpc_status.h"
#include "nave/agent/v1/link.grpc.pb.h"

namespace nave {
namespace {

namespace v1 = ::nave::agent::v1;

constexpr absl::Duration kCallTimeout = absl::Seconds(15);

class GrpcHubCalls final : public HubCalls {
 public:
  explicit GrpcHubCalls(Executor& loop) : loop_(loop), worker_(MakeThreadExecutor()) {}

  ~GrpcHubCalls() override {
    stop_ = true;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (running_ != nullptr) running_->TryCancel();
    }
    // Joins the thread; what is left in its queue ends at once because of `stop_`.
    worker_.reset();
  }

  void FetchCa(std::string hub_address, Digest pin, Callback<std::string> done) override {
    Run(std::move(done), [this, hub_address, pin]() -> absl::StatusOr<std::string> {
      ASSIGN_OR_RETURN(HostPort address, SplitHostPort(hub_address));
      ASSIGN_OR_RETURN(std::vector<std::string> chain, FetchChain(address, kCallTimeout, stop_));
      return CheckPinnedChain(chain, pin, address.host, absl::Now());
    });
  }

  void Enroll(EnrollRequestData data, Callback<EnrollAnswer> done) override {
    Run(std::move(done), [this, data = std::move(data)]() -> absl::StatusOr<EnrollAnswer> {
      v1::EnrollRequest request;
      request.set_token(data.token);
      request.set_csr_pem(data.csr_pem);
      request.set_kube_system_uid(data.kube_system_uid);
      request.set_agent_version(data.agent_version);
      v1::EnrollResponse response;
      std::unique_ptr<v1::AgentLink::Stub> hub = Dial(data.hub_address, data.ca_pem, "", "");
      RETURN_IF_ERROR(Call(
          [&](grpc::ClientContext* context) { return hub->Enroll(context, request, &response); }));
      return EnrollAnswer{response.certificate_pem(), response.ca_pem(), response.cluster_uid(),
                          response.cluster_name(), response.hub_id()};
    });
  }

  void Renew(AgentIdentity identity, std::string csr_pem, Callback<RenewAnswer> done) override {
    Run(std::move(done),
        [this, identity = std::move(identity),
         csr_pem = std::move(csr_pem)]() -> absl::StatusOr<RenewAnswer> {
          v1::RenewRequest request;
          request.set_csr_pem(csr_pem);
          v1::RenewResponse response;
          std::unique_ptr<v1::AgentLink::Stub> hub = Dial(
              identity.hub_address, identity.ca_pem, identity.certificate_pem, identity.key_pem);
          RETURN_IF_ERROR(Call([&](grpc::ClientContext* context) {
            return hub->Renew(context, request, &response);
          }));
          return RenewAnswer{response.certificate_pem(), response.ca_pem()};
        });
  }

 private:
  // Runs `work` on the worker and hands its result to `done` on the loop.
  template <typename T, typename F>
  void Run(Callback<T> done, F work) {
    worker_->Post([this, done = std::move(done), work = std::move(work)]() mutable {
      absl::StatusOr<T> result =
          stop_ ? absl::StatusOr<T>(MakeError(Reason::kHubUnreachable, "stopping")) : work();
      loop_.Post([alive = std::weak_ptr<bool>(alive_), done = std::move(done),
                  result = std::move(result)]() mutable {
        if (alive.lock() != nullptr) std::move(done)(std::move(result));
      });
    });
  }

  static std::unique_ptr<v1::AgentLink::Stub> Dial(const std::string& address,
                                                   const std::string& roots,
                                                   const std::string& certificate,
                                                   const std::string& key) {
    grpc::ChannelArguments arguments;
    // Not the connection of the session: this one may have another certificate.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return v1::AgentLink::NewStub(grpc::CreateCustomChannel(
        address, MakeChannelCredentials(roots, certificate, key), arguments));
  }

  template <typename F>
  absl::Status Call(F call) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kCallTimeout));
    {
      std::lock_guard<std::mutex> lock(mutex_);
      // The destructor has looked already; it does not wait for a call that begins now.
      if (stop_) return MakeError(Reason::kHubUnreachable, "stopping");
      running_ = &context;
    }
    grpc::Status status = call(&context);
    std::lock_guard<std::mutex> lock(mutex_);
    running_ = nullptr;
    return FromGrpcStatus(status);
  }

  Executor& loop_;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;  // Guards running_.
  grpc::ClientContext* running_ = nullptr;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<Executor> worker_;
};

}  // namespace

std::unique_ptr<HubCalls> MakeGrpcHubCalls(Executor& loop) {
  return std::make_unique<GrpcHubCalls>(loop);
}

}  // namespace nave
