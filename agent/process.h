// A running agent with everything that it is made of in a real process: its loop, its API server,
// its hub, its probes.
#ifndef NAVE_AGENT_PROCESS_H_
#define NAVE_AGENT_PROCESS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "agent/agent.h"
#include "agent/config/config.h"
#include "common/httpserver/http_server.h"

namespace nave {

inline constexpr char kAgentVersion[] = "0.1.0";

// For the main thread.
class AgentProcess {
 public:
  // CONFIG_INVALID, PORT_IN_USE and their like when it cannot work with what it was told. That hub
  // or API server do not answer is no error.
  static absl::StatusOr<std::unique_ptr<AgentProcess>> Start(const AgentConfig& config);
  // Stops writing, gives the Lease back (5 s at most), ends all threads.
  ~AgentProcess();
  AgentProcess(const AgentProcess&) = delete;
  AgentProcess& operator=(const AgentProcess&) = delete;

  int health_port() const { return server_->port(); }

 private:
  AgentProcess() = default;
  absl::Status Init(const AgentConfig& config);
  void OnLoop(Task task);

  // Owned by the loop thread, made and destroyed there.
  struct Parts;

  std::unique_ptr<Executor> loop_;
  std::unique_ptr<Parts> parts_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace nave

#endif  // NAVE_AGENT_PROCESS_H_
