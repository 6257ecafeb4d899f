// Which hub, as whom and in which project: from flags, environment and context, in this order.
// Pure.
#ifndef NAVE_CLI_CONTEXT_SETTINGS_H_
#define NAVE_CLI_CONTEXT_SETTINGS_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/context/config.h"

namespace nave::cli {

// Value of an environment variable; empty when it is not set.
using Environment = std::function<std::string(absl::string_view)>;

// Flags that every command has; empty when not given.
struct ConnectionFlags {
  std::string config;
  std::string context;
  std::string hub;
  std::string project;
  std::string ca_file;
  std::string cert_file;
  std::string key_file;
  std::string token_file;
};

// A value and where it came from: "flag --hub", "environment NAVECTL_HUB", "context nave",
// "default".
struct Setting {
  std::string value;
  std::string origin;
};

struct Settings {
  Setting context;
  Setting hub;
  Setting project;
  Setting token_file;
  // Files of the context are already relative to the configuration's folder.
  PemSource authority;
  PemSource certificate;
  PemSource key;
  std::string authority_origin;
  std::string certificate_origin;
  std::string key_origin;

  // Rows for `config view --origins`: name, value (never a secret), origin.
  std::vector<std::vector<std::string>> Rows() const;
};

// Path of the configuration file: flag, NAVECTL_CONFIG, $XDG_CONFIG_HOME or ~/.config.
Setting ConfigPath(const ConnectionFlags& flags, const Environment& environment);

// NO_CONTEXT when the context that is asked for does not exist (the nearest is named).
absl::StatusOr<Settings> ResolveSettings(const ConnectionFlags& flags,
                                         const Environment& environment, const Config& config,
                                         absl::string_view config_path);

// What a connection needs: NO_CONTEXT when there is no hub, or no CA to know it by.
absl::Status CheckConnectable(const Settings& settings, absl::string_view config_path);

}  // namespace nave::cli

#endif  // NAVE_CLI_CONTEXT_SETTINGS_H_
