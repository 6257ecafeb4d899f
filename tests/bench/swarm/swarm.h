// N agents in one process, against a real hub over mutual TLS.
#ifndef NAVE_TESTS_BENCH_SWARM_SWARM_H_
#define NAVE_TESTS_BENCH_SWARM_SWARM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/enroll/hub_calls.h"
#include "tests/bench/swarm/hub_api.h"
#include "tests/bench/swarm/swarm_agent.h"

namespace nave::bench {

// All calls block; one thread at a time.
class Swarm {
 public:
  explicit Swarm(std::unique_ptr<HubApi> api);
  ~Swarm();

  // Until there are `count` identities.
  absl::Status Enroll(size_t count);
  // Starts agents until there are `count`, and waits until each was welcomed.
  absl::Status Connect(size_t count);
  // Bundles 0 to `count` - 1 of `objects` small objects each, to every cluster; waits until every
  // agent has said that it holds them all.
  absl::Status PutBundles(size_t count, size_t objects);

  struct Fanout {
    absl::Duration write;              // Of the API call.
    std::vector<absl::Duration> acks;  // From before the call to the agent's word, sorted.
  };
  // Changes one field of a 2 KB object of bundle 0 and waits for every agent.
  absl::StatusOr<Fanout> Update();

  // Waits until the hub counts `count` clusters as applied in every bundle; how many it was in the
  // worst.
  absl::StatusOr<size_t> Settle();

  // Now is the moment that AwaitReturn counts from.
  void Mark();
  struct Return {
    absl::Duration all;  // Until the last one was welcomed.
    SwarmBoard since;    // What was counted since Mark (contents is empty).
  };
  // Waits until every agent was welcomed once more.
  absl::StatusOr<Return> AwaitReturn();

  size_t connected() const { return agents_.size(); }
  // Agents with a live session now.
  size_t Live();

 private:
  // Runs `task` on the loop and waits for it.
  void OnLoop(std::function<void()> task);
  // Waits until `done` is true of every agent; `what` is for the error.
  absl::Status Await(const char* what, std::function<bool(const SwarmAgent&)> done);
  absl::StatusOr<AgentIdentity> EnrollOne(const std::string& cluster);

  std::unique_ptr<HubApi> api_;
  std::unique_ptr<Executor> loop_;
  SwarmBoard board_;  // Loop thread, as the agents.
  std::unique_ptr<HubCalls> calls_;
  std::vector<std::unique_ptr<SwarmAgent>> agents_;
  std::vector<AgentIdentity> identities_;
  std::string ca_pem_;
  std::vector<Uuid> bundles_;
  size_t objects_ = 0;
  uint64_t version_ = 0;
  SwarmBoard marked_;
  std::vector<uint64_t> marked_welcomes_;
  absl::Time marked_at_ = absl::InfinitePast();
};

}  // namespace nave::bench

#endif  // NAVE_TESTS_BENCH_SWARM_SWARM_H_
