#include "tests/faultproxy/fault_proxy.h"

#include <algorithm>
#include <array>
#include <boost/asio.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <list>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/faultproxy/orders.h"

namespace nave {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using Error = boost::system::error_code;

constexpr size_t kQueueBytesMax = 1 << 20;

// Faults of one direction.
struct Faults {
  bool stall = false;
  std::chrono::milliseconds delay{0};
  int64_t rate = 0;
  int64_t cut_after = 0;
};

// What every connection shares; of the proxy's thread.
struct Shared {
  Faults up, down;
  int64_t up_bytes = 0, down_bytes = 0;
};

// One direction of a connection: what is read waits in a queue until it is due.
class Pump : public std::enable_shared_from_this<Pump> {
 public:
  Pump(Tcp::socket& from, Tcp::socket& to, const Faults& faults, int64_t& total,
       std::function<void(bool reset)> over)
      : from_(from),
        to_(to),
        faults_(faults),
        total_(total),
        over_(std::move(over)),
        timer_(from.get_executor()) {}

  void Start() { Read(); }
  // The faults changed.
  void Kick() {
    timer_.cancel();
    Read();
    Write();
  }
  void Freeze() { frozen_ = true; }
  void ResetBudget() { carried_ = 0; }
  void Stop() {
    stopped_ = true;
    timer_.cancel();
  }

 private:
  bool Held() const { return stopped_ || frozen_ || faults_.stall; }

  void Read() {
    if (reading_ || ended_ || Held() || queued_ >= kQueueBytesMax) return;
    reading_ = true;
    from_.async_read_some(
        asio::buffer(buffer_),
        [self = shared_from_this()](Error error, size_t size) { self->OnRead(error, size); });
  }

  void OnRead(Error error, size_t size) {
    reading_ = false;
    if (stopped_ || frozen_) return;
    if (error) {
      ended_ = true;
      reset_ = error != asio::error::eof;
    } else {
      queue_.push_back({std::string(buffer_.data(), size), Clock::now() + faults_.delay});
      queued_ += size;
      Read();
    }
    Write();
  }

  void Write() {
    if (writing_ || Held()) return;
    if (queue_.empty()) {
      // An end is passed on once everything before it was.
      if (ended_ && !std::exchange(told_, true)) over_(reset_);
      return;
    }
    Clock::time_point due = std::max(queue_.front().due, free_at_);
    if (due > Clock::now()) {
      timer_.expires_at(due);
      timer_.async_wait([self = shared_from_this()](Error error) {
        if (!error) self->Write();
      });
      return;
    }
    writing_ = true;
    // Small pieces, so that a slow line is slow from the first byte.
    size_t size = queue_.front().data.size() - sent_;
    if (faults_.rate > 0) {
      size = std::clamp<size_t>(static_cast<size_t>(faults_.rate) / 50, 1, size);
    }
    asio::async_write(
        to_, asio::buffer(queue_.front().data.data() + sent_, size),
        [self = shared_from_this()](Error error, size_t size) { self->OnWritten(error, size); });
  }

  void OnWritten(Error error, size_t size) {
    writing_ = false;
    if (stopped_) return;
    total_ += static_cast<int64_t>(size);
    carried_ += static_cast<int64_t>(size);
    sent_ += size;
    if (sent_ == queue_.front().data.size()) {
      queued_ -= sent_;
      sent_ = 0;
      queue_.pop_front();
    }
    if (faults_.rate > 0) {
      free_at_ = Clock::now() +
                 std::chrono::microseconds(static_cast<int64_t>(size) * 1000000 / faults_.rate);
    }
    if (error) return over_(true);
    if (faults_.cut_after > 0 && carried_ >= faults_.cut_after) return over_(true);
    Write();
    Read();
  }

  struct Piece {
    std::string data;
    Clock::time_point due;
  };

  Tcp::socket& from_;
  Tcp::socket& to_;
  const Faults& faults_;
  int64_t& total_;
  const std::function<void(bool reset)> over_;
  asio::steady_timer timer_;
  std::array<char, 16384> buffer_;
  std::deque<Piece> queue_;
  size_t queued_ = 0;
  size_t sent_ = 0;  // Of the first piece.
  int64_t carried_ = 0;
  Clock::time_point free_at_ = Clock::time_point::min();
  bool reading_ = false, writing_ = false, ended_ = false, reset_ = false, told_ = false;
  bool frozen_ = false, stopped_ = false;
};

// A client's connection and the one to the server for it.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Tcp::socket client, Shared& shared)
      : client_(std::move(client)), server_(client_.get_executor()), shared_(shared) {}

