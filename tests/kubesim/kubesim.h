// A simulated Kubernetes API server with small controllers: discovery, reads and writes,
// server-side apply with field ownership, lists with pages, watches, finalizers, garbage
// collection, namespaces, custom resources, workloads that become ready. No HTTP, no threads, no
// clock: the same requests at the same times give the same answers, uids and revisions.
#ifndef NAVE_TESTS_KUBESIM_KUBESIM_H_
#define NAVE_TESTS_KUBESIM_KUBESIM_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/value/value.h"
#include "tests/kubesim/api.h"
#include "tests/kubesim/kinds.h"
#include "tests/kubesim/store.h"

namespace nave::kubesim {

class Selector;
class Controllers;

struct KubeSimOptions {
  // uids, pod names and service addresses follow from it.
  uint64_t seed = 1;
  std::string git_version = "v1.34.0";
  // Changes that watches and pinned lists can look back on.
  size_t history = 20000;
  // From the creation of a pod to Ready (or, for Jobs, to Succeeded).
  absl::Duration pod_delay = absl::Seconds(1);
  // From the creation of a CRD to Established.
  absl::Duration crd_delay = absl::Milliseconds(200);
  absl::Duration bookmark_interval = absl::Seconds(60);
  // ReplicaSets, pods and status of workloads, and EndpointSlices.
  bool workloads = true;
};

// What shall happen to a request instead of, or before, its answer. The faces carry it out, not
// Handle.
struct SimFault {
  enum class Kind {
    kNone,
    kAnswer,      // `answer`, without effect.
    kDropBefore,  // No effect, and no answer.
    kDropAfter,   // The effect happens, the answer is lost.
    kSilent,      // No effect, and the connection just stays quiet.
  };
  Kind kind = Kind::kNone;
  SimResponse answer;
  absl::Duration delay;  // With any kind.
};

struct WatchEvent {
  // ADDED, MODIFIED, DELETED, BOOKMARK, ERROR (object is a Status; the watch is over); empty: the
  // watch ended normally.
  std::string type;
  Value object;
};

// Not thread-safe; a sink must not call back into the simulator.
class KubeSim {
 public:
  using WatchId = uint64_t;
  using WatchSink = std::function<void(WatchEvent)>;

  KubeSim(KubeSimOptions options, absl::Time now);
  ~KubeSim();
  KubeSim(const KubeSim&) = delete;
  KubeSim& operator=(const KubeSim&) = delete;

  SimResponse Handle(const SimRequest& request, absl::Time now);
  // The same with the effects on the audit and the deny hook left out: for the controllers.
  SimResponse HandleInternal(const SimRequest& request, absl::Time now);

  // Starts a watch for a kList request; `sink` gets what is there already before this returns. 0
  // with `error` set when refused.
  WatchId StartWatch(const SimRequest& request, absl::Time now, WatchSink sink, SimResponse* error);
  void StopWatch(WatchId id);

  // Lets the controllers work, ends watches that are due, sends bookmarks. To be called at
  // NextStep() or later.
  void Step(absl::Time now);
  // InfiniteFuture: nothing to do before the next request.
  absl::Time NextStep() const;
  // Called when NextStep may have become earlier. May be empty; must not call back.
  std::function<void()> on_work;

  // Served kinds; in each group the preferred version first.
  std::vector<const KindInfo*> Kinds() const;
  const KindInfo* FindKind(absl::string_view group, absl::string_view version,
                           absl::string_view plural) const;
  // By "deployments.apps".
  const KindInfo* FindResource(absl::string_view resource) const;
  const KubeSimOptions& options() const { return options_; }

  // Scripts of faults and refusals; may be empty. A refusal is the text behind "is forbidden: ".
  std::function<SimFault(const SimRequest&)> fault;
  std::function<std::optional<std::string>(const SimRequest&)> deny;

