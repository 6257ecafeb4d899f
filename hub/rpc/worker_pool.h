// Threads on which API handlers run, because these block on the store.
#ifndef NAVE_HUB_RPC_WORKER_POOL_H_
#define NAVE_HUB_RPC_WORKER_POOL_H_

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

#include "common/runtime/executor.h"

namespace nave {

// Tasks in the order of their arrival, several at a time. Thread-safe. The destructor runs what was
// posted and joins.
class WorkerPool {
 public:
  WorkerPool(int threads, size_t queue_max);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // False, and `task` is dropped, when too many wait already.
  bool Post(Task task);

 private:
  void Work();

  const size_t queue_max_;
  std::mutex mutex_;  // Guards what follows.
  std::condition_variable wake_;
  std::queue<Task> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace nave

#endif  // NAVE_HUB_RPC_WORKER_POOL_H_
