#include "agent/session/status_outbox.h"

#include <utility>

namespace nave {
namespace {

// Tags, lengths, numbers and times of one message.
constexpr size_t kMessageOverhead = 96;

}  // namespace

size_t StatusBytes(const AssignmentStatus& status) {
  size_t bytes = 2 * kMessageOverhead + status.name.size() + status.reason.size() +
                 status.message.size() + sizeof(Uuid) + sizeof(Digest);
  for (const ObjectStatus& object : status.not_ok) {
    bytes += kMessageOverhead + object.group.size() + object.version.size() + object.kind.size() +
             object.ns.size() + object.name.size() + object.reason.size() + object.message.size();
  }
  return bytes;
}

void StatusOutbox::SetHoldReason(const std::string& reason) {
  if (reason == hold_reason_) return;
  hold_reason_ = reason;
  hold_changed_ = true;
}

std::vector<StatusOutbox::AckedRemoval> StatusOutbox::OnWelcome(uint64_t cursor) {
  live_ = true;
  std::vector<AckedRemoval> acked;
  if (cursor == 0 || cursor > last_seq_) {
    full_needed_ = true;
    dirty_.clear();
    batch_.reset();
    return acked;
  }
  full_needed_ = false;
  if (!batch_.has_value()) return acked;
  if (batch_->queue.empty() && cursor >= batch_->seq) {
    acked = std::move(batch_->removals);
  } else if (batch_->full) {
    // What it said by not naming a key is not known to have arrived.
    full_needed_ = true;
    dirty_.clear();
  } else {
    dirty_.insert(batch_->sent.begin(), batch_->sent.end());
    dirty_.insert(batch_->queue.begin(), batch_->queue.end());
    hold_changed_ = true;
  }
  batch_.reset();
  return acked;
}

void StatusOutbox::OnStreamDown() { live_ = false; }

std::vector<StatusOutbox::AckedRemoval> StatusOutbox::OnAck(uint64_t seq) {
  if (!live_ || !batch_.has_value() || seq < batch_->seq || !batch_->queue.empty()) return {};
  std::vector<AckedRemoval> acked = std::move(batch_->removals);
  batch_.reset();
  return acked;
}

bool StatusOutbox::HasWork() const {
  if (!live_) return false;
  if (batch_.has_value()) return !batch_->queue.empty();
  return full_needed_ || hold_changed_ || !dirty_.empty();
}

StatusBatch StatusOutbox::TakePart(absl::FunctionRef<std::vector<Uuid>()> all_keys, Compose compose,
                                   size_t frame_bytes) {
  if (!batch_.has_value()) {
    batch_ = Batch();
    batch_->seq = ++last_seq_;
    batch_->full = std::exchange(full_needed_, false);
    if (batch_->full) {
      std::vector<Uuid> keys = all_keys();
      batch_->queue.assign(keys.begin(), keys.end());
    } else {
      batch_->queue.assign(dirty_.begin(), dirty_.end());
    }
    dirty_.clear();
    hold_changed_ = false;
  }
  StatusBatch part;
  part.seq = batch_->seq;
  part.full = batch_->full;
  part.hold_reason = hold_reason_;
  size_t bytes = kMessageOverhead;
  while (!batch_->queue.empty()) {
    const Uuid key = batch_->queue.front();
    std::optional<AssignmentStatus> status = compose(key);
    const size_t more = status.has_value() ? StatusBytes(*status) : sizeof(Uuid) + 4;
    if (bytes + more > frame_bytes && bytes > kMessageOverhead) break;
    bytes += more;
    batch_->queue.pop_front();
    // It goes out as it is now, whatever was marked since the batch began.
    dirty_.erase(key);
    batch_->sent.push_back(key);
    if (!status.has_value()) {
      if (!batch_->full) part.gone.push_back(key);
      continue;
    }
    if (status->phase == Phase::kRemoved) batch_->removals.push_back({key, status->revision});
    part.changed.push_back(*std::move(status));
  }
  part.last = batch_->queue.empty();
  return part;
}

}  // namespace nave
