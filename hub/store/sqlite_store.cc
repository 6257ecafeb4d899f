#include "hub/store/sqlite_store.h"

#include <chrono>
#include <deque>
#include <thread>
#include <utility>
#include <variant>

#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "hub/store/limits.h"
#include "hub/store/sqlite_engine.h"

namespace nave {
namespace {

using Task = absl::AnyInvocable<void() &&>;

// One SQLite transaction takes at most so much of the queue. What waits while it syncs is the next
// one, so batches grow with the load and with the slowness of the disk.
constexpr size_t kBatchTxns = 2000;
constexpr size_t kBatchBytes = 8 << 20;
// What a page of history may hold when a watch catches up.
constexpr size_t kHistoryPageBytes = 4 << 20;
constexpr size_t kHistoryPageRows = 5000;
constexpr std::chrono::seconds kTickInterval(1);

class SqliteStoreBase : public SqliteStore {
 public:
  SqliteStoreBase(std::unique_ptr<SqliteEngine> engine, size_t watch_log_bytes)
      : engine_(std::move(engine)),
        watches_(
            engine_->head(), watch_log_bytes,
            [this](absl::string_view prefix, Revision after) {
              return engine_->readers().Read<HistoryPage>([&](StoreReader& reader) {
                return reader.History(prefix, after, kHistoryPageBytes, kHistoryPageRows);
              });
            },
            [this] { OnWatchWork(); }) {
    engine_->set_publish([this](auto revisions) { watches_.Publish(std::move(revisions)); });
  }

  absl::StatusOr<KeyValue> Get(absl::string_view key) override {
    RETURN_IF_ERROR(engine_->Alive());
    return engine_->readers().Read<KeyValue>([&](StoreReader& reader) { return reader.Get(key); });
  }
  absl::StatusOr<RangePage> Range(absl::string_view prefix, absl::string_view after, size_t limit,
                                  Revision at) override {
    RETURN_IF_ERROR(engine_->Alive());
    return engine_->readers().Read<RangePage>(
        [&](StoreReader& reader) { return reader.Range(prefix, after, limit, at); });
  }
  std::unique_ptr<StoreWatch> Watch(absl::string_view prefix, Revision after,
                                    WatchCallback on_batch) override {
    return watches_.Add(prefix, after, std::move(on_batch));
  }
  absl::StatusOr<LeaseId> GrantLease(absl::Duration ttl) override {
    absl::StatusOr<LeaseId> lease = LeaseId{0};
    RunOnWriter([&] { lease = engine_->GrantLease(ttl); });
    return lease;
  }
  absl::Status KeepLease(LeaseId lease) override { return engine_->KeepLease(lease); }
  absl::Status RevokeLease(LeaseId lease) override {
    absl::Status status;
    RunOnWriter([&] { status = engine_->RevokeLease(lease); });
    return status;
  }
  absl::Status Compact(Revision revision) override {
    absl::Status status;
    RunOnWriter([&] { status = engine_->Compact(revision); });
    return status;
  }
  absl::StatusOr<Revision> Head() override {
    RETURN_IF_ERROR(engine_->Alive());
    return engine_->head();
  }
  void Tick() override {
    RunOnWriter([&] { engine_->Tick(); });
  }
  absl::Status CheckContinuity() override { return engine_->CheckContinuity(); }
  absl::Status CopyTo(absl::string_view path) override {
    absl::Status status;
    RunOnWriter([&] { status = engine_->CopyTo(path); });
    return status;
  }
  absl::StatusOr<std::string> Serialize() override { return engine_->Serialize(); }

 protected:
  // Runs `work` where the engine may be used, and waits for it.
  virtual void RunOnWriter(absl::AnyInvocable<void()> work) = 0;
  // Some watch may be behind. Called under the lock of the watches.
  virtual void OnWatchWork() = 0;

