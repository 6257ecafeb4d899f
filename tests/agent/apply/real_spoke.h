// A reconciler on a real API server, driven from a test's thread. Servers are named by
// NAVE_KUBECONFIGS (tests/kube/stand.py run -- ...); without it such tests are skipped.
#ifndef NAVE_TESTS_AGENT_APPLY_REAL_SPOKE_H_
#define NAVE_TESTS_AGENT_APPLY_REAL_SPOKE_H_

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agent/apply/make_reconciler.h"
#include "tests/agent/apply/memory_store.h"

namespace nave {

// The kubeconfigs in NAVE_KUBECONFIGS.
std::vector<std::string> RealServers();

class RealSpoke {
 public:
  explicit RealSpoke(const std::string& kubeconfig);
  ~RealSpoke();

  void StartAgent();
  void StopAgent();
  void Bundle(const Uuid& key, const std::string& yaml, const std::string& ns);
  void Remove(const Uuid& key);

  // Waits for a status of the present version of `key`; false after a minute or two.
  bool WaitFor(const Uuid& key, const std::function<bool(const AssignmentStatus&)>& condition);
  bool WaitUntil(const std::function<bool()>& condition);
  AssignmentStatus StatusOf(const Uuid& key);

  // The person with kubectl. `type` names kind and version as discovery knows them.
  KubeResult Get(const std::string& kind, const std::string& ns, const std::string& name);
  KubeResult Create(const std::string& ns, const std::string& json);
  KubeResult Edit(const std::string& kind, const std::string& ns, const std::string& name,
                  const std::string& merge_patch);
  KubeResult Delete(const std::string& kind, const std::string& ns, const std::string& name);

  // uid and resourceVersion (of kinds without status only the latter counts) of what the
  // inventories hold.
  std::map<std::string, std::string> Owned();
  size_t OwnedCount(const Uuid& key);

 private:
  template <typename T>
  T Await(const std::function<void(KubeClient::Callback<T>)>& start);
  void OnLoop(Task task);
  ResourceType TypeOf(const std::string& kind);

  std::unique_ptr<Executor> executor_;
  MemoryStore store_;
  std::unique_ptr<KubeClient> client_;
  std::unique_ptr<KubeClient> person_;
  std::unique_ptr<Reconciler> reconciler_;
  std::vector<ResourceType> types_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Uuid, AssignmentStatus> statuses_;  // Guarded by mutex_.
};

}  // namespace nave

#endif  // NAVE_TESTS_AGENT_APPLY_REAL_SPOKE_H_
