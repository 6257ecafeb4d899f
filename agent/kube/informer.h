// Keeps up with the objects of one kind: list, then watch, and list again when the watch lost its
// place.
#ifndef NAVE_AGENT_KUBE_INFORMER_H_
#define NAVE_AGENT_KUBE_INFORMER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "agent/kube/kube_client.h"
#include "common/base/backoff.h"
#include "common/runtime/executor.h"

namespace nave {

// Delays of client-go's reflector: 0.8 s, doubled to 30 s, from the start again after two minutes
// without trouble. Half of each delay is random. Pure.
class InformerBackoff {
 public:
  // The next delay. `uniform` is in [0, 1).
  absl::Duration Next(absl::Time now, double uniform);

 private:
  int failures_ = 0;
  absl::Time last_ = absl::InfinitePast();
};

// Told what an Informer sees, on the loop thread. May destroy the informer in any call.
class InformerHandler {
 public:
  virtual ~InformerHandler() = default;
  // An object that is new or has another resourceVersion than before.
  virtual void OnUpsert(Value object) = 0;
  // An object that was told of is gone (or no longer selected): its last state, or, when only a
  // complete list showed that it is gone, just apiVersion, kind, and metadata with namespace, name,
  // uid and resourceVersion.
  virtual void OnDelete(Value object) = 0;
  // A complete list has been told of; from the first time on what was told is what there is, but
  // for what the watch still brings.
  virtual void OnSynced() = 0;
  // A list or watch failed; it is tried again. What was told stays: nothing is gone because the
  // server does not answer.
  virtual void OnTrouble(const KubeError& error) = 0;
};

struct InformerOptions {
  ResourceType type;
  std::string ns;              // Empty: all namespaces.
  std::string label_selector;  // Empty: all objects.
  bool metadata_only = false;
  // Items of a page: what is in memory at once during a list.
  size_t page_items_max = 100;
  uint64_t seed = 0;  // Of the delays.
};

// Of the loop thread, deterministic given executor and seed. `client`, `executor` and `handler`
// must outlive it; after the destructor nothing is called. Remembers of each object only key, uid
// and resourceVersion.
class Informer {
 public:
  Informer(KubeClient& client, Executor& executor, InformerOptions options,
           InformerHandler& handler);
  ~Informer();
  Informer(const Informer&) = delete;
  Informer& operator=(const Informer&) = delete;

  // Begins; once. The handler is called later.
  void Start();

  // A complete list has been told of.
  bool is_synced() const { return synced_; }
  // Since when changes may have been missed: the list or watch does not work. Nothing while all is
  // well. A watch that was begun anew counts as working when it brought something or has stood for
  // 5 s.
  std::optional<absl::Time> TroubleSince() const;
  const KubeError& last_error() const { return last_error_; }
  const InformerOptions& options() const { return options_; }
  // Objects known.
  size_t size() const { return known_.size(); }

 private:
  using Key = std::pair<std::string, std::string>;  // Namespace, name.
  struct Known {
    std::string uid;
    std::string resource_version;
    uint64_t round = 0;  // The last list that had it.
  };

  void List(std::string continue_token);
  void OnPage(ListPage page);
  void OnListComplete(const std::string& resource_version);
  void BeginWatch();
  void OnEvent(KubeEvent event);
  void OnWatchEnd(KubeError error);
  void Retry(const KubeError& error);
  void Schedule(absl::Duration delay);
  void Continue();
  // Tells of an object of a list or watch. False: the informer is gone.
  bool Upsert(Value object);
  Value Tombstone(const Key& key, const Known& known) const;

  KubeClient& client_;
  Executor& executor_;
  const InformerOptions options_;
  InformerHandler& handler_;
  SplitMix random_;
  InformerBackoff backoff_;

  std::map<Key, Known> known_;
  uint64_t round_ = 0;  // Counts lists that were begun.
  bool synced_ = false;
  std::string resource_version_;  // Where the next watch begins; empty: list first.
  std::unique_ptr<KubeWatch> watch_;
  absl::Time watch_began_;
  bool watch_had_events_ = false;
  std::optional<absl::Time> trouble_since_;
  KubeError last_error_;
  TimerId timer_ = 0;
  std::shared_ptr<Informer*> self_;  // Callbacks hold it weakly.
};

}  // namespace nave

#endif  // NAVE_AGENT_KUBE_INFORMER_H_
