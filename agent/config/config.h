// The agent's configuration: an optional strict YAML file < NAVE_* in the environment < flags.
#ifndef NAVE_AGENT_CONFIG_CONFIG_H_
#define NAVE_AGENT_CONFIG_CONFIG_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/digest.h"
#include "common/base/log.h"

namespace nave {

struct AgentConfig {
  // Empty: KUBECONFIG, else the pod's ServiceAccount, else ~/.kube/config.
  std::string kubeconfig;
  std::string kube_context;
  // Of the agent's Secrets and Lease. Empty: the pod's, else nave-system.
  std::string ns;
  // Empty: the machine's name.
  std::string pod_name;
  // File with the join token; read whenever one is needed.
  std::string token_file;
  // Folder of the identity, for an agent outside a cluster. Empty: the Secret nave-identity.
  std::string state_dir;
  // host:port to dial instead of what token and identity say.
  std::string hub_endpoint;
  // Pin of the hub's CA instead of the token's; none: the token's.
  Digest hub_ca_pin;
  std::string health_address = "0.0.0.0:8081";
  uint32_t apply_concurrency = 8;
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kJson;
};

// One setting. `name` is that of the file (camelCase); `environment` and `flag` (without dashes)
// the other two.
struct AgentSetting {
  std::string name;
  std::string environment;
  std::string flag;
  std::string help;
  std::function<absl::Status(absl::string_view, AgentConfig*)> parse;
};
const std::vector<AgentSetting>& AgentSettings();

struct AgentConfigInput {
  std::string file_path;  // Empty: no file.
  std::string file_content;
  std::map<std::string, std::string> environment;  // NAVE_* names.
  std::map<std::string, std::string> flags;        // By flag.
};

// CONFIG_INVALID names key, variable or flag, and the nearest one that exists. Variables that no
// setting has are left alone (NAVE_HUB_SERVICE_HOST is Kubernetes's doing); `warnings` (may be
// null) names those that look like a slip.
absl::StatusOr<AgentConfig> LoadAgentConfig(const AgentConfigInput& input,
                                            std::vector<std::string>* warnings);

}  // namespace nave

#endif  // NAVE_AGENT_CONFIG_CONFIG_H_
