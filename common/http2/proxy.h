// Which connections go through a proxy, and the words spoken with it. Pure.
#ifndef NAVE_COMMON_HTTP2_PROXY_H_
#define NAVE_COMMON_HTTP2_PROXY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace nave {

struct Proxy {
  std::string host;
  int port = 0;
  std::string authorization;  // Value of Proxy-Authorization; empty: none.
};

// "http://[user:password@]host[:port]" (default port 80; a bare host:port counts as http).
// INVALID_ARGUMENT for any other scheme. The error never shows the password.
absl::StatusOr<Proxy> ParseProxyUrl(absl::string_view url);

// True when `host` is to be dialled without a proxy: it is a loopback host or an entry of
// `no_proxy` (comma-separated: a name covers itself and its subdomains, ".suffix" and "*.suffix"
// only subdomains, an address itself, a CIDR block its addresses, "*" all; ":port" limits an entry
// to that port).
bool BypassesProxy(absl::string_view host, int port, absl::string_view no_proxy);

// The request that opens a tunnel.
std::string FormatConnectRequest(absl::string_view host, int port, const Proxy& proxy);

// OK when `reply` (status line and headers) says that the tunnel is open; UNAVAILABLE with the
// proxy's status line otherwise.
absl::Status CheckConnectReply(absl::string_view reply);

// "host:port", an IPv6 address in brackets.
std::string FormatHostPort(absl::string_view host, int port);

}  // namespace nave

#endif  // NAVE_COMMON_HTTP2_PROXY_H_
