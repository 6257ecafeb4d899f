#include <algorithm>

#include "common/runtime/executor.h"

namespace nave {

void ManualExecutor::Post(Task task) { tasks_.push(std::move(task)); }

TimerId ManualExecutor::PostAt(absl::Time when, Task task) {
  TimerId id = next_id_++;
  timers_.emplace(std::make_pair(when, id), std::move(task));
  timer_times_[id] = when;
  return id;
}

void ManualExecutor::Cancel(TimerId timer) {
  auto time = timer_times_.find(timer);
  if (time == timer_times_.end()) return;
  auto found = timers_.find({time->second, timer});
  Task dropped = std::move(found->second);
  timers_.erase(found);
  timer_times_.erase(time);
}

bool ManualExecutor::RunOne() {
  if (tasks_.empty()) return false;
  Task task = std::move(tasks_.front());
  tasks_.pop();
  std::move(task)();
  return true;
}

void ManualExecutor::RunAll() {
  while (RunOne()) {
  }
}

void ManualExecutor::Advance(absl::Duration by) {
  absl::Time target = now_ + by;
  RunAll();
  while (!timers_.empty() && timers_.begin()->first.first <= target) {
    auto [when, id] = timers_.begin()->first;
    Task task = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    timer_times_.erase(id);
    now_ = std::max(now_, when);
    std::move(task)();
    RunAll();
  }
  now_ = std::max(now_, target);
}

absl::Time ManualExecutor::NextTimer() const {
  return timers_.empty() ? absl::InfiniteFuture() : timers_.begin()->first.first;
}

}  // namespace nave
