#include "hub/store/store.h"

#include <condition_variable>
#include <mutex>
#include <utility>

namespace nave {

absl::StatusOr<TxnResult> Store::Commit(Txn txn) {
  std::mutex mutex;
  std::condition_variable done;
  std::optional<absl::StatusOr<TxnResult>> result;
  TxnAsync(std::move(txn), [&](absl::StatusOr<TxnResult> outcome) {
    std::lock_guard<std::mutex> lock(mutex);
    result = std::move(outcome);
    // Under the lock: the waiter destroys the condition as soon as it can take the lock.
    done.notify_one();
  });
  std::unique_lock<std::mutex> lock(mutex);
  done.wait(lock, [&] { return result.has_value(); });
  return *std::move(result);
}

}  // namespace nave
