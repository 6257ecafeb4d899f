// The gRPC side of a watch: one message at a time, on the loop of the watches.
#ifndef NAVE_HUB_RPC_WATCH_H_
#define NAVE_HUB_RPC_WATCH_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/wire/grpc_status.h"
#include "hub/rpc/call_runner.h"
#include "hub/rpc/watch_feed.h"
#include "hub/rpc/watch_setup.h"
#include "hub/rpc/watches.h"

namespace nave {

// Kept by Watches until gRPC is done with it.
template <typename Record, typename Response>
class WatchStream : public WatchBase, public grpc::ServerWriteReactor<Response> {
 public:
  explicit WatchStream(Watches* watches) : watches_(watches) {}

  // Before gRPC gets to know the stream.
  void set_id(uint64_t id) { id_ = id; }

  // --- On the loop.
  void Begin(std::shared_ptr<WatchSetup<Record>> setup) {
    setting_up_ = false;
    if (ended_) return Close();
    feed_ = std::make_unique<WatchFeed<Record>>(std::move(setup->call), watches_,
                                                std::move(setup->filter));
    absl::Status begun = feed_->Begin(setup->resume, std::move(setup->sent), setup->revision);
    if (!begun.ok()) return End(begun);
    if (WatchKind<Record>::kStored) WatchStore(setup->prefix, setup->revision);
    Pump();
  }

  void OnChanges(const FleetChanges& changes) override {
    if (ended_ || feed_ == nullptr) return;
    feed_->OnChanges(changes);
    Pump();
  }

  void End(const absl::Status& status) override {
    if (std::exchange(ended_, true)) return;
    status_ = ToGrpcStatus(status);
    // The message that is on its way is waited for; a reader that takes none gets the end when it
    // goes on.
    if (!writing_ || cancelled_) Close();
  }

  // --- On gRPC's threads.
  void OnWriteDone(bool ok) override {
    watches_->loop()->Post([this, ok] {
      writing_ = false;
      if (ended_) return Close();
      if (!ok) return End(MakeError(Reason::kCancelled, "the caller is gone"));
      Pump();
    });
  }
  void OnCancel() override {
    watches_->loop()->Post([this] {
      cancelled_ = true;
      if (ended_) return Close();
      End(MakeError(Reason::kCancelled, "the caller is gone"));
    });
  }
  void OnDone() override { watches_->Remove(id_); }

  // Any thread: ends a stream that could not begin.
  void Fail(grpc::Status status) {
    watches_->loop()->Post([this, status = std::move(status)] {
      setting_up_ = false;
      if (!std::exchange(ended_, true)) status_ = status;
      Close();
    });
  }

 private:
  void Close() {
    // Setting up reads the call, which gRPC takes away after Finish.
    if (setting_up_ || std::exchange(closed_, true)) return;
    store_watch_.reset();
    this->Finish(status_);
  }

  void Pump() {
    if (ended_ || writing_) return CheckBacklog();
    auto next = feed_->Next();
    if (!next.ok()) return End(next.status());
    if (!next->has_value()) return;
    WatchMessage<typename Kind<Record>::Proto>& message = **next;
    response_.Clear();
    response_.set_type(message.type);
    if (message.type != v1::WATCH_EVENT_TYPE_SYNCED)
      MutableRecord(&response_)->Swap(&message.record);
    response_.set_resource_version(message.resource_version);
    writing_ = true;
    this->StartWrite(&response_);
    CheckBacklog();
  }

  void CheckBacklog() {
    if (ended_ || feed_->backlog() <= watches_->state()->options.watch_backlog_max) return;
    End(MakeError(Reason::kWatchTooSlow,
                  absl::StrCat("watch: ", feed_->backlog(), " changes wait for the reader")));
  }

  void WatchStore(const std::string& prefix, uint64_t after) {
    // The stream lives until gRPC is done with it, which is after Close took the store's watch
    // down.
    store_watch_ =
        watches_->state()->backend->store()->Watch(prefix, after, [this](WatchBatch batch) {
          watches_->loop()->Post([this, batch = std::move(batch)] { OnBatch(batch); });
        });
  }

  void OnBatch(const WatchBatch& batch) {
    if (ended_) return;
    if (!batch.status.ok()) return End(batch.status);
    std::vector<std::string> keys;
    for (const WatchEvent& event : batch.events) keys.push_back(event.kv.key);
    feed_->OnStored(keys, batch.revision);
    Pump();
  }

  static typename Kind<Record>::Proto* MutableRecord(Response* response) {
    // Number 2 in every watch's response.
    const auto* field = Response::descriptor()->FindFieldByNumber(2);
    auto* record = Response::GetReflection()->MutableMessage(response, field);
    return static_cast<typename Kind<Record>::Proto*>(record);
  }

  Watches* const watches_;
  uint64_t id_ = 0;
  std::unique_ptr<WatchFeed<Record>> feed_;
  std::unique_ptr<StoreWatch> store_watch_;
  Response response_;
  grpc::Status status_;
  bool setting_up_ = true;
  bool writing_ = false;
  bool ended_ = false;
  bool closed_ = false;
  bool cancelled_ = false;
};

template <typename Record, typename Request, typename Response>
grpc::ServerWriteReactor<Response>* StartWatch(CallRunner* runner, Watches* watches,
                                               grpc::CallbackServerContext* context,
                                               const char* method, const Request* request) {
  auto stream = std::make_shared<WatchStream<Record, Response>>(watches);
  WatchStream<Record, Response>* raw = stream.get();
  raw->set_id(watches->Add(std::move(stream)));
  runner->Start(
      context, method, *request,
      [raw, watches, request](ApiCall* call) -> absl::Status {
        auto setup = std::make_shared<WatchSetup<Record>>();
        RETURN_IF_ERROR(SetUpWatch(*call, *request, setup.get()));
        watches->loop()->Post([raw, setup] { raw->Begin(setup); });
        return absl::OkStatus();
      },
      [raw](grpc::Status status) { raw->Fail(std::move(status)); });
  return raw;
}

}  // namespace nave

#endif  // NAVE_HUB_RPC_WATCH_H_
