#include "tests/sim/sim_link.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/base/error.h"

namespace nave::sim {

// One stream. Kept by what is on its way.
struct SimLink::Wire {
  uint64_t attempt = 0;
  uint64_t incarnation = 0;
  StreamId id = 0;  // 0: not yet, or no more, known to the hub.
  std::shared_ptr<AgentStream> hub_end;
  bool to_hub = true, to_agent = true;  // Carries.
  bool agent_told = false, hub_told = false;
  absl::Time last_up = absl::InfinitePast(), last_down = absl::InfinitePast();
};

struct SimLink::State : std::enable_shared_from_this<State> {
  Executor* world = nullptr;
  Executor* process = nullptr;
  SimHub* hub = nullptr;
  PeerIdentity peer;
  Watchman* watchman = nullptr;
  SplitMix random{0};
  HubLinkListener* listener = nullptr;
  Cut cut = Cut::kNone;
  bool dead = false;
  std::shared_ptr<Wire> wire;  // The agent's present one.
  std::set<uint64_t> fetches;

  absl::Duration Latency() {
    return absl::Milliseconds(1 + static_cast<int64_t>(random.Below(60)));
  }
  // Whether the hub process that the wire ends at still runs.
  bool HubThere(const Wire& of) const { return hub->up() && hub->incarnation() == of.incarnation; }

  void Up(const std::shared_ptr<Wire>& to, absl::AnyInvocable<void(SessionHost&)> deliver) {
    to->last_up = std::max(to->last_up, world->Now() + Latency());
    world->PostAt(to->last_up,
                  [self = shared_from_this(), to, deliver = std::move(deliver)]() mutable {
                    if (to->to_hub && self->HubThere(*to) && to->id != 0 && !to->hub_told) {
                      deliver(*self->hub->sessions());
                    }
                  });
  }
  void Down(const std::shared_ptr<Wire>& from, absl::AnyInvocable<void(HubLinkListener&)> deliver) {
    from->last_down = std::max(from->last_down, world->Now() + Latency());
    world->PostAt(from->last_down,
                  [self = shared_from_this(), from, deliver = std::move(deliver)]() mutable {
                    if (self->dead || !from->to_agent || self->wire != from) return;
                    if (self->listener != nullptr) deliver(*self->listener);
                  });
  }
  void TellAgent(const std::shared_ptr<Wire>& of, absl::Duration after, std::string why) {
    world->PostAfter(after, [self = shared_from_this(), of, why = std::move(why)] {
      if (std::exchange(of->agent_told, true) || self->dead || self->wire != of) return;
      self->wire = nullptr;
      self->watchman->OnDown(/*died=*/false);
      if (self->listener != nullptr) {
        self->listener->OnStreamDown(of->attempt, MakeError(Reason::kHubUnreachable, why));
      }
    });
  }
  void TellHub(const std::shared_ptr<Wire>& of, absl::Duration after) {
    of->last_up = std::max(of->last_up, world->Now() + after);
    world->PostAt(of->last_up, [self = shared_from_this(), of] {
      if (std::exchange(of->hub_told, true) || of->id == 0 || !self->HubThere(*of)) return;
      self->hub->sessions()->OnClosed(of->id);
    });
  }
  void Open(const std::shared_ptr<Wire>& opening);
};

// What the session host writes to.
class SimLink::HubEnd : public AgentStream {
 public:
  HubEnd(std::shared_ptr<State> state, std::shared_ptr<Wire> wire)
      : state_(std::move(state)), wire_(std::move(wire)) {}

  void Write(HubFrame frame) override {
    std::shared_ptr<Wire> wire = wire_.lock();
    if (wire == nullptr) return;
    // A receiver finds all blobs in one list.
    for (const BlobSetPtr& set : frame.shared_blobs) {
      frame.blobs.insert(frame.blobs.end(), set->blobs.begin(), set->blobs.end());
    }
    frame.shared_blobs.clear();
    state_->Down(wire, [state = state_, attempt = wire->attempt,
                        frame = std::move(frame)](HubLinkListener& listener) {
      state->watchman->OnDelivered(frame, state->world->Now());
      listener.OnFrame(attempt, frame);
    });
    // A silent cut takes what is written until the buffers are full.
    state_->hub->process()->Post([state = state_, wire] {
      if (state->HubThere(*wire) && wire->id != 0 && !wire->hub_told) {
        state->hub->sessions()->OnWritten(wire->id);
      }
    });
  }

  void Close() override {
    std::shared_ptr<Wire> wire = wire_.lock();
    if (wire == nullptr) return;
    if (wire->to_agent) {
      wire->last_down = std::max(wire->last_down, state_->world->Now() + state_->Latency());
      state_->TellAgent(wire, wire->last_down - state_->world->Now(), "the hub ended the stream");
    }
    state_->TellHub(wire, absl::ZeroDuration());
  }

