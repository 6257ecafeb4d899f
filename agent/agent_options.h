// What an agent is made of.
#ifndef NAVE_AGENT_AGENT_OPTIONS_H_
#define NAVE_AGENT_AGENT_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "agent/apply/make_reconciler.h"
#include "agent/enroll/enrollment.h"
#include "agent/enroll/hub_calls.h"
#include "agent/enroll/identity_store.h"
#include "agent/kube/kube_client.h"
#include "agent/rpc/hub_link.h"
#include "common/base/uuid.h"
#include "common/runtime/executor.h"

namespace nave {

// All pointers are borrowed and must outlive the agent. Everything happens on `executor`.
struct AgentOptions {
  Executor* executor = nullptr;
  KubeClient* kube = nullptr;
  HubLink* link = nullptr;
  IdentityStore* identity_store = nullptr;
  HubCalls* hub_calls = nullptr;
  // See Enrollment.
  Enrollment::TokenReader read_token;
  // The apply engine: MakeReconciler.
  std::function<std::unique_ptr<Reconciler>(ReconcilerOptions)> make_reconciler;

  std::string version = "0.1.0";
  std::string ns = "nave-system";
  // Names this process in the Lease: the pod's name.
  std::string pod_name;
  // Where to dial instead of where the identity says; empty: there.
  std::string hub_endpoint;
  // Decides all jitter.
  uint64_t seed = 1;
  // Names of instances, never used twice; Uuid::Random when empty.
  std::function<Uuid()> new_uuid;
  // A clock that nobody sets (BootTime); the executor's when empty.
  std::function<absl::Time()> clock;
  // Gives memory back after a burst of work; may be empty.
  std::function<void()> trim_memory;
  int apply_concurrency = 8;
};

}  // namespace nave

#endif  // NAVE_AGENT_AGENT_OPTIONS_H_
