// Asks the server for its kinds. Internal to HttpKubeClient.
#ifndef NAVE_AGENT_KUBE_HTTP_DISCOVERY_H_
#define NAVE_AGENT_KUBE_HTTP_DISCOVERY_H_

#include <memory>
#include <string>
#include <vector>

#include "agent/kube/discovery_parse.h"
#include "agent/kube/http_caller.h"
#include "agent/kube/kube_client.h"

namespace nave {

// Aggregated discovery of both roots with ETags, so that asking again costs next to nothing; the
// older form, one request a group-version, when either root does not know it. Of the loop thread;
// destroyed with its HttpCaller.
class HttpDiscovery {
 public:
  explicit HttpDiscovery(HttpCaller& caller) : caller_(caller) {}
  void Discover(KubeClient::Callback<KubeClient::Discovery> done);

 private:
  struct Root {
    const char* path;
    std::string etag;
    std::vector<GroupVersionTypes> found;
  };
  struct Round;

  void OnRoot(const std::shared_ptr<Round>& round, size_t index, KubeHttpAnswer answer);
  void AskOlderForm(const std::shared_ptr<Round>& round);
  void AskGroupVersions(const std::shared_ptr<Round>& round);
  void Finish(const std::shared_ptr<Round>& round);

  HttpCaller& caller_;
  Root roots_[2] = {{"/api", "", {}}, {"/apis", "", {}}};
  std::vector<ResourceType> known_;
};

}  // namespace nave

#endif  // NAVE_AGENT_KUBE_HTTP_DISCOVERY_H_
