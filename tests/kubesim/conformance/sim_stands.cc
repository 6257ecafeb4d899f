// The simulator by both of its faces.
#include "absl/time/time.h"
#include "common/runtime/executor.h"
#include "tests/kubesim/conformance/stand.h"
#include "tests/kubesim/http/http_face.h"
#include "tests/kubesim/sim_kube_client.h"

namespace nave::kubesim {
namespace {

class SimStand : public ConformanceStand {
 public:
  KubeClient& client() override { return client_; }
  bool Run(std::function<void()> start, std::function<bool()> done) override {
    start();
    for (int i = 0; i < 6000; ++i) {
      executor_.RunAll();
      if (done()) return true;
      executor_.Advance(absl::Milliseconds(10));
    }
    return false;
  }
  void Wait(absl::Duration time) override { executor_.Advance(time); }
  bool has_controllers() const override { return true; }

 private:
  ManualExecutor executor_{absl::FromUnixSeconds(1'700'000'000)};
  KubeSim sim_{KubeSimOptions(), executor_.Now()};
  SimStepper stepper_{&sim_, &executor_};
  SimKubeClient client_{&sim_, &executor_};
};

}  // namespace

std::vector<std::string> StandNames() { return {"InProcess", "OverHttp"}; }

ConformanceStand& Stand(const std::string& name) {
  if (name == "InProcess") {
    static auto* const stand = new SimStand();
    return *stand;
  }
  static auto* const face = StartHttpFace({}).release();
  static auto* const stand = MakeHttpStand(face->Kubeconfig("admin-token")).release();
  return *stand;
}

}  // namespace nave::kubesim
