// HTTP/2 client: a stream per request over one TLS connection that is made when first needed and
// again when lost.
#ifndef NAVE_COMMON_HTTP2_CLIENT_H_
#define NAVE_COMMON_HTTP2_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/http2/io_thread.h"
#include "common/runtime/executor.h"

namespace nave {

struct Http2Header {
  std::string name;  // Lower case.
  std::string value;
  bool operator==(const Http2Header&) const = default;
};
using Http2Headers = std::vector<Http2Header>;

// Value of the first header of that (lower-case) name; empty when there is none.
absl::string_view FindHeader(const Http2Headers& headers, absl::string_view name);

// How the server is known and how we show who we are. All PEM texts.
struct Http2Tls {
  std::string roots_pem;        // Empty: the system's roots.
  std::string certificate_pem;  // Client certificate and its chain; empty: none.
  std::string private_key_pem;
  std::string server_name;            // For SNI and verification; empty: the host.
  bool insecure_skip_verify = false;  // Any certificate is taken.
  bool operator==(const Http2Tls&) const = default;
};

struct Http2Options {
  std::string host;  // A name or an address, IPv6 without brackets.
  int port = 443;
  bool plaintext = false;  // HTTP/2 with prior knowledge and no TLS.
  Http2Tls tls;
  // Proxy for CONNECT, "http://[user:password@]host[:port]"; empty: none. Hosts of `no_proxy`
  // (comma-separated names, .suffixes, addresses, CIDR blocks, *) and loopback hosts are dialled
  // directly.
  std::string proxy_url;
  std::string no_proxy;

  // Resolving, TCP, proxy and TLS together; several addresses share it.
  absl::Duration connect_timeout = absl::Seconds(15);
  // A PING goes out after this much silence, and the connection is dead after `ping_timeout` more.
  // Infinite: no PINGs.
  absl::Duration ping_after = absl::Seconds(15);
  absl::Duration ping_timeout = absl::Seconds(10);
  // Streams open at once on a connection: at most min(server's limit, streams_max) less
  // streams_reserved (but at least one). Further requests wait here, in order; nothing ever waits
  // inside the HTTP/2 library.
  size_t streams_max = 100;
  size_t streams_reserved = 10;
  // When all connections are full another one is opened, up to this many. For streams that stay
  // open, as watches do.
  size_t connections_max = 1;
  // Bytes of a response that may be under way before the receiver has taken them; the connection's
  // window is four times that.
  uint32_t stream_window_bytes = 256 * 1024;
  // Times that a request which the server certainly did not process (GOAWAY, REFUSED_STREAM) is
  // sent again.
  int refused_retries_max = 3;
  // Delay before a connection is made again after one that failed or brought no answer: doubled
  // each time up to the cap.
  absl::Duration reconnect_delay = absl::Milliseconds(100);
  absl::Duration reconnect_delay_max = absl::Seconds(3);
};

struct Http2Request {
  std::string method = "GET";
  std::string path = "/";  // With query.
  Http2Headers headers;    // Without pseudo-headers; no "connection" and the like.
  std::string body;
  // More of the body follows by Write; such a request is never sent again.
  bool body_open = false;
  // For streams that stay open: a GOAWAY ends it with kGoingAway at once, so that the caller moves
  // to another connection instead of staying on one that is about to go.
  bool leave_on_goaway = false;
  // From the moment that it was sent to the response's headers.
  absl::Duration header_timeout = absl::Seconds(60);
  // From Start to the end, waiting for a connection or a free stream included.
  absl::Duration timeout = absl::InfiniteDuration();
  // A longer response body ends the stream with kTooLarge. 0: no limit.
  size_t response_bytes_max = 0;
};

enum class Http2Failure {
  kNone,
  kNotSent,     // The server did not process it: no connection, refused, or it never left. Safe to
                // repeat.
  kGoingAway,   // The server is going away, and the request wanted to leave then.
  kLost,        // The connection or stream broke after it was sent: it may have been processed.
  kTimeout,     // No answer in time: it may have been processed.
  kTooLarge,    // The response body was over response_bytes_max.
  kBadRequest,  // Cannot be sent at all (a header that HTTP/2 forbids).
};

struct Http2End {
  Http2Failure failure = Http2Failure::kNone;
  std::string message;  // Says what went wrong, with the address; no data of the request.
  Http2Headers trailers;
  bool ok() const { return failure == Http2Failure::kNone; }
};

// All run on the client's executor, in order: on_headers at most once (1xx are dropped), on_data
// any number of times (at most 64 KiB each), on_end exactly once, unless the stream or the client
// is destroyed first: then none runs afterwards.
struct Http2Callbacks {
  std::function<void(int status, Http2Headers headers)> on_headers;
  std::function<void(std::string chunk)> on_data;
  std::function<void(const Http2End& end)> on_end;
};

// One request. Owned by the caller, used and destroyed on the client's executor; may outlive the
// client. Destroying it before on_end cancels the request.
class Http2Stream {
 public:
  virtual ~Http2Stream() = default;
  // More of a body that was left open; `end` closes it.
  virtual void Write(std::string data, bool end) = 0;
};

struct Http2Stats {
  uint64_t connections_opened = 0;  // That reached the first byte of HTTP/2.
  uint64_t connects_failed = 0;
  uint64_t streams_active = 0;   // On connections.
  uint64_t streams_waiting = 0;  // For a connection or a free stream.
  uint64_t bytes_received = 0;   // Of HTTP/2, before TLS.
  uint64_t bytes_sent = 0;
};

// Start, SetTls and the destructor: on the executor's thread. Destroying the client closes its
// connections; no callback runs afterwards.
class Http2Client {
 public:
  virtual ~Http2Client() = default;
  // Never fails by itself: every error comes by on_end, later.
  virtual std::unique_ptr<Http2Stream> Start(Http2Request request, Http2Callbacks callbacks) = 0;
  // Credentials for new connections; what runs ends on the old one, new requests go to a new one.
  // INVALID_ARGUMENT: they cannot be used, and nothing changes.
  virtual absl::Status SetTls(const Http2Tls& tls) = 0;
  // Thread-safe.
  virtual Http2Stats Stats() const = 0;
};

// `executor` is where callbacks run; it must outlive the client. Null: the I/O thread, on which
// then the client is used and destroyed. `io` null: a thread of its own. INVALID_ARGUMENT:
// credentials or proxy URL that cannot be used.
absl::StatusOr<std::unique_ptr<Http2Client>> MakeHttp2Client(
    Http2Options options, Executor* executor, std::shared_ptr<IoThread> io = nullptr);

}  // namespace nave

#endif  // NAVE_COMMON_HTTP2_CLIENT_H_
