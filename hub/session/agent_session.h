// The hub's side of one agent's stream, after it was admitted. Pure: takes frames and snapshots,
// gives frames.
#ifndef NAVE_HUB_SESSION_AGENT_SESSION_H_
#define NAVE_HUB_SESSION_AGENT_SESSION_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/uuid.h"
#include "common/model/assignment.h"
#include "common/model/stream.h"
#include "hub/decide/desired.h"
#include "hub/fleet/snapshot.h"

namespace nave {

// Where a session gets the blobs that a version needs. Shared by all sessions, so that a version's
// blobs are encoded once.
class BlobSetSource {
 public:
  virtual ~BlobSetSource() = default;
  // What an agent that holds listing `from` (none: nothing) lacks of listing `to`, or nullptr when
  // that is too large to travel inline (the agent fetches it). nullopt: being loaded; ask again
  // when the host says so.
  virtual std::optional<BlobSetPtr> Delta(const Digest& from, const Digest& to) = 0;
};

struct SessionOptions {
  absl::Duration ping_interval = absl::Seconds(10);
  absl::Duration dead_after = absl::Seconds(25);
  absl::Duration reconnect_spread = absl::Seconds(1);
  // Items of one part of a batch: with names of full length such a part stays far below the frame
  // limit.
  size_t part_items_max = 1500;
  // Content that travels with a batch; what is over it is left for the agent to fetch.
  size_t inline_bytes_max = kInlineBlobBytesMax;
};

// What the session knows of the agent's keys, and what it owes the agent. It keeps no queue of
// changes: what is to be sent is the difference between the newest snapshot and what was sent,
// taken when the stream can carry it. Not thread-safe; owned by the loop thread.
class AgentSession {
 public:
  enum class State {
    kHold,         // The agent's history is not ours and nobody adopted it: it gets no batch.
    kAwaitKeySet,  // The roots differ: the agent says what it holds.
    kLive,
  };

  // Queues the Welcome. `history_contained`: CheckHistory's answer.
  AgentSession(const Uuid& cluster, uint64_t epoch, Hello hello, const FleetSnapshot& snapshot,
               bool history_contained, std::optional<StatusCursor> cursor,
               const SessionOptions& options, absl::Time now);

  // A newer snapshot touches this cluster. The session keeps no snapshot: thousands of idle ones
  // would keep old ones alive.
  void MarkDirty() { dirty_ = true; }
  // Parts until `last`. Answered by one batch, even an empty one.
  void OnKeySet(KeySet part, const FleetSnapshot& snapshot);
  void OnAck(const DesiredAck& ack);
  // Puts the parts of a status batch together. Returns the whole when its last part is in.
  std::optional<StatusBatch> OnStatus(StatusBatch part);
  void OnPing();
  // Everything up to `seq` that needs durability is durable.
  void AckStatus(uint64_t seq);
  // The hub is stopping.
  void Drain();

  // The next frame to write, if there is one that can be written now. Call again when it was
  // written, after every input and when content was loaded. `snapshot` is the newest one.
  std::optional<HubFrame> TakeOutbound(const FleetSnapshot& snapshot, BlobSetSource* content);

  State state() const { return state_; }
  uint64_t epoch() const { return epoch_; }
  const Uuid& cluster() const { return cluster_; }
  const Hello& hello() const { return hello_; }
  // Refused versions, by key, until the next version of that key is sent.
  const std::map<Uuid, Rejection>& rejections() const { return rejections_; }

 private:
  struct Sent {
    Digest digest;
    bool confirmed = false;
    // at.revision of the batch that said so; 0: the agent said so itself.
    uint64_t revision = 0;
    // The agent has the key; else it must be told the name.
    bool held = false;
    // Whose blobs the agent has for sure; none: nothing known.
    Digest held_digest;
  };

  void AnswerKeySet(const KeySet& keys, const FleetSnapshot& snapshot);
  // Queues the difference between what is desired and what was sent; nothing when there is none,
  // unless `even_empty`.
  void QueueBatch(const FleetSnapshot& snapshot, std::vector<Uuid> not_desired, bool even_empty);
  void QueueParts(DesiredBatch all, const Digest& desired_root);
  void AddUpsert(const Uuid& key, const DesiredAssignment& assignment, DesiredBatch* batch);
  bool AddContent(BlobSetSource* content, HubFrame* frame, const DesiredBatch& batch);

  const Uuid cluster_;
  const uint64_t epoch_;
  const Hello hello_;
  const size_t part_items_max_;
  const size_t inline_bytes_max_;
  State state_ = State::kLive;
  bool dirty_ = false;
  std::deque<HubFrame> control_;
  std::deque<DesiredBatch> parts_;
  std::map<Uuid, Sent> sent_;
  std::map<Uuid, uint64_t> sent_tombstones_;  // By bundle: mod revision.
  std::map<Uuid, Rejection> rejections_;
  KeySet key_set_;
  std::optional<StatusBatch> status_;
};

}  // namespace nave

#endif  // NAVE_HUB_SESSION_AGENT_SESSION_H_
