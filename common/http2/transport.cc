// The only file that sees Asio: the event loop and the sockets on it.
#include "common/http2/transport.h"

#include <netinet/in.h>
#include <openssl/err.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/http2/tls.h"

namespace nave {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;
using SteadyTime = std::chrono::steady_clock::time_point;

SteadyTime SteadyAfter(absl::Duration delay) {
  // A year is for ever, and does not overflow.
  const absl::Duration bounded = std::clamp(delay, absl::ZeroDuration(), absl::Hours(24 * 365));
  return std::chrono::steady_clock::now() + absl::ToChronoMicroseconds(bounded);
}

// What the thread runs; owned by the thread and by the IoThread, so that whichever ends last frees
// it.
struct Loop : std::enable_shared_from_this<Loop> {
  boost::asio::io_context context{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{
      context.get_executor()};
  boost::asio::steady_timer alarm{context};

  std::mutex mutex;
  TimerId next_id = 1;  // Guarded by mutex, as all below.
  std::map<std::pair<SteadyTime, TimerId>, Task> timers;
  std::map<TimerId, SteadyTime> timer_times;

  // Arms the alarm for the earliest timer; on the loop's thread.
  void Arm() {
    std::lock_guard lock(mutex);
    if (timers.empty()) {
      alarm.cancel();
      return;
    }
    alarm.expires_at(timers.begin()->first.first);
    alarm.async_wait([this](const error_code& error) {
      if (!error) Fire();
    });
  }

  void Fire() {
    std::vector<Task> due;
    {
      std::lock_guard lock(mutex);
      const SteadyTime now = std::chrono::steady_clock::now();
      while (!timers.empty() && timers.begin()->first.first <= now) {
        due.push_back(std::move(timers.begin()->second));
        timer_times.erase(timers.begin()->first.second);
        timers.erase(timers.begin());
      }
    }
    for (Task& task : due) std::move(task)();
    Arm();
  }
};

class AsioIoThread : public IoThread {
 public:
  AsioIoThread() : loop_(std::make_shared<Loop>()) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([loop = loop_] { loop->context.run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  ~AsioIoThread() override {
    Post([loop = loop_.get()] { loop->context.stop(); });
    if (thread_.get_id() == std::this_thread::get_id()) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }

  void Post(Task task) override {
    boost::asio::post(loop_->context, [task = std::move(task)]() mutable { std::move(task)(); });
  }

  TimerId PostAt(absl::Time when, Task task) override {
    const SteadyTime at = SteadyAfter(when - absl::Now());
    bool earliest = false;
    TimerId id = 0;
    {
      std::lock_guard lock(loop_->mutex);
      id = loop_->next_id++;
      earliest = loop_->timers.empty() || at < loop_->timers.begin()->first.first;
      loop_->timers.emplace(std::make_pair(at, id), std::move(task));
      loop_->timer_times.emplace(id, at);
    }
    if (earliest) Post([loop = loop_.get()] { loop->Arm(); });
    return id;
  }

  void Cancel(TimerId timer) override {
    Task dropped;  // Destroyed outside the lock: what it holds may post.
    std::lock_guard lock(loop_->mutex);
    const auto found = loop_->timer_times.find(timer);
    if (found == loop_->timer_times.end()) return;
    const auto entry = loop_->timers.find({found->second, timer});
    dropped = std::move(entry->second);
    loop_->timers.erase(entry);
    loop_->timer_times.erase(found);
  }

  absl::Time Now() const override { return absl::Now(); }

  boost::asio::io_context& context() { return loop_->context; }

 private:
  std::shared_ptr<Loop> loop_;
  std::thread thread_;
};

constexpr size_t kReadBytes = 16 * 1024;
// Reads in a row before other connections of the thread get their turn.
constexpr int kReadsInTurn = 16;
constexpr size_t kProxyReplyBytesMax = 8 * 1024;

// The states follow each other in this order; kTunnel only with a proxy, kHandshake only with TLS.
enum class Stage { kResolve, kConnect, kTunnel, kHandshake, kOpen, kClosed };

class AsioConnection : public std::enable_shared_from_this<AsioConnection> {
 public:
  AsioConnection(boost::asio::io_context& context, DialOptions options, TransportHandler* handler)
      : context_(context),
        options_(std::move(options)),
        handler_(handler),
        resolver_(context),
        socket_(context),
        deadline_(context),
        label_(FormatHostPort(options_.host, options_.port)) {}

  void Start() {
    deadline_at_ = SteadyAfter(options_.timeout);
    ArmDeadline(deadline_at_);
    const std::string host = options_.proxy ? options_.proxy->host : options_.host;
    const int port = options_.proxy ? options_.proxy->port : options_.port;
    resolver_.async_resolve(
        host, absl::StrCat(port),
        [self = shared_from_this(), host](const error_code& error,
                                          tcp::resolver::results_type found) {
          if (self->stage_ != Stage::kResolve) return;
          if (error || found.empty()) {
            self->Fail(absl::StrCat("cannot resolve \"", host, "\": ", error.message()));
            return;
          }
          for (const auto& entry : found) self->addresses_.push_back(entry.endpoint());
          self->ConnectNext("");
        });
  }

  // Ends everything without a word to the handler.
  void Close() {
    handler_ = nullptr;
    Shut();
  }

  size_t Write(absl::string_view data) {
    if (stage_ != Stage::kOpen || wants_write_ || broken_) return 0;
    size_t taken = 0;
    while (taken < data.size()) {
      const ssize_t n = RawWrite(data.substr(taken));
      if (n < 0) {
        // Reported from the loop, so that the handler is not called inside its own call.
        broken_ = true;
        boost::asio::post(context_,
                          [self = shared_from_this(), text = error_text_] { self->Fail(text); });
        break;
      }
      if (n == 0) {
        wants_write_ = true;
        Wait(tcp::socket::wait_write, [this] {
          wants_write_ = false;
          if (handler_ != nullptr) handler_->OnWritable();
        });
        break;
      }
      taken += static_cast<size_t>(n);
    }
    return taken;
  }

 private:
  void ConnectNext(absl::string_view failure) {
    if (!failure.empty()) {
      // Every address may fail in its own way; three tell enough.
      if (failed_addresses_ < 3) {
        absl::StrAppend(&failures_, failures_.empty() ? "" : "; ",
                        address_text_ == label_ ? "" : absl::StrCat(address_text_, ": "), failure);
      }
      ++failed_addresses_;
    }
    if (next_address_ == addresses_.size()) {
      Fail(failures_);
      return;
    }
    stage_ = Stage::kConnect;
    // What is left of the time is shared by the addresses that are left.
    const auto now = std::chrono::steady_clock::now();
    ArmDeadline(now + (deadline_at_ - now) / static_cast<long>(addresses_.size() - next_address_));
    const tcp::endpoint address = addresses_[next_address_++];
    address_text_ = FormatHostPort(address.address().to_string(), address.port());
    error_code ignored;
    socket_.close(ignored);
    socket_.async_connect(
        address, [self = shared_from_this(), attempt = next_address_](const error_code& error) {
          if (self->stage_ != Stage::kConnect || attempt != self->next_address_) return;
          if (error) {
            self->ConnectNext(error.message());
            return;
          }
          self->Connected();
        });
  }

  void Connected() {
    error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    socket_.set_option(boost::asio::socket_base::keep_alive(true), ignored);
    socket_.native_non_blocking(true, ignored);
    ArmDeadline(deadline_at_);
    if (options_.proxy) {
      stage_ = Stage::kTunnel;
      const std::string request =
          FormatConnectRequest(options_.host, options_.port, *options_.proxy);
      // A fresh socket's buffer takes these few bytes at once.
      if (send(socket_.native_handle(), request.data(), request.size(), MSG_NOSIGNAL) !=
          static_cast<ssize_t>(request.size())) {
        Fail(absl::StrCat("proxy: ", std::strerror(errno)));
        return;
      }
      Wait(tcp::socket::wait_read, [this] { ReadProxyReply(); });
      return;
    }
    Secure();
  }

  // Takes exactly the proxy's headers from the socket: what follows them belongs to the server.
  void ReadProxyReply() {
    char buffer[kReadBytes];
    const ssize_t seen = recv(socket_.native_handle(), buffer, sizeof(buffer), MSG_PEEK);
    if (seen < 0 && (errno == EAGAIN || errno == EINTR)) {
      Wait(tcp::socket::wait_read, [this] { ReadProxyReply(); });
      return;
    }
    if (seen <= 0) {
      Fail("proxy: closed the connection before it answered CONNECT");
      return;
    }
    const size_t before = proxy_reply_.size();
    proxy_reply_.append(buffer, static_cast<size_t>(seen));
    const size_t end = proxy_reply_.find("\r\n\r\n");
    const size_t taken = end == std::string::npos ? static_cast<size_t>(seen) : end + 4 - before;
    recv(socket_.native_handle(), buffer, taken, 0);
    if (end == std::string::npos) {
      if (proxy_reply_.size() > kProxyReplyBytesMax) {
        Fail("proxy: the answer to CONNECT is too long");
        return;
      }
      Wait(tcp::socket::wait_read, [this] { ReadProxyReply(); });
      return;
    }
    if (const absl::Status status = CheckConnectReply(proxy_reply_); !status.ok()) {
      Fail(status.message());
      return;
    }
    proxy_reply_.clear();
    Secure();
  }

  void Secure() {
    if (options_.tls == nullptr) {
      Opened();
      return;
    }
    stage_ = Stage::kHandshake;
    absl::StatusOr<UniqueSsl> ssl = options_.tls->NewConnection(options_.host);
    if (!ssl.ok()) {
      Fail(ssl.status().message());
      return;
    }
    ssl_ = *std::move(ssl);
    SSL_set_fd(ssl_.get(), socket_.native_handle());
    Handshake();
  }

  void Handshake() {
    ERR_clear_error();
    const int result = SSL_connect(ssl_.get());
    if (result == 1) {
      if (const absl::Status status = CheckAlpn(ssl_.get()); !status.ok()) {
        Fail(status.message());
        return;
      }
      Opened();
      return;
    }
    switch (SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        Wait(tcp::socket::wait_read, [this] { Handshake(); });
        return;
      case SSL_ERROR_WANT_WRITE:
        Wait(tcp::socket::wait_write, [this] { Handshake(); });
        return;
      default:
        Fail(absl::StrCat("tls handshake: ", TlsErrorText(ssl_.get())));
    }
  }

  void Opened() {
    stage_ = Stage::kOpen;
    deadline_.cancel();
    const std::shared_ptr<AsioConnection> self = shared_from_this();
    handler_->OnOpen();
    if (stage_ == Stage::kOpen) Wait(tcp::socket::wait_read, [this] { ReadSome(); });
  }

  void ReadSome() {
    // Shared by all connections of the thread: a handler takes what it needs during the call.
    static thread_local char buffer[kReadBytes];
    for (int turn = 0; turn < kReadsInTurn; ++turn) {
      const ssize_t n = RawRead(buffer, sizeof(buffer));
      if (n < 0) {
        Fail(error_text_);
        return;
      }
      if (n == 0) {
        Wait(tcp::socket::wait_read, [this] { ReadSome(); });
        return;
      }
      handler_->OnData(absl::string_view(buffer, static_cast<size_t>(n)));
      if (stage_ != Stage::kOpen) return;
    }
    boost::asio::post(context_, [self = shared_from_this()] {
      if (self->stage_ == Stage::kOpen) self->ReadSome();
    });
  }

  // Bytes read; 0: wait; -1: broken, with error_text_.
  ssize_t RawRead(char* buffer, size_t size) {
    if (ssl_ != nullptr) {
      ERR_clear_error();
      const int n = SSL_read(ssl_.get(), buffer, static_cast<int>(size));
      return n > 0 ? n : SslOutcome(n);
    }
    const ssize_t n = recv(socket_.native_handle(), buffer, size, 0);
    if (n > 0) return n;
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    error_text_ = n == 0 ? "connection closed by the server" : std::strerror(errno);
    return -1;
  }

  ssize_t RawWrite(absl::string_view data) {
    if (ssl_ != nullptr) {
      ERR_clear_error();
      const int n = SSL_write(ssl_.get(), data.data(),
                              static_cast<int>(std::min<size_t>(data.size(), 1 << 20)));
      return n > 0 ? n : SslOutcome(n);
    }
    const ssize_t n = send(socket_.native_handle(), data.data(), data.size(), MSG_NOSIGNAL);
    if (n >= 0) return n;
    if (errno == EAGAIN || errno == EINTR) return 0;
    error_text_ = std::strerror(errno);
    return -1;
  }

  ssize_t SslOutcome(int result) {
    const int saved_errno = errno;
    switch (SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ:
      case SSL_ERROR_WANT_WRITE:
        return 0;
      case SSL_ERROR_ZERO_RETURN:
        error_text_ = "connection closed by the server";
        return -1;
      case SSL_ERROR_SYSCALL:
        error_text_ =
            saved_errno == 0 ? "connection closed by the server" : std::strerror(saved_errno);
        ERR_clear_error();
        return -1;
      default:
        error_text_ = absl::StrCat("tls: ", TlsErrorText(ssl_.get()));
        return -1;
    }
  }

  template <typename F>
  void Wait(tcp::socket::wait_type what, F then) {
    socket_.async_wait(
        what, [self = shared_from_this(), then = std::move(then)](const error_code& error) mutable {
          if (!error && self->stage_ != Stage::kClosed) then();
        });
  }

  void ArmDeadline(SteadyTime at) {
    deadline_.expires_at(at);
    deadline_.async_wait([self = shared_from_this()](const error_code& error) {
      if (error || self->stage_ >= Stage::kOpen) return;
      switch (self->stage_) {
        case Stage::kResolve:
          self->Fail("timed out resolving the name");
          return;
        case Stage::kConnect:
          self->ConnectNext("timed out");
          return;
        case Stage::kTunnel:
          self->Fail("timed out waiting for the proxy");
          return;
        default:
          self->Fail("timed out in the tls handshake");
      }
    });
  }

  void Fail(absl::string_view why) {
    if (stage_ == Stage::kClosed) return;
    TransportHandler* handler = std::exchange(handler_, nullptr);
    // A failed connect names each address by itself.
    const bool name_address = stage_ > Stage::kConnect && address_text_ != label_;
    const std::string where =
        name_address ? absl::StrCat(label_, " (", address_text_, ")") : label_;
    Shut();
    if (handler != nullptr)
      handler->OnClosed(absl::UnavailableError(absl::StrCat(where, ": ", why)));
  }

  void Shut() {
    if (stage_ == Stage::kClosed) return;
    // close_notify, as far as the socket takes it at once.
    if (stage_ == Stage::kOpen && ssl_ != nullptr && !broken_) {
      SSL_shutdown(ssl_.get());
      ERR_clear_error();
    }
    stage_ = Stage::kClosed;
    ssl_.reset();
    error_code ignored;
    resolver_.cancel();
    deadline_.cancel();
    socket_.close(ignored);
  }

  boost::asio::io_context& context_;
  const DialOptions options_;
  TransportHandler* handler_;  // Null once nothing more is to be told.
  tcp::resolver resolver_;
  tcp::socket socket_;
  boost::asio::steady_timer deadline_;
  const std::string label_;

  Stage stage_ = Stage::kResolve;
  SteadyTime deadline_at_;
  std::vector<tcp::endpoint> addresses_;
  size_t next_address_ = 0;
  int failed_addresses_ = 0;
  std::string address_text_;
  std::string failures_;
  std::string proxy_reply_;
  UniqueSsl ssl_;
  std::string error_text_;
  bool wants_write_ = false;
  bool broken_ = false;
};

class AsioTransport : public Transport {
 public:
  explicit AsioTransport(std::shared_ptr<AsioConnection> connection)
      : connection_(std::move(connection)) {
    connection_->Start();
  }
  ~AsioTransport() override { connection_->Close(); }
  size_t Write(absl::string_view data) override { return connection_->Write(data); }

 private:
  std::shared_ptr<AsioConnection> connection_;
};

}  // namespace

std::shared_ptr<IoThread> MakeIoThread() { return std::make_shared<AsioIoThread>(); }

std::unique_ptr<Transport> Dial(IoThread& io, DialOptions options, TransportHandler* handler) {
  auto& context = static_cast<AsioIoThread&>(io).context();
  return std::make_unique<AsioTransport>(
      std::make_shared<AsioConnection>(context, std::move(options), handler));
}

}  // namespace nave
