// The hub's configuration: a strict YAML file < NAVE_* in the environment < flags.
#ifndef NAVE_HUB_CONFIG_CONFIG_H_
#define NAVE_HUB_CONFIG_CONFIG_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/log.h"

namespace nave {

struct HubConfig {
  std::string data_dir = "/var/lib/nave";
  // Names and addresses that agents and users call this hub by; the first goes into join tokens.
  std::vector<std::string> advertise = {"localhost"};
  // host:port; port 0 takes a free one.
  std::string listen_api = "0.0.0.0:8443";
  std::string listen_agents = "0.0.0.0:8444";
  std::string listen_health = "0.0.0.0:8081";
  // host:port that join tokens name; empty: the first of `advertise` with the agents' port.
  std::string agent_endpoint;
  // Empty: encryption.key in the data directory.
  std::string encryption_key;
  // Bearer tokens: lines of user, groups and hash. Empty: none.
  std::string token_file;
  // Image that join manifests name.
  std::string agent_image = "nave/agent:0.1.0";
  // Where the ports that were really taken are written as JSON, for scripts. Empty: nowhere.
  std::string ports_file;
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kJson;
  // From SIGTERM to closing: time for load balancers to look away.
  absl::Duration drain_delay = absl::ZeroDuration();
  absl::Duration drain_timeout = absl::Seconds(20);
  // Revisions of a bundle that are kept.
  uint32_t bundle_history = 10;
  uint32_t worker_threads = 2;
};

// One setting: its name in the file (camelCase), and how its text is taken. The environment's name
// is NAVE_ and the words in upper case; the flag's is the words joined by dashes.
struct Setting {
  std::string name;
  std::string help;
  std::function<absl::Status(absl::string_view, HubConfig*)> parse;
  std::function<std::string(const HubConfig&)> format;
};
const std::vector<Setting>& HubSettings();
std::string EnvironmentName(absl::string_view setting);  // dataDir -> NAVE_DATA_DIR
std::string FlagName(absl::string_view setting);         // dataDir -> data-dir

// Where an effective value came from: "default", "file PATH", "environment", "flag".
struct EffectiveConfig {
  HubConfig config;
  std::map<std::string, std::string> origins;  // By setting name.
};

// `file_path` empty: no file. `environment` holds NAVE_* names; one that is near no setting is
// somebody else's. `flags` by flag name. CONFIG_INVALID names line and nearest key, variable or
// flag.
absl::StatusOr<EffectiveConfig> LoadHubConfig(absl::string_view file_path,
                                              absl::string_view file_content,
                                              const std::map<std::string, std::string>& environment,
                                              const std::map<std::string, std::string>& flags);

// The effective values as a configuration file; with `origins` each line says where it came from.
std::string FormatHubConfig(const EffectiveConfig& effective, bool origins);

}  // namespace nave

#endif  // NAVE_HUB_CONFIG_CONFIG_H_
