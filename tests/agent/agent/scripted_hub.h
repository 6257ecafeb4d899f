// A hub in memory behind a HubLink: decides what a cluster runs, and answers an agent as the
// protocol says.
#ifndef NAVE_TESTS_AGENT_AGENT_SCRIPTED_HUB_H_
#define NAVE_TESTS_AGENT_AGENT_SCRIPTED_HUB_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/rpc/hub_link.h"
#include "tests/agent/session/harness.h"

namespace nave {

// Outlives the links of the agents that dial it.
class ScriptedHub {
 public:
  explicit ScriptedHub(Executor& executor) : executor_(executor) {}

  // What the cluster shall run from now on; a live session is told.
  void Put(int n, const TestBundle& bundle);
  void Remove(int n);
  // Ends the live session; the next dial is answered again.
  void Cut();

  // The last word on Key(n) that was acknowledged.
  std::optional<AssignmentStatus> StatusOf(int n) const;
  bool live() const { return welcomed_; }

  // What the next Hellos are answered; empty: Welcome.
  std::optional<RefusalReason> refuse;
  bool down = false;      // Dials are lost.
  bool contained = true;  // history_contains_yours.
  bool adopt = false;
  bool inline_blobs = true;  // Else they are fetched.
  std::string hub_id = "0b5c9d6e-3f0a-4a51-9c1d-1a2b3c4d5e6f";
  uint64_t term = 1;

  std::vector<Hello> hellos;
  std::vector<AgentFrame> frames;
  std::vector<HubEndpoint> dials;
  int fetches = 0;

 private:
  friend class ScriptedLink;
  class Session;

  void OnDial(class ScriptedLink* link, uint64_t attempt, HubEndpoint endpoint);
  void OnFrame(class ScriptedLink* link, uint64_t attempt, const AgentFrame& frame);
  void OnClose(class ScriptedLink* link, uint64_t attempt);
  void OnFetch(class ScriptedLink* link, const FetchRequest& request);
  void Answer(HubFrame frame);
  void AnswerHello(const Hello& hello);
  void AnswerKeys();
  void TakeStatuses(const StatusBatch& batch);
  void SendBatch(const std::vector<int>& upserts, const std::vector<Uuid>& tombstones,
                 const std::vector<Uuid>& not_desired);
  At Now() const { return At{term, Key(100), revision_}; }

  Executor& executor_;
  uint64_t revision_ = 10;
  std::map<int, TestBundle> desired_;
  std::map<Uuid, uint64_t> tombstones_;
  std::map<Uuid, AssignmentStatus> statuses_;
  std::map<Digest, BlobPtr> blobs_;

  class ScriptedLink* link_ = nullptr;
  uint64_t attempt_ = 0;
  bool welcomed_ = false;
  std::vector<KeySetEntry> keys_;
};

// The link of one process.
class ScriptedLink final : public HubLink {
 public:
  ScriptedLink(ScriptedHub& hub, Executor& executor) : hub_(hub), executor_(executor) {}
  ~ScriptedLink() override;

  void SetListener(HubLinkListener* listener) override { listener_ = listener; }
  void Dial(uint64_t attempt, HubEndpoint endpoint) override;
  void Send(uint64_t attempt, const AgentFrame& frame) override;
  void Close(uint64_t attempt) override;
  void Fetch(const FetchRequest& request) override;
  void CancelFetch(uint64_t fetch) override { cancelled_.insert({fetch, true}); }

 private:
  friend class ScriptedHub;
  // Runs `task` with the listener, later, as long as the stream `attempt` is not closed (0: any).
  void Tell(uint64_t attempt, std::function<void(HubLinkListener&)> task);

  ScriptedHub& hub_;
  Executor& executor_;
  HubLinkListener* listener_ = nullptr;
  uint64_t open_ = 0;
  std::map<uint64_t, bool> cancelled_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace nave

#endif  // NAVE_TESTS_AGENT_AGENT_SCRIPTED_HUB_H_
