// The hub's store: a revisioned key table with compare-and-swap transactions, watches and leases.
// Two backends (SQLite now, etcd later) pass one conformance suite; the interface has etcd's limits
// and every backend enforces them.
#ifndef NAVE_HUB_STORE_STORE_H_
#define NAVE_HUB_STORE_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace nave {

// Limits of one transaction and one value (etcd's defaults, rounded down).
inline constexpr size_t kTxnComparesMax = 100;
inline constexpr size_t kTxnWritesMax = 100;
inline constexpr size_t kTxnBytesMax = 1 << 20;
inline constexpr size_t kValueBytesMax = 512 << 10;
inline constexpr size_t kRangePageBytesMax = 16 << 20;
inline constexpr absl::Duration kLeaseTtlMin = absl::Seconds(5);

using Revision = uint64_t;
using LeaseId = int64_t;  // 0 = none.

struct KeyValue {
  std::string key;
  std::string value;
  Revision create_revision = 0;
  Revision mod_revision = 0;
  LeaseId lease = 0;
  bool operator==(const KeyValue&) const = default;
};

// Holds when the key's mod revision is exactly this; 0 = the key does not exist.
struct Compare {
  std::string key;
  Revision mod_revision = 0;
};

struct Write {
  std::string key;
  // nullopt: delete (no error when absent).
  std::optional<std::string> value;
  // The key goes when the lease runs out or is revoked.
  // NOT_FOUND for the whole transaction when that lease ran out.
  LeaseId lease = 0;
};

// No key stands twice in `writes`.
struct Txn {
  std::vector<Compare> compares;
  std::vector<Write> writes;
};

struct TxnResult {
  // False: a compare did not hold and nothing was written.
  bool succeeded = false;
  // Revision of this transaction, or the store's head when it did not succeed or wrote nothing.
  Revision revision = 0;
};

struct RangePage {
  std::vector<KeyValue> items;  // Sorted by key.
  // Revision that all pages of this range are read at.
  Revision revision = 0;
  // More follow after the last key.
  bool more = false;
};

struct WatchEvent {
  // For a deletion: key and mod_revision (of the deletion) only.
  KeyValue kv;
  bool deleted = false;
};

// Events of one or more whole revisions, in order.
struct WatchBatch {
  // Not OK: the watch has ended. OUT_OF_RANGE (REVISION_COMPACTED): start again from a Range;
  // UNAVAILABLE: likewise.
  absl::Status status;
  std::vector<WatchEvent> events;
  // Everything up to this revision has been delivered.
  Revision revision = 0;
};

// Ends the watch when destroyed, which must happen before the store is destroyed; no callback runs
// after the destructor returned. Do not destroy it in its callback.
class StoreWatch {
 public:
  virtual ~StoreWatch() = default;
};

// Thread-safe. Errors: UNAVAILABLE STORE_UNAVAILABLE (try again), RESOURCE_EXHAUSTED DISK_FULL,
// FAILED_PRECONDITION STORE_READ_ONLY, DATA_LOSS STORE_CORRUPT, INVALID_ARGUMENT LIMIT_EXCEEDED (a
// limit above; nothing was written).
class Store {
 public:
  using TxnCallback = absl::AnyInvocable<void(absl::StatusOr<TxnResult>) &&>;
  using WatchCallback = std::function<void(WatchBatch)>;

  virtual ~Store() = default;

  // NOT_FOUND when the key does not exist.
  virtual absl::StatusOr<KeyValue> Get(absl::string_view key) = 0;

  // Keys with `prefix` greater than `after` (empty: from the first), at most `limit` (0: as many as
  // fit a page) and at most kRangePageBytesMax, as they were at `at` (0: now). OUT_OF_RANGE when
  // `at` was compacted.
  virtual absl::StatusOr<RangePage> Range(absl::string_view prefix, absl::string_view after,
                                          size_t limit, Revision at) = 0;

  // All or nothing, one revision. Durable when the callback runs (on a thread of the store; it must
  // not block or call back into the store). Transactions submitted together may share one sync of
  // the disk.
  virtual void TxnAsync(Txn txn, TxnCallback done) = 0;

  // Every change of keys with `prefix` after revision `after`. Callbacks run one at a time on a
  // thread of the store; revisions without a change under `prefix` make no callback. A slow
  // callback delays other watches, never a writer.
  virtual std::unique_ptr<StoreWatch> Watch(absl::string_view prefix, Revision after,
                                            WatchCallback on_batch) = 0;

  virtual absl::StatusOr<LeaseId> GrantLease(absl::Duration ttl) = 0;
  // Starts its time to live anew. A lease outlives the store's process and starts anew with it.
  // NOT_FOUND when it ran out.
  virtual absl::Status KeepLease(LeaseId lease) = 0;
  virtual absl::Status RevokeLease(LeaseId lease) = 0;

  // Forgets history up to `revision`: ranges at and watches from before it fail.
  virtual absl::Status Compact(Revision revision) = 0;
  virtual absl::StatusOr<Revision> Head() = 0;

  // TxnAsync, waited for. Not to be called on a thread of the store.
  virtual absl::StatusOr<TxnResult> Commit(Txn txn);
};

}  // namespace nave

#endif  // NAVE_HUB_STORE_STORE_H_
