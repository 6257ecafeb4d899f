// The newest revisions in memory, and the watches that read them. A watch is a cursor: it is fed
// from here while the log still holds what comes next, and from the history table when it has
// fallen behind. So a slow or new watch costs no memory, and a writer never waits for one.
#ifndef NAVE_HUB_STORE_WATCH_LOG_H_
#define NAVE_HUB_STORE_WATCH_LOG_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hub/store/sqlite_tables.h"
#include "hub/store/store.h"

namespace nave {

// All events of one revision.
struct RevisionEvents {
  Revision revision = 0;
  std::vector<WatchEvent> events;
  size_t bytes = 0;
};

// Thread-safe. Who calls DispatchOne decides where callbacks run; one caller at a time.
class WatchLog {
 public:
  // Reads about one page of history after a revision; see StoreReader::History. Called without
  // locks.
  using ReadHistory =
      std::function<absl::StatusOr<HistoryPage>(absl::string_view prefix, Revision after)>;

  // `on_work` is called, under the lock, when there may be something for DispatchOne to do. It must
  // not call back.
  WatchLog(Revision head, size_t bytes_max, ReadHistory read_history,
           std::function<void()> on_work);

  // The result must not outlive this object.
  std::unique_ptr<StoreWatch> Add(absl::string_view prefix, Revision after,
                                  Store::WatchCallback on_batch);
  // Revisions that have become durable, in order, each newer than those before.
  void Publish(std::vector<std::shared_ptr<const RevisionEvents>> revisions);
  // Moves one watch on, with at most one callback. False when all are up to date.
  bool DispatchOne();

 private:
  struct Cursor;
  class Handle;
  // What a watch gets next. Under the lock: the revisions to look at, if the log has them.
  using Segment = std::vector<std::shared_ptr<const RevisionEvents>>;
  // Not OK: the store has no such revision.
  absl::Status CheckNotAhead(Revision after);
  std::shared_ptr<Cursor> NextBehind();
  bool TakeSegment(const Cursor& cursor, Segment* segment) const;
  WatchBatch ReadBatch(const Cursor& cursor);
  void Remove(const std::shared_ptr<Cursor>& cursor);

  const size_t bytes_max_;
  const ReadHistory read_history_;
  const std::function<void()> on_work_;

  std::mutex mutex_;
  // The rest is guarded by mutex_.
  std::condition_variable idle_;
  Revision head_;
  // Every revision after this one, up to head_, is in log_.
  Revision log_after_;
  std::deque<std::shared_ptr<const RevisionEvents>> log_;
  size_t log_bytes_ = 0;
  std::vector<std::shared_ptr<Cursor>> cursors_;
  size_t next_ = 0;
  // Whose callback runs now, without the lock.
  const Cursor* running_ = nullptr;
};

}  // namespace nave

#endif  // NAVE_HUB_STORE_WATCH_LOG_H_
