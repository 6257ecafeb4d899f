// kubesim: the API-server simulator as a program. Writes a kubeconfig once it serves, and runs
// until SIGTERM or SIGINT.
#include <signal.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "CLI/CLI.hpp"
#include "tests/kubesim/http/http_face.h"

int main(int argc, char** argv) {
  nave::kubesim::HttpFaceOptions options;
  std::string kubeconfig, token = "admin-token";
  double pod_delay_s = 1;
  CLI::App app("Simulated Kubernetes API server on loopback");
  app.add_option("--kubeconfig", kubeconfig, "Where to write the kubeconfig of the admin")
      ->required();
  app.add_option("--token", token, "The admin's bearer token");
  app.add_option("--port", options.port, "Port on 127.0.0.1; 0: a free one");
  app.add_option("--seed", options.sim.seed, "uids and generated names follow from it");
  app.add_option("--kubernetes-version", options.sim.git_version, "gitVersion to report");
  app.add_option("--pod-delay", pod_delay_s, "Seconds from the creation of a pod to Ready");
  CLI11_PARSE(app, argc, argv);
  options.sim.pod_delay = absl::Seconds(pod_delay_s);
  options.tokens = {{token, "admin"}};

  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  std::unique_ptr<nave::kubesim::HttpFace> face = nave::kubesim::StartHttpFace(options);
  // Renamed, so that a reader never sees half of it.
  std::string partial = kubeconfig + ".partial";
  std::ofstream(partial) << face->Kubeconfig(token);
  if (std::rename(partial.c_str(), kubeconfig.c_str()) != 0) {
    std::perror(kubeconfig.c_str());
    return 1;
  }
  std::printf("kubesim: https://127.0.0.1:%d\n", face->port());
  std::fflush(stdout);
  int number = 0;
  sigwait(&signals, &number);
  return 0;
}
