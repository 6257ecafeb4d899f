// navectl in this process, with a fake hub behind it.
#ifndef NAVE_TESTS_CLI_TESTING_RUN_CLI_H_
#define NAVE_TESTS_CLI_TESTING_RUN_CLI_H_

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/client/connection_options.h"
#include "tests/cli/testing/fake_hub.h"

namespace nave::cli {

struct CliResult {
  int code = -1;
  std::string out;
  std::string err;
};

// Each run is a process of its own as far as navectl can tell.
class CliRunner {
 public:
  // Its configuration is a file in a folder of its own, which goes with it.
  CliRunner();
  ~CliRunner();
  CliRunner(const CliRunner&) = delete;

  CliResult Run(const std::vector<std::string>& arguments, const std::string& input = "");
  // Writes a file below the folder; returns its path.
  std::string WriteFile(const std::string& name, const std::string& content);

  FakeHub hub;
  std::string folder;
  std::map<std::string, std::string> environment;
  bool terminal = false;
  absl::Time now = absl::FromUnixSeconds(1800000000);
  // Of the last connection.
  ConnectionOptions connection;
};

}  // namespace nave::cli

#endif  // NAVE_TESTS_CLI_TESTING_RUN_CLI_H_
