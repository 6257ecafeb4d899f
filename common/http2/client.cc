#include "common/http2/client.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/http2/connection.h"
#include "common/http2/exchange.h"
#include "common/http2/proxy.h"
#include "common/http2/tls.h"

namespace nave {
namespace {

// The part of a client that lives on the I/O thread: the queue, the connections, and when to make
// one.
class Core : public ConnectionOwner, public std::enable_shared_from_this<Core> {
 public:
  Core(IoThread* io, Http2Options options, std::optional<Proxy> proxy,
       std::shared_ptr<TlsContext> tls)
      : io_(io), options_(std::move(options)), proxy_(std::move(proxy)), tls_(std::move(tls)) {
    const bool default_port = options_.port == (options_.plaintext ? 80 : 443);
    authority_ = FormatHostPort(options_.host, options_.port);
    if (default_port) authority_.resize(authority_.rfind(':'));
  }

  void Start(std::shared_ptr<Exchange> exchange) {
    if (closed_ || exchange->over) return;
    if (exchange->request.timeout != absl::InfiniteDuration()) {
      exchange->total_timer = io_->PostAfter(
          exchange->request.timeout,
          [weak = weak_from_this(), exchange = exchange.get(), hold = std::weak_ptr(exchange)] {
            const auto self = weak.lock();
            const auto held = hold.lock();
            if (self != nullptr && held != nullptr) self->OnTimeout(held);
          });
    }
    Enqueue(std::move(exchange));
    Pump();
  }

  void Append(const std::shared_ptr<Exchange>& exchange, std::string data, bool end) {
    if (exchange->over || exchange->more_ended) return;
    if (!data.empty()) exchange->more.push_back(std::move(data));
    exchange->more_ended = end;
    if (exchange->connection != nullptr) exchange->connection->ResumeBody(*exchange);
  }

  void Consumed(const std::shared_ptr<Exchange>& exchange, size_t bytes) {
    if (exchange->connection != nullptr) exchange->connection->Consume(*exchange, bytes);
  }

  void Cancel(const std::shared_ptr<Exchange>& exchange) {
    if (exchange->over) return;
    Finish(*exchange);
    if (exchange->connection != nullptr) exchange->connection->Cancel(*exchange);
  }

  void SetTls(std::shared_ptr<TlsContext> tls) {
    tls_ = std::move(tls);
    for (const auto& connection : Snapshot()) connection->Drain();
    Pump();
  }

  void Close() {
    closed_ = true;
    io_->Cancel(connect_timer_);
    for (const std::shared_ptr<Exchange>& exchange : queue_) Finish(*exchange);
    queue_.clear();
    connections_.clear();
  }

  const ConnectionCounters& counters() const { return counters_; }

 private:
  void OnAnswer() override { failed_connects_ = 0; }

  void OnFinished(const std::shared_ptr<Exchange>& exchange, Http2End end) override {
    if (exchange->over) return;
    Finish(*exchange);
    exchange->delivery->End(std::move(end));
  }

  void OnRefused(const std::shared_ptr<Exchange>& exchange, const std::string& why,
                 bool going_away) override {
    if (exchange->over) return;
    if (!exchange->repeatable() || exchange->times_refused >= options_.refused_retries_max) {
      OnFinished(exchange, {Http2Failure::kNotSent, why, {}});
      return;
    }
    ++exchange->times_refused;
    if (going_away) {
      // The new connection is the pause.
      Enqueue(exchange);
      return;
    }
    io_->PostAfter(options_.reconnect_delay * exchange->times_refused,
                   [weak = weak_from_this(), exchange] {
                     const auto self = weak.lock();
                     if (self == nullptr || self->closed_ || exchange->over) return;
                     self->Enqueue(exchange);
                     self->Pump();
                   });
  }

  void OnChanged() override { Pump(); }

