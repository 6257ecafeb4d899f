// KubeClient on a simulator in the same process. Everything happens on one executor, requests and
// answers take time, and the link can be cut at any moment.
#ifndef NAVE_TESTS_KUBESIM_SIM_KUBE_CLIENT_H_
#define NAVE_TESTS_KUBESIM_SIM_KUBE_CLIENT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "absl/time/time.h"
#include "agent/kube/kube_client.h"
#include "common/runtime/executor.h"
#include "tests/kubesim/kubesim.h"

namespace nave::kubesim {

// Calls Step whenever the simulator has something to do. Sets `on_work` of `sim`; both are borrowed
// and must outlive it.
class SimStepper {
 public:
  SimStepper(KubeSim* sim, Executor* executor);
  ~SimStepper();
  SimStepper(const SimStepper&) = delete;
  SimStepper& operator=(const SimStepper&) = delete;

 private:
  void Schedule();

  KubeSim* sim_;
  Executor* executor_;
  TimerId timer_ = 0;
  absl::Time due_ = absl::InfiniteFuture();
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

struct SimKubeClientOptions {
  // In the simulator's audit.
  std::string user = "system:serviceaccount:nave-system:nave-agent";
  uint64_t seed = 1;
  // Each way; each request and answer takes between `latency` and `latency + jitter`, so that
  // requests overtake each other.
  absl::Duration latency = absl::Milliseconds(1);
  absl::Duration jitter;
  // How long it takes to notice that there is no server.
  absl::Duration unreachable_after = absl::Seconds(1);
};

// `sim` and `executor` are borrowed; `sim` must live as long as timers of the executor may run. The
// destructor is the death of the process: each write that has not reached the server is, by the
// seed, applied at once, applied later, or lost.
class SimKubeClient : public KubeClient {
 public:
  SimKubeClient(KubeSim* sim, Executor* executor, SimKubeClientOptions options = {});
  ~SimKubeClient() override;

  // Cut: requests on the way arrive or are lost (by the seed), no answer and no event arrives; open
  // requests and watches fail with kUnreachable after `unreachable_after`, later ones too.
  void SetCut(bool cut);
  bool cut() const;

  void Discover(Callback<Discovery> done) override;
  void GetServerVersion(Callback<KubeResult> done) override;
  void Apply(ApplyRequest request, Callback<KubeResult> done) override;
  void Get(ResourceType type, std::string ns, std::string name, Callback<KubeResult> done) override;
  void List(ListRequest request, Callback<ListPage> done) override;
  void Create(ResourceType type, std::string ns, std::string body,
              Callback<KubeResult> done) override;
  void Replace(ResourceType type, std::string ns, std::string name, std::string body,
               Callback<KubeResult> done) override;
  void Patch(PatchRequest request, Callback<KubeResult> done) override;
  void Delete(DeleteRequest request, Callback<KubeResult> done) override;
  std::unique_ptr<KubeWatch> Watch(WatchRequest request, std::function<void(KubeEvent)> on_event,
                                   Callback<KubeError> on_end) override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace nave::kubesim

#endif  // NAVE_TESTS_KUBESIM_SIM_KUBE_CLIENT_H_
