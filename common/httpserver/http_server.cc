// The only file that sees Beast.
#include "common/httpserver/http_server.h"

#include <signal.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <list>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"

namespace nave {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using tcp = asio::ip::tcp;
using Response = http::response<http::string_body>;

// How long accepting pauses when the process has no descriptor left.
constexpr std::chrono::milliseconds kAcceptPause{100};

class Connection;
using Connections = std::list<std::shared_ptr<Connection>>;

// What all connections of one server share; used on the server's thread only.
struct Shared {
  HttpHandler handler;
  HttpServerOptions options;
  Connections connections;  // The one that has been idle longest comes first.
};

// One connection: reads a request, writes its answer, and again. Lives while an operation of it is
// pending or the list has it.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, Shared* shared) : stream_(std::move(socket)), shared_(shared) {}

  void Start(Connections::iterator place) {
    place_ = place;
    Read();
  }
  // What is pending ends with an error.
  void Close() {
    stream_.close();
    if (!listed_) return;
    listed_ = false;
    shared_->connections.erase(place_);  // May be the last owner: nothing may follow.
  }

 private:
  void Read() {
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(shared_->options.header_bytes_max));
    parser_->body_limit(boost::none);  // Never read: see OnRead.
    stream_.expires_after(absl::ToChronoMilliseconds(shared_->options.timeout));
    http::async_read_header(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](error_code error, size_t) { self->OnRead(error); });
  }

  void OnRead(error_code error) {
    if (!listed_) return;
    shared_->connections.splice(shared_->connections.end(), shared_->connections, place_);
    if (error == http::error::end_of_stream || error == beast::error::timeout) return Close();
    if (error == http::error::header_limit) {
      return Write(
          {431, "text/plain; charset=utf-8", "the request's header fields are too large\n"}, false);
    }
    if (error) {
      const bool malformed =
          error.category() == make_error_code(http::error::bad_method).category();
      if (!malformed || error == http::error::partial_message) return Close();
      return Write({400, "text/plain; charset=utf-8", "not an HTTP request\n"}, false);
    }
    const http::verb method = parser_->get().method();
    // A body is never read: the connection ends with the answer instead.
    const bool has_body = parser_->chunked() || parser_->content_length().value_or(0) > 0;
    const bool keep_alive = parser_->get().keep_alive() && !has_body;
    if (method != http::verb::get && method != http::verb::head) {
      return Write({405, "text/plain; charset=utf-8", "only GET and HEAD are served\n"},
                   keep_alive);
    }
    const beast::string_view target = parser_->get().target();
    const size_t mark = target.find('?');
    HttpRequest request;
    request.path = std::string(target.substr(0, mark));
    if (mark != beast::string_view::npos) request.query = std::string(target.substr(mark + 1));
    Write(shared_->handler(request), keep_alive);
  }

  void Write(HttpAnswer answer, bool keep_alive) {
    response_ = Response();
    response_.version(11);
    response_.result(static_cast<unsigned>(answer.status));
    response_.set(http::field::content_type, answer.content_type);
    response_.set(http::field::cache_control, "no-store");
    response_.set("X-Content-Type-Options", "nosniff");
    if (answer.status == 405) response_.set(http::field::allow, "GET, HEAD");
    response_.keep_alive(keep_alive);
    response_.body() = std::move(answer.body);
    response_.prepare_payload();
    if (parser_->get().method() == http::verb::head)
      response_.body().clear();  // Content-Length stays.
    stream_.expires_after(absl::ToChronoMilliseconds(shared_->options.timeout));
    http::async_write(stream_, response_,
                      [self = shared_from_this(), keep_alive](error_code error, size_t) {
                        if (!self->listed_) return;
                        if (error || !keep_alive) return self->Finish();
                        self->Read();
                      });
  }

  // Ends the sending side first, so that the peer reads the answer rather than a reset.
  void Finish() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    Close();
  }

  beast::tcp_stream stream_;
  Shared* const shared_;  // Outlives the I/O context that runs this.
  Connections::iterator place_;
  bool listed_ = true;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::empty_body>> parser_;
  Response response_;
};

