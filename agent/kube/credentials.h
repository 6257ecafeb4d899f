// Where the API server is and how the agent shows who it is.
#ifndef NAVE_AGENT_KUBE_CREDENTIALS_H_
#define NAVE_AGENT_KUBE_CREDENTIALS_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/kube/kubeconfig.h"

namespace nave {

// The server as the HTTP client needs it. All PEM texts.
struct KubeServer {
  std::string host;  // IPv6 without brackets.
  int port = 443;
  bool plaintext = false;
  std::string base_path;  // "" or "/prefix", of a server behind a path.
  std::string ca_pem;     // Empty: the system's roots.
  std::string client_certificate_pem;
  std::string client_key_pem;
  std::string tls_server_name;
  bool insecure_skip_verify = false;
  std::string proxy_url;  // Empty: none.
  std::string no_proxy;
  // Sent with every request, lower-case names: impersonation.
  std::vector<std::pair<std::string, std::string>> headers;
  bool operator==(const KubeServer&) const = default;
};

// Reads the content of a file; replaced in tests.
using FileReader = std::function<absl::StatusOr<std::string>(const std::string& path)>;
FileReader DiskFileReader();

// Credentials from files that may change under a running agent. Used on the loop thread; reads
// small files, and each at most once a minute.
class KubeCredentials {
 public:
  virtual ~KubeCredentials() = default;
  // Server and TLS material as the files say now; a file that cannot be read or is empty leaves
  // what was read last. The address never changes. An error only when nothing was ever read.
  virtual absl::StatusOr<KubeServer> Server(absl::Time now) = 0;
  // Bearer token; empty: none. Never logged.
  virtual absl::StatusOr<std::string> Token(absl::Time now) = 0;
  // The server answered 401: what was read is read again at the next call.
  virtual void OnUnauthorized() = 0;
};

// Of the context `context` (empty: the current one) of a merged kubeconfig. CONFIG_INVALID when
// something that it names is missing, NOT_SUPPORTED_YET for exec plugins, auth providers and
// passwords. `https_proxy` and `no_proxy` are those of the environment; a proxy-url of the cluster
// wins.
absl::StatusOr<std::unique_ptr<KubeCredentials>> MakeKubeconfigCredentials(
    const Kubeconfig& config, absl::string_view context, absl::string_view https_proxy,
    absl::string_view no_proxy, FileReader read);

// Of the pod's ServiceAccount: token and ca.crt in `folder`. CONFIG_INVALID without host and port.
absl::StatusOr<std::unique_ptr<KubeCredentials>> MakeInClusterCredentials(absl::string_view host,
                                                                          absl::string_view port,
                                                                          std::string folder,
                                                                          FileReader read);

inline constexpr char kServiceAccountFolder[] = "/var/run/secrets/kubernetes.io/serviceaccount";

// What the process was started with: the kubeconfig `path` when it is not empty, else the files in
// KUBECONFIG, else the pod's ServiceAccount, else ~/.kube/config.
absl::StatusOr<std::unique_ptr<KubeCredentials>> LoadKubeCredentials(absl::string_view path,
                                                                     absl::string_view context);

// Namespace of the pod's ServiceAccount; empty: not in a pod.
std::string ServiceAccountNamespace(const FileReader& read);

}  // namespace nave

#endif  // NAVE_AGENT_KUBE_CREDENTIALS_H_
