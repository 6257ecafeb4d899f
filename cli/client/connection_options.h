// How to reach a hub and be known there.
#ifndef NAVE_CLI_CLIENT_CONNECTION_OPTIONS_H_
#define NAVE_CLI_CLIENT_CONNECTION_OPTIONS_H_

#include <string>

#include "absl/time/time.h"

namespace nave::cli {

// A resolved connection: texts, not files.
struct ConnectionOptions {
  std::string hub;  // host:port.
  std::string roots_pem;
  std::string certificate_pem;  // With key_pem; both may be empty.
  std::string key_pem;
  std::string bearer_token;  // Empty: none.
  std::string user_agent;
  absl::Duration connect_timeout = absl::Seconds(10);
  absl::Duration request_timeout = absl::Seconds(30);
};

}  // namespace nave::cli

#endif  // NAVE_CLI_CLIENT_CONNECTION_OPTIONS_H_
