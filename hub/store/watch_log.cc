#include "hub/store/watch_log.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"

namespace nave {
namespace {

// A callback gets about this much at once, so that one far behind does not hold up the others for
// long.
constexpr size_t kCallbackBytes = 4 << 20;
// What an event costs beside its key and value.
constexpr size_t kEventBytes = 128;

}  // namespace

// Changed by the dispatching caller only, under the lock; `prefix` and `on_batch` never change.
struct WatchLog::Cursor {
  std::string prefix;
  Store::WatchCallback on_batch;
  Revision delivered = 0;
  bool ended = false;
  // An error to deliver as its last batch.
  absl::Status refusal;
};

class WatchLog::Handle : public StoreWatch {
 public:
  Handle(WatchLog* log, std::shared_ptr<Cursor> cursor) : log_(log), cursor_(std::move(cursor)) {}
  ~Handle() override { log_->Remove(cursor_); }

 private:
  WatchLog* const log_;
  const std::shared_ptr<Cursor> cursor_;
};

WatchLog::WatchLog(Revision head, size_t bytes_max, ReadHistory read_history,
                   std::function<void()> on_work)
    : bytes_max_(bytes_max),
      read_history_(std::move(read_history)),
      on_work_(std::move(on_work)),
      head_(head),
      log_after_(head) {}

std::unique_ptr<StoreWatch> WatchLog::Add(absl::string_view prefix, Revision after,
                                          Store::WatchCallback on_batch) {
  auto cursor = std::make_shared<Cursor>();
  cursor->prefix = std::string(prefix);
  cursor->on_batch = std::move(on_batch);
  cursor->delivered = after;
  cursor->refusal = CheckNotAhead(after);
  std::lock_guard<std::mutex> lock(mutex_);
  cursors_.push_back(cursor);
  on_work_();
  return std::make_unique<Handle>(this, std::move(cursor));
}

absl::Status WatchLog::CheckNotAhead(Revision after) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (after <= head_) return absl::OkStatus();
  }
  // A reader sees a revision in the table a moment before it is published here, so only the table
  // can say no.
  absl::StatusOr<HistoryPage> page = read_history_("", after);
  RETURN_IF_ERROR(page.status());
  if (page->through >= after) return absl::OkStatus();
  return MakeError(
      Reason::kStoreWentBack,
      absl::StrCat("watch: revision ", after, " is after the newest one, ", page->through));
}

void WatchLog::Publish(std::vector<std::shared_ptr<const RevisionEvents>> revisions) {
  if (revisions.empty()) return;
  std::lock_guard<std::mutex> lock(mutex_);
  head_ = revisions.back()->revision;
  for (auto& revision : revisions) {
    log_bytes_ += revision->bytes + kEventBytes * revision->events.size();
    log_.push_back(std::move(revision));
  }
  while (log_bytes_ > bytes_max_ && !log_.empty()) {
    const RevisionEvents& oldest = *log_.front();
    log_bytes_ -= oldest.bytes + kEventBytes * oldest.events.size();
    log_after_ = oldest.revision;
    log_.pop_front();
  }
  if (!cursors_.empty()) on_work_();
}

std::shared_ptr<WatchLog::Cursor> WatchLog::NextBehind() {
  for (size_t i = 0; i < cursors_.size(); ++i) {
    const auto& cursor = cursors_[(next_ + i) % cursors_.size()];
    if (cursor->ended || (cursor->delivered >= head_ && cursor->refusal.ok())) continue;
    next_ = (next_ + i + 1) % cursors_.size();
    return cursor;
  }
  return nullptr;
}

bool WatchLog::TakeSegment(const Cursor& cursor, Segment* segment) const {
  if (cursor.delivered < log_after_) return false;
  auto first = std::upper_bound(
      log_.begin(), log_.end(), cursor.delivered,
      [](Revision revision, const auto& entry) { return revision < entry->revision; });
  size_t bytes = 0;
  for (auto it = first; it != log_.end() && bytes < kCallbackBytes; ++it) {
    bytes += (*it)->bytes;
    segment->push_back(*it);
  }
  return true;
}

WatchBatch WatchLog::ReadBatch(const Cursor& cursor) {
  WatchBatch batch;
  absl::StatusOr<HistoryPage> page = read_history_(cursor.prefix, cursor.delivered);
  if (!page.ok()) {
    batch.status = page.status();
    batch.revision = cursor.delivered;
    return batch;
  }
  batch.events = std::move(page->events);
  batch.revision = page->through;
  return batch;
}

bool WatchLog::DispatchOne() {
  std::unique_lock<std::mutex> lock(mutex_);
  std::shared_ptr<Cursor> cursor = NextBehind();
  if (cursor == nullptr) return false;
  running_ = cursor.get();
  Segment segment;
  bool in_memory = cursor->refusal.ok() && TakeSegment(*cursor, &segment);
  lock.unlock();

  WatchBatch batch;
  if (!cursor->refusal.ok()) {
    batch.status = cursor->refusal;
    batch.revision = cursor->delivered;
  } else if (in_memory) {
    batch.revision = segment.back()->revision;
    for (const auto& revision : segment) {
      for (const WatchEvent& event : revision->events) {
        if (absl::StartsWith(event.kv.key, cursor->prefix)) batch.events.push_back(event);
      }
    }
  } else {
    batch = ReadBatch(*cursor);
  }
  Revision delivered = batch.revision;
  bool ended = !batch.status.ok();
  if (ended || !batch.events.empty()) cursor->on_batch(std::move(batch));

  lock.lock();
  cursor->delivered = delivered;
  cursor->ended = ended;
  running_ = nullptr;
  idle_.notify_all();
  return true;
}

void WatchLog::Remove(const std::shared_ptr<Cursor>& cursor) {
  std::unique_lock<std::mutex> lock(mutex_);
  cursors_.erase(std::remove(cursors_.begin(), cursors_.end(), cursor), cursors_.end());
  idle_.wait(lock, [&] { return running_ != cursor.get(); });
}

}  // namespace nave
