#include "hub/poller_limit.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "common/base/log.h"

namespace nave {
namespace {

// gRPC 1.51: half of the processors, but two at least.
constexpr unsigned kProcessorsOfTwoPollers = 5;

// The threads are the process's: one of them must be left.
std::atomic<bool> one_is_parked = false;

class ParkedPoller : public PollerLimit {
 public:
  explicit ParkedPoller(grpc::Server* server)
      : channel_(server->InProcessChannel(grpc::ChannelArguments())), stub_(channel_) {
    grpc::Slice nothing;
    request_ = grpc::ByteBuffer(&nothing, 1);
    // Whatever the answer: it is told on a polling thread.
    stub_.UnaryCall(&context_, "/nave.internal/None", grpc::StubOptions(), &request_, &response_,
                    [this](const grpc::Status&) {
                      parked_.set_value();
                      release_.get_future().wait();
                      left_.set_value();
                    });
  }
  ~ParkedPoller() override {
    release_.set_value();
    left_.get_future().wait();
    one_is_parked = false;
  }

  bool WaitUntilParked() {
    return parked_.get_future().wait_for(std::chrono::seconds(1)) == std::future_status::ready;
  }

 private:
  std::shared_ptr<grpc::Channel> channel_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::ByteBuffer request_, response_;
  std::promise<void> parked_, release_, left_;
};

}  // namespace

std::unique_ptr<PollerLimit> PollerLimit::Make(grpc::Server* server) {
  if (std::thread::hardware_concurrency() > kProcessorsOfTwoPollers) return nullptr;
  if (one_is_parked.exchange(true)) return nullptr;
  auto poller = std::make_unique<ParkedPoller>(server);
  if (!poller->WaitUntilParked()) {
    LogWarning("both of gRPC's threads poll");
    return nullptr;
  }
  return poller;
}

}  // namespace nave
