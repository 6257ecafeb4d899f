// What may never happen between one agent and the hub, whatever breaks: rules over the frames of
// the wire and over what the agent has made durable (the Secret nave-state).
#ifndef NAVE_TESTS_SIM_WATCHMAN_H_
#define NAVE_TESTS_SIM_WATCHMAN_H_

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "agent/desired/desired.h"
#include "common/model/stream.h"
#include "tests/kubesim/kubesim.h"

namespace nave::sim {

class Watchman {
 public:
  // `kube` is borrowed. `fail` gets a sentence for each rule that was broken.
  Watchman(kubesim::KubeSim* kube, std::function<void(const std::string&)> fail)
      : kube_(kube), fail_(std::move(fail)) {}

  // The agent writes a frame.
  void OnSent(const AgentFrame& frame);
  // A frame of the hub reaches the agent.
  void OnDelivered(const HubFrame& frame, absl::Time now);
  // The agent's stream is over, and what it had not taken of it is gone. `died`: its process too.
  void OnDown(bool died);
  // After every move of time. `hold`: what the leading agent says, nullopt when none leads with a
  // session; `healthy`: its API server takes everything.
  void Look(const std::optional<std::string>& hold, bool healthy, absl::Time now);

  // The agent said so, durably where it can: nothing may be deleted until the hub's answer to a
  // Hello ends it, restarts included.
  bool must_hold() const { return must_hold_; }
  // When this version of the key reached the agent; InfiniteFuture: the newest is another one.
  absl::Time DeliveredAt(const Uuid& key, const Digest& digest) const;
  // A key that was ordered away and came back before it was gone.
  struct Revived {
    Digest had, wanted;
    absl::Time at;
  };
  // nullptr: it is none, or was told something newer.
  const Revived* FindRevived(const Uuid& key) const;
  // Frames that say or ask for desired state.
  size_t exchanges() const { return exchanges_; }

 private:
  void OnWelcome(const Welcome& welcome);
  void OnBatch(const DesiredBatch& batch, absl::Time now);
  void OnAck(const DesiredAck& ack);
  void CheckParts();
  // What nave-state says; nullopt when there is none that can be read.
  const std::optional<AgentState>& Durable();

  kubesim::KubeSim* const kube_;
  const std::function<void(const std::string&)> fail_;
  Uuid instance_;
  bool state_lost_ = false;
  bool must_hold_ = false;
  // The last Welcome ended the HOLD, or will when the agent made that durable.
  bool released_ = false;
  // Of the stream: the point of a batch whose last part has not come.
  std::optional<At> incomplete_;
  struct Delivered {
    Digest digest;
    bool confirmed = false;
    absl::Time at;
  };
  std::map<Uuid, Delivered> newest_;
  // Keys that were ordered away: the content that they have.
  std::map<Uuid, Digest> leaving_;
  std::map<Uuid, Revived> revived_;
  // What this process refused and has not been told anything newer about.
  std::map<Uuid, Delivered> refused_;
  absl::Time hold_since_ = absl::InfiniteFuture();
  size_t exchanges_ = 0;
  std::string durable_version_;
  std::optional<AgentState> durable_;
};

}  // namespace nave::sim

#endif  // NAVE_TESTS_SIM_WATCHMAN_H_