 private:
  const std::shared_ptr<State> state_;
  const std::weak_ptr<Wire> wire_;
};

void SimLink::State::Open(const std::shared_ptr<Wire>& opening) {
  if (!opening->to_hub) return;
  if (!hub->up()) return TellAgent(opening, absl::ZeroDuration(), "connection refused");
  opening->incarnation = hub->incarnation();
  opening->hub_end = std::make_shared<HubEnd>(shared_from_this(), opening);
  opening->id = hub->sessions()->OnOpen(peer, opening->hub_end);
}

SimLink::SimLink(Executor* world, Executor* process, SimHub* hub, PeerIdentity peer,
                 Watchman* watchman, uint64_t seed)
    : state_(std::make_shared<State>()) {
  state_->world = world;
  state_->process = process;
  state_->hub = hub;
  state_->peer = std::move(peer);
  state_->watchman = watchman;
  state_->random = SplitMix(seed);
}

SimLink::~SimLink() {
  state_->dead = true;
  if (state_->wire != nullptr) state_->watchman->OnDown(/*died=*/true);
  state_->listener = nullptr;
  if (state_->wire != nullptr && state_->wire->to_hub) {
    state_->TellHub(state_->wire, state_->Latency());
  }
  state_->wire = nullptr;
}

void SimLink::SetCut(Cut cut) {
  state_->cut = cut;
  std::shared_ptr<Wire> wire = state_->wire;
  if (cut == Cut::kNone || wire == nullptr) return;
  wire->to_agent = false;
  if (cut == Cut::kSilent) {
    wire->to_hub = false;
    return;
  }
  // What the agent has sent may still arrive, after it has dialled anew.
  wire->to_hub = state_->random.Below(2) == 0;
  state_->TellAgent(wire, absl::Milliseconds(static_cast<int64_t>(state_->random.Below(1000))),
                    "connection reset");
  state_->TellHub(wire, absl::Milliseconds(static_cast<int64_t>(state_->random.Below(8000))));
}

void SimLink::SetListener(HubLinkListener* listener) { state_->listener = listener; }

void SimLink::Dial(uint64_t attempt, HubEndpoint) {
  auto wire = std::make_shared<Wire>();
  wire->attempt = attempt;
  state_->wire = wire;
  if (state_->cut != Cut::kNone) {
    wire->to_hub = wire->to_agent = false;
    return state_->TellAgent(wire, absl::Seconds(2), "no route");
  }
  wire->last_up = state_->world->Now() + state_->Latency();
  state_->world->PostAt(wire->last_up, [state = state_, wire] { state->Open(wire); });
  state_->process->Post([state = state_, wire] {
    if (state->listener != nullptr && state->wire == wire) {
      state->listener->OnStreamUp(wire->attempt);
    }
  });
}

void SimLink::Send(uint64_t attempt, const AgentFrame& frame) {
  std::shared_ptr<Wire> wire = state_->wire;
  if (wire == nullptr || wire->attempt != attempt) return;
  state_->watchman->OnSent(frame);
  state_->Up(wire,
             [wire = wire.get(), frame](SessionHost& host) { host.OnFrame(wire->id, frame); });
  state_->process->Post([state = state_, wire] {
    if (state->listener != nullptr && state->wire == wire) {
      state->listener->OnWritten(wire->attempt);
    }
  });
}

void SimLink::Close(uint64_t attempt) {
  std::shared_ptr<Wire> wire = state_->wire;
  if (wire == nullptr || wire->attempt != attempt) return;
  wire->to_agent = false;
  if (wire->to_hub) state_->TellHub(wire, state_->Latency());
  state_->wire = nullptr;
  state_->watchman->OnDown(/*died=*/false);
}

void SimLink::Fetch(const FetchRequest& request) {
  state_->fetches.insert(request.id);
  std::shared_ptr<Wire> wire = state_->wire;
  absl::Duration takes = state_->Latency() * 2;
  if (state_->random.Below(4) == 0) takes += absl::Seconds(state_->random.Below(20));
  state_->world->PostAfter(takes, [state = state_, wire, request] {
    if (state->dead || state->listener == nullptr || state->fetches.erase(request.id) == 0) return;
    if (wire == nullptr || !wire->to_agent || !state->HubThere(*wire)) {
      return state->listener->OnFetchDone(
          request.id, MakeError(Reason::kHubUnreachable, "connection lost"), {});
    }
    absl::StatusOr<std::vector<BlobPtr>> blobs =
        state->hub->backend()->FetchBlobs(state->peer.cluster, request.wants);
    if (!blobs.ok()) return state->listener->OnFetchDone(request.id, blobs.status(), {});
    std::vector<Digest> superseded;
    for (size_t i = 0; i < blobs->size() && state->listener != nullptr; ++i) {
      const BlobPtr& blob = (*blobs)[i];
      if (blob == nullptr) {
        superseded.push_back(request.wants[i]);
      } else {
        state->listener->OnBlob(request.id, blob->digest, blob->compressed);
      }
    }
    if (state->listener != nullptr) {
      state->listener->OnFetchDone(request.id, absl::OkStatus(), superseded);
    }
  });
}

void SimLink::CancelFetch(uint64_t fetch) { state_->fetches.erase(fetch); }

}  // namespace nave::sim