  void Start(const Tcp::endpoint& upstream) {
    server_.async_connect(upstream, [self = shared_from_this()](Error error) {
      if (self->closed_) return;
      if (error) return self->Close(true);
      self->Begin();
    });
  }

  // Closes both sides; `reset`: with RST.
  void Close(bool reset) {
    if (std::exchange(closed_, true)) return;
    for (auto* pump : {up_.get(), down_.get()}) {
      if (pump != nullptr) pump->Stop();
    }
    for (Tcp::socket* socket : {&client_, &server_}) {
      Error ignored;
      if (reset) socket->set_option(asio::socket_base::linger(true, 0), ignored);
      socket->close(ignored);
    }
  }

  template <typename F>
  void ForPumps(F use) {
    if (up_ != nullptr) use(*up_);
    if (down_ != nullptr) use(*down_);
  }
  bool closed() const { return closed_; }

 private:
  void Begin() {
    Error ignored;
    client_.set_option(Tcp::no_delay(true), ignored);
    server_.set_option(Tcp::no_delay(true), ignored);
    std::weak_ptr<Connection> weak = shared_from_this();
    auto over = [weak](Tcp::socket Connection::*to) {
      return [weak, to](bool reset) {
        if (std::shared_ptr<Connection> self = weak.lock()) self->OnOver(reset, (*self).*to);
      };
    };
    up_ = std::make_shared<Pump>(client_, server_, shared_.up, shared_.up_bytes,
                                 over(&Connection::server_));
    down_ = std::make_shared<Pump>(server_, client_, shared_.down, shared_.down_bytes,
                                   over(&Connection::client_));
    up_->Start();
    down_->Start();
  }

  void OnOver(bool reset, Tcp::socket& to) {
    Error ignored;
    if (!reset) to.shutdown(Tcp::socket::shutdown_send, ignored);
    if (reset || ++ends_ == 2) Close(reset);
  }

  Tcp::socket client_;
  Tcp::socket server_;
  Shared& shared_;
  std::shared_ptr<Pump> up_, down_;
  int ends_ = 0;
  bool closed_ = false;
};

// Reads orders line by line.
class ControlSession : public std::enable_shared_from_this<ControlSession> {
 public:
  ControlSession(Tcp::socket socket, std::function<std::string(absl::string_view)> order)
      : socket_(std::move(socket)), order_(std::move(order)) {}

  void Read() {
    asio::async_read_until(socket_, asio::dynamic_buffer(in_, 4096), '\n',
                           [self = shared_from_this()](Error error, size_t size) {
                             if (!error) self->OnLine(size);
                           });
  }

 private:
  void OnLine(size_t size) {
    out_ = absl::StrCat(order_(absl::string_view(in_).substr(0, size - 1)), "\n");
    in_.erase(0, size);
    asio::async_write(socket_, asio::buffer(out_),
                      [self = shared_from_this()](Error error, size_t) {
                        if (!error) self->Read();
                      });
  }

  Tcp::socket socket_;
  const std::function<std::string(absl::string_view)> order_;
  std::string in_, out_;
};

class Proxy : public FaultProxy {
 public:
  explicit Proxy(Options options) : options_(std::move(options)) {}

  absl::Status Open() {
    Error error;
    asio::ip::address address = asio::ip::make_address(options_.upstream_host, error);
    if (error) return absl::InvalidArgumentError("the upstream host must be an address");
    upstream_ = Tcp::endpoint(address, static_cast<uint16_t>(options_.upstream_port));
    for (Tcp::acceptor* acceptor : {&acceptor_, &control_}) {
      bool is_control = acceptor == &control_;
      if (is_control && !options_.control) continue;
      Tcp::endpoint here(asio::ip::address_v4::loopback(),
                         static_cast<uint16_t>(is_control ? 0 : options_.port));
      acceptor->open(here.protocol(), error);
      acceptor->set_option(asio::socket_base::reuse_address(true), error);
      acceptor->bind(here, error);
      if (!error) acceptor->listen(asio::socket_base::max_listen_connections, error);
      if (error) return absl::UnavailableError(error.message());
    }
    port_ = acceptor_.local_endpoint().port();
    if (options_.control) control_port_ = control_.local_endpoint().port();
    Accept();
    if (options_.control) AcceptControl();
    thread_ = std::thread([this] { context_.run(); });
    return absl::OkStatus();
  }

