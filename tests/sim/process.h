// A process of the simulation: what it posted does not run any more once it died.
#ifndef NAVE_TESTS_SIM_PROCESS_H_
#define NAVE_TESTS_SIM_PROCESS_H_

#include <memory>
#include <utility>

#include "common/runtime/executor.h"

namespace nave::sim {

// Executor of one process on the world's own, which it borrows.
class Process : public Executor {
 public:
  explicit Process(Executor* world) : world_(world) {}
  ~Process() override { Kill(); }

  void Kill() { *alive_ = false; }
  void Post(Task task) override { world_->Post(Guard(std::move(task))); }
  TimerId PostAt(absl::Time when, Task task) override {
    return world_->PostAt(when, Guard(std::move(task)));
  }
  void Cancel(TimerId timer) override { world_->Cancel(timer); }
  absl::Time Now() const override { return world_->Now(); }

 private:
  Task Guard(Task task) {
    return [alive = alive_, task = std::move(task)]() mutable {
      if (*alive) std::move(task)();
    };
  }

  Executor* const world_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace nave::sim

#endif  // NAVE_TESTS_SIM_PROCESS_H_
