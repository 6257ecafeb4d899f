// The apply engine: the implementation of Reconciler over KubeClient, DesiredStore and an executor.
#ifndef NAVE_AGENT_APPLY_MAKE_RECONCILER_H_
#define NAVE_AGENT_APPLY_MAKE_RECONCILER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "agent/apply/reconciler.h"
#include "agent/desired/desired.h"
#include "agent/kube/kube_client.h"
#include "common/runtime/executor.h"

namespace nave {

struct ReconcilerOptions {
  // All outlive the engine.
  KubeClient* kube = nullptr;
  DesiredStore* store = nullptr;
  Executor* executor = nullptr;
  // The agent's own, never deleted.
  std::string agent_namespace = "nave-system";
  // Asked before every write: was the Lease renewed less than 10 s ago? Empty: always.
  std::function<bool()> may_write;
  // Another agent took nave-state over: the engine has stopped, and the process must stop writing.
  // Called once, as a task.
  std::function<void()> on_fenced;
  // Objects worked on at once.
  int concurrency = 8;
  // For the jitter of retries.
  uint64_t seed = 1;
};

// Deterministic for one seed and one order of answers.
std::unique_ptr<Reconciler> MakeReconciler(ReconcilerOptions options);

}  // namespace nave

#endif  // NAVE_AGENT_APPLY_MAKE_RECONCILER_H_
