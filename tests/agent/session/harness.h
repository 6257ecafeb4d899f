// A hub by hand: carries a HubSession's effects out against values in memory, one event at a time.
#ifndef NAVE_TESTS_AGENT_SESSION_HARNESS_H_
#define NAVE_TESTS_AGENT_SESSION_HARNESS_H_

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/session/hub_session.h"

namespace nave {

// A bundle of ConfigMaps: what a hub would send for it.
struct TestBundle {
  Digest digest;
  std::vector<BlobPtr> blobs;  // The listing, then the objects.
  DesiredContentPtr content;
};
// Objects named name=value. Same arguments, same digests.
TestBundle MakeBundle(const std::map<std::string, std::string>& objects);
BlobPtr MakeBlob(const std::string& data);
Uuid Key(int n);

class Harness : public ContentSource {
 public:
  explicit Harness(AgentState state = {}, bool state_lost = false, std::string frozen_reason = "");

  // Ends the process and starts another on what is durable.
  void Restart(bool state_lost = false);

  // --- The hub's side. Each returns after everything that follows at once was done.
  void Tick(absl::Duration by = absl::ZeroDuration());
  // Dials (if it is due within `patience`) and opens; the Hello is in `sent`.
  Hello Connect(absl::Duration patience = absl::Minutes(10));
  // Welcome with this session's usual values, changed by the caller.
  Welcome MakeWelcome(uint64_t revision) const;
  // Connect and an ordinary Welcome. Clears `sent` before the answer of the agent.
  void Join(uint64_t revision, bool set_matches = false, bool contained = true, bool adopt = false);
  void Hub(HubFrame frame);
  template <typename T>
  void Send(T body, std::vector<BlobPtr> blobs = {}) {
    HubFrame frame;
    frame.body = std::move(body);
    frame.blobs = std::move(blobs);
    Hub(std::move(frame));
  }
  // StatusAck of the last status batch sent.
  void AckStatus();
  void Drop();
  // A batch of one part. `root` is computed from what the agent will hold when not given.
  DesiredBatch Batch(uint64_t revision, std::vector<Upsert> upserts,
                     std::vector<Tombstone> tombstones = {}, std::vector<Uuid> not_desired = {});
  At AtRevision(uint64_t revision) const;
  // Upsert of `bundle` under Key(n), sent with its blobs, committed and acknowledged.
  void Deliver(int n, const TestBundle& bundle, uint64_t revision);

  // --- The agent's other side.
  void FinishWrites(absl::Status status = absl::OkStatus());
  void FinishCommit(absl::Status status = absl::OkStatus());
  void Report(AssignmentStatus status, bool owns_objects = true);
  // The reconciler is done with key n: phase by its committed state.
  AssignmentStatus StatusOf(int n, Phase phase) const;
  void AnswerFetch(const std::vector<BlobPtr>& blobs, std::vector<Digest> superseded = {},
                   absl::Status status = absl::OkStatus());

  // --- What is seen.
  template <typename T>
  std::vector<T> Sent() const {
    std::vector<T> found;
    for (const AgentFrame& frame : sent) {
      if (const T* body = std::get_if<T>(&frame)) found.push_back(*body);
    }
    return found;
  }
  const Assignment* Durable(int n) const;
  // All status parts sent, the last word on Key(n); nullptr: none.
  const AssignmentStatus* LastStatus(int n) const;

  // ContentSource, of what is durable.
  DesiredContentPtr content(const Uuid& key) const override;
  bool HasObject(const Digest& object) const override;
  DesiredContentPtr FindObject(const Digest& object) const override;

  void Run(Effects effects);

  absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  HubSession::Options options;
  std::unique_ptr<HubSession> session;
  bool auto_write = true;   // Finish content writes at once.
  bool auto_commit = true;  // And commits.

  AgentState durable;
  std::vector<AgentState> commits;  // Every one that landed.
  std::map<Digest, DesiredContentPtr> contents;
  std::vector<AgentFrame> sent;
  std::deque<ContentWrite> writes;
  std::optional<AgentState> commit;
  std::vector<FetchRequest> fetches;
  std::vector<uint64_t> cancelled;
  std::vector<Uuid> abandoned;
  std::vector<Uuid> changed;
  std::map<Uuid, bool> pending;  // As the reconciler was told.
  bool hold = false;
  bool frozen = false;
  int closes = 0;
  std::string close_reason;
  bool renew = false;
  bool reload = false;
  bool check = false;
  std::optional<uint64_t> dialled;
  uint64_t attempt = 0;
  std::string hub_id = "hub-1";
  uint64_t term = 1;
};

}  // namespace nave

#endif  // NAVE_TESTS_AGENT_SESSION_HARNESS_H_
