// The writing half of the SQLite store, without threads: batches of transactions, leases,
// compaction, continuity. Its owner calls it from one thread at a time (the writer's, or inline the
// caller's).
#ifndef NAVE_HUB_STORE_SQLITE_ENGINE_H_
#define NAVE_HUB_STORE_SQLITE_ENGINE_H_

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "hub/store/file_guard.h"
#include "hub/store/reader_pool.h"
#include "hub/store/sqlite_db.h"
#include "hub/store/sqlite_store.h"
#include "hub/store/sqlite_tables.h"
#include "hub/store/watch_log.h"

namespace nave {

// One transaction on its way through the writer.
struct TxnRequest {
  Txn txn;
  // Null for the store's own transactions.
  Store::TxnCallback done;
  size_t bytes = 0;
  absl::StatusOr<TxnResult> outcome = TxnResult{};
  AppliedTxn applied;
};

class SqliteEngine {
 public:
  // Revisions that have just become durable. Called before their transactions are answered.
  using Publish = std::function<void(std::vector<std::shared_ptr<const RevisionEvents>>)>;

  static absl::StatusOr<std::unique_ptr<SqliteEngine>> Open(const SqliteStoreOptions& options);

  // To be set before the first write.
  void set_publish(Publish publish) { publish_ = std::move(publish); }
  ReaderPool& readers() { return *readers_; }

  // Thread-safe: newest durable revision.
  Revision head() const { return head_.load(); }
  // Thread-safe: not OK once the file has been found to be another.
  absl::Status Alive() const;
  // Thread-safe.
  absl::Status KeepLease(LeaseId lease);
  // Thread-safe. As SqliteStore::CheckContinuity.
  absl::Status CheckContinuity();

  // Fills in `outcome` of each. All go into one SQLite transaction; should that fail, each gets one
  // of its own, so that what is wrong with one of them does not fail the others. Callbacks are not
  // called.
  void RunBatch(std::vector<TxnRequest>& batch);

  absl::StatusOr<LeaseId> GrantLease(absl::Duration ttl);
  absl::Status RevokeLease(LeaseId lease);
  absl::Status Compact(Revision revision);
  absl::Status CopyTo(absl::string_view path);
  absl::StatusOr<std::string> Serialize();
  // Leases and history by the clock; every tenth time also CheckContinuity.
  void Tick();
  // Frees some space of superseded rows; false: there was none.
  bool SweepSome();

 private:
  struct Lease {
    absl::Duration ttl;
    absl::Time expire_time;
  };
  struct Mark {
    absl::Time time;
    Revision head;
    uint64_t bytes;
  };

  explicit SqliteEngine(const SqliteStoreOptions& options);
  absl::Status OpenFile();
  absl::Status LoadLeases();
  absl::Status CommitBatch(TxnRequest* begin, TxnRequest* end);
  absl::Status CheckLeases(const Txn& txn);
  void PublishBatch(std::vector<TxnRequest>& batch);
  absl::Status Transact(const std::function<absl::Status()>& change);
  void DropDyingLeases();
  absl::Status DropLease(LeaseId lease);
  void CompactByAge();
  absl::Status ReportWentBack(absl::Status status);
  absl::Status CheckFile();
  absl::Status MarkFile();
  // The state as of the last time that the log was moved into the file.
  absl::StatusOr<StoreState> ReadFileWithoutLog();
  absl::Status CheckFileWithoutLog();
  // STORE_WENT_BACK unless `state` is this process's and not before `seen`.
  absl::Status CheckState(const absl::StatusOr<StoreState>& state, Revision seen);
  bool has_file() const { return !options_.path.empty() && options_.vfs.empty(); }

  const SqliteStoreOptions options_;
  Publish publish_;
  std::unique_ptr<FileGuard> guard_;  // Null: in memory or under a test's VFS.
  std::unique_ptr<SqliteDb> db_;
  std::unique_ptr<StoreWriter> writer_;
  std::unique_ptr<ReaderPool> readers_;
  uint64_t opened_ = 0;
  uint64_t ticks_ = 0;
  uint64_t bytes_written_ = 0;
  std::deque<Mark> marks_;
  LeaseId next_lease_ = 0;
  // Ran out or revoked, keys not all gone yet.
  std::set<LeaseId> dying_leases_;

  std::mutex check_mutex_;
  // Guarded by check_mutex_: whether the file without its log is known to be of this process, and
  // its newest head seen.
  bool file_marked_ = false;
  Revision file_head_ = 0;

  std::atomic<Revision> head_{0};
  std::atomic<bool> went_back_{false};

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::map<LeaseId, Lease> leases_;
  absl::Status went_back_status_;
};

}  // namespace nave

#endif  // NAVE_HUB_STORE_SQLITE_ENGINE_H_
