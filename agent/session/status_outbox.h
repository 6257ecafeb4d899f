// Which statuses the hub has to be told: dirty keys, one batch on its way at a time, un-dirtied
// only by its ack (protocol §3.5).
#ifndef NAVE_AGENT_SESSION_STATUS_OUTBOX_H_
#define NAVE_AGENT_SESSION_STATUS_OUTBOX_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "common/base/uuid.h"
#include "common/model/stream.h"

namespace nave {

// Holds keys, never statuses: what is sent is what is true when it is sent, so changes coalesce.
// Pure, not thread-safe.
class StatusOutbox {
 public:
  // The status of a key as it is now; nullopt: the agent does not hold the key any more.
  using Compose = absl::FunctionRef<std::optional<AssignmentStatus>(const Uuid&)>;

  // A Removed that the hub has dealt with, and the revision it was reported at.
  struct AckedRemoval {
    Uuid key;
    uint64_t revision = 0;
  };

  void MarkChanged(const Uuid& key) { dirty_.insert(key); }
  // Sent with every batch; a change of it is sent even when no status changed.
  void SetHoldReason(const std::string& reason);

  // A session begins. `cursor`: the last batch of this instance that the hub acknowledged to it (0:
  // none, so everything is sent). It may acknowledge what was on its way when the session before
  // ended.
  std::vector<AckedRemoval> OnWelcome(uint64_t cursor);
  void OnStreamDown();
  std::vector<AckedRemoval> OnAck(uint64_t seq);

  // Whether TakePart has something to say now.
  bool HasWork() const;
  // It says more than that statuses changed: a whole picture, another HOLD, the rest of a batch.
  bool IsUrgent() const { return full_needed_ || hold_changed_ || batch_.has_value(); }
  // The next part. `all_keys` is what a full batch names. Parts stay below `frame_bytes` unless one
  // status alone is larger.
  StatusBatch TakePart(absl::FunctionRef<std::vector<Uuid>()> all_keys, Compose compose,
                       size_t frame_bytes);

 private:
  struct Batch {
    uint64_t seq = 0;
    bool full = false;
    std::deque<Uuid> queue;  // Not yet sent.
    std::vector<Uuid> sent;
    std::vector<AckedRemoval> removals;
  };

  bool live_ = false;
  bool full_needed_ = true;
  bool hold_changed_ = false;
  std::string hold_reason_;
  uint64_t last_seq_ = 0;
  std::set<Uuid> dirty_;
  // On its way; survives its stream until the next Welcome tells what became of it.
  std::optional<Batch> batch_;
};

// About the bytes that it needs on the wire; never less.
size_t StatusBytes(const AssignmentStatus& status);

}  // namespace nave

#endif  // NAVE_AGENT_SESSION_STATUS_OUTBOX_H_
