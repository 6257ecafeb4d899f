// A server that the conformance suite runs against.
#ifndef NAVE_TESTS_KUBESIM_CONFORMANCE_STAND_H_
#define NAVE_TESTS_KUBESIM_CONFORMANCE_STAND_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "agent/kube/kube_client.h"

namespace nave::kubesim {

class ConformanceStand {
 public:
  virtual ~ConformanceStand() = default;
  // For use on the loop only.
  virtual KubeClient& client() = 0;
  // Runs `start` on the loop, then asks `done` there again and again. False: it took too long.
  virtual bool Run(std::function<void()> start, std::function<bool()> done) = 0;
  // Lets time go by.
  virtual void Wait(absl::Duration time) = 0;
  // Whether controllers work on the objects.
  virtual bool has_controllers() const = 0;
};

// What this test program runs against. Stands are made once and kept.
std::vector<std::string> StandNames();
ConformanceStand& Stand(const std::string& name);

// A stand over HttpKubeClient with the credentials in a kubeconfig. Aborts when it cannot be used.
std::unique_ptr<ConformanceStand> MakeHttpStand(const std::string& kubeconfig_text);

}  // namespace nave::kubesim

#endif  // NAVE_TESTS_KUBESIM_CONFORMANCE_STAND_H_
