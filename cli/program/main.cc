// navectl: terminal, clock, environment and network; everything else is in the layers.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "absl/time/clock.h"
#include "cli/client/grpc_hub_client.h"
#include "cli/program/run.h"
#include "common/base/uuid.h"
#include "common/wire/scalars.h"

namespace {

// What the hub has taken up goes on; only this program stops.
void OnInterrupt(int) { _exit(130); }

std::string FromEnvironment(absl::string_view name) {
  const char* value = getenv(std::string(name).c_str());
  return value == nullptr ? "" : value;
}

}  // namespace

int main(int argc, char** argv) {
  struct sigaction action {};
  action.sa_handler = &OnInterrupt;
  sigaction(SIGINT, &action, nullptr);
  nave::SilenceProtobufLog();
  // gRPC's own lines repeat what the error says.
  setenv("GRPC_VERBOSITY", "NONE", 0);
  nave::cli::World world;
  world.environment = &FromEnvironment;
  world.now = &absl::Now;
  world.sleep = &absl::SleepFor;
  world.connect = &nave::cli::MakeGrpcHubClient;
  world.request_id = [] { return nave::Uuid::Random().ToString(); };
  world.in = &std::cin;
  world.out = &std::cout;
  world.err = &std::cerr;
  world.in_is_terminal = isatty(STDIN_FILENO) != 0;
  world.out_is_terminal = isatty(STDOUT_FILENO) != 0;
  world.err_is_terminal = isatty(STDERR_FILENO) != 0;
  return nave::cli::RunNavectl(std::vector<std::string>(argv + 1, argv + argc), world);
}
