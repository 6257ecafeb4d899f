// The loop that owns a process's state machines: tasks run one at a time, so what they own needs no
// lock.
#ifndef NAVE_COMMON_RUNTIME_EXECUTOR_H_
#define NAVE_COMMON_RUNTIME_EXECUTOR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"

namespace nave {

using Task = absl::AnyInvocable<void() &&>;
using TimerId = uint64_t;  // 0 = none.

// Runs tasks one after the other. Post, PostAt and Cancel may be called from any thread.
class Executor {
 public:
  virtual ~Executor() = default;
  // Runs `task` after those posted before. Tasks posted after Stop are destroyed without running.
  virtual void Post(Task task) = 0;
  // Runs `task` at `when` or soon after. The id is never reused.
  virtual TimerId PostAt(absl::Time when, Task task) = 0;
  // The timer does not run any more, unless it runs already or is of another thread's moment.
  // Unknown ids are ignored.
  virtual void Cancel(TimerId timer) = 0;
  // The clock of this loop. Wall time; ManualExecutor's moves by hand.
  virtual absl::Time Now() const = 0;

  TimerId PostAfter(absl::Duration delay, Task task) {
    return PostAt(Now() + delay, std::move(task));
  }
};

// A thread of its own. Stop (or the destructor) runs what was posted before, drops timers, and
// joins; it must not be called from a task. Timers follow the monotonic clock, so a step of the
// wall clock neither fires nor delays them.
std::unique_ptr<Executor> MakeThreadExecutor();

// For tests and the simulation: nothing runs until told. Not thread-safe.
class ManualExecutor : public Executor {
 public:
  explicit ManualExecutor(absl::Time start) : now_(start) {}
  void Post(Task task) override;
  TimerId PostAt(absl::Time when, Task task) override;
  void Cancel(TimerId timer) override;
  absl::Time Now() const override { return now_; }

  // Runs one posted task; false when there is none.
  bool RunOne();
  // Runs posted tasks until there is none.
  void RunAll();
  // Moves the clock, running timers at their times and all that they post.
  void Advance(absl::Duration by);
  // InfiniteFuture when there is no timer.
  absl::Time NextTimer() const;
  size_t pending() const { return tasks_.size(); }

 private:
  absl::Time now_;
  TimerId next_id_ = 1;
  std::queue<Task> tasks_;
  std::map<std::pair<absl::Time, TimerId>, Task> timers_;
  std::map<TimerId, absl::Time> timer_times_;
};

}  // namespace nave

#endif  // NAVE_COMMON_RUNTIME_EXECUTOR_H_
