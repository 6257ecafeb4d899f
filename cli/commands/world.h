// Everything outside that navectl touches but files. main() fills it with the real things, tests
// with others.
#ifndef NAVE_CLI_COMMANDS_WORLD_H_
#define NAVE_CLI_COMMANDS_WORLD_H_

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "cli/client/connection_options.h"
#include "cli/context/settings.h"

namespace nave::cli {

class HubClient;

struct World {
  Environment environment;
  std::function<absl::Time()> now;
  std::function<void(absl::Duration)> sleep;
  std::function<std::unique_ptr<HubClient>(const ConnectionOptions&)> connect;
  // New for each request that writes.
  std::function<std::string()> request_id;
  std::istream* in = nullptr;
  std::ostream* out = nullptr;
  std::ostream* err = nullptr;
  bool in_is_terminal = false;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
};

}  // namespace nave::cli

#endif  // NAVE_CLI_COMMANDS_WORLD_H_
