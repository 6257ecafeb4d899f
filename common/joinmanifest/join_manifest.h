// What a person applies to a cluster so that it joins a hub: one self-contained YAML text.
//
// It holds the namespace, the agent's ServiceAccount and rights, the join token and the agent's
// Deployment. Applying it again is harmless: an agent that has an identity keeps it, and a spent
// token is answered as before.
#ifndef NAVE_COMMON_JOINMANIFEST_JOIN_MANIFEST_H_
#define NAVE_COMMON_JOINMANIFEST_JOIN_MANIFEST_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace nave {

// Fixed names in the manifest; the agent and its users rely on them.
inline constexpr char kAgentName[] =
    "nave-agent";  // ServiceAccount, ClusterRole(Binding), Deployment, Lease.
inline constexpr char kJoinTokenSecret[] = "nave-join-token";
inline constexpr char kJoinTokenKey[] =
    "token";  // In that Secret; the file's name in the container too.
inline constexpr char kJoinTokenPath[] = "/etc/nave/join/token";
inline constexpr char kDefaultAgentNamespace[] = "nave-system";
inline constexpr char kDefaultAgentImage[] = "nave/agent:0.1.0";
inline constexpr int kAgentHealthPort = 8081;

struct JoinManifestOptions {
  // The text of FormatJoinToken: names the hub's address and the pin of its CA.
  std::string token;
  // The cluster's name on the hub; only said in a comment. May be empty.
  std::string cluster;
  std::string agent_namespace = kDefaultAgentNamespace;
  std::string image = kDefaultAgentImage;
  // Name of a Secret in the agent's namespace with the registry's credentials; empty: none.
  std::string image_pull_secret;
  // Pods; one of them leads, the others stand by.
  int replicas = 2;
  // Rights on the cluster. "full" is the only one so far.
  std::string profile = "full";
  // The environment variables HTTPS_PROXY and NO_PROXY of the agent; empty: not set.
  std::string https_proxy;
  std::string no_proxy;
};

// The manifest. The same options give the same bytes. Pure. Errors: TOKEN_MALFORMED;
// NOT_SUPPORTED_YET for a profile that is to come; INVALID_FIELD for anything else that cannot be
// used, naming the field.
absl::StatusOr<std::string> FormatJoinManifest(const JoinManifestOptions& options);

// `manifest` as one line for a shell on a machine with kubectl: "echo … | base64 -d | gunzip |
// kubectl apply -f -". The same text gives the same line. It holds the token: as secret as the
// manifest.
std::string FormatPasteLine(absl::string_view manifest);

}  // namespace nave

#endif  // NAVE_COMMON_JOINMANIFEST_JOIN_MANIFEST_H_
