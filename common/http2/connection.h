// One HTTP/2 connection: frames over a transport, its streams, and the watch over its life.
// Internal to this layer.
#ifndef NAVE_COMMON_HTTP2_CONNECTION_H_
#define NAVE_COMMON_HTTP2_CONNECTION_H_

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/http2/client.h"
#include "common/http2/exchange.h"
#include "common/http2/session.h"
#include "common/http2/transport.h"

namespace nave {

// What a client's connections count together.
struct ConnectionCounters {
  std::atomic<uint64_t> connections_opened = 0;
  std::atomic<uint64_t> connects_failed = 0;
  std::atomic<uint64_t> streams_active = 0;
  std::atomic<uint64_t> streams_waiting = 0;
  std::atomic<uint64_t> bytes_received = 0;
  std::atomic<uint64_t> bytes_sent = 0;
};

// Told what happens on connections; on the I/O thread, never inside a call of Http2Connection.
class ConnectionOwner {
 public:
  virtual ~ConnectionOwner() = default;
  // The server answered a request: the connection is good.
  virtual void OnAnswer() = 0;
  virtual void OnFinished(const std::shared_ptr<Exchange>& exchange, Http2End end) = 0;
  // The server did not process it. `going_away`: because it ends the connection, not just this
  // stream.
  virtual void OnRefused(const std::shared_ptr<Exchange>& exchange, const std::string& why,
                         bool going_away) = 0;
  // It opened, has a free stream, or takes no more: look at the queue.
  virtual void OnChanged() = 0;
  // The connection is over; all its exchanges were reported before. May drop it, but not inside
  // this call.
  virtual void OnDead(Http2Connection* connection, const absl::Status& why, bool had_opened) = 0;
};

// Of the I/O thread. Destroying it closes the socket without reporting anything.
class Http2Connection : public TransportHandler, public Http2SessionHandler {
 public:
  // `options`, `owner` and `counters` must outlive the connection.
  Http2Connection(IoThread& io, const Http2Options& options, DialOptions dial,
                  std::string authority, ConnectionOwner* owner, ConnectionCounters* counters);
  ~Http2Connection() override;

  bool is_connecting() const { return !open_; }
  // Takes no new streams: the server or the client said goodbye.
  bool is_draining() const { return draining_; }
  // The server answered a request on it.
  bool is_proven() const { return proven_; }
  bool CanTake() const;

  // Needs CanTake. Bytes leave with the next Flush.
  void Submit(const std::shared_ptr<Exchange>& exchange);
  void Flush();
  // Ends the exchange without reporting it.
  void Cancel(Exchange& exchange);
  void ResumeBody(Exchange& exchange);
  void Consume(Exchange& exchange, size_t bytes);
  // Lets the open streams end and closes then.
  void Drain();

 private:
  void OnOpen() override;
  void OnData(absl::string_view data) override;
  void OnWritable() override { Flush(); }
  void OnClosed(const absl::Status& why) override { Die(why); }

  void OnHeaders(int32_t id, int status, Http2Headers headers) override;
  void OnData(int32_t id, absl::string_view data) override;
  void OnTrailers(int32_t id, Http2Headers trailers) override;
  void OnStreamClosed(int32_t id, bool complete, uint32_t error_code) override;
  void OnGoAway(int32_t last_id, uint32_t error_code, absl::string_view debug) override;

  struct Closed {
    std::shared_ptr<Exchange> exchange;
    bool complete;
    uint32_t error_code;
  };

  size_t StreamLimit() const;
  Exchange* Find(int32_t id);
  std::shared_ptr<Exchange> Detach(int32_t id);
  void ReportAfterFeed();
  void ReportClosed(Closed& closed);
  void LeaveGoingAway();
  void CloseWhenDrained();
  void ArmPing(absl::Duration after);
  void OnPingTimer();
  void OnHeaderTimeout(int32_t id);
  void Die(const absl::Status& why);

  IoThread& io_;
  const Http2Options& options_;
  const std::string authority_;
  ConnectionOwner* const owner_;
  ConnectionCounters* const counters_;

  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Http2Session> session_;
  std::string out_;       // Frames that the socket did not take yet.
  size_t out_begin_ = 0;  // Of out_; what is before has been sent.
  std::map<int32_t, std::shared_ptr<Exchange>> streams_;
  std::map<int32_t, Http2Headers> trailers_;

  // Collected inside Feed, handled after it.
  std::vector<Closed> closed_;
  std::vector<int32_t> too_large_;
  bool answered_ = false;
  bool went_away_ = false;

  bool open_ = false;
  bool draining_ = false;
  bool dead_ = false;
  bool proven_ = false;
  std::string goaway_text_;
  std::chrono::steady_clock::time_point last_received_;
  bool ping_sent_ = false;  // Since the last byte came.
  TimerId ping_timer_ = 0;
  // Timers and posts hold it weakly: they do nothing once the connection is gone.
  std::shared_ptr<Http2Connection*> self_;
};

}  // namespace nave

#endif  // NAVE_COMMON_HTTP2_CONNECTION_H_
