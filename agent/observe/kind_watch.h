// List and watch of one kind, for ever: what there is, then every change of it.
#ifndef NAVE_AGENT_OBSERVE_KIND_WATCH_H_
#define NAVE_AGENT_OBSERVE_KIND_WATCH_H_

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/kube/kube_client.h"
#include "common/manifest/object_key.h"
#include "common/runtime/executor.h"

namespace nave {

// Keeps no objects. Loop thread only; `kube` and `executor` outlive it; no callback runs after its destruction. A callback must
// not destroy it.
class KindWatch {
 public:
  struct Callbacks {
    // Listed, added or changed.
    std::function<void(const Value& live)> on_object;
    // Deleted, or its label went: it may still be there.
    std::function<void(const Value& last)> on_gone;
    // A whole list was delivered; these are all that exist.
    std::function<void(const std::set<ObjectKey>& all)> on_synced;
    // The server does not serve the kind (any more). Tried again all the same.
    std::function<void()> on_unserved;
  };

  KindWatch(KubeClient& kube, Executor& executor, ResourceType type, std::string ns,
            std::string label_selector, Callbacks callbacks);
  ~KindWatch();
  KindWatch(const KindWatch&) = delete;
  KindWatch& operator=(const KindWatch&) = delete;

  const ResourceType& type() const { return type_; }
  // Since when no list and no watch has worked; InfiniteFuture while it does.
  absl::Time broken_since() const { return broken_since_; }

 private:
  void List();
  void OnPage(ListPage page);
  void Watch();
  void OnEvent(KubeEvent event);
  void OnWatchEnd(KubeError error);
  void Retry(const KubeError& error, bool list);
  void Later(absl::Duration delay, bool list);

  KubeClient& kube_;
  Executor& executor_;
  const ResourceType type_;
  const std::string ns_;
  const std::string label_selector_;
  Callbacks callbacks_;
  std::set<ObjectKey> listed_;
  std::string continue_token_;
  std::string resource_version_;
  std::unique_ptr<KubeWatch> watch_;
  absl::Time watch_start_ = absl::InfinitePast();
  absl::Time broken_since_ = absl::InfiniteFuture();
  int failures_ = 0;
  bool got_event_ = false;
  TimerId timer_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace nave

#endif  // NAVE_AGENT_OBSERVE_KIND_WATCH_H_
