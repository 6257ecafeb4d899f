// Processes of an agent on a simulated spoke, with a hub in memory.
#ifndef NAVE_TESTS_AGENT_AGENT_AGENT_FIXTURE_H_
#define NAVE_TESTS_AGENT_AGENT_AGENT_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/agent.h"
#include "tests/agent/agent/scripted_hub.h"
#include "tests/agent/enroll/fakes.h"
#include "tests/kubesim/sim_kube_client.h"

namespace nave {

inline constexpr char kNs[] = "nave-system";

// One process; what it leaves behind is in the simulated cluster and on the disk of the identity.
struct Process {
  Process(kubesim::KubeSim* sim, ManualExecutor* executor, ScriptedHub* hub, FakeHub* calls,
          FakeDisk* disk, std::string token, std::string pod, uint64_t seed)
      : link(*hub, *executor), store(*executor, *disk) {
    kubesim::SimKubeClientOptions client_options;
    client_options.seed = seed;
    client = std::make_unique<kubesim::SimKubeClient>(sim, executor, client_options);
    AgentOptions options;
    options.executor = executor;
    options.kube = client.get();
    options.link = &link;
    options.identity_store = &store;
    options.hub_calls = calls;
    options.read_token = [token] { return token; };
    options.make_reconciler = MakeReconciler;
    options.pod_name = std::move(pod);
    options.seed = seed;
    options.new_uuid = [seed, n = 0]() mutable {
      Uuid uuid;
      uuid.bytes[0] = static_cast<uint8_t>(seed);
      uuid.bytes[15] = static_cast<uint8_t>(++n);
      return uuid;
    };
    agent = std::make_unique<Agent>(std::move(options));
    agent->Start();
  }
  ~Process() {
    agent.reset();
    client.reset();
  }

  ScriptedLink link;
  FakeIdentityStore store;
  std::unique_ptr<kubesim::SimKubeClient> client;
  std::unique_ptr<Agent> agent;
};

class AgentTest : public testing::Test {
 protected:
  AgentTest() {
    kubesim::SimRequest request;
    request.verb = kubesim::SimRequest::Verb::kCreate;
    request.version = "v1";
    request.plural = "namespaces";
    request.body = absl::StrCat(R"({"metadata":{"name":")", kNs, R"("}})");
    sim_.Handle(request, executor_.Now());
    token_ = FormatJoinToken(calls_.AddToken("edge-1"));
  }

  std::unique_ptr<Process> Begin(std::string pod = "pod-0") {
    return std::make_unique<Process>(&sim_, &executor_, &hub_, &calls_, &disk_, token_,
                                     std::move(pod), ++seed_);
  }
  void RunFor(absl::Duration span = absl::Seconds(30)) { executor_.Advance(span); }
  std::string MapValue(const std::string& name) {
    kubesim::ObjectPtr found = sim_.Find("configmaps", "default", name);
    return found == nullptr ? "" : found->StringAt("data", "value");
  }
  Phase PhaseOf(int n) {
    std::optional<AssignmentStatus> status = hub_.StatusOf(n);
    return status.has_value() ? status->phase : Phase::kRejected;
  }

  ManualExecutor executor_{TestNow()};
  kubesim::KubeSim sim_{kubesim::KubeSimOptions(), executor_.Now()};
  kubesim::SimStepper stepper_{&sim_, &executor_};
  ScriptedHub hub_{executor_};
  FakeHub calls_{executor_};
  FakeDisk disk_;
  std::string token_;
  uint64_t seed_ = 0;
};

}  // namespace nave

#endif  // NAVE_TESTS_AGENT_AGENT_AGENT_FIXTURE_H_
