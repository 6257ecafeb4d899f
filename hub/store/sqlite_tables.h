// The revisioned key table in SQLite: how keys, their history and leases are stored, read and
// written.
//
//   hist(id, prev, created, lease, key, value)  one row per change, appended only. id = revision <<
//   7 | place in the
//                                               transaction (at most 100 writes); prev: the id of
//                                               the key's change before, 0 = none; value NULL: the
//                                               change is a deletion. So a watch reads rows in
//                                               order of id, and a range at an old revision walks
//                                               back along prev.
//   cur(key, id, created, lease, deleted)       the newest change of each key; deletions stay until
//   they are swept. lease(id, ttl_ms)                           leases; when they run out is not
//   stored (see Store::KeepLease). state(head, compacted, swept, opened)       one row. swept: up
//   to where removal of superseded rows has come;
//                                               opened: random, new at each opening, tells copies
//                                               of a file apart.
#ifndef NAVE_HUB_STORE_SQLITE_TABLES_H_
#define NAVE_HUB_STORE_SQLITE_TABLES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hub/store/sqlite_db.h"
#include "hub/store/store.h"

namespace nave {

inline constexpr int64_t kSqliteSchemaVersion = 1;  // PRAGMA user_version.

struct StoreState {
  Revision head = 0;
  Revision compacted = 0;
  Revision swept = 0;
  uint64_t opened = 0;
};

// Makes the tables in an empty database, or checks version, kind and (if `check_pages`) every page
// of one that is there. STORE_TOO_NEW, STORE_CORRUPT.
absl::Status PrepareSchema(SqliteDb& db, bool check_pages);
absl::StatusOr<StoreState> ReadStoreState(SqliteDb& db);

struct HistoryPage {
  std::vector<WatchEvent> events;
  // All changes up to here were looked at.
  Revision through = 0;
};

// Reading side of one connection. Not thread-safe.
class StoreReader {
 public:
  static absl::StatusOr<std::unique_ptr<StoreReader>> Make(SqliteDb& db);

  absl::StatusOr<KeyValue> Get(absl::string_view key);
  // As Store::Range.
  absl::StatusOr<RangePage> Range(absl::string_view prefix, absl::string_view after, size_t limit,
                                  Revision at);
  // Changes after revision `after` of keys with `prefix`: whole revisions, until `bytes_max` or
  // `rows_max` is passed. REVISION_COMPACTED.
  absl::StatusOr<HistoryPage> History(absl::string_view prefix, Revision after, size_t bytes_max,
                                      size_t rows_max);

 private:
  explicit StoreReader(SqliteDb& db) : db_(db) {}
  absl::StatusOr<RangePage> RangeInTransaction(absl::string_view prefix, absl::string_view after,
                                               size_t limit, Revision at);
  absl::StatusOr<HistoryPage> HistoryInTransaction(absl::string_view prefix, Revision after,
                                                   size_t bytes_max, size_t rows_max);
  // Value of the key as of `last_id`, walking back from change `id`; false: it did not exist then.
  absl::StatusOr<bool> ReadVersion(int64_t id, int64_t last_id, KeyValue* kv);
  absl::StatusOr<StoreState> ReadState();

  SqliteDb& db_;
  SqliteStatement begin_, end_, state_, get_, keys_, keys_open_, version_, history_;
};

// What a transaction did, for the watches: same order as Txn::writes.
struct AppliedWrite {
  // Index into Txn::writes.
  size_t index = 0;
  Revision create_revision = 0;
};

struct AppliedTxn {
  TxnResult result;
  std::vector<AppliedWrite> writes;
};

// Writing side of the one writing connection. Not thread-safe. Between Begin and Commit nothing is
// durable; after an error the caller rolls back (Rollback restores the head).
class StoreWriter {
 public:
  static absl::StatusOr<std::unique_ptr<StoreWriter>> Make(SqliteDb& db);

  const StoreState& state() const { return state_; }

  absl::Status Begin();
  // Also stores the head when it moved.
  absl::Status Commit();
  void Rollback();

  // Within Begin and Commit; `txn` is within the limits and its leases exist.
  absl::StatusOr<AppliedTxn> Apply(const Txn& txn);

  // Also within Begin and Commit.
  void SetOpened(uint64_t opened) { state_.opened = opened; }
  // Makes everything before `revision` (at most the head) unreadable at once; Sweep frees the
  // space.
  void SetCompacted(Revision revision);
  bool SweepIsDue() const { return state_.swept < state_.compacted; }
  // Removes superseded rows, looking at about `rows_max` changes.
  absl::Status Sweep(size_t rows_max);
  absl::Status AddLease(LeaseId lease, int64_t ttl_ms);
  absl::Status RemoveLease(LeaseId lease);

  absl::StatusOr<std::vector<std::pair<LeaseId, int64_t>>> ReadLeases();
  // At most `limit` keys that hang on the lease.
  absl::StatusOr<std::vector<std::string>> ReadLeaseKeys(LeaseId lease, size_t limit);

 private:
  explicit StoreWriter(SqliteDb& db) : db_(db) {}
  absl::Status PrepareAll();
  absl::StatusOr<bool> ComparesHold(const Txn& txn);
  absl::Status ApplyWrite(const Write& write, int64_t id, bool* changed, Revision* create_revision);
  absl::Status PutState();

  SqliteDb& db_;
  StoreState state_;
  // As in the file; what Rollback returns to.
  StoreState stored_;
  SqliteStatement begin_, commit_, find_, append_, set_cur_, set_state_, swept_rows_, drop_row_,
      drop_cur_, add_lease_, remove_lease_, lease_keys_;
};

}  // namespace nave

#endif  // NAVE_HUB_STORE_SQLITE_TABLES_H_
