// Watches on the kinds of owned objects, no more than are needed.
#ifndef NAVE_AGENT_OBSERVE_OBSERVER_H_
#define NAVE_AGENT_OBSERVE_OBSERVER_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "agent/kube/kube_client.h"
#include "agent/observe/catalog.h"
#include "agent/observe/kind_watch.h"
#include "common/runtime/executor.h"

namespace nave {

// Group and kind.
using GroupKind = std::pair<std::string, std::string>;

// Loop thread only; the references outlive it.
class Observer {
 public:
  struct Callbacks {
    std::function<void(const Value& live)> on_object;
    // Gone, or it lost the label that is watched for.
    std::function<void(const ObjectKey& key)> on_gone;
    // Everything of this kind that bears our label was delivered.
    std::function<void(const GroupKind& kind, const std::set<ObjectKey>& all)> on_synced;
    std::function<void()> on_unserved;
  };

  Observer(KubeClient& kube, Executor& executor, const Catalog& catalog, Callbacks callbacks);

  // Watches these kinds (that are served), in these versions if possible, and no others. To be repeated after a discovery. Not
  // to be called from a callback.
  void SetKinds(const std::map<GroupKind, std::string>& kinds);
  // Whether a whole list of the kind has been delivered.
  bool IsSynced(const GroupKind& kind) const;
  void Stop();

 private:
  struct Kind {
    std::unique_ptr<KindWatch> watch;
    bool synced = false;
  };
  std::unique_ptr<KindWatch> MakeWatch(const GroupKind& kind, const ResourceType& type);

  KubeClient& kube_;
  Executor& executor_;
  const Catalog& catalog_;
  Callbacks callbacks_;
  std::map<GroupKind, Kind> kinds_;
};

}  // namespace nave

#endif  // NAVE_AGENT_OBSERVE_OBSERVER_H_
