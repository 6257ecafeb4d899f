// Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, their pods, and the EndpointSlices of
// Services.
#ifndef NAVE_TESTS_KUBESIM_WORKLOADS_H_
#define NAVE_TESTS_KUBESIM_WORKLOADS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tests/kubesim/kubesim.h"

namespace nave::kubesim {

class Controllers;

// A pod runs after options.pod_delay; one whose image contains "broken" never does
// (ImagePullBackOff). Level-triggered: each pass looks at everything.
class Workloads {
 public:
  explicit Workloads(Controllers* controllers) : controllers_(controllers) {}
  void OnChange(const StoreEvent& event);
  void Step(absl::Time now);
  absl::Time NextStep() const;

 private:
  using Children = std::vector<ObjectPtr>;

  // Objects of `resource` by the uid of their controller.
  std::map<std::string, Children> ByController(absl::string_view resource) const;
  const Children& Of(const std::map<std::string, Children>& children, const Value& owner) const;
  void WakeAt(absl::Time when);

  void StepDeployment(const Value& deployment, const Children& replica_sets);
  void SetDeploymentStatus(const Value& deployment, const Children& replica_sets,
                           const std::string& hash);
  void StepReplicaSet(const Value& replica_set, const Children& pods);
  void StepStatefulSet(const Value& stateful_set, const Children& pods);
  void StepDaemonSet(const Value& daemon_set, const Children& pods);
  void StepJob(const Value& job, const Children& pods);
  void StepPod(const Value& pod);
  void StepClaim(const Value& claim);
  void StepService(const Value& service);
  void StepBudget(const Value& budget);

  Value NewPod(const Value& owner, const std::string& name) const;
  void CreatePod(const Value& owner, Value pod);
  void Delete(absl::string_view resource, const Value& object);
  // Writes when it differs from the live one.
  void PutStatus(absl::string_view resource, const Value& live, Value updated);
  void Put(absl::string_view resource, const Value& live, Value updated);
  std::string Suffix(absl::string_view of) const;

  Controllers* controllers_;
  absl::Time now_;
  bool dirty_ = false;
  absl::Time next_ = absl::InfiniteFuture();
  std::map<std::string, absl::Time> pod_due_;         // By uid.
  std::map<std::string, absl::Time> progress_since_;  // By uid, generation and what was reached.
  uint64_t next_pod_ = 1;
};

}  // namespace nave::kubesim

#endif  // NAVE_TESTS_KUBESIM_WORKLOADS_H_