  ~Proxy() override {
    if (!thread_.joinable()) return;
    asio::post(context_, [this] {
      for (const auto& connection : connections_) connection->Close(false);
      context_.stop();
    });
    thread_.join();
  }

  int port() const override { return port_; }
  int control_port() const override { return control_port_; }

  std::string Order(absl::string_view line) override {
    std::promise<std::string> answer;
    asio::post(context_, [&] { answer.set_value(CarryOut(line)); });
    return answer.get_future().get();
  }

 private:
  void Accept() {
    acceptor_.async_accept([this](Error error, Tcp::socket socket) {
      if (error) return;
      ++accepted_;
      auto connection = std::make_shared<Connection>(std::move(socket), shared_);
      if (refuse_) {
        connection->Close(true);
      } else {
        connections_.push_back(connection);
        connection->Start(upstream_);
      }
      Accept();
    });
  }

  void AcceptControl() {
    control_.async_accept([this](Error error, Tcp::socket socket) {
      if (error) return;
      std::make_shared<ControlSession>(std::move(socket), [this](absl::string_view line) {
        return CarryOut(line);
      })->Read();
      AcceptControl();
    });
  }

  std::string CarryOut(absl::string_view line) {
    connections_.remove_if([](const auto& connection) { return connection->closed(); });
    ProxyOrder order;
    std::string problem;
    if (!ParseProxyOrder(line, &order, &problem)) return absl::StrCat("error: ", problem);
    switch (order.kind) {
      case ProxyOrder::Kind::kCut:
      case ProxyOrder::Kind::kReset:
        for (const auto& connection : connections_) {
          connection->Close(order.kind == ProxyOrder::Kind::kReset);
        }
        break;
      case ProxyOrder::Kind::kFreeze:
        ForPumps([](Pump& pump) { pump.Freeze(); });
        break;
      case ProxyOrder::Kind::kRefuse:
        refuse_ = order.on;
        break;
      case ProxyOrder::Kind::kHeal:
        refuse_ = false;
        shared_.up = shared_.down = {};
        break;
      case ProxyOrder::Kind::kCount:
        return absl::StrCat("accepted=", accepted_, " open=", connections_.size(),
                            " up=", shared_.up_bytes, " down=", shared_.down_bytes);
      default:
        if (order.up) SetFault(order, &shared_.up);
        if (order.down) SetFault(order, &shared_.down);
        break;
    }
    if (order.kind == ProxyOrder::Kind::kCutAfter) {
      ForPumps([](Pump& pump) { pump.ResetBudget(); });
    }
    ForPumps([](Pump& pump) { pump.Kick(); });
    return "ok";
  }

  static void SetFault(const ProxyOrder& order, Faults* faults) {
    switch (order.kind) {
      case ProxyOrder::Kind::kStall:
        faults->stall = order.on;
        break;
      case ProxyOrder::Kind::kDelay:
        faults->delay = std::chrono::milliseconds(order.number);
        break;
      case ProxyOrder::Kind::kRate:
        faults->rate = order.number;
        break;
      default:
        faults->cut_after = order.number;
        break;
    }
  }

  template <typename F>
  void ForPumps(F use) {
    for (const auto& connection : connections_) connection->ForPumps(use);
  }

  const Options options_;
  asio::io_context context_;
  Tcp::acceptor acceptor_{context_};
  Tcp::acceptor control_{context_};
  Tcp::endpoint upstream_;
  Shared shared_;
  std::list<std::shared_ptr<Connection>> connections_;
  int64_t accepted_ = 0;
  bool refuse_ = false;
  int port_ = 0;
  int control_port_ = 0;
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FaultProxy>> FaultProxy::Start(Options options) {
  auto proxy = std::make_unique<Proxy>(std::move(options));
  if (absl::Status status = proxy->Open(); !status.ok()) return status;
  return proxy;
}

}  // namespace nave
