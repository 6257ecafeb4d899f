// A store that lets something else happen before each of its transactions.
#ifndef NAVE_TESTS_HUB_RECORDS_WRAPPED_STORE_H_
#define NAVE_TESTS_HUB_RECORDS_WRAPPED_STORE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "hub/store/sqlite_store.h"

namespace nave {

// In memory, everything in the caller's thread, all history kept.
inline std::unique_ptr<SqliteStore> MemoryStore(std::string image = "", bool inline_mode = true,
                                                size_t watch_log_bytes = size_t{16} << 20) {
  SqliteStoreOptions options;
  options.inline_mode = inline_mode;
  options.image = std::move(image);
  options.history_revisions = 0;
  options.watch_log_bytes = watch_log_bytes;
  return OpenSqliteStore(std::move(options)).value();
}

class WrappedStore : public Store {
 public:
  explicit WrappedStore(Store* store) : store_(store) {}
  absl::StatusOr<KeyValue> Get(absl::string_view key) override { return store_->Get(key); }
  absl::StatusOr<RangePage> Range(absl::string_view prefix, absl::string_view after, size_t limit,
                                  Revision at) override {
    return store_->Range(prefix, after, limit, at);
  }
  void TxnAsync(Txn txn, TxnCallback done) override {
    store_->TxnAsync(std::move(txn), std::move(done));
  }
  std::unique_ptr<StoreWatch> Watch(absl::string_view prefix, Revision after,
                                    WatchCallback on_batch) override {
    return store_->Watch(prefix, after, std::move(on_batch));
  }
  absl::StatusOr<LeaseId> GrantLease(absl::Duration ttl) override {
    return store_->GrantLease(ttl);
  }
  absl::Status KeepLease(LeaseId lease) override { return store_->KeepLease(lease); }
  absl::Status RevokeLease(LeaseId lease) override { return store_->RevokeLease(lease); }
  absl::Status Compact(Revision revision) override { return store_->Compact(revision); }
  absl::StatusOr<Revision> Head() override { return store_->Head(); }
  absl::StatusOr<TxnResult> Commit(Txn txn) override {
    // Not again within itself.
    if (auto hook = std::exchange(before_commit, nullptr)) {
      if (hook(txn)) before_commit = hook;
    }
    return store_->Commit(std::move(txn));
  }

  // Answers whether it wants to be called for the next one too.
  std::function<bool(const Txn&)> before_commit;

 private:
  Store* store_;
};

}  // namespace nave

#endif  // NAVE_TESTS_HUB_RECORDS_WRAPPED_STORE_H_
