// Keys that wait for a worker: level-triggered, one worker per key at a time, with a back-off per
// key.
#ifndef NAVE_COMMON_RUNTIME_WORK_QUEUE_H_
#define NAVE_COMMON_RUNTIME_WORK_QUEUE_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/backoff.h"

namespace nave {

// Time since an arbitrary moment; no step of the wall clock moves it. The clock of a queue with
// worker threads.
absl::Time MonotonicNow();

// A set of keys in order of their arrival (the design of the work queue of Kubernetes' client-go):
//   1. A key that waits already is not added twice.
//   2. A key that is added while a worker has it is not given to another worker, and comes again
//   after Done.
// So no two workers meet on one key and no change is lost. Thread-safe.
class WorkQueue {
 public:
  using Clock = std::function<absl::Time()>;

  struct Options {
    absl::Duration backoff_base = absl::Milliseconds(100);
    absl::Duration backoff_cap = absl::Minutes(5);
  };

  // `clock` is called under the queue's lock: it must not call the queue. The simulation gives its
  // own.
  explicit WorkQueue(const Options& options, Clock clock = MonotonicNow);
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // The key is due now; a delay of an earlier AddAfter is over by that.
  void Add(absl::string_view key);
  // The key is due after `delay` at the latest; of several delays the shortest counts.
  void AddAfter(absl::string_view key, absl::Duration delay);
  // Counts a failure and adds the key after its back-off, which it returns. `uniform` is in [0, 1).
  absl::Duration Retry(absl::string_view key, double uniform);
  // Ends the key's back-off. Workers call it after a success, others when the key's cause has
  // changed.
  void Forget(absl::string_view key);
  // Failures since the last Forget.
  int Failures(absl::string_view key) const;

  // Waits for a key that is due and hands it to the caller, who calls Done when it is through.
  // nullopt after ShutDown.
  std::optional<std::string> Get();
  // The same without waiting: nullopt when no key is due.
  std::optional<std::string> TryGet();
  void Done(absl::string_view key);

  // When the next delayed key is due; InfiniteFuture when none is delayed.
  absl::Time NextDue() const;
  // Keys that are due and not with a worker.
  size_t size() const;
  // Every Get returns nullopt from now on; keys are dropped.
  void ShutDown();

 private:
  void AddLocked(const std::string& key);
  void MoveDueLocked(absl::Time now);
  std::optional<std::string> TakeLocked();

  const Options options_;
  const Clock clock_;
  mutable std::mutex mutex_;  // Guards all below.
  std::condition_variable wake_;
  std::deque<std::string> queue_;
  // Waiting or to come again; what is in queue_ is in dirty_ too.
  std::set<std::string, std::less<>> dirty_;
  std::set<std::string, std::less<>> processing_;
  std::map<std::string, Backoff, std::less<>> backoffs_;
  std::set<std::pair<absl::Time, std::string>> delayed_;
  std::map<std::string, absl::Time, std::less<>> due_by_key_;
  bool shut_down_ = false;
};

}  // namespace nave

#endif  // NAVE_COMMON_RUNTIME_WORK_QUEUE_H_
