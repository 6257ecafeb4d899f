#include "hub/session/status_writer.h"

#include <utility>

#include "common/base/log.h"

namespace nave {
namespace {

// Transactions under way at one time: one is being synced while the next is put together.
constexpr size_t kInFlightMax = 2;
// Below the store's limits of 100 compares, 100 writes and 1 MiB, with room for head and audit.
constexpr size_t kBatchKeysMax = 90;
constexpr size_t kBatchBytesMax = 768 << 10;
constexpr int kWriteTriesMax = 5;

size_t EstimateBytes(const StatusSummary& summary) {
  return 512 + summary.assignments.size() * 256;
}

}  // namespace

void StatusWriter::Add(const Uuid& cluster, Entry entry) {
  pending_[cluster] = entry;
  Flush();
}

void StatusWriter::Drop(const Uuid& cluster, uint64_t session_revision) {
  auto it = pending_.find(cluster);
  if (it != pending_.end() && it->second.session_revision == session_revision) pending_.erase(it);
}

bool StatusWriter::AddTo(Batch* batch, const Uuid& cluster, const Entry& entry) {
  auto live = live_->Find(cluster);
  if (live == nullptr) return true;  // Forgotten meanwhile: nothing to write.
  StatusWrite write;
  write.cluster = cluster;
  write.session_revision = entry.session_revision;
  write.summary = Summarize(cluster, *live);
  if (snapshot_ != nullptr) {
    if (auto tombstones = snapshot_->tombstones.Find(cluster); tombstones != nullptr) {
      for (const auto& [bundle, tombstone] : *tombstones) {
        auto status = live->assignments.find(bundle);
        bool done = status != live->assignments.end() && status->second->phase == Phase::kRemoved &&
                    tombstone.mod_revision <= status->second->revision;
        if (done && write.tombstones_done.size() < kBatchKeysMax / 2) {
          write.tombstones_done.emplace_back(bundle, tombstone.mod_revision);
        }
      }
    }
  }
  size_t bytes = EstimateBytes(write.summary);
  size_t keys = 1 + write.tombstones_done.size();
  bool fits = batch->keys + keys <= kBatchKeysMax && batch->bytes + bytes <= kBatchBytesMax;
  if (!fits && !batch->writes.empty()) return false;
  batch->keys += keys;
  batch->bytes += bytes;
  batch->entries[cluster] = entry;
  batch->writes.push_back(std::move(write));
  return true;
}

void StatusWriter::Flush() {
  while (in_flight_ < kInFlightMax && !pending_.empty()) {
    Batch batch;
    for (auto it = pending_.begin(); it != pending_.end();) {
      bool alone = suspects_.count(it->first) > 0;
      if (alone && !batch.writes.empty()) {
        ++it;
        continue;
      }
      if (!AddTo(&batch, it->first, it->second)) break;
      it = pending_.erase(it);
      if (alone) break;
    }
    if (batch.writes.empty()) return;
    Commit(std::move(batch));
  }
}

void StatusWriter::Commit(Batch batch) {
  ++in_flight_;
  writes_total_ += batch.writes.size();
  store_->CommitStatuses(
      std::move(batch.writes),
      [this, alive = std::weak_ptr<int>(alive_), loop = loop_,
       entries = std::move(batch.entries)](absl::StatusOr<std::optional<uint64_t>> result) mutable {
        loop->Post(
            [this, alive, entries = std::move(entries), result = std::move(result)]() mutable {
              if (!alive.expired()) OnCommitted(std::move(entries), std::move(result));
            });
      });
}

void StatusWriter::OnCommitted(std::map<Uuid, Entry> entries,
                               absl::StatusOr<std::optional<uint64_t>> result) {
  --in_flight_;
  bool committed = result.ok() && result->has_value();
  for (const auto& [cluster, entry] : entries) {
    if (committed) {
      suspects_.erase(cluster);
      durable_(cluster, entry);
      continue;
    }
    // After a failed compare each goes alone; one that fails alone has lost its session or its
    // tombstone moved.
    if (result.ok() && entries.size() == 1 && ++suspects_[cluster] > kWriteTriesMax) {
      suspects_.erase(cluster);
      continue;
    }
    if (result.ok()) suspects_.emplace(cluster, 0);
    pending_.emplace(cluster, entry);  // Not over a newer one.
  }
  if (!result.ok()) {
    LogWarning("status not stored", {{"error", result.status().message()}});
  }
  if (committed) {
    Flush();
    return;
  }
  if (retry_ == 0) {
    retry_ = loop_->PostAfter(absl::Milliseconds(result.ok() ? 20 : 1000),
                              [this, alive = std::weak_ptr<int>(alive_)] {
                                if (alive.expired()) return;
                                retry_ = 0;
                                Flush();
                              });
  }
}

}  // namespace nave
