// One request on its way: what is sent, what came, and the hand-over to the executor. Internal to
// this layer.
#ifndef NAVE_COMMON_HTTP2_EXCHANGE_H_
#define NAVE_COMMON_HTTP2_EXCHANGE_H_

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "common/http2/client.h"
#include "common/http2/session.h"

namespace nave {

class Http2Connection;

// Where callbacks of one client run; null once the client is gone.
class DeliveryTarget {
 public:
  explicit DeliveryTarget(Executor* executor) : executor_(executor) {}
  // Any thread.
  void Post(Task task);
  // On the executor's thread; nothing is posted afterwards.
  void Close();
  // On the executor's thread.
  bool IsClosed() const { return closed_; }

 private:
  std::mutex mutex_;
  Executor* executor_;   // Guarded by mutex_.
  bool closed_ = false;  // Of the executor's thread.
};

// Carries the events of one stream from the I/O thread to the executor, several in one task when
// they come faster than they are taken.
class Delivery : public std::enable_shared_from_this<Delivery> {
 public:
  Delivery(std::shared_ptr<DeliveryTarget> target, Http2Callbacks callbacks)
      : target_(std::move(target)),
        callbacks_(std::make_shared<Http2Callbacks>(std::move(callbacks))) {}

  // I/O thread.
  void Headers(int status, Http2Headers headers);
  void Data(absl::string_view data);
  void End(Http2End end);
  // Called on the executor with the number of bytes that the receiver took, while the stream goes
  // on. Set before the first event.
  void SetConsumed(std::function<void(size_t)> on_consumed) {
    on_consumed_ = std::move(on_consumed);
  }

  // Executor's thread: no callback runs afterwards.
  void Cancel();
  bool ended() const { return ended_; }

 private:
  struct HeadersEvent {
    int status;
    Http2Headers headers;
  };
  using Event = std::variant<HeadersEvent, std::string, Http2End>;

  void Add(Event event);
  void Schedule();
  void Run();

  const std::shared_ptr<DeliveryTarget> target_;
  std::mutex mutex_;
  std::vector<Event> events_;  // Guarded by mutex_, as is scheduled_.
  bool scheduled_ = false;

  // Of the executor's thread. Shared with Run, which may stand in a callback that cancels.
  std::shared_ptr<Http2Callbacks> callbacks_;
  std::function<void(size_t)> on_consumed_;
  bool cancelled_ = false;
  bool ended_ = false;
};

// Of the I/O thread, but for `delivery`.
struct Exchange : public Http2BodySource {
  Http2Request request;
  std::shared_ptr<Delivery> delivery;

  size_t body_sent = 0;          // Of request.body.
  std::deque<std::string> more;  // Of an open body.
  bool more_ended = false;

  Http2Connection* connection = nullptr;  // Null while it waits, and when it is over.
  int32_t id = 0;
  bool over = false;
  bool headers_seen = false;
  bool too_large = false;
  size_t bytes_received = 0;
  size_t bytes_unconsumed = 0;
  int times_refused = 0;
  TimerId header_timer = 0;
  TimerId total_timer = 0;

  bool has_body() const { return request.body_open || !request.body.empty(); }
  // What was sent can be sent again from the start.
  bool repeatable() const { return !request.body_open && !headers_seen; }
  size_t Read(char* buffer, size_t size, bool* end) override;
};

}  // namespace nave

#endif  // NAVE_COMMON_HTTP2_EXCHANGE_H_
