#include "hub/session/session_host.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/log.h"
#include "common/base/reasons.h"
#include "hub/session/session_host_impl.h"

namespace nave {

std::unique_ptr<SessionHost> SessionHost::Make(Executor* loop, Executor* reader,
                                               SessionStore* store, LiveTable* live,
                                               BlobSetSource* content,
                                               const SessionHostOptions& options) {
  return std::make_unique<SessionHostImpl>(loop, reader, store, live, content, options);
}

SessionHostImpl::SessionHostImpl(Executor* loop, Executor* reader, SessionStore* store,
                                 LiveTable* live, BlobSetSource* content,
                                 const SessionHostOptions& options)
    : loop_(loop),
      reader_(reader),
      store_(store),
      live_(live),
      content_(content),
      options_(options),
      random_(options.seed),
      status_writer_(loop, store, live,
                     [this](const Uuid& cluster, const StatusWriter::Entry& entry) {
                       Memory& memory = memory_[cluster];
                       Stream* stream = Current(cluster);
                       if (stream == nullptr || stream->session_revision != entry.session_revision)
                         return;
                       memory.acked = {stream->hello.instance_id, entry.seq};
                       stream->session->AckStatus(entry.seq);
                       Pump(stream);
                     }) {}

SessionHostImpl::~SessionHostImpl() {
  for (auto& [id, stream] : streams_) loop_->Cancel(stream->timer);
}

SessionHostImpl::Stream* SessionHostImpl::Find(StreamId id) {
  auto it = streams_.find(id);
  return it == streams_.end() ? nullptr : it->second.get();
}

SessionHostImpl::Stream* SessionHostImpl::Current(const Uuid& cluster) {
  auto it = current_.find(cluster);
  return it == current_.end() ? nullptr : Find(it->second);
}

StreamId SessionHostImpl::OnOpen(const PeerIdentity& peer, std::shared_ptr<AgentStream> transport) {
  auto stream = std::make_unique<Stream>();
  stream->id = next_id_++;
  stream->peer = peer;
  stream->transport = std::move(transport);
  stream->last_received = loop_->Now();
  StreamId id = stream->id;
  ArmTimer(stream.get());
  streams_[id] = std::move(stream);
  return id;
}

void SessionHostImpl::OnFrame(StreamId id, AgentFrame frame) {
  Stream* stream = Find(id);
  if (stream == nullptr || stream->stage == Stage::kRefused || stream->closing) return;
  absl::Time now = loop_->Now();
  stream->last_received = now;
  if (stream->last_seen_ns != nullptr) *stream->last_seen_ns = absl::ToUnixNanos(now);
  if (auto* hello = std::get_if<Hello>(&frame); hello != nullptr) {
    if (stream->stage != Stage::kHello) return OnBadFrame(id, "a second Hello");
    return BeginAdmission(stream, std::move(*hello));
  }
  if (stream->stage != Stage::kLive) return OnBadFrame(id, "a frame before the Welcome");
  Dispatch(stream, std::move(frame));
}

void SessionHostImpl::Dispatch(Stream* stream, AgentFrame frame) {
  if (auto* keys = std::get_if<KeySet>(&frame); keys != nullptr) {
    stream->session->OnKeySet(std::move(*keys), *snapshot_);
  } else if (auto* ack = std::get_if<DesiredAck>(&frame); ack != nullptr) {
    ++metrics_.acks_total;
    stream->session->OnAck(*ack);
    auto live = live_->Find(stream->peer.cluster);
    // Nearly every ack changes nothing that people see.
    if (live == nullptr || !(live->rejections == stream->session->rejections())) {
      UpdateLive(stream->peer.cluster,
                 [&](ClusterLive* next) { next->rejections = stream->session->rejections(); });
    }
  } else if (auto* status = std::get_if<StatusBatch>(&frame); status != nullptr) {
    if (auto whole = stream->session->OnStatus(std::move(*status)); whole.has_value()) {
      OnStatusBatch(stream, std::move(*whole));
    }
  } else if (auto* facts = std::get_if<Facts>(&frame); facts != nullptr) {
    UpdateLive(stream->peer.cluster, [&](ClusterLive* live) { live->facts = std::move(*facts); });
    status_writer_.Add(stream->peer.cluster,
                       {stream->session_revision, memory_[stream->peer.cluster].acked.seq});
  } else {
    stream->session->OnPing();
  }
  Pump(stream);
}

void SessionHostImpl::OnStatusBatch(Stream* stream, StatusBatch batch) {
  ++metrics_.status_batches_total;
  UpdateLive(stream->peer.cluster, [&](ClusterLive* live) {
    if (batch.full) {
      live->assignments.clear();
      live->status_complete = true;
    }
    live->status_from_session = true;
    live->hold_reason = batch.hold_reason;
    for (const Uuid& key : batch.gone) live->assignments.erase(key);
    for (AssignmentStatus& status : batch.changed) {
      Uuid key = status.key;
      live->assignments[key] = std::make_shared<const AssignmentStatus>(std::move(status));
    }
  });
  status_writer_.Add(stream->peer.cluster, {stream->session_revision, batch.seq});
}

void SessionHostImpl::UpdateLive(const Uuid& cluster,
                                 const std::function<void(ClusterLive*)>& change) {
  auto present = live_->Find(cluster);
  auto next = present == nullptr ? std::make_shared<ClusterLive>()
                                 : std::make_shared<ClusterLive>(*present);
  change(next.get());
  live_->Set(cluster, std::move(next));
}

void SessionHostImpl::OnWritten(StreamId id) {
  Stream* stream = Find(id);
  if (stream == nullptr) return;
  stream->writing = false;
  if (stream->last_word.has_value()) {
    HubFrame frame = std::move(*stream->last_word);
    stream->last_word.reset();
    return Write(stream, std::move(frame));
  }
  if (stream->stage == Stage::kRefused) {
    if (!stream->closing) {
      stream->closing = true;
      stream->transport->Close();
    }
    return;
  }
  Pump(stream);
}

void SessionHostImpl::Pump(Stream* stream) {
  if (stream->stage != Stage::kLive || stream->writing || stream->closing) return;
  std::optional<HubFrame> frame = stream->session->TakeOutbound(*snapshot_, content_);
  if (frame.has_value()) return Write(stream, std::move(*frame));
  starving_.insert(stream->id);
}

void SessionHostImpl::Write(Stream* stream, HubFrame frame) {
  if (std::holds_alternative<DesiredBatch>(frame.body)) ++metrics_.desired_batches_total;
  starving_.erase(stream->id);
  stream->writing = true;
  stream->write_started = loop_->Now();
  stream->transport->Write(std::move(frame));
}

void SessionHostImpl::OnContentLoaded() {
  std::set<StreamId> starving = std::exchange(starving_, {});
  for (StreamId id : starving) {
    if (Stream* stream = Find(id); stream != nullptr) Pump(stream);
  }
}

void SessionHostImpl::Refuse(Stream* stream, Refusal refusal) {
  if (stream->stage == Stage::kRefused || stream->closing) return;
  ++metrics_.refused_total;
  LogInfo("session refused", {{"cluster", stream->peer.cluster_id},
                              {"reason", FormatRefusalReason(refusal.reason)},
                              {"address", stream->peer.address}});
  Close(stream, FormatRefusalReason(refusal.reason));
  HubFrame frame{{}, {}, std::move(refusal)};
  if (stream->writing) {
    stream->last_word = std::move(frame);
  } else {
    Write(stream, std::move(frame));
  }
}

// Ends the session's claim at once; the transport follows when the last word is out.
void SessionHostImpl::Close(Stream* stream, absl::string_view reason) {
  if (stream->stage == Stage::kAdmitting) {
    --admitting_;
    waiting_.erase(stream->id);
  }
  stream->stage = Stage::kRefused;
  starving_.erase(stream->id);
  auto current = current_.find(stream->peer.cluster);
  if (current == current_.end() || current->second != stream->id) return;
  current_.erase(current);
  status_writer_.Drop(stream->peer.cluster, stream->session_revision);
  UpdateLive(stream->peer.cluster, [&](ClusterLive* live) {
    live->connected = false;
    live->since = loop_->Now();
    const ReasonInfo* info = FindReason(reason);
    live->disconnect_reason = std::string(info == nullptr ? reason : info->camel);
  });
}

void SessionHostImpl::OnClosed(StreamId id) {
  Stream* stream = Find(id);
  if (stream == nullptr) return;
  if (stream->stage != Stage::kRefused) {
    Close(stream, draining_ ? Camel(Reason::kDraining) : Camel(Reason::kSessionLost));
  }
  loop_->Cancel(stream->timer);
  streams_.erase(id);
  if (draining_ && streams_.empty() && drained_) std::exchange(drained_, nullptr)();
}

void SessionHostImpl::OnBadFrame(StreamId id, const std::string& why) {
  Stream* stream = Find(id);
  if (stream == nullptr) return;
  Refuse(stream, Refusal{RefusalReason::kProtocolError, why, absl::Seconds(30)});
}

void SessionHostImpl::ArmTimer(Stream* stream) {
  absl::Time deadline = stream->last_received + options_.session.dead_after;
  if (stream->writing)
    deadline = std::min(deadline, stream->write_started + options_.write_timeout);
  deadline = std::min({deadline, stream->peer.not_after, stream->behind_deadline});
  stream->timer =
      loop_->PostAt(deadline, [this, alive = std::weak_ptr<int>(alive_), id = stream->id] {
        if (!alive.expired()) OnTimer(id);
      });
}

void SessionHostImpl::OnTimer(StreamId id) {
  Stream* stream = Find(id);
  if (stream == nullptr) return;
  absl::Time now = loop_->Now();
  bool dead = now >= stream->last_received + options_.session.dead_after ||
              (stream->writing && now >= stream->write_started + options_.write_timeout);
  if (dead) {
    ++metrics_.dead_total;
    if (stream->stage != Stage::kRefused) Close(stream, Camel(Reason::kSessionLost));
    stream->closing = true;
    return stream->transport->Close();
  }
  if (now >= stream->peer.not_after && stream->stage != Stage::kRefused) {
    Refuse(stream, Refusal{RefusalReason::kCertExpired,
                           "the certificate expired during the session", std::nullopt});
  } else if (now >= stream->behind_deadline) {
    stream->behind_deadline = absl::InfiniteFuture();
    if (stream->stage == Stage::kAdmitting) {
      Refuse(stream, Refusal{RefusalReason::kBehind, "this replica has not seen what the agent has",
                             absl::Seconds(2)});
    }
  }
  if (now >= stream->peer.not_after) stream->peer.not_after = absl::InfiniteFuture();
  ArmTimer(stream);
}

void SessionHostImpl::OnSnapshot(FleetSnapshotPtr snapshot, const FleetChanges& changes) {
  snapshot_ = std::move(snapshot);
  status_writer_.OnSnapshot(snapshot_);
  for (const Uuid& cluster : changes.clusters) {
    if (Stream* stream = Current(cluster); stream != nullptr) CheckLive(stream);
    if (Stream* stream = Current(cluster); stream != nullptr && stream->stage == Stage::kLive) {
      stream->session->MarkDirty();
      Pump(stream);
    }
  }
  if (changes.adopt) {
    for (const auto& [cluster, id] : current_) {
      Stream* stream = Find(id);
      bool adopted = stream != nullptr && stream->session != nullptr &&
                     stream->session->state() == AgentSession::State::kHold &&
                     snapshot_->Adopted(cluster);
      if (!adopted) continue;
      // It dials again and is welcomed with `adopt`.
      loop_->PostAfter(Jitter(ReconnectSpread(current_.size())),
                       [this, alive = std::weak_ptr<int>(alive_), id = id] {
                         Stream* held = alive.expired() ? nullptr : Find(id);
                         if (held == nullptr || held->closing) return;
                         held->closing = true;
                         held->transport->Close();
                       });
    }
  }
  std::set<StreamId> waiting = waiting_;
  for (StreamId id : waiting) TryWelcome(id);
}

// What a person decided about the cluster reaches a live session at once.
void SessionHostImpl::CheckLive(Stream* stream) {
  if (stream->stage != Stage::kLive) return;
  auto record = snapshot_->clusters.Find(stream->peer.cluster);
  if (record != nullptr && record->mod_revision == stream->checked_revision) return;
  if (record != nullptr) stream->checked_revision = record->mod_revision;
  AdmissionRecords records = RecordsOf(stream->peer.cluster);
  if (auto refusal = RefusalOfLive(stream->peer, stream->hello, records); refusal.has_value()) {
    return Refuse(stream, *refusal);
  }
  if (records.cluster->value.meta.create_time != stream->record_created) {
    stream->closing = true;
    Close(stream, Camel(Reason::kSessionLost));
    stream->transport->Close();
  }
}

void SessionHostImpl::Drain(std::function<void()> drained) {
  draining_ = true;
  drained_ = std::move(drained);
  if (streams_.empty()) {
    if (drained_) std::exchange(drained_, nullptr)();
    return;
  }
  std::vector<StreamId> ids;
  for (const auto& [id, stream] : streams_) ids.push_back(id);
  for (StreamId id : ids) {
    Stream* stream = Find(id);
    if (stream == nullptr) continue;
    Refuse(stream, Refusal{RefusalReason::kDraining, "the hub is stopping",
                           Jitter(ReconnectSpread(streams_.size()))});
  }
}

SessionHostMetrics SessionHostImpl::metrics() const {
  SessionHostMetrics metrics = metrics_;
  metrics.connected = current_.size();
  metrics.status_writes_total = status_writer_.writes_total();
  return metrics;
}

}  // namespace nave