  void OnDead(Http2Connection* connection, const absl::Status& why, bool had_opened) override {
    const auto found = std::find_if(connections_.begin(), connections_.end(),
                                    [&](const auto& one) { return one.get() == connection; });
    if (found == connections_.end()) return;
    // It still stands on the stack.
    io_->Post([dead = std::shared_ptr<Http2Connection>(*found), keep = shared_from_this()] {});
    connections_.erase(found);
    // One that opened counts as failed until it answers something: a server that accepts and closes
    // must not be hammered.
    if (!connection->is_proven()) {
      ++failed_connects_;
      next_connect_at_ =
          std::chrono::steady_clock::now() + absl::ToChronoMicroseconds(ReconnectDelay());
    }
    if (!had_opened) ++counters_.connects_failed;
    if (!had_opened && !HasUsable()) {
      std::deque<std::shared_ptr<Exchange>> failed;
      failed.swap(queue_);
      counters_.streams_waiting = 0;
      for (const std::shared_ptr<Exchange>& exchange : failed) {
        OnFinished(exchange, {Http2Failure::kNotSent, std::string(why.message()), {}});
      }
    }
    Pump();
  }

  absl::Duration ReconnectDelay() const {
    return std::min(options_.reconnect_delay_max,
                    options_.reconnect_delay * (int64_t{1} << std::min(failed_connects_ - 1, 20)));
  }

  void OnTimeout(const std::shared_ptr<Exchange>& exchange) {
    if (exchange->over) return;
    const bool sent = exchange->connection != nullptr;
    const std::string why = absl::StrCat(authority_, ": not done within ",
                                         absl::FormatDuration(exchange->request.timeout),
                                         sent ? "" : ", still waiting for a connection");
    if (sent) exchange->connection->Cancel(*exchange);
    OnFinished(exchange, {sent ? Http2Failure::kTimeout : Http2Failure::kNotSent, why, {}});
  }

  void Finish(Exchange& exchange) {
    exchange.over = true;
    io_->Cancel(std::exchange(exchange.total_timer, 0));
  }

  void Enqueue(std::shared_ptr<Exchange> exchange) {
    queue_.push_back(std::move(exchange));
    ++counters_.streams_waiting;
  }

  // Connections may go while one of them is called.
  std::vector<std::shared_ptr<Http2Connection>> Snapshot() const {
    return {connections_.begin(), connections_.end()};
  }

  bool HasUsable() const {
    return std::any_of(connections_.begin(), connections_.end(), [](const auto& one) {
      return !one->is_connecting() && !one->is_draining();
    });
  }

  // Gives waiting requests to connections with a free stream and makes a connection when there is
  // need.
  void Pump() {
    // A connection that takes a request may report it at once, which comes back here.
    if (pumping_ || closed_) return;
    pumping_ = true;
    for (const auto& connection : Snapshot()) {
      bool submitted = false;
      while (!queue_.empty() && connection->CanTake()) {
        const std::shared_ptr<Exchange> exchange = std::move(queue_.front());
        queue_.pop_front();
        --counters_.streams_waiting;
        if (exchange->over) continue;
        connection->Submit(exchange);
        submitted = true;
      }
      if (submitted) connection->Flush();
    }
    while (!queue_.empty() && queue_.front()->over) {
      queue_.pop_front();
      --counters_.streams_waiting;
    }
    pumping_ = false;
    if (!queue_.empty()) ConnectIfNeeded();
  }

  void ConnectIfNeeded() {
    size_t usable = 0;
    for (const auto& connection : connections_) {
      if (connection->is_draining()) continue;
      ++usable;
      if (connection->is_connecting()) return;
    }
    if (usable >= options_.connections_max || connect_timer_ != 0) return;
    const auto now = std::chrono::steady_clock::now();
    if (failed_connects_ > 0 && now < next_connect_at_) {
      connect_timer_ =
          io_->PostAfter(absl::FromChrono(next_connect_at_ - now), [weak = weak_from_this()] {
            const auto self = weak.lock();
            if (self == nullptr || self->closed_) return;
            self->connect_timer_ = 0;
            self->next_connect_at_ = {};
            self->Pump();
          });
      return;
    }
    DialOptions dial{options_.host, options_.port, proxy_, tls_, options_.connect_timeout};
    connections_.push_back(std::make_shared<Http2Connection>(*io_, options_, std::move(dial),
                                                             authority_, this, &counters_));
  }

  IoThread* const io_;  // Outlives this: its destructor runs Close.
  const Http2Options options_;
  const std::optional<Proxy> proxy_;
  std::string authority_;
  std::shared_ptr<TlsContext> tls_;
  ConnectionCounters counters_;

