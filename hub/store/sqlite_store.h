// The embedded store: one SQLite file in WAL mode with synchronous=FULL.
#ifndef NAVE_HUB_STORE_SQLITE_STORE_H_
#define NAVE_HUB_STORE_SQLITE_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "hub/store/store.h"

namespace nave {

struct SqliteStoreOptions {
  // Path of the file; "<path>-wal", "<path>-shm" and "<path>.lock" stand beside it. Empty: in
  // memory only.
  std::string path;
  // Content of an in-memory store: what SqliteStore::Serialize gave. Empty: a new store.
  std::string image;
  // False: a file that is not there is NOT_FOUND.
  bool create = true;
  // Read every page at open, so that a damaged file is refused before it is served.
  bool check_pages = true;

  // Without threads: everything happens in the caller's, and callbacks wait for RunPending or are
  // given to `post`. For simulations and tests; such a store is not thread-safe.
  bool inline_mode = false;
  // Inline mode only. Tasks that are not run when the store is gone do nothing.
  std::function<void(absl::AnyInvocable<void() &&>)> post;

  // Of leases and of the history's age; only differences count. Default: the system's monotonic
  // clock.
  std::function<absl::Time()> clock;

  // What history is kept: at least so many revisions, and at least as long as `history_age` unless
  // it takes more than `history_bytes`. 0 revisions: everything until Compact.
  Revision history_revisions = 1000;
  absl::Duration history_age = absl::Minutes(1);
  size_t history_bytes = size_t{256} << 20;
  // Newest changes that are held in memory for watches.
  size_t watch_log_bytes = size_t{16} << 20;
  // Size of the write-ahead log, in pages, from which on it is moved into the file.
  int checkpoint_pages = 4000;
  // Transactions that wait for the writer; more are refused with STORE_UNAVAILABLE.
  size_t queue_bytes_max = size_t{256} << 20;

  // Called once, on a thread of the store, when the file turns out to be another one or an older
  // state of it. Every call from then on fails with STORE_WENT_BACK; the process should exit.
  std::function<void(absl::Status)> on_went_back;

  // Tells this opening of the file from every other, and makes lease ids. 0: random. Simulations
  // give their own.
  uint64_t incarnation = 0;

  // For tests: a registered VFS. The checks of the file's identity and the lock file are left out
  // then.
  std::string vfs;
};

class SqliteStore : public Store {
 public:
  // Does what is due by the clock: leases that ran out, old history, the check of the file. With
  // threads the store does it by itself once a second; inline nobody else does.
  virtual void Tick() = 0;
  // Inline mode without `post`: runs callbacks until none is left; answers how many ran.
  virtual size_t RunPending() = 0;
  // Looks, through a connection of its own, whether the file at the path still is what this process
  // has written. STORE_WENT_BACK otherwise.
  virtual absl::Status CheckContinuity() = 0;
  // A consistent, durable copy as a new file at `path`; its entry in the folder is the caller's to
  // sync.
  virtual absl::Status CopyTo(absl::string_view path) = 0;
  // In-memory stores: everything as bytes for SqliteStoreOptions::image.
  virtual absl::StatusOr<std::string> Serialize() = 0;
};

// STORE_IN_USE when another process, or another store of this one, has it open; STORE_READ_ONLY,
// STORE_CORRUPT, STORE_TOO_NEW, DISK_FULL.
absl::StatusOr<std::unique_ptr<SqliteStore>> OpenSqliteStore(SqliteStoreOptions options);

}  // namespace nave

#endif  // NAVE_HUB_STORE_SQLITE_STORE_H_