class BeastServer : public HttpServer {
 public:
  BeastServer(HttpHandler handler, HttpServerOptions options) {
    shared_.handler = std::move(handler);
    shared_.options = options;
  }

  ~BeastServer() override {
    if (!thread_.joinable()) return;
    asio::post(context_, [this] {
      error_code ignored;
      acceptor_.close(ignored);
      pause_.cancel();
      stopping_ = true;
      while (!shared_.connections.empty())
        std::shared_ptr<Connection>(shared_.connections.front())->Close();
    });
    thread_.join();
  }

  error_code Open(const tcp::endpoint& endpoint, bool dual_stack) {
    error_code error;
    acceptor_.close(error);
    acceptor_.open(endpoint.protocol(), error);
    if (error) return error;
    acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (dual_stack) acceptor_.set_option(asio::ip::v6_only(false), error);
    acceptor_.bind(endpoint, error);
    if (error) return error;
    acceptor_.listen(asio::socket_base::max_listen_connections, error);
    return error;
  }

  void Start() {
    port_ = acceptor_.local_endpoint().port();
    Accept();
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { context_.run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  int port() const override { return port_; }

 private:
  void Accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (stopping_) return;
      if (error) {
        LogWarning("health port: accept failed", {{"error", error.message()}});
        pause_.expires_after(kAcceptPause);
        pause_.async_wait([this](error_code) {
          if (!stopping_) Accept();
        });
        return;
      }
      Serve(std::move(socket));
      Accept();
    });
  }

  void Serve(tcp::socket socket) {
    Connections& connections = shared_.connections;
    if (connections.size() >= shared_.options.connections_max && !connections.empty()) {
      std::shared_ptr<Connection>(connections.front())->Close();
    }
    auto connection = std::make_shared<Connection>(std::move(socket), &shared_);
    connection->Start(connections.insert(connections.end(), connection));
  }

  Shared shared_;
  bool stopping_ = false;
  int port_ = 0;
  asio::io_context context_{1};
  tcp::acceptor acceptor_{context_};
  asio::steady_timer pause_{context_};
  std::thread thread_;
};

struct ListenAddress {
  std::optional<asio::ip::address> host;  // Absent: every address.
  uint16_t port = 0;
};

absl::StatusOr<ListenAddress> ParseAddress(absl::string_view text) {
  const absl::Status invalid =
      MakeError(Reason::kConfigInvalid,
                absl::StrCat("listen address \"", text,
                             "\": must be HOST:PORT with a numeric host, [IPv6]:PORT or :PORT"));
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return invalid;
  ListenAddress address;
  uint32_t port = 0;
  if (!absl::SimpleAtoi(text.substr(colon + 1), &port) || port > 65535) return invalid;
  address.port = static_cast<uint16_t>(port);
  absl::string_view host = text.substr(0, colon);
  if (host.empty()) return address;
  const bool bracketed = absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]");
  error_code error;
  address.host =
      asio::ip::make_address(std::string(host == "localhost" ? "127.0.0.1" : host), error);
  if (error || address.host->is_v6() != bracketed) return invalid;
  return address;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Listen(absl::string_view address,
                                                               HttpHandler handler,
                                                               HttpServerOptions options) {
  ASSIGN_OR_RETURN(const ListenAddress parsed, ParseAddress(address));
  auto server = std::make_unique<BeastServer>(std::move(handler), options);
  error_code error;
  if (parsed.host.has_value()) {
    error = server->Open({*parsed.host, parsed.port}, false);
  } else {
    error = server->Open({asio::ip::address_v6::any(), parsed.port}, true);
    if (error == asio::error::address_family_not_supported) {  // A machine without IPv6.
      error = server->Open({asio::ip::address_v4::any(), parsed.port}, false);
    }
  }
  if (error == asio::error::address_in_use) {
    return MakeError(Reason::kPortInUse,
                     absl::StrCat("listen address \"", address, "\": ", error.message()));
  }
  if (error) {
    return MakeError(Reason::kConfigInvalid,
                     absl::StrCat("listen address \"", address, "\": ", error.message()));
  }
  server->Start();
  return server;
}

}  // namespace nave
