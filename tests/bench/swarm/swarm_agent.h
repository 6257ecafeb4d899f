// One agent of the swarm: the real session state machine over a real stream, with memory in place
// of a cluster. Whatever it is told to run is applied and healthy at once.
#ifndef NAVE_TESTS_BENCH_SWARM_SWARM_AGENT_H_
#define NAVE_TESTS_BENCH_SWARM_SWARM_AGENT_H_

#include <cstdint>
#include <map>
#include <memory>

#include "agent/enroll/identity.h"
#include "agent/rpc/hub_link.h"
#include "agent/session/hub_session.h"
#include "common/runtime/executor.h"

namespace nave::bench {

// What all agents of a process share and tell. Loop thread only.
struct SwarmBoard {
  // Contents by digest: agents that run the same hold one copy.
  std::map<Digest, std::weak_ptr<const DesiredContent>> contents;
  uint64_t welcomes = 0;
  uint64_t welcomes_that_matched = 0;
  uint64_t refusals = 0;
  uint64_t contents_taken = 0;
  uint64_t acks = 0;
  uint64_t streams_lost = 0;
};

// Loop thread only; what it is given must outlive it.
class SwarmAgent : public HubLinkListener, public ContentSource {
 public:
  SwarmAgent(Executor& loop, SwarmBoard& board, AgentIdentity identity, uint64_t seed);
  ~SwarmAgent() override;

  void Start();
  // The stream of the present session stands and the hub has welcomed it.
  bool live() const { return session_.live(); }
  // Welcomed `count` times so far.
  uint64_t welcomes() const { return welcomes_; }
  // What the hub was last told of a key: the committed digest, and when it was told first; nothing:
  // not held.
  struct Acked {
    Digest digest;
    absl::Time time = absl::InfinitePast();
  };
  Acked acked(const Uuid& key) const;
  size_t held() const { return state_.assignments.size(); }

  void OnStreamUp(uint64_t attempt) override;
  void OnWritten(uint64_t attempt) override;
  void OnFrame(uint64_t attempt, HubFrame frame) override;
  void OnStreamDown(uint64_t attempt, absl::Status status) override;
  void OnBlob(uint64_t fetch, const Digest& digest, std::string compressed) override;
  void OnFetchDone(uint64_t fetch, absl::Status status, std::vector<Digest> superseded) override;

  DesiredContentPtr content(const Uuid& key) const override;
  bool HasObject(const Digest& object) const override { return FindObject(object) != nullptr; }
  DesiredContentPtr FindObject(const Digest& object) const override;

 private:
  void Run(Effects effects);
  void Store(Effects& effects);
  void Report(const Uuid& key);
  void Arm();
  // `task` on the loop, later, unless this is gone by then.
  template <typename F>
  void Later(F task);

  Executor& loop_;
  SwarmBoard& board_;
  const AgentIdentity identity_;
  HubSession session_;
  std::unique_ptr<HubLink> link_;
  uint64_t attempt_ = 0;
  uint64_t welcomes_ = 0;
  TimerId timer_ = 0;
  absl::Time timer_at_ = absl::InfiniteFuture();

  AgentState state_;
  std::map<Uuid, DesiredContentPtr> held_;
  std::map<Uuid, DesiredContentPtr> written_;
  std::map<Uuid, Acked> acked_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace nave::bench

#endif  // NAVE_TESTS_BENCH_SWARM_SWARM_AGENT_H_
