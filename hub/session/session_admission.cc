// How a Hello becomes a session: decide by the records, write the session record, wait for the
// snapshot, welcome.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/log.h"
#include "common/base/reasons.h"
#include "hub/session/session_host_impl.h"

namespace nave {
namespace {

// A transaction that lost its compare is tried again with what the store has now.
constexpr int kTriesMax = 5;

}  // namespace

AdmissionRecords SessionHostImpl::RecordsOf(const Uuid& cluster) const {
  AdmissionRecords records;
  if (auto found = snapshot_->clusters.Find(cluster); found != nullptr) records.cluster = *found;
  if (auto found = snapshot_->retired.Find(cluster); found != nullptr) records.retired = *found;
  if (auto found = snapshot_->sessions.Find(cluster); found != nullptr) records.session = *found;
  return records;
}

void SessionHostImpl::BeginAdmission(Stream* stream, Hello hello) {
  stream->hello = std::move(hello);
  if (draining_) {
    return Refuse(stream,
                  Refusal{RefusalReason::kDraining, "the hub is stopping", absl::Seconds(2)});
  }
  if (snapshot_ == nullptr) {
    return Refuse(stream, Refusal{RefusalReason::kHubStarting, "the hub is loading its state",
                                  absl::Seconds(1) + Jitter(absl::Seconds(1))});
  }
  if (admitting_ >= options_.admissions_max) {
    return Refuse(stream,
                  Refusal{RefusalReason::kOverloaded, "too many agents dial at once",
                          absl::Seconds(1) + Jitter(absl::Milliseconds(options_.admissions_max))});
  }
  stream->stage = Stage::kAdmitting;
  ++admitting_;
  Decide(stream->id, RecordsOf(stream->peer.cluster), /*from_store=*/false);
}

void SessionHostImpl::Decide(StreamId id, const AdmissionRecords& records, bool from_store) {
  Stream* stream = Find(id);
  if (stream == nullptr || stream->stage != Stage::kAdmitting) return;
  AdmissionVerdict verdict = DecideAdmission(stream->peer, stream->hello, records);
  if (verdict.refusal.has_value()) {
    // A refusal that rests on a record is given only after the store was read.
    if (verdict.rests_on_record && !from_store) return ReadThenDecide(id);
    bool unknown = verdict.refusal->reason == RefusalReason::kUnknownCluster;
    if (unknown) {
      live_->NoteUnknown({stream->peer.cluster, stream->peer.cluster_id, stream->peer.generation,
                          stream->peer.address, loop_->Now()});
    }
    return Refuse(stream, *verdict.refusal);
  }
  if (RefusedAsDuplicate(stream, records)) return;
  Commit(stream, verdict, records);
}

bool SessionHostImpl::RefusedAsDuplicate(Stream* stream, const AdmissionRecords& records) {
  if (!records.cluster->value.status.locked) return false;
  DuplicateWatch& duplicates = memory_[stream->peer.cluster].duplicates;
  duplicates.OnDial(stream->hello.instance_id, loop_->Now());
  if (duplicates.OthersSilent(stream->hello.instance_id, loop_->Now())) {
    duplicates.Reset();
    SetLocked(stream->peer.cluster, false);
    return false;
  }
  Refuse(stream, Refusal{RefusalReason::kDuplicateIdentity,
                         absl::StrCat("two agents use the identity of ", stream->peer.cluster_id,
                                      "; next: ", GetReasonInfo(Reason::kDuplicateIdentity).next),
                         absl::Seconds(60)});
  return true;
}

void SessionHostImpl::ReadThenDecide(StreamId id) {
  Stream* stream = Find(id);
  reader_->Post([this, alive = std::weak_ptr<int>(alive_), loop = loop_, store = store_, id,
                 cluster = stream->peer.cluster] {
    absl::StatusOr<AdmissionRecords> records = store->ReadRecords(cluster);
    loop->Post([this, alive, id, records = std::move(records)] {
      if (alive.expired()) return;
      if (records.ok()) return Decide(id, *records, /*from_store=*/true);
      Stream* waiting = Find(id);
      if (waiting == nullptr) return;
      Refuse(waiting, Refusal{RefusalReason::kHubStarting, std::string(records.status().message()),
                              absl::Seconds(2) + Jitter(absl::Seconds(2))});
    });
  });
}

void SessionHostImpl::Commit(Stream* stream, const AdmissionVerdict& verdict,
                             const AdmissionRecords& records) {
  store_->CommitSession(
      verdict.session, verdict.cluster_update, records,
      [this, alive = std::weak_ptr<int>(alive_), loop = loop_, id = stream->id, verdict,
       records](absl::StatusOr<std::optional<uint64_t>> revision) {
        loop->Post([this, alive, id, verdict, records, revision = std::move(revision)] {
          if (!alive.expired()) OnSessionCommitted(id, verdict, records, revision);
        });
      });
}

void SessionHostImpl::OnSessionCommitted(StreamId id, const AdmissionVerdict& verdict,
                                         const AdmissionRecords& records,
                                         absl::StatusOr<std::optional<uint64_t>> revision) {
  Stream* stream = Find(id);
  if (stream == nullptr || stream->stage != Stage::kAdmitting) return;
  if (!revision.ok() || (!revision->has_value() && ++stream->tries > kTriesMax)) {
    return Refuse(stream,
                  Refusal{RefusalReason::kHubStarting, "the store does not take the session now",
                          absl::Seconds(2) + Jitter(absl::Seconds(2))});
  }
  if (!revision->has_value()) return ReadThenDecide(id);
  stream->epoch = verdict.session.epoch;
  stream->session_revision = **revision;
  stream->record_created = records.cluster->value.meta.create_time;
  TakeOver(stream);
  waiting_.insert(id);
  TryWelcome(id);
}

void SessionHostImpl::TakeOver(Stream* stream) {
  Stream* old = Current(stream->peer.cluster);
  if (old != nullptr && old != stream) {
    ++metrics_.superseded_total;
    if (old->hello.instance_id != stream->hello.instance_id) {
      DuplicateWatch& duplicates = memory_[stream->peer.cluster].duplicates;
      duplicates.OnSuperseded(stream->hello.instance_id, old->hello.instance_id, loop_->Now());
      if (duplicates.IsFight()) SetLocked(stream->peer.cluster, true);
    }
    Refuse(old, Refusal{RefusalReason::kSuperseded, "a newer session of this cluster took over",
                        std::nullopt});
  }
  current_[stream->peer.cluster] = stream->id;
}

void SessionHostImpl::SetLocked(const Uuid& cluster, bool locked) {
  auto record = snapshot_->clusters.Find(cluster);
  if (record == nullptr || record->value.status.locked == locked) return;
  LogWarning(locked ? "duplicate identity, cluster locked" : "cluster unlocked",
             {{"cluster", record->value.id}});
  store_->CommitLock(record->value, record->mod_revision, locked,
                     [](absl::StatusOr<std::optional<uint64_t>>) {});
  Stream* stream = Current(cluster);
  if (!locked || stream == nullptr) return;
  Refuse(stream, Refusal{RefusalReason::kDuplicateIdentity, "two agents use this identity",
                         absl::Seconds(60)});
}

void SessionHostImpl::TryWelcome(StreamId id) {
  Stream* stream = Find(id);
  if (stream == nullptr || stream->stage != Stage::kAdmitting) {
    waiting_.erase(id);
    return;
  }
  if (snapshot_->revision < stream->session_revision ||
      snapshot_->clusters.Find(stream->peer.cluster) == nullptr) {
    return;
  }
  switch (CheckHistory(stream->hello, *snapshot_)) {
    case HistoryAnswer::kContained:
      return Welcome(stream, true);
    case HistoryAnswer::kNotContained:
      return Welcome(stream, false);
    case HistoryAnswer::kSnapshotBehind:
      break;
  }
  if (stream->behind_deadline != absl::InfiniteFuture()) return;  // Already known to be on its way.
  ReadHeadThenWelcome(id);
}

void SessionHostImpl::ReadHeadThenWelcome(StreamId id) {
  waiting_.erase(id);
  reader_->Post([this, alive = std::weak_ptr<int>(alive_), loop = loop_, store = store_, id] {
    absl::StatusOr<uint64_t> head = store->ReadHead();
    loop->Post([this, alive, id, head] {
      Stream* stream = alive.expired() ? nullptr : Find(id);
      if (stream == nullptr || stream->stage != Stage::kAdmitting) return;
      if (!head.ok()) {
        return Refuse(stream, Refusal{RefusalReason::kHubStarting,
                                      std::string(head.status().message()), absl::Seconds(2)});
      }
      bool reached = *head >= stream->hello.committed.revision && *head > snapshot_->revision;
      if (!reached) return Welcome(stream, false);
      stream->behind_deadline = loop_->Now() + options_.behind_timeout;
      loop_->Cancel(stream->timer);
      ArmTimer(stream);
      waiting_.insert(id);
      TryWelcome(id);
    });
  });
}

void SessionHostImpl::Welcome(Stream* stream, bool history_contained) {
  waiting_.erase(stream->id);
  --admitting_;
  ++metrics_.admitted_total;
  stream->stage = Stage::kLive;
  stream->behind_deadline = absl::InfiniteFuture();
  const Uuid& cluster = stream->peer.cluster;
  Memory& memory = memory_[cluster];
  std::optional<StatusCursor> cursor;
  bool here_before = memory.epoch + 1 == stream->epoch;
  if (here_before && memory.acked.seq > 0 &&
      memory.acked.instance_id == stream->hello.instance_id) {
    cursor = memory.acked;
  }
  if (!cursor.has_value()) memory.acked = {};
  memory.epoch = stream->epoch;
  SessionOptions options = options_.session;
  options.reconnect_spread = ReconnectSpread(current_.size());
  absl::Time now = loop_->Now();
  stream->session = std::make_unique<AgentSession>(
      cluster, stream->epoch, stream->hello, *snapshot_, history_contained, cursor, options, now);
  stream->last_seen_ns = std::make_shared<std::atomic<int64_t>>(absl::ToUnixNanos(now));
  live_->ForgetUnknown(cluster);
  UpdateLive(cluster, [&](ClusterLive* live) {
    live->connected = true;
    live->epoch = stream->epoch;
    live->since = now;
    live->disconnect_reason.clear();
    live->address = stream->peer.address;
    live->agent_version = stream->hello.agent_version;
    live->certificate_not_after = stream->peer.not_after;
    if (!stream->hello.facts.kubernetes_version.empty()) live->facts = stream->hello.facts;
    bool held = stream->session->state() == AgentSession::State::kHold;
    live->hold_reason =
        held ? std::string(
                   Camel(stream->hello.state_lost ? Reason::kStateLost : Reason::kHistoryDiverged))
             : "";
    live->clock_offset = stream->hello.agent_time == absl::InfinitePast()
                             ? absl::ZeroDuration()
                             : stream->hello.agent_time - now;
    live->status_complete = cursor.has_value();
    live->last_seen_ns = stream->last_seen_ns;
  });
  LogInfo("session open", {{"cluster", stream->peer.cluster_id},
                           {"epoch", stream->epoch},
                           {"address", stream->peer.address},
                           {"history", history_contained ? "contained" : "diverged"}});
  Pump(stream);
}

}  // namespace nave
