// The wire between one agent process and the hub: frames as values, in order within a stream, with
// latency, and cuts that each side hears of at its own time or not at all. So frames of an old
// stream reach the hub after those of a newer one.
#ifndef NAVE_TESTS_SIM_SIM_LINK_H_
#define NAVE_TESTS_SIM_SIM_LINK_H_

#include <memory>
#include <string>

#include "agent/rpc/hub_link.h"
#include "common/base/backoff.h"
#include "hub/decide/admission.h"
#include "tests/sim/sim_hub.h"
#include "tests/sim/watchman.h"

namespace nave::sim {

class SimLink : public HubLink {
 public:
  // `world` is the world's executor, `process` the agent's; `watchman` sees every frame.
  SimLink(Executor* world, Executor* process, SimHub* hub, PeerIdentity peer, Watchman* watchman,
          uint64_t seed);
  // The agent's process died: what it sent is still on its way.
  ~SimLink() override;

  enum class Cut {
    kNone,
    kHard,    // Both sides hear of it.
    kSilent,  // Neither does: half-open.
  };
  // Ends the present stream, and keeps new ones from coming up until it is kNone again.
  void SetCut(Cut cut);

  void SetListener(HubLinkListener* listener) override;
  void Dial(uint64_t attempt, HubEndpoint endpoint) override;
  void Send(uint64_t attempt, const AgentFrame& frame) override;
  void Close(uint64_t attempt) override;
  void Fetch(const FetchRequest& request) override;
  void CancelFetch(uint64_t fetch) override;

 private:
  struct Wire;
  class HubEnd;
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace nave::sim

#endif  // NAVE_TESTS_SIM_SIM_LINK_H_
