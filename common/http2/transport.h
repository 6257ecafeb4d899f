// One byte stream to a server: resolved, connected, tunnelled and encrypted. Internal to this
// layer.
#ifndef NAVE_COMMON_HTTP2_TRANSPORT_H_
#define NAVE_COMMON_HTTP2_TRANSPORT_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/http2/io_thread.h"
#include "common/http2/proxy.h"

namespace nave {

class TlsContext;

// Receives what happens on a Transport, on the I/O thread, never inside a call of Transport.
class TransportHandler {
 public:
  virtual ~TransportHandler() = default;
  // Bytes can be written now.
  virtual void OnOpen() = 0;
  // The view is valid during the call.
  virtual void OnData(absl::string_view data) = 0;
  // After a Write that did not take everything.
  virtual void OnWritable() = 0;
  // The last call: it could not be opened, or it broke. The text names the address.
  virtual void OnClosed(const absl::Status& why) = 0;
};

struct DialOptions {
  std::string host;
  int port = 0;
  std::optional<Proxy> proxy;
  std::shared_ptr<TlsContext> tls;  // Null: plain text.
  absl::Duration timeout;
};

// Used on the I/O thread only. Destroying it closes the socket; no handler runs afterwards.
class Transport {
 public:
  virtual ~Transport() = default;
  // How many bytes were taken; fewer than given: wait for OnWritable. An error is reported by
  // OnClosed, later.
  virtual size_t Write(absl::string_view data) = 0;
};

// Resolves the name anew and tries all its addresses in turn. `io` must be from MakeIoThread;
// `handler` must outlive the transport.
std::unique_ptr<Transport> Dial(IoThread& io, DialOptions options, TransportHandler* handler);

}  // namespace nave

#endif  // NAVE_COMMON_HTTP2_TRANSPORT_H_
