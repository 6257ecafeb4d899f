// What the conformance suite needs of a backend: a store, time for its leases, and a way to let
// callbacks happen.
#ifndef NAVE_TESTS_HUB_STORE_HARNESS_H_
#define NAVE_TESTS_HUB_STORE_HARNESS_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "hub/store/store.h"

namespace nave {

class StoreHarness {
 public:
  virtual ~StoreHarness() = default;
  virtual Store& store() = 0;
  // Time passes, and leases that ran out by then are gone when this returns.
  virtual void PassTime(absl::Duration time) = 0;
  // Lets callbacks run that wait for the test's thread.
  virtual void Pump() = 0;
  // May several threads use the store?
  virtual bool threads() const = 0;
};

struct Backend {
  std::string name;
  std::function<std::unique_ptr<StoreHarness>()> make;
};

// Named in failures.
inline void PrintTo(const Backend& backend, std::ostream* out) { *out << backend.name; }

// A folder of its own for a test, removed at the end.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  std::string Path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Collects what a watch is given.
class WatchLogger {
 public:
  Store::WatchCallback Callback();
  // Waits until `enough` holds for what has come; false after half a minute.
  bool WaitFor(StoreHarness& harness, const std::function<bool(const WatchLogger&)>& enough);
  bool WaitForRevision(StoreHarness& harness, Revision revision);
  // To be read within WaitFor, or when no callback can run.
  const std::vector<WatchBatch>& batches() const { return batches_; }
  std::vector<WatchEvent> Events() const;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<WatchBatch> batches_;
};

}  // namespace nave

#endif  // NAVE_TESTS_HUB_STORE_HARNESS_H_