  std::deque<std::shared_ptr<Exchange>> queue_;
  std::vector<std::shared_ptr<Http2Connection>> connections_;
  bool closed_ = false;
  bool pumping_ = false;
  int failed_connects_ = 0;
  std::chrono::steady_clock::time_point next_connect_at_;
  TimerId connect_timer_ = 0;
};

class StreamHandle : public Http2Stream {
 public:
  StreamHandle(std::shared_ptr<IoThread> io, std::weak_ptr<Core> core,
               std::shared_ptr<Exchange> exchange)
      : io_(std::move(io)),
        core_(std::move(core)),
        exchange_(std::move(exchange)),
        delivery_(exchange_->delivery) {}

  ~StreamHandle() override {
    if (delivery_->ended()) return;
    delivery_->Cancel();
    io_->Post([core = core_, exchange = std::move(exchange_)] {
      if (const auto alive = core.lock()) alive->Cancel(exchange);
    });
  }

  void Write(std::string data, bool end) override {
    io_->Post([core = core_, exchange = exchange_, data = std::move(data), end]() mutable {
      if (const auto alive = core.lock()) alive->Append(exchange, std::move(data), end);
    });
  }

 private:
  const std::shared_ptr<IoThread> io_;
  const std::weak_ptr<Core> core_;
  std::shared_ptr<Exchange> exchange_;
  const std::shared_ptr<Delivery> delivery_;
};

class Client : public Http2Client {
 public:
  Client(std::shared_ptr<IoThread> io, Executor* executor, std::shared_ptr<Core> core)
      : io_(std::move(io)),
        core_(std::move(core)),
        target_(std::make_shared<DeliveryTarget>(executor)) {}

  ~Client() override {
    target_->Close();
    io_->Post([core = std::move(core_)] { core->Close(); });
  }

  std::unique_ptr<Http2Stream> Start(Http2Request request, Http2Callbacks callbacks) override {
    auto exchange = std::make_shared<Exchange>();
    exchange->request = std::move(request);
    exchange->delivery = std::make_shared<Delivery>(target_, std::move(callbacks));
    exchange->delivery->SetConsumed([io = io_.get(), core = std::weak_ptr(core_),
                                     weak = std::weak_ptr(exchange)](size_t bytes) {
      // The client is alive, else nothing would be delivered, and with it the I/O thread.
      io->Post([core, weak, bytes] {
        const auto alive = core.lock();
        const auto held = weak.lock();
        if (alive != nullptr && held != nullptr) alive->Consumed(held, bytes);
      });
    });
    io_->Post([core = core_, exchange] { core->Start(exchange); });
    return std::make_unique<StreamHandle>(io_, core_, std::move(exchange));
  }

  absl::Status SetTls(const Http2Tls& tls) override {
    ASSIGN_OR_RETURN(std::shared_ptr<TlsContext> context, TlsContext::Make(tls));
    io_->Post([core = core_, context = std::move(context)]() mutable {
      core->SetTls(std::move(context));
    });
    return absl::OkStatus();
  }

  Http2Stats Stats() const override {
    const ConnectionCounters& counters = core_->counters();
    return {counters.connections_opened, counters.connects_failed, counters.streams_active,
            counters.streams_waiting,    counters.bytes_received,  counters.bytes_sent};
  }

 private:
  const std::shared_ptr<IoThread> io_;
  std::shared_ptr<Core> core_;
  const std::shared_ptr<DeliveryTarget> target_;
};

}  // namespace

absl::string_view FindHeader(const Http2Headers& headers, absl::string_view name) {
  for (const Http2Header& header : headers) {
    if (header.name == name) return header.value;
  }
  return "";
}

absl::StatusOr<std::unique_ptr<Http2Client>> MakeHttp2Client(Http2Options options,
                                                             Executor* executor,
                                                             std::shared_ptr<IoThread> io) {
  std::shared_ptr<TlsContext> tls;
  if (!options.plaintext) {
    ASSIGN_OR_RETURN(tls, TlsContext::Make(options.tls));
  }
  std::optional<Proxy> proxy;
  if (!options.proxy_url.empty() && !BypassesProxy(options.host, options.port, options.no_proxy)) {
    ASSIGN_OR_RETURN(proxy, ParseProxyUrl(options.proxy_url));
  }
  if (io == nullptr) io = MakeIoThread();
  if (executor == nullptr) executor = io.get();
  auto core =
      std::make_shared<Core>(io.get(), std::move(options), std::move(proxy), std::move(tls));
  return std::make_unique<Client>(std::move(io), executor, std::move(core));
}

}  // namespace nave
