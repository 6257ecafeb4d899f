// faultproxy: the proxy as a program. Prints "port=N control=N" once it serves, takes orders on the
// control port, and runs until SIGTERM or SIGINT.
#include <signal.h>

#include <cstdio>
#include <string>

#include "CLI/CLI.hpp"
#include "tests/faultproxy/fault_proxy.h"

int main(int argc, char** argv) {
  nave::FaultProxy::Options options;
  options.control = true;
  CLI::App app("TCP proxy on loopback with faults by order");
  app.add_option("--host", options.upstream_host, "Address of the server");
  app.add_option("--to", options.upstream_port, "Port of the server")->required();
  app.add_option("--port", options.port, "Port to listen on; 0: a free one");
  CLI11_PARSE(app, argc, argv);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigset_t blocked = signals;
  sigaddset(&blocked, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  absl::StatusOr<std::unique_ptr<nave::FaultProxy>> proxy = nave::FaultProxy::Start(options);
  if (!proxy.ok()) {
    std::fprintf(stderr, "faultproxy: %s\n", std::string(proxy.status().message()).c_str());
    return 1;
  }
  std::printf("port=%d control=%d\n", (*proxy)->port(), (*proxy)->control_port());
  std::fflush(stdout);
  int number = 0;
  sigwait(&signals, &number);
  return 0;
}
