#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "common/runtime/executor.h"

namespace nave {
namespace {

using Clock = std::chrono::steady_clock;

class ThreadExecutor : public Executor {
 public:
  ThreadExecutor() : thread_([this] { Loop(); }) {}

  ~ThreadExecutor() override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
    // Destroyed while the members are whole: captures may still call Post.
    auto dropped = std::exchange(timers_, {});
  }

  void Post(Task task) override {
    std::lock_guard<std::mutex> lock(mutex_);
    if (stopping_) return;
    tasks_.push_back(std::move(task));
    wake_.notify_one();
  }

  TimerId PostAt(absl::Time when, Task task) override {
    Clock::time_point due = Deadline(when);
    std::lock_guard<std::mutex> lock(mutex_);
    if (stopping_) return 0;
    TimerId id = next_id_++;
    auto timer = timers_.emplace(std::make_pair(due, id), std::move(task)).first;
    due_by_id_[id] = due;
    // The thread sleeps until the earliest timer: only a new earliest one concerns it.
    if (timer == timers_.begin()) wake_.notify_one();
    return id;
  }

  void Cancel(TimerId id) override {
    Task dropped;  // Destroyed after the lock: its captures may call back.
    std::lock_guard<std::mutex> lock(mutex_);
    auto due = due_by_id_.find(id);
    if (due == due_by_id_.end()) return;
    auto timer = timers_.find({due->second, id});
    dropped = std::move(timer->second);
    timers_.erase(timer);
    due_by_id_.erase(due);
  }

  absl::Time Now() const override { return absl::Now(); }

 private:
  // A century is forever, and far from the clock's overflow.
  static Clock::time_point Deadline(absl::Time when) {
    constexpr absl::Duration kForever = absl::Hours(24 * 36525);
    absl::Duration delay = std::clamp(when - absl::Now(), absl::ZeroDuration(), kForever);
    return Clock::now() + absl::ToChronoNanoseconds(delay);
  }

  void Loop() {
    std::unique_lock<std::mutex> lock(mutex_);
    bool offered = true;
    while (true) {
      Task task = TakeNext();
      if (task != nullptr) {
        lock.unlock();
        std::move(task)();
        task = nullptr;
        lock.lock();
        offered = false;
      } else if (stopping_) {
        return;
      } else if (!offered) {
        // Whoever posts may have more: on a busy processor this is cheaper than to sleep and to be
        // woken for each task.
        lock.unlock();
        std::this_thread::yield();
        lock.lock();
        offered = true;
      } else if (timers_.empty()) {
        wake_.wait(lock);
      } else {
        Clock::time_point due = timers_.begin()->first.first;
        wake_.wait_until(lock, due);
      }
    }
  }

  // A timer stays among the timers until the moment it runs, so that a task before it can still
  // cancel it. Timers and posted tasks take turns: neither starves the other.
  Task TakeNext() {
    bool timer_due = !stopping_ && !timers_.empty() && timers_.begin()->first.first <= Clock::now();
    Task task;
    if (timer_due && (tasks_.empty() || timers_turn_)) {
      task = std::move(timers_.begin()->second);
      due_by_id_.erase(timers_.begin()->first.second);
      timers_.erase(timers_.begin());
      timers_turn_ = false;
    } else if (!tasks_.empty()) {
      task = std::move(tasks_.front());
      tasks_.pop_front();
      timers_turn_ = true;
    }
    return task;
  }

  std::mutex mutex_;  // Guards all below but the thread.
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  std::map<std::pair<Clock::time_point, TimerId>, Task> timers_;
  std::map<TimerId, Clock::time_point> due_by_id_;
  TimerId next_id_ = 1;
  bool timers_turn_ = true;
  bool stopping_ = false;
  std::thread thread_;  // Last: it uses the others.
};

}  // namespace

std::unique_ptr<Executor> MakeThreadExecutor() { return std::make_unique<ThreadExecutor>(); }

}  // namespace nave
