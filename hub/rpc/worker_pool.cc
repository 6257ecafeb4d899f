#include "hub/rpc/worker_pool.h"

#include <utility>

namespace nave {

WorkerPool::WorkerPool(int threads, size_t queue_max) : queue_max_(queue_max) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

WorkerPool::~WorkerPool() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool WorkerPool::Post(Task task) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (tasks_.size() >= queue_max_) return false;
    tasks_.push(std::move(task));
  }
  wake_.notify_one();
  return true;
}

void WorkerPool::Work() {
  for (;;) {
    Task task;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop();
    }
    std::move(task)();
  }
}

}  // namespace nave
