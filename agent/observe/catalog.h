// The kinds that the spoke's API server serves, as last discovered, and when to discover again.
#ifndef NAVE_AGENT_OBSERVE_CATALOG_H_
#define NAVE_AGENT_OBSERVE_CATALOG_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/kube/discovery.h"
#include "agent/kube/kube_client.h"
#include "common/runtime/executor.h"

namespace nave {

// Loop thread only. `kube` and `executor` outlive it.
class Catalog {
 public:
  Catalog(KubeClient& kube, Executor& executor);
  ~Catalog();
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  // Called after every discovery that succeeded. May be empty.
  std::function<void()> on_refreshed;

  // Discovers again, now or as soon as a discovery on the way has ended; at most one a second.
  // Repeats until one succeeds.
  void Refresh();
  // No request starts any more.
  void Stop();

  // Whether a discovery has succeeded.
  bool known() const { return cache_.is_loaded(); }
  // This version of a kind; nullptr when it is not served.
  const ResourceType* Find(absl::string_view group, absl::string_view kind,
                           absl::string_view version) const;
  // The preferred version of a kind, whatever version is asked for elsewhere.
  const ResourceType* FindAny(absl::string_view group, absl::string_view kind) const;
  // `version` when it is served, else the preferred one.
  const ResourceType* FindFor(absl::string_view group, absl::string_view kind,
                              absl::string_view version) const;
  // Whether the answer said less than the truth about a group: its kinds are unknown, not absent.
  bool IsUncertain(absl::string_view group) const;
  const std::vector<std::string>& failed_groups() const { return cache_.failed_groups(); }
  // One version of each.
  std::vector<const ResourceType*> Preferred() const;

 private:
  void Start();
  void OnDiscovered(const KubeError& error);

  Executor& executor_;
  DiscoveryCache cache_;
  bool stopped_ = false;
  bool running_ = false;
  bool wanted_ = false;
  int failures_ = 0;
  absl::Time last_start_ = absl::InfinitePast();
  TimerId timer_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace nave

#endif  // NAVE_AGENT_OBSERVE_CATALOG_H_
