// The hub's records over any Store: opens or makes the store, begins a term, and commits
// transactions that carry the head, events and the audit with them.
#ifndef NAVE_HUB_RECORDS_RECORD_STORE_H_
#define NAVE_HUB_RECORDS_RECORD_STORE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/uuid.h"
#include "common/model/tenancy.h"
#include "hub/records/records.h"
#include "hub/store/store.h"

namespace nave {

// A transaction by records. Of the store's 100 writes, one is the head's, one each event's and the
// audit's.
struct RecordTxn {
  std::vector<nave::Compare> compares;
  std::vector<Write> writes;
  // Id, uid, create time and last time are filled in where they are not set.
  std::vector<Event> events;
  // The time is filled in where it is not set.
  std::optional<AuditRecord> audit;

  // `revision` 0: the key is absent.
  void Compare(std::string key, Revision revision) {
    compares.push_back({std::move(key), revision});
  }
  void Put(std::string key, std::string value, LeaseId lease = 0) {
    writes.push_back({std::move(key), std::move(value), lease});
  }
  void Delete(std::string key) { writes.push_back({std::move(key), std::nullopt, 0}); }
};

struct RecordStoreOptions {
  // As in the data directory; a store of another hub is refused.
  std::string hub_id;
  // Of this hub, written into a store that it makes.
  std::string version;
  // The wall clock, and uids of events and the term. Both thread-safe.
  std::function<absl::Time()> now = [] { return absl::Now(); };
  std::function<Uuid()> make_uuid = [] { return Uuid::Random(); };
};

// What the store says of itself before anything is written: the id of its hub, nullopt for a new
// store. STORE_TOO_NEW, STORE_CORRUPT.
absl::StatusOr<std::optional<std::string>> ReadStoreHubId(Store& store);

// Thread-safe. Destroy watches first.
class RecordStore {
 public:
  // nullopt: a compare did not hold and nothing was written.
  using CommitResult = absl::StatusOr<std::optional<Revision>>;
  using CommitCallback = absl::AnyInvocable<void(CommitResult) &&>;

  // Makes a new store's schema, or checks what is there before it writes: STORE_TOO_NEW,
  // FEATURE_LEVEL_UNSUPPORTED, HUB_ID_MISMATCH, STORE_CORRUPT. Then begins a term; when this
  // returns it is durable.
  static absl::StatusOr<std::unique_ptr<RecordStore>> Open(std::unique_ptr<Store> store,
                                                           RecordStoreOptions options);

  const std::string& hub_id() const { return options_.hub_id; }
  // The term of this process.
  const TermRecord& term() const { return terms_.back(); }
  // The newest terms up to this process's own, by number.
  const std::vector<TermRecord>& Terms() const { return terms_; }
  // The store was made by this call of Open.
  bool made() const { return made_; }

  // Mod revision of the head as the store has it: the revision of a snapshot that is up to date.
  absl::StatusOr<Revision> HeadRevision() const;

  // All or nothing, durable when the callback runs (on a thread of the store; it must not block or
  // call back into it). Errors as Store's: LIMIT_EXCEEDED when head, events and audit do not fit
  // beside the writes.
  void CommitAsync(RecordTxn txn, CommitCallback done);
  // CommitAsync, waited for. Not to be called on a thread of the store.
  CommitResult Commit(RecordTxn txn);

  // As Store's.
  absl::StatusOr<KeyValue> Get(absl::string_view key) const { return store_->Get(key); }
  absl::StatusOr<RangePage> Range(absl::string_view prefix, absl::string_view after, size_t limit,
                                  Revision at) const {
    return store_->Range(prefix, after, limit, at);
  }
  std::unique_ptr<StoreWatch> Watch(absl::string_view prefix, Revision after,
                                    Store::WatchCallback on_batch) {
    return store_->Watch(prefix, after, std::move(on_batch));
  }
  absl::StatusOr<LeaseId> GrantLease(absl::Duration ttl) { return store_->GrantLease(ttl); }
  Store* store() const { return store_.get(); }

 private:
  RecordStore(std::unique_ptr<Store> store, RecordStoreOptions options)
      : store_(std::move(store)), options_(std::move(options)) {}
  absl::Status BeginTerm();
  // False: another hub process was faster.
  absl::StatusOr<bool> TryBeginTerm();
  // The transaction with head, events and audit in it.
  Txn Complete(RecordTxn txn);
  std::string NextTimeOrderedId(absl::Time now);

  const std::unique_ptr<Store> store_;
  const RecordStoreOptions options_;
  // Constant once open; its last is this process's.
  std::vector<TermRecord> terms_;
  bool made_ = false;
  std::atomic<uint64_t> sequence_{0};

  std::mutex mutex_;
  // Guarded by mutex_.
  int64_t newest_id_us_ = 0;
  uint64_t ids_ = 0;
};

// Every item under `prefix`, page by page, as of one revision (`at` 0: now). An error of `on_item`
// ends it.
absl::Status ForEachRecord(Store& store, absl::string_view prefix, Revision at,
                           const std::function<absl::Status(const KeyValue&)>& on_item);

}  // namespace nave

#endif  // NAVE_HUB_RECORDS_RECORD_STORE_H_
