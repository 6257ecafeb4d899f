// A small HTTP/1.1 server for a process's /livez, /readyz and /metrics: plain text, GET and HEAD
// only.
#ifndef NAVE_COMMON_HTTPSERVER_HTTP_SERVER_H_
#define NAVE_COMMON_HTTPSERVER_HTTP_SERVER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace nave {

// What a client asks for. `path` begins with '/'; `query` is what follows the first '?', without
// it. Neither is decoded: the paths served here need no escapes.
struct HttpRequest {
  std::string path;
  std::string query;
};

struct HttpAnswer {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

// Answers one request. Runs on the server's own thread, one request at a time; must return soon (a
// slow handler delays every other probe) and must not throw. 404 is its answer for a path that it
// does not know.
using HttpHandler = std::function<HttpAnswer(const HttpRequest&)>;

struct HttpServerOptions {
  // How long a client may take to send a request, to take an answer, or to stay idle between two.
  absl::Duration timeout = absl::Seconds(30);
  // When this many are open, a new one takes the place of the one that was idle longest: so clients
  // that hold connections open cannot lock a probe out.
  size_t connections_max = 64;
  // Bytes of the request line and header fields together; more is answered 431.
  size_t header_bytes_max = 16 * 1024;
};

// Serves until destroyed. One thread of its own with all signals blocked; the destructor closes
// every connection and joins, so the handler does not run afterwards. The methods are thread-safe.
class HttpServer {
 public:
  // `address` is HOST:PORT with a numeric host, [IPv6]:PORT, or :PORT for every address of the
  // machine; port 0 takes a free one. Errors: PORT_IN_USE when another process listens there,
  // CONFIG_INVALID when the address cannot be read, is not one of this machine, or its port is not
  // allowed to this user.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Listen(absl::string_view address,
                                                            HttpHandler handler,
                                                            HttpServerOptions options = {});
  virtual ~HttpServer() = default;
  // The port that is listened on.
  virtual int port() const = 0;
};

}  // namespace nave

#endif  // NAVE_COMMON_HTTPSERVER_HTTP_SERVER_H_
