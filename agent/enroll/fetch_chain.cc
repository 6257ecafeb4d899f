#include "agent/enroll/fetch_chain.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/pki/openssl.h"

namespace nave {
namespace {

using ContextPtr = std::unique_ptr<SSL_CTX, OpenSslFree<SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, OpenSslFree<SSL_free>>;

// How soon `stop` is noticed.
constexpr int kPollSliceMs = 50;

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// Waits for `events`; false when the time is over or the caller wants to stop.
bool WaitFor(int descriptor, short events, absl::Time deadline, const std::atomic<bool>& stop) {
  while (!stop && absl::Now() < deadline) {
    struct pollfd wanted = {descriptor, events, 0};
    int ready = poll(&wanted, 1, kPollSliceMs);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
  errno = ETIMEDOUT;
  return false;
}

// 0 when connected, else the error number.
int Connect(int descriptor, const addrinfo& to, absl::Time deadline,
            const std::atomic<bool>& stop) {
  if (connect(descriptor, to.ai_addr, to.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!WaitFor(descriptor, POLLOUT, deadline, stop)) return errno;
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

// Empty when the handshake is complete, else why not.
std::string Handshake(SSL* ssl, int descriptor, absl::Time deadline,
                      const std::atomic<bool>& stop) {
  while (true) {
    ERR_clear_error();
    int result = SSL_connect(ssl);
    if (result == 1) return "";
    int error = SSL_get_error(ssl, result);
    bool wants = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
    if (!wants) {
      unsigned long code = ERR_peek_error();
      ERR_clear_error();
      return code == 0 ? "the peer closed the connection"
                       : absl::StrCat("TLS: ", ERR_reason_error_string(code));
    }
    short events = error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
    if (!WaitFor(descriptor, events, deadline, stop)) return "no answer to the TLS handshake";
  }
}

absl::Status Unreachable(const HostPort& address, absl::string_view why) {
  return MakeError(Reason::kHubUnreachable,
                   absl::StrCat("hub at ", address.host, " port ", address.port, ": ", why));
}

absl::StatusOr<std::vector<std::string>> ChainOver(int descriptor, const HostPort& address,
                                                   absl::Time deadline,
                                                   const std::atomic<bool>& stop) {
  ContextPtr context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  // The caller checks what it gets; nothing is sent before it has.
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  SslPtr ssl(SSL_new(context.get()));
  const unsigned char kHttp2[] = {2, 'h', '2'};
  SSL_set_alpn_protos(ssl.get(), kHttp2, sizeof(kHttp2));
  unsigned char raw[16];
  bool is_address = inet_pton(AF_INET, address.host.c_str(), raw) == 1 ||
                    inet_pton(AF_INET6, address.host.c_str(), raw) == 1;
  if (!is_address) SSL_set_tlsext_host_name(ssl.get(), address.host.c_str());
  SSL_set_fd(ssl.get(), descriptor);
  std::string problem = Handshake(ssl.get(), descriptor, deadline, stop);
  if (!problem.empty()) return Unreachable(address, problem);
  std::vector<std::string> chain;
  STACK_OF(X509)* certificates = SSL_get_peer_cert_chain(ssl.get());
  for (int i = 0; i < sk_X509_num(certificates); ++i) {
    chain.push_back(FormatPem(sk_X509_value(certificates, i)));
  }
  if (chain.empty()) return Unreachable(address, "the server presented no certificate");
  return chain;
}

}  // namespace

absl::StatusOr<HostPort> SplitHostPort(absl::string_view address) {
  size_t colon = address.rfind(':');
  HostPort split;
  uint32_t port = 0;
  if (colon != absl::string_view::npos && absl::SimpleAtoi(address.substr(colon + 1), &port) &&
      port > 0 && port < 65536) {
    split.host = std::string(address.substr(0, colon));
    split.port = absl::StrCat(port);
    if (split.host.size() > 2 && split.host.front() == '[' && split.host.back() == ']') {
      split.host = split.host.substr(1, split.host.size() - 2);
    } else if (split.host.find_first_of(":[]") != std::string::npos) {
      split.host.clear();
    }
  }
  if (!split.host.empty()) return split;
  return MakeError(Reason::kInvalidField,
                   absl::StrCat("hub address \"", address, "\": must be host:port or [IPv6]:port"));
}

absl::StatusOr<std::vector<std::string>> FetchChain(const HostPort& address, absl::Duration timeout,
                                                    const std::atomic<bool>& stop) {
  absl::Time deadline = absl::Now() + timeout;
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  int error = getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
  if (error != 0) return Unreachable(address, gai_strerror(error));
  std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  absl::Status last = Unreachable(address, "no address");
  for (const addrinfo* to = addresses.get(); to != nullptr; to = to->ai_next) {
    Socket socket(
        ::socket(to->ai_family, to->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, to->ai_protocol));
    if (socket.get() < 0) continue;
    int problem = Connect(socket.get(), *to, deadline, stop);
    if (problem != 0) {
      last = Unreachable(address, std::strerror(problem));
      continue;
    }
    return ChainOver(socket.get(), address, deadline, stop);
  }
  return last;
}

}  // namespace nave
