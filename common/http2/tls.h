// TLS contexts from PEM texts. Internal to this layer: names OpenSSL types.
#ifndef NAVE_COMMON_HTTP2_TLS_H_
#define NAVE_COMMON_HTTP2_TLS_H_

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/http2/client.h"

namespace nave {

struct SslDeleter {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using UniqueSsl = std::unique_ptr<SSL, SslDeleter>;

// What the connections of one set of credentials share. Immutable once made; used from any thread.
class TlsContext {
 public:
  // INVALID_ARGUMENT: a PEM text that cannot be read, or a key that does not belong to the
  // certificate.
  static absl::StatusOr<std::shared_ptr<TlsContext>> Make(const Http2Tls& tls);
  // A client-side connection that asks for HTTP/2 and verifies the server as `host` (or as
  // tls.server_name).
  absl::StatusOr<UniqueSsl> NewConnection(absl::string_view host) const;

 private:
  struct CtxDeleter {
    void operator()(SSL_CTX* ctx) const { SSL_CTX_free(ctx); }
  };
  std::unique_ptr<SSL_CTX, CtxDeleter> ctx_;
  std::string server_name_;
  bool insecure_ = false;
};

// OK when the handshake of `ssl` agreed on HTTP/2.
absl::Status CheckAlpn(SSL* ssl);

// Why the last call on `ssl` failed: the verification error, the peer's alert, or the library's
// text. Clears the thread's error queue.
std::string TlsErrorText(SSL* ssl);

}  // namespace nave

#endif  // NAVE_COMMON_HTTP2_TLS_H_
