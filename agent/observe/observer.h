// Watches on the kinds of owned objects, no more than are needed.
#ifndef NAVE_AGENT_OBSERVE_OBSERVER_H_
#define NAVE_AGENT_OBSERVE_OBSERVER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "agent/kube/informer.h"
#include "agent/kube/kube_client.h"
#include "agent/observe/catalog.h"
#include "common/manifest/object_key.h"
#include "common/runtime/executor.h"

namespace nave {

// Group and kind.
using GroupKind = std::pair<std::string, std::string>;

// Loop thread only; the references outlive it.
class Observer {
 public:
  struct Callbacks {
    // Listed, added or changed.
    std::function<void(const Value& live)> on_object;
    // Gone, or it lost the label that is watched for.
    std::function<void(const ObjectKey& key)> on_gone;
    // Once for each watch: everything of this kind that bears our label was delivered.
    std::function<void(const GroupKind& kind, const std::set<ObjectKey>& all)> on_synced;
    // A list or watch failed; it is tried again.
    std::function<void(const GroupKind& kind, const KubeError& error)> on_trouble;
  };

  Observer(KubeClient& kube, Executor& executor, const Catalog& catalog, uint64_t seed,
           Callbacks callbacks);
  ~Observer();
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  // Watches these kinds (that are served), in these versions if possible, and no others. To be
  // repeated after a discovery. Not to be called from a callback.
  void SetKinds(const std::map<GroupKind, std::string>& kinds);
  // Whether a whole list of the kind has been delivered.
  bool IsSynced(const GroupKind& kind) const;
  // Since when what is known of the kind may be out of date; nothing while its watch works.
  std::optional<absl::Time> TroubleSince(const GroupKind& kind) const;

 private:
  class KindWatch;

  KubeClient& kube_;
  Executor& executor_;
  const Catalog& catalog_;
  uint64_t seed_;
  Callbacks callbacks_;
  std::map<GroupKind, std::unique_ptr<KindWatch>> kinds_;
};

}  // namespace nave

#endif  // NAVE_AGENT_OBSERVE_OBSERVER_H_
