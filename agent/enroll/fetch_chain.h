// Looks at a server's certificates over a bare TLS connection that trusts nothing and sends
// nothing.
#ifndef NAVE_AGENT_ENROLL_FETCH_CHAIN_H_
#define NAVE_AGENT_ENROLL_FETCH_CHAIN_H_

#include <atomic>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace nave {

struct HostPort {
  // Without brackets.
  std::string host;
  std::string port;
  bool operator==(const HostPort&) const = default;
};

// "host:port" or "[v6]:port". INVALID_FIELD.
absl::StatusOr<HostPort> SplitHostPort(absl::string_view address);

// The chain that the server presents, PEM, its own certificate first. Blocks for at most `timeout`
// (and the resolver's own time), or until `*stop`. HUB_UNREACHABLE.
absl::StatusOr<std::vector<std::string>> FetchChain(const HostPort& address, absl::Duration timeout,
                                                    const std::atomic<bool>& stop);

}  // namespace nave

#endif  // NAVE_AGENT_ENROLL_FETCH_CHAIN_H_