  // For tests. `resource` is "deployments.apps"; a cluster-scoped object has ns "".
  ObjectPtr Find(absl::string_view resource, absl::string_view ns, absl::string_view name) const;
  const ObjectStore& store() const { return *store_; }
  // Forgets history up to `revision` (0: all): watches and continued lists from before get 410.
  void Compact(int64_t revision = 0);
  const std::vector<AuditRecord>& audit() const { return audit_; }
  // Writes by `user` that were no dry runs, outside `except_namespace`, whatever they were
  // answered.
  size_t CountWrites(absl::string_view user, absl::string_view except_namespace = "") const;
  // "system:serviceaccount:ns:name" for a token that was issued here; empty: unknown.
  std::string UserOfToken(absl::string_view token) const;

 private:
  friend class Controllers;
  struct Watch;

  SimResponse Dispatch(const SimRequest& request, absl::Time now);
  const KindInfo* Resolve(const SimRequest& request, SimResponse* error) const;

  // reads.cc
  SimResponse Get(const KindInfo& kind, const SimRequest& request);
  SimResponse List(const KindInfo& kind, const SimRequest& request);
  void Deliver(const StoreEvent& event);
  void SendInitial(Watch* watch, const ObjectMap& objects);
  void SendChange(Watch* watch, const StoreEvent& event);
  void StepWatches(absl::Time now);
  Value Bookmark(const Watch& watch, bool initial_end) const;

  // writes.cc, store_writes.cc
  struct Write {
    const KindInfo& kind;
    const SimRequest& request;
    absl::Time now;
    ObjectName name;
    ObjectPtr live;  // Null: a creation.
  };
  SimResponse Create(const KindInfo& kind, const SimRequest& request, absl::Time now);
  SimResponse Update(const KindInfo& kind, const SimRequest& request, absl::Time now);
  SimResponse PatchObject(const KindInfo& kind, const SimRequest& request, absl::Time now);
  SimResponse ApplyObject(const KindInfo& kind, const SimRequest& request, absl::Time now);
  SimResponse UpdateTo(const Write& write, Value object, std::vector<std::string> warnings);
  // Defaults, validates and stores. `plain`: the write was no apply, so that ownership is worked
  // out here.
  SimResponse StoreCreated(const Write& write, Value object, bool plain,
                           std::vector<std::string> warnings);
  SimResponse StoreUpdated(const Write& write, Value object, bool plain,
                           std::vector<std::string> warnings);
  // What creating `name` in `ns` meets: a missing or terminating namespace, a terminating CRD.
  // ok(): nothing.
  SimResponse CheckCreation(const KindInfo& kind, const std::string& ns,
                            const std::string& name) const;
  SimResponse IssueToken(const KindInfo& kind, const SimRequest& request);
  SimResponse Scale(const KindInfo& kind, const SimRequest& request, absl::Time now);

  // deletes.cc
  SimResponse Delete(const KindInfo& kind, const SimRequest& request, absl::Time now);
  SimResponse DeleteAll(const KindInfo& kind, const SimRequest& request, absl::Time now);

  // Puts and erases; the object is already complete.
  ObjectPtr Commit(const KindInfo& kind, const ObjectName& name, Value object);
  void Remove(const KindInfo& kind, const ObjectName& name);

  void Bootstrap(absl::Time now);
  void RefreshCustomKinds();
  std::string NewUid();
  Value Presented(const KindInfo& kind, const Value& stored, bool metadata_only) const;

  KubeSimOptions options_;
  std::unique_ptr<ObjectStore> store_;
  std::vector<KindInfo> custom_kinds_;
  std::map<WatchId, std::unique_ptr<Watch>> watches_;
  WatchId next_watch_ = 1;
  uint64_t next_uid_ = 1;
  uint64_t next_address_ = 1;
  std::map<std::string, std::string, std::less<>> tokens_;
  std::vector<AuditRecord> audit_;
  std::unique_ptr<Controllers> controllers_;
};

}  // namespace nave::kubesim

#endif  // NAVE_TESTS_KUBESIM_KUBESIM_H_