  const std::unique_ptr<SqliteEngine> engine_;
  WatchLog watches_;
};

// Everything in the caller's thread; callbacks later.
class InlineSqliteStore : public SqliteStoreBase {
 public:
  InlineSqliteStore(std::unique_ptr<SqliteEngine> engine, const SqliteStoreOptions& options)
      : SqliteStoreBase(std::move(engine), options.watch_log_bytes), post_(options.post) {}

  void TxnAsync(Txn txn, TxnCallback done) override {
    absl::StatusOr<TxnResult> result = Commit(std::move(txn));
    Deliver([done = std::move(done), result = std::move(result)]() mutable {
      std::move(done)(std::move(result));
    });
  }
  absl::StatusOr<TxnResult> Commit(Txn txn) override {
    RETURN_IF_ERROR(CheckTxn(txn));
    std::vector<TxnRequest> batch(1);
    batch[0].txn = std::move(txn);
    engine_->RunBatch(batch);
    return std::move(batch[0].outcome);
  }
  size_t RunPending() override {
    size_t ran = 0;
    for (; !pending_.empty(); ++ran) {
      Task task = std::move(pending_.front());
      pending_.pop_front();
      std::move(task)();
    }
    return ran;
  }
  void Tick() override {
    engine_->Tick();
    while (engine_->SweepSome()) {
    }
  }

 protected:
  void RunOnWriter(absl::AnyInvocable<void()> work) override { work(); }
  void OnWatchWork() override {
    if (dispatch_waits_) return;
    dispatch_waits_ = true;
    Deliver([this] {
      dispatch_waits_ = false;
      if (watches_.DispatchOne()) OnWatchWork();
    });
  }

 private:
  void Deliver(Task task) {
    if (!post_) {
      pending_.push_back(std::move(task));
      return;
    }
    post_([alive = std::weak_ptr<int>(alive_), task = std::move(task)]() mutable {
      if (alive.lock() != nullptr) std::move(task)();
    });
  }

  const std::function<void(Task)> post_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  std::deque<Task> pending_;
  bool dispatch_waits_ = false;
};

// A thread that writes, and one that calls watches.
class ThreadedSqliteStore : public SqliteStoreBase {
 public:
  ThreadedSqliteStore(std::unique_ptr<SqliteEngine> engine, const SqliteStoreOptions& options)
      : SqliteStoreBase(std::move(engine), options.watch_log_bytes),
        queue_bytes_max_(options.queue_bytes_max),
        writer_([this] { WriterLoop(); }),
        dispatcher_([this] { DispatcherLoop(); }) {}

  // Transactions that were submitted are still done and answered.
  ~ThreadedSqliteStore() override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
      work_.notify_one();
    }
    writer_.join();
    {
      std::lock_guard<std::mutex> lock(dispatch_mutex_);
      dispatch_stopping_ = true;
      dispatch_work_.notify_one();
    }
    dispatcher_.join();
  }

  void TxnAsync(Txn txn, TxnCallback done) override {
    absl::Status allowed = CheckTxn(txn);
    TxnRequest request;
    request.bytes = TxnBytes(txn);
    request.txn = std::move(txn);
    request.done = std::move(done);
    if (allowed.ok()) {
      std::lock_guard<std::mutex> lock(mutex_);
      if (queue_bytes_ + request.bytes <= queue_bytes_max_) {
        queue_bytes_ += request.bytes;
        queue_.push_back(std::move(request));
        work_.notify_one();
        return;
      }
    }
    if (allowed.ok()) {
      allowed =
          MakeError(Reason::kStoreUnavailable, "store: too many transactions wait to be written");
    }
    std::move(request.done)(allowed);
  }

  size_t RunPending() override { return 0; }

 protected:
  void RunOnWriter(absl::AnyInvocable<void()> work) override {
    std::mutex mutex;
    std::condition_variable ended;
    bool done = false;
    Task task = [&] {
      work();
      std::lock_guard<std::mutex> lock(mutex);
      done = true;
      ended.notify_one();
    };
    {
      std::lock_guard<std::mutex> lock(mutex_);
      queue_.push_back(std::move(task));
      work_.notify_one();
    }
    std::unique_lock<std::mutex> lock(mutex);
    ended.wait(lock, [&] { return done; });
  }

