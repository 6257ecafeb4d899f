// The kubeconfig format. Pure: files come in as texts.
#ifndef NAVE_AGENT_KUBE_KUBECONFIG_H_
#define NAVE_AGENT_KUBE_KUBECONFIG_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace nave {

// Paths are absolute (or relative to the process, when the kubeconfig's own path was); `data`
// fields are decoded.
struct KubeconfigCluster {
  std::string server;
  std::string ca_path;
  std::string ca_data;  // Wins over ca_path, as data always does.
  std::string tls_server_name;
  bool insecure_skip_tls_verify = false;
  std::string proxy_url;
};

struct KubeconfigUser {
  std::string client_certificate_path;
  std::string client_certificate_data;
  std::string client_key_path;
  std::string client_key_data;
  std::string token;  // Wins over token_path.
  std::string token_path;
  std::string impersonate;
  std::string impersonate_uid;
  std::vector<std::string> impersonate_groups;
  // Set when the entry wants what is not built: "exec plugin", "auth provider", "password".
  std::string unsupported;
};

struct KubeconfigContext {
  std::string cluster;
  std::string user;
  std::string ns;
};

struct Kubeconfig {
  std::string current_context;
  std::map<std::string, KubeconfigCluster> clusters;
  std::map<std::string, KubeconfigUser> users;
  std::map<std::string, KubeconfigContext> contexts;
};

// Adds what `text` says to `config`; what is there already wins, entry by entry. Relative paths are
// taken from the folder of `path`, the file's own. CONFIG_INVALID names the file; no secret is ever
// part of the text.
absl::Status MergeKubeconfig(absl::string_view text, absl::string_view path, Kubeconfig& config);

}  // namespace nave

#endif  // NAVE_AGENT_KUBE_KUBECONFIG_H_
