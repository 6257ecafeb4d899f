// The two streaming calls of an agent as gRPC reactors. They run on gRPC's threads and tell the
// link by posting to its loop.
#ifndef NAVE_AGENT_RPC_GRPC_CALLS_H_
#define NAVE_AGENT_RPC_GRPC_CALLS_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "agent/rpc/hub_link.h"
#include "common/runtime/executor.h"

namespace nave {

// What calls and link share; outlives both.
class CallShare {
 public:
  CallShare(Executor& loop, HubLinkListener* listener) : loop_(loop), listener_(listener) {}

  // Runs `task` on the loop, with the listener, unless there is none by then.
  void Tell(absl::AnyInvocable<void(HubLinkListener&) &&> task);
  void Post(Task task) { loop_.Post(std::move(task)); }
  // Loop thread.
  void SetListener(HubLinkListener* listener) { listener_ = listener; }
  HubLinkListener* listener() const { return listener_; }

  void AddCall();
  void RemoveCall();
  void WaitForCalls();

 private:
  Executor& loop_;
  HubLinkListener* listener_;  // Loop thread.
  std::mutex mutex_;           // Guards what follows.
  std::condition_variable changed_;
  int calls_ = 0;
};

using CallBase = grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

// Connect. Keeps itself alive until gRPC is done with it.
class StreamCall final : public CallBase, public std::enable_shared_from_this<StreamCall> {
 public:
  StreamCall(std::shared_ptr<CallShare> share, uint64_t attempt,
             std::shared_ptr<grpc::Channel> channel);

  void Start();
  // Loop thread; one at a time.
  void Send(const AgentFrame& frame);
  // Loop thread: nothing is told any more.
  void Close();
  uint64_t attempt() const { return attempt_; }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  void ReadNext();
  // The hold that lets the loop start operations ends; once.
  void End();

  const std::shared_ptr<CallShare> share_;
  const uint64_t attempt_;
  std::shared_ptr<grpc::Channel> channel_;
  grpc::ClientContext context_;
  grpc::ByteBuffer read_;
  grpc::ByteBuffer write_;
  bool closed_ = false;  // Loop thread.
  std::mutex mutex_;     // Guards what follows.
  bool ended_ = false;
  // What was wrong with a frame, when that ended the stream.
  absl::Status broken_;
  std::shared_ptr<StreamCall> self_;
};

// FetchBlobs.
class FetchCall final : public CallBase, public std::enable_shared_from_this<FetchCall> {
 public:
  FetchCall(std::shared_ptr<CallShare> share, const FetchRequest& request,
            std::shared_ptr<grpc::Channel> channel);

  void Start();
  // Loop thread: nothing is told any more.
  void Cancel();
  bool over() const { return over_; }

  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  absl::Status Take();

  const std::shared_ptr<CallShare> share_;
  const uint64_t id_;
  std::shared_ptr<grpc::Channel> channel_;
  grpc::ClientContext context_;
  grpc::ByteBuffer write_;
  grpc::ByteBuffer read_;
  std::map<Digest, std::string> partial_;
  std::vector<Digest> superseded_;
  absl::Status broken_;
  bool cancelled_ = false;  // Loop thread.
  bool over_ = false;       // Loop thread.
  std::shared_ptr<FetchCall> self_;
};

}  // namespace nave

#endif  // NAVE_AGENT_RPC_GRPC_CALLS_H_
