// A TCP proxy on loopback that does to connections what networks do, by order.
#ifndef NAVE_TESTS_FAULTPROXY_FAULT_PROXY_H_
#define NAVE_TESTS_FAULTPROXY_FAULT_PROXY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace nave {

// Orders, one a line. DIRECTION is up (to the server), down (to the client) or both (the default).
//   cut                      closes every connection
//   reset                    resets every connection (RST)
//   freeze                   half-open: connections that are open carry nothing any more and do not
//                            show when a side closes; new ones work
//   stall on|off [DIRECTION] nothing is carried until it is off; then all that waited
//   refuse on|off            new connections are reset as soon as they are accepted
//   delay MS [DIRECTION]     what comes from now on arrives that much later
//   rate BYTES               bytes a second, for each direction of each connection; 0: no limit
//   cut-after BYTES [DIRECTION]  each connection is closed once it carried so much from now on
//                            (0: off)
//   heal                     ends stall, refuse, delay, rate and cut-after
//   count                    answers "accepted=N open=N up=BYTES down=BYTES"
// Everything else answers "ok", or "error: ...".
class FaultProxy {
 public:
  struct Options {
    std::string upstream_host = "127.0.0.1";
    int upstream_port = 0;
    int port = 0;          // 0: a free one.
    bool control = false;  // Takes orders on a port of its own too.
  };

  // Runs on a thread of its own until destroyed. UNAVAILABLE when the port is taken.
  static absl::StatusOr<std::unique_ptr<FaultProxy>> Start(Options options);
  virtual ~FaultProxy() = default;

  virtual int port() const = 0;
  // 0 without control.
  virtual int control_port() const = 0;
  // From any thread; returns once the order is carried out.
  virtual std::string Order(absl::string_view line) = 0;
};

}  // namespace nave

#endif  // NAVE_TESTS_FAULTPROXY_FAULT_PROXY_H_