  void OnWatchWork() override {
    std::lock_guard<std::mutex> lock(dispatch_mutex_);
    dispatch_due_ = true;
    dispatch_work_.notify_one();
  }

 private:
  using Item = std::variant<TxnRequest, Task>;

  // Moves the transactions at the queue's front to `batch`, or the task that stands there to
  // `task`. False: no more come.
  bool TakeWork(std::vector<TxnRequest>* batch, Task* task, bool idle) {
    std::unique_lock<std::mutex> lock(mutex_);
    auto ready = [&] { return stopping_ || !queue_.empty(); };
    if (idle) work_.wait_until(lock, next_tick_, ready);
    if (queue_.empty()) return !stopping_;
    if (auto* front = std::get_if<Task>(&queue_.front())) {
      *task = std::move(*front);
      queue_.pop_front();
      return true;
    }
    size_t bytes = 0;
    while (!queue_.empty() && batch->size() < kBatchTxns && bytes < kBatchBytes) {
      auto* request = std::get_if<TxnRequest>(&queue_.front());
      if (request == nullptr) break;
      bytes += request->bytes;
      batch->push_back(std::move(*request));
      queue_.pop_front();
    }
    queue_bytes_ -= bytes;
    return true;
  }

  void WriterLoop() {
    bool sweep_due = false;
    std::vector<TxnRequest> batch;
    while (true) {
      batch.clear();
      Task task;
      if (!TakeWork(&batch, &task, !sweep_due)) return;
      bool worked = !batch.empty() || task;
      if (!batch.empty()) {
        engine_->RunBatch(batch);
        for (TxnRequest& request : batch) std::move(request.done)(std::move(request.outcome));
      } else if (task) {
        std::move(task)();
      }
      if (std::chrono::steady_clock::now() >= next_tick_) {
        engine_->Tick();
        next_tick_ = std::chrono::steady_clock::now() + kTickInterval;
      }
      // Batches sweep by themselves; an idle writer has the time for it.
      sweep_due = !worked && engine_->SweepSome();
    }
  }

  void DispatcherLoop() {
    while (true) {
      {
        std::unique_lock<std::mutex> lock(dispatch_mutex_);
        dispatch_work_.wait(lock, [&] { return dispatch_due_ || dispatch_stopping_; });
        if (dispatch_stopping_) return;
        dispatch_due_ = false;
      }
      while (watches_.DispatchOne()) {
      }
    }
  }

  const size_t queue_bytes_max_;
  std::chrono::steady_clock::time_point next_tick_ =
      std::chrono::steady_clock::now() + kTickInterval;

  std::mutex mutex_;
  // Guarded by mutex_.
  std::condition_variable work_;
  std::deque<Item> queue_;
  size_t queue_bytes_ = 0;
  bool stopping_ = false;

  // Taken under the lock of the watches.
  std::mutex dispatch_mutex_;
  // Guarded by dispatch_mutex_.
  std::condition_variable dispatch_work_;
  bool dispatch_due_ = false;
  bool dispatch_stopping_ = false;

  std::thread writer_;
  std::thread dispatcher_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteStore>> OpenSqliteStore(SqliteStoreOptions options) {
  if (!options.clock) {
    options.clock = [] {
      return absl::UnixEpoch() +
             absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
    };
  }
  ASSIGN_OR_RETURN(std::unique_ptr<SqliteEngine> engine, SqliteEngine::Open(options));
  if (options.inline_mode) {
    return std::unique_ptr<SqliteStore>(
        std::make_unique<InlineSqliteStore>(std::move(engine), options));
  }
  return std::unique_ptr<SqliteStore>(
      std::make_unique<ThreadedSqliteStore>(std::move(engine), options));
}

}  // namespace nave
