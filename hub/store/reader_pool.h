// Reading connections to one store file, or turns at the one connection that there is.
#ifndef NAVE_HUB_STORE_READER_POOL_H_
#define NAVE_HUB_STORE_READER_POOL_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/status_macros.h"
#include "hub/store/sqlite_db.h"
#include "hub/store/sqlite_tables.h"

namespace nave {

// Thread-safe.
class ReaderPool {
 public:
  // Up to kConnectionsMax connections of its own, opened when needed.
  explicit ReaderPool(SqliteDb::Options options) : options_(std::move(options)) {}
  // Shares the writer's connection, which must outlive this object.
  explicit ReaderPool(SqliteDb* shared) : shared_(shared) {}

  // Runs `read` on a StoreReader that nobody else uses meanwhile; waits for one if all are taken.
  template <typename Result, typename F>
  absl::StatusOr<Result> Read(F read) {
    ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, Take());
    std::unique_lock<std::mutex> writer_waits = WriterLock();
    absl::StatusOr<Result> result = read(*connection->reader);
    if (writer_waits.owns_lock()) writer_waits.unlock();
    Return(std::move(connection));
    return result;
  }

  // Held by the writer while it uses a shared connection; holds nothing when readers have their
  // own.
  std::unique_lock<std::mutex> WriterLock() {
    if (shared_ == nullptr) return {};
    return std::unique_lock<std::mutex>(shared_mutex_);
  }

 private:
  static constexpr int kConnectionsMax = 4;
  struct Connection {
    std::unique_ptr<SqliteDb> db;  // Null: shared. Destroyed after its reader's statements.
    std::unique_ptr<StoreReader> reader;
  };

  absl::StatusOr<std::unique_ptr<Connection>> Take() {
    std::unique_lock<std::mutex> lock(mutex_);
    int connections_max = shared_ != nullptr ? 1 : kConnectionsMax;
    returned_.wait(lock, [&] { return !free_.empty() || connections_ < connections_max; });
    if (!free_.empty()) {
      auto connection = std::move(free_.back());
      free_.pop_back();
      return connection;
    }
    ++connections_;
    lock.unlock();
    absl::StatusOr<std::unique_ptr<Connection>> connection = Connect();
    if (connection.ok()) return connection;
    lock.lock();
    --connections_;
    returned_.notify_one();
    return connection;
  }

  absl::StatusOr<std::unique_ptr<Connection>> Connect() {
    auto connection = std::make_unique<Connection>();
    if (shared_ == nullptr) {
      ASSIGN_OR_RETURN(connection->db, SqliteDb::Open(options_));
      RETURN_IF_ERROR(connection->db->Execute("PRAGMA cache_size = -2000"));
    }
    std::unique_lock<std::mutex> lock = WriterLock();
    ASSIGN_OR_RETURN(connection->reader,
                     StoreReader::Make(shared_ != nullptr ? *shared_ : *connection->db));
    return connection;
  }

  void Return(std::unique_ptr<Connection> connection) {
    std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(std::move(connection));
    returned_.notify_one();
  }

  const SqliteDb::Options options_;
  SqliteDb* const shared_ = nullptr;
  std::mutex shared_mutex_;

  std::mutex mutex_;
  // Guarded by mutex_.
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Connection>> free_;
  int connections_ = 0;
};

}  // namespace nave

#endif  // NAVE_HUB_STORE_READER_POOL_H_
