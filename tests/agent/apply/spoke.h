// One spoke for the tests of the apply engine: a simulated API server, a durable state, a
// reconciler that may die, and a person with kubectl.
#ifndef NAVE_TESTS_AGENT_APPLY_SPOKE_H_
#define NAVE_TESTS_AGENT_APPLY_SPOKE_H_

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/apply/make_reconciler.h"
#include "tests/agent/apply/memory_store.h"
#include "tests/kubesim/kubesim.h"
#include "tests/kubesim/sim_kube_client.h"

namespace nave {

inline constexpr char kAgentUser[] = "system:serviceaccount:nave-system:nave-agent";
inline constexpr char kHubId[] = "0badcafe-0000-4000-8000-000000000001";
inline constexpr char kClusterUid[] = "11111111-0000-4000-8000-000000000002";
inline constexpr char kManager[] = "nave-agent-0badcafe";

// The uid of the n-th bundle.
Uuid Key(int n);

// A bundle's content as the hub would deliver it.
DesiredContentPtr MakeContent(const std::string& yaml, const std::string& ns);
// What a committed batch leaves in the state.
void CommitContent(MemoryStore& store, const Uuid& key, DesiredContentPtr content);

class Spoke : public testing::Test {
 protected:
  Spoke();
  ~Spoke() override;

  // --- The agent.
  void StartAgent();
  // SIGKILL: requests and writes on their way meet their fate by the seed.
  void KillAgent();
  void RestartAgent() {
    KillAgent();
    StartAgent();
  }

  // --- The hub's orders, committed.
  // One YAML file (documents separated by ---).
  void Bundle(const Uuid& key, const std::string& yaml, const std::string& ns = "default");
  // Commits without telling the reconciler.
  void Commit(const Uuid& key, const std::string& yaml, const std::string& ns = "default");
  void Confirm(const Uuid& key);
  void Remove(const Uuid& key, bool confirmed = true,
              Propagation propagation = Propagation::kDelete);
  void NotDesired(const Uuid& key);
  void ForgetKey(const Uuid& key);

  // --- Time.
  void Run(absl::Duration by) { executor_.Advance(by); }
  // Until `key` reports this phase; false after `limit`.
  bool RunUntil(const Uuid& key, Phase phase, absl::Duration limit = absl::Minutes(2));

  // --- What is reported.
  const AssignmentStatus& StatusOf(const Uuid& key) { return statuses_[key]; }
  // The listed object of that kind and name that is not right; fails the test when there is none.
  ObjectStatus NotOk(const Uuid& key, const std::string& kind, const std::string& name);

  // --- The person.
  kubesim::SimResponse Kubectl(const std::string& json);  // create
  kubesim::SimResponse Edit(const std::string& resource, const std::string& ns,
                            const std::string& name, const std::string& merge_patch);
  kubesim::SimResponse Delete(const std::string& resource, const std::string& ns,
                              const std::string& name);
  kubesim::ObjectPtr Live(const std::string& resource, const std::string& ns,
                          const std::string& name) {
    return sim_.Find(resource, ns, name);
  }
  bool Exists(const std::string& resource, const std::string& ns, const std::string& name) {
    return Live(resource, ns, name) != nullptr;
  }
  // Writes of the agent outside its namespace so far.
  size_t Writes() { return sim_.CountWrites(kAgentUser, "nave-system"); }
  // The same for one object.
  size_t WritesTo(const std::string& resource, const std::string& name);
  // uid, generation and resourceVersion of everything that bears our label, "kind ns/name" to the
  // three.
  std::map<std::string, std::string> Owned();

  ManualExecutor executor_{absl::FromUnixSeconds(1'700'000'000)};
  kubesim::KubeSim sim_;
  kubesim::SimStepper stepper_{&sim_, &executor_};
  MemoryStore store_{executor_};
  std::unique_ptr<kubesim::SimKubeClient> client_;
  std::unique_ptr<Reconciler> reconciler_;
  std::map<Uuid, AssignmentStatus> statuses_;
  // Changes what discovery finds. May be empty.
  std::function<void(KubeClient::Discovery&)> alter_discovery_;
  bool may_write_ = true;
  bool fenced_ = false;
  uint64_t seed_ = 1;

 private:
  kubesim::SimRequest RequestFor(const std::string& resource, const std::string& ns,
                                 const std::string& name, kubesim::SimRequest::Verb verb);
};

// Manifests in short.
std::string ConfigMapYaml(const std::string& name, const std::string& value,
                          const std::string& ns = "");
std::string DeploymentYaml(const std::string& name, const std::string& image, int replicas = 2);
std::string ServiceYaml(const std::string& name);
std::string NamespaceYaml(const std::string& name);
std::string CrdYaml(const std::string& plural, const std::string& kind, const std::string& group);
// Joins documents.
std::string Docs(const std::vector<std::string>& documents);

}  // namespace nave

#endif  // NAVE_TESTS_AGENT_APPLY_SPOKE_H_
