// One cluster of the simulation: an API server that lives on, and the agent processes that come and
// go beside it.
#ifndef NAVE_TESTS_SIM_SPOKE_H_
#define NAVE_TESTS_SIM_SPOKE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "common/base/backoff.h"
#include "common/model/cluster.h"
#include "tests/kubesim/kubesim.h"
#include "tests/kubesim/sim_kube_client.h"
#include "tests/sim/process.h"
#include "tests/sim/sim_hub.h"
#include "tests/sim/sim_link.h"
#include "tests/sim/watchman.h"

namespace nave::sim {

// A deletion that the agent made, outside its own namespace.
struct Deletion {
  std::string object;  // "configmaps/default/x"
  absl::Time time;
};

extern const char kAgentUser[];

class Spoke {
 public:
  // `fail` gets what the spoke's watchman finds.
  Spoke(Executor* world, SimHub* hub, Cluster cluster, uint64_t seed,
        std::function<void(const std::string&)> fail);
  ~Spoke();

  // An agent process dies without a word.
  void KillAgent();
  // Another one starts; beside one that runs it waits for the Lease.
  void StartAgent();
  // Of all processes.
  void CutHub(SimLink::Cut cut);
  void CutKube(bool cut);
  // Share of requests of the agent that fail, in per mille.
  void SetFaults(int per_mille) { faults_ = per_mille; }
  // Every answer of the API server takes seconds.
  void SetSlow(bool slow) { slow_ = slow; }

  // A person with kubectl.
  void EditConfigMap(const std::string& name);
  void DeleteObject(const std::string& resource, const std::string& ns, const std::string& name);

  // Deletions since the last call.
  std::vector<Deletion> TakeDeletions();
  // Writes outside the agent's namespace so far.
  size_t CountWrites() const;
  // HOLD of the leading process; "" when there is none, nullopt when none leads with a session.
  std::optional<std::string> HoldReason() const;
  // Its API server answers, and takes everything.
  bool KubeIsHealthy() const { return !kube_cut_ && faults_ == 0; }
  // What a process had on its way when it died may arrive later.
  absl::Time killed_at() const { return killed_at_; }
  std::string Describe() const;

  const Cluster& cluster() const { return cluster_; }
  kubesim::KubeSim& kube() { return kube_; }
  Watchman& watchman() { return watchman_; }
  size_t agents() const { return agents_.size(); }

 private:
  struct AgentProcess;
  kubesim::SimFault Decide(const kubesim::SimRequest& request);
  void Ask(kubesim::SimRequest request);

  Executor* const world_;
  SimHub* const hub_;
  const Cluster cluster_;
  SplitMix random_;
  kubesim::KubeSim kube_;
  kubesim::SimStepper stepper_;
  Watchman watchman_;
  std::vector<std::unique_ptr<AgentProcess>> agents_;
  std::optional<AgentIdentity> identity_;
  SimLink::Cut hub_cut_ = SimLink::Cut::kNone;
  bool kube_cut_ = false;
  int faults_ = 0;
  bool slow_ = false;
  absl::Time killed_at_ = absl::InfinitePast();
  size_t audit_seen_ = 0;
  int pods_ = 0;
};

}  // namespace nave::sim

#endif  // NAVE_TESTS_SIM_SPOKE_H_
