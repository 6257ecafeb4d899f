// The context file that a new hub leaves for its first administrator, in the form of navectl's own
// configuration:
//
//   apiVersion: nave.dev/v1
//   kind: Config
//   current-context: nave
//   contexts:
//   - name: nave
//     context:
//       hub: 127.0.0.1:8443
//       certificate-authority-data: <base64 of PEM>
//       client-certificate-data: <base64 of PEM>
//       client-key-data: <base64 of PEM>
#ifndef NAVE_HUB_CA_ADMIN_CONTEXT_H_
#define NAVE_HUB_CA_ADMIN_CONTEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace nave {

inline constexpr char kAdminUser[] = "admin";

struct AdminContext {
  std::string name = "nave";
  // host:port of the public API.
  std::string hub;
  std::string roots_pem;
  std::string certificate_pem;
  // Never logged.
  std::string key_pem;
};

std::string FormatAdminContext(const AdminContext& context);

}  // namespace nave

#endif  // NAVE_HUB_CA_ADMIN_CONTEXT_H_
