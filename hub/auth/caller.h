// Who calls the public API.
#ifndef NAVE_HUB_AUTH_CALLER_H_
#define NAVE_HUB_AUTH_CALLER_H_

#include <string>
#include <vector>

namespace nave {

struct Caller {
  enum class Via { kCertificate, kToken };
  std::string user;
  std::vector<std::string> groups;
  Via via = Via::kCertificate;
  // Network address, for audit and people.
  std::string address;
  bool operator==(const Caller&) const = default;
};

}  // namespace nave

#endif  // NAVE_HUB_AUTH_CALLER_H_
