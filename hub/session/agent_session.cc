#include "hub/session/agent_session.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "common/model/assignment.h"

namespace nave {
AgentSession::AgentSession(const Uuid& cluster, uint64_t epoch, Hello hello,
                           const FleetSnapshot& snapshot, bool history_contained,
                           std::optional<StatusCursor> cursor, const SessionOptions& options,
                           absl::Time now)
    : cluster_(cluster),
      epoch_(epoch),
      hello_(std::move(hello)),
      part_items_max_(options.part_items_max),
      inline_bytes_max_(options.inline_bytes_max) {
  DesiredSet desired = ComputeDesired(snapshot, cluster_);
  Welcome welcome;
  welcome.protocol = 1;
  welcome.epoch = epoch_;
  welcome.hub_id = snapshot.hub_id;
  welcome.current = snapshot.at();
  welcome.history_contains_yours = history_contained;
  welcome.adopt = !history_contained && snapshot.Adopted(cluster_);
  welcome.set_matches =
      history_contained && desired.tombstones.empty() && RootOf(desired) == hello_.root;
  welcome.status = cursor;
  welcome.ping_interval = options.ping_interval;
  welcome.dead_after = options.dead_after;
  welcome.reconnect_spread = options.reconnect_spread;
  welcome.hub_time = now;
  if (welcome.set_matches) {
    for (const auto& [key, assignment] : desired.assignments) {
      sent_[key] = {assignment.digest, assignment.confirmed, 0, true, assignment.digest};
    }
  } else if (history_contained || welcome.adopt) {
    state_ = State::kAwaitKeySet;
  } else {
    state_ = State::kHold;
  }
  control_.push_back(HubFrame{{}, {}, std::move(welcome)});
}

void AgentSession::OnKeySet(KeySet part, const FleetSnapshot& snapshot) {
  key_set_.keys.insert(key_set_.keys.end(), std::make_move_iterator(part.keys.begin()),
                       std::make_move_iterator(part.keys.end()));
  if (!part.last) return;
  KeySet whole = std::exchange(key_set_, KeySet{});
  if (state_ == State::kHold) return;
  state_ = State::kLive;
  AnswerKeySet(whole, snapshot);
}

void AgentSession::AnswerKeySet(const KeySet& keys, const FleetSnapshot& snapshot) {
  // The agent's word replaces what we thought that it holds; parts not yet written are part of the
  // answer.
  parts_.clear();
  std::map<Uuid, Sent> before = std::exchange(sent_, {});
  sent_tombstones_.clear();
  DesiredSet desired = ComputeDesired(snapshot, cluster_);
  std::vector<Uuid> not_desired;
  for (const KeySetEntry& entry : keys.keys) {
    bool is_desired = desired.assignments.count(entry.key) > 0;
    bool is_ordered_away = desired.tombstones.count(entry.key) > 0;
    if (!is_desired && !is_ordered_away) {
      if (entry.state != KeyState::kNotDesired) not_desired.push_back(entry.key);
      continue;
    }
    if (!is_desired) continue;
    Sent& sent = sent_[entry.key];
    // One that is not Present may be forgotten before the answer arrives, and then needs its name.
    sent.held = entry.state == KeyState::kPresent;
    sent.held_digest = entry.digest;
    // A key in another state than Present needs the upsert even with equal content.
    if (entry.state == KeyState::kPresent) {
      sent.digest = entry.digest;
      sent.confirmed = entry.confirmed;
    }
    if (rejections_.count(entry.key) > 0 && before.count(entry.key) > 0) {
      sent.held_digest = before[entry.key].held_digest;  // It named what it refused.
    }
  }
  QueueBatch(snapshot, std::move(not_desired), /*even_empty=*/true);
  dirty_ = false;
}

void AgentSession::QueueBatch(const FleetSnapshot& snapshot, std::vector<Uuid> not_desired,
                              bool even_empty) {
  DesiredSet desired = ComputeDesired(snapshot, cluster_);
  DesiredBatch all;
  all.at = snapshot.at();
  all.not_desired = std::move(not_desired);
  for (const auto& [key, assignment] : desired.assignments) AddUpsert(key, assignment, &all);
  for (const auto& [key, ordered] : desired.tombstones) {
    auto sent = sent_tombstones_.find(key);
    if (sent != sent_tombstones_.end() && sent->second == ordered.mod_revision) continue;
    all.tombstones.push_back(ordered.tombstone);
    sent_tombstones_[key] = ordered.mod_revision;
    sent_.erase(key);
  }
  for (auto it = sent_tombstones_.begin(); it != sent_tombstones_.end();) {
    it = desired.tombstones.count(it->first) > 0 ? std::next(it) : sent_tombstones_.erase(it);
  }
  for (auto it = sent_.begin(); it != sent_.end();) {
    if (desired.assignments.count(it->first) > 0) {
      ++it;
      continue;
    }
    all.not_desired.push_back(it->first);
    it = sent_.erase(it);
  }
  bool empty = all.upserts.empty() && all.tombstones.empty() && all.not_desired.empty();
  if (!empty || even_empty) QueueParts(std::move(all), RootOf(desired));
}

void AgentSession::QueueParts(DesiredBatch all, const Digest& desired_root) {
  size_t items = all.upserts.size() + all.tombstones.size() + all.not_desired.size();
  size_t in_part = 0;
  DesiredBatch part;
  part.at = all.at;
  auto next_item = [&] {
    if (in_part++ < part_items_max_) return;
    in_part = 1;
    uint32_t number = part.part;
    parts_.push_back(std::exchange(part, DesiredBatch{}));
    part.at = all.at;
    part.part = number + 1;
  };
  for (Upsert& upsert : all.upserts) {
    next_item();
    part.upserts.push_back(std::move(upsert));
  }
  for (Tombstone& tombstone : all.tombstones) {
    next_item();
    part.tombstones.push_back(std::move(tombstone));
  }
  for (const Uuid& key : all.not_desired) {
    next_item();
    part.not_desired.push_back(key);
  }
  part.last = true;
  part.items = static_cast<uint32_t>(items);
  part.desired_root = desired_root;
  parts_.push_back(std::move(part));
}

void AgentSession::AddUpsert(const Uuid& key, const DesiredAssignment& assignment,
                             DesiredBatch* batch) {
  Sent& sent = sent_[key];
  if (sent.digest == assignment.digest && sent.confirmed == assignment.confirmed) return;
  Upsert upsert;
  upsert.key = key;
  if (!sent.held) upsert.name = assignment.name;
  upsert.digest = assignment.digest;
  upsert.size = assignment.size;
  upsert.confirmed = assignment.confirmed;
  batch->upserts.push_back(std::move(upsert));
  sent.digest = assignment.digest;
  sent.confirmed = assignment.confirmed;
  sent.revision = batch->at.revision;
  rejections_.erase(key);
}

void AgentSession::OnAck(const DesiredAck& ack) {
  std::set<Uuid> rejected;
  for (const Rejection& rejection : ack.rejected) {
    rejected.insert(rejection.key);
    auto sent = sent_.find(rejection.key);
    if (sent != sent_.end() && sent->second.digest == rejection.digest)
      rejections_[rejection.key] = rejection;
  }
  for (auto& [key, sent] : sent_) {
    if (sent.revision > ack.revision || rejected.count(key) > 0) continue;
    sent.held = true;
    sent.held_digest = sent.digest;
  }
}

std::optional<StatusBatch> AgentSession::OnStatus(StatusBatch part) {
  if (status_.has_value() && status_->seq == part.seq) {
    status_->changed.insert(status_->changed.end(), std::make_move_iterator(part.changed.begin()),
                            std::make_move_iterator(part.changed.end()));
    status_->gone.insert(status_->gone.end(), part.gone.begin(), part.gone.end());
    status_->last = part.last;
  } else {
    status_ = std::move(part);
  }
  if (!status_->last) return std::nullopt;
  return std::exchange(status_, std::nullopt);
}

void AgentSession::OnPing() {
  // One Pong answers any number of Pings.
  for (const HubFrame& frame : control_) {
    if (std::holds_alternative<Pong>(frame.body)) return;
  }
  control_.push_back(HubFrame{{}, {}, Pong{}});
}

void AgentSession::AckStatus(uint64_t seq) {
  for (HubFrame& frame : control_) {
    if (auto* ack = std::get_if<StatusAck>(&frame.body); ack != nullptr) {
      ack->seq = std::max(ack->seq, seq);
      return;
    }
  }
  control_.push_back(HubFrame{{}, {}, StatusAck{seq}});
}

void AgentSession::Drain() { control_.push_back(HubFrame{{}, {}, nave::Drain{}}); }

bool AgentSession::AddContent(BlobSetSource* content, HubFrame* frame, const DesiredBatch& batch) {
  size_t inline_bytes = 0;
  for (const Upsert& upsert : batch.upserts) {
    auto sent = sent_.find(upsert.key);
    Digest from = sent == sent_.end() ? Digest{} : sent->second.held_digest;
    if (from == upsert.digest) continue;
    std::optional<BlobSetPtr> delta = content->Delta(from, upsert.digest);
    if (!delta.has_value()) return false;
    if (*delta == nullptr || inline_bytes + (*delta)->encoded.size() > inline_bytes_max_) continue;
    inline_bytes += (*delta)->encoded.size();
    frame->shared_blobs.push_back(std::move(*delta));
  }
  return true;
}

std::optional<HubFrame> AgentSession::TakeOutbound(const FleetSnapshot& snapshot,
                                                   BlobSetSource* content) {
  if (!control_.empty()) {
    HubFrame frame = std::move(control_.front());
    control_.pop_front();
    return frame;
  }
  if (state_ == State::kLive && dirty_ && parts_.empty()) {
    QueueBatch(snapshot, {}, /*even_empty=*/false);
    dirty_ = false;
  }
  if (parts_.empty()) return std::nullopt;
  HubFrame frame;
  if (!AddContent(content, &frame, parts_.front())) return std::nullopt;
  frame.body = std::move(parts_.front());
  parts_.pop_front();
  return frame;
}

}  // namespace nave
