// HTTP/2 frames: bytes in, bytes out, streams by number. No sockets and no clock. Internal to this
// layer.
#ifndef NAVE_COMMON_HTTP2_SESSION_H_
#define NAVE_COMMON_HTTP2_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/http2/client.h"

namespace nave {

// What the peer sent; called inside Feed only. A handler may change its own state and call nothing
// of the session but Consume.
class Http2SessionHandler {
 public:
  virtual ~Http2SessionHandler() = default;
  // Final response headers.
  virtual void OnHeaders(int32_t id, int status, Http2Headers headers) = 0;
  virtual void OnData(int32_t id, absl::string_view data) = 0;
  virtual void OnTrailers(int32_t id, Http2Headers trailers) = 0;
  // The stream is gone. `complete`: the response came whole; otherwise `error_code` is that of
  // RST_STREAM.
  virtual void OnStreamClosed(int32_t id, bool complete, uint32_t error_code) = 0;
  // Streams above `last_id` were not processed.
  virtual void OnGoAway(int32_t last_id, uint32_t error_code, absl::string_view debug) = 0;
};

// The bytes of a request body.
class Http2BodySource {
 public:
  virtual ~Http2BodySource() = default;
  // Copies up to `size` bytes. `end`: these are the last. 0 without end: nothing now, Resume when
  // there is.
  virtual size_t Read(char* buffer, size_t size, bool* end) = 0;
};

// Client side of one connection. Not thread-safe.
class Http2Session {
 public:
  virtual ~Http2Session() = default;
  // INVALID_ARGUMENT for a header that cannot be sent, UNAVAILABLE when no more streams can be
  // opened. `body` may be null (no body) and must live until the stream is closed or Reset.
  virtual absl::StatusOr<int32_t> Submit(absl::string_view scheme, absl::string_view authority,
                                         const Http2Request& request, Http2BodySource* body) = 0;
  virtual void Resume(int32_t id) = 0;
  // Forgets the stream: it is reset, and no handler is called for it any more.
  virtual void Reset(int32_t id) = 0;
  // The receiver took `bytes` of a stream's data: the peer may send as many again. The stream may
  // be gone.
  virtual void Consume(int32_t id, size_t bytes) = 0;
  virtual void Ping() = 0;
  // Says goodbye; what was submitted goes on.
  virtual void GoAway() = 0;

  // Takes bytes of the peer. An error is of the whole connection.
  virtual absl::Status Feed(absl::string_view data) = 0;
  // Appends frames to `out` until it holds `limit` bytes or there are none. Must not run inside a
  // handler.
  virtual absl::Status TakeOutput(std::string& out, size_t limit) = 0;
  // False when the session has nothing more to read or write: close the connection.
  virtual bool IsAlive() const = 0;
  // Streams that the peer allows at once.
  virtual size_t PeerStreamsMax() const = 0;
};

std::unique_ptr<Http2Session> MakeHttp2Session(Http2SessionHandler* handler,
                                               uint32_t stream_window_bytes,
                                               uint32_t connection_window_bytes);

// Name of an HTTP/2 error code.
std::string Http2ErrorName(uint32_t error_code);

}  // namespace nave

#endif  // NAVE_COMMON_HTTP2_SESSION_H_
