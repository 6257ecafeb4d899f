// Which kinds the API server serves, remembered, and asked again when one is missing.
#ifndef NAVE_AGENT_KUBE_DISCOVERY_H_
#define NAVE_AGENT_KUBE_DISCOVERY_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/kube/kube_client.h"
#include "common/runtime/executor.h"

namespace nave {

// What is known of one kind.
struct KindLookup {
  enum class Outcome {
    kServed,
    kNotServed,  // The server was asked and all of it answered: it does not serve the kind.
    kUnknown,    // No answer, or the backend of the kind's group is down: neither served nor not.
  };
  Outcome outcome = Outcome::kUnknown;
  ResourceType type;  // Of kServed.
  KubeError error;    // Of the last discovery, when it failed.
};

// Of the loop thread; `client` and `executor` must outlive it. Callbacks run later, in order, and
// not after it was destroyed.
class DiscoveryCache {
 public:
  DiscoveryCache(KubeClient& client, Executor& executor);
  DiscoveryCache(const DiscoveryCache&) = delete;
  DiscoveryCache& operator=(const DiscoveryCache&) = delete;

  // From memory only. An empty version finds the preferred one. Kinds are case-sensitive.
  KindLookup Find(absl::string_view group, absl::string_view version, absl::string_view kind) const;

  // From memory, or after one discovery that begins after this call. Calls that come while one is
  // under way share the next.
  void Resolve(std::string group, std::string version, std::string kind,
               KubeClient::Callback<KindLookup> done);

  // Asks the server; cheap when nothing changed. To be called now and then, and when a CRD came,
  // changed or went. An error leaves what was known.
  void Refresh(KubeClient::Callback<KubeError> done);

  // All kinds known, of one kind the preferred version first. What a failed group had stays in it.
  const std::vector<ResourceType>& types() const { return types_; }
  // A discovery has succeeded at least once.
  bool is_loaded() const { return loaded_; }
  const std::vector<std::string>& failed_groups() const { return failed_groups_; }
  // Called after each discovery that changed types() or failed_groups(), before those who wait for
  // it.
  void SetOnChange(std::function<void()> on_change) { on_change_ = std::move(on_change); }

 private:
  using KindKey = std::tuple<std::string, std::string, std::string>;  // Group, kind, version.

  void Start();
  void OnDiscovered(KubeClient::Discovery found);
  bool IsFailed(absl::string_view group) const;

  KubeClient& client_;
  Executor& executor_;
  std::vector<ResourceType> types_;
  std::vector<std::string> failed_groups_;
  std::map<KindKey, size_t> index_;  // Into types_; version "" is the preferred one.
  bool loaded_ = false;
  KubeError last_error_;
  std::function<void()> on_change_;

  bool running_ = false;
  std::vector<KubeClient::Callback<KubeError>> present_;  // Wait for the discovery under way.
  std::vector<KubeClient::Callback<KubeError>> next_;     // For the one after it.
  std::shared_ptr<DiscoveryCache*> self_;                 // Callbacks hold it weakly.
};

}  // namespace nave

#endif  // NAVE_AGENT_KUBE_DISCOVERY_H_
