// Orders to the proxy, read. Pure.
#ifndef NAVE_TESTS_FAULTPROXY_ORDERS_H_
#define NAVE_TESTS_FAULTPROXY_ORDERS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace nave {

struct ProxyOrder {
  enum class Kind {
    kCut,
    kReset,
    kFreeze,
    kStall,
    kRefuse,
    kDelay,
    kRate,
    kCutAfter,
    kHeal,
    kCount
  };
  Kind kind = Kind::kCount;
  bool up = true;
  bool down = true;
  bool on = false;
  int64_t number = 0;
};

// False with `problem` set when the line is no order.
bool ParseProxyOrder(absl::string_view line, ProxyOrder* order, std::string* problem);

}  // namespace nave

#endif  // NAVE_TESTS_FAULTPROXY_ORDERS_H_
