#include <mutex>

#include "hub/store/sqlite_store.h"
#include "tests/hub/store/backends.h"

namespace nave {
namespace {

class SqliteHarness : public StoreHarness {
 public:
  SqliteHarness(bool inline_mode, bool in_file, size_t watch_log_bytes) : threads_(!inline_mode) {
    SqliteStoreOptions options;
    if (in_file) options.path = folder_.Path("store.db");
    options.inline_mode = inline_mode;
    options.watch_log_bytes = watch_log_bytes;
    options.clock = [this] {
      std::lock_guard<std::mutex> lock(mutex_);
      return now_;
    };
    auto store = OpenSqliteStore(std::move(options));
    if (!store.ok()) abort();
    store_ = *std::move(store);
  }

  Store& store() override { return *store_; }
  void PassTime(absl::Duration time) override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      now_ += time;
    }
    store_->Tick();
  }
  void Pump() override { store_->RunPending(); }
  bool threads() const override { return threads_; }

 private:
  const bool threads_;
  const TempFolder folder_;
  std::mutex mutex_;
  absl::Time now_ = absl::FromUnixSeconds(1000);  // Guarded by mutex_.
  std::unique_ptr<SqliteStore> store_;
};

Backend Make(std::string name, bool inline_mode, bool in_file, size_t watch_log_bytes) {
  return {std::move(name),
          [=] { return std::make_unique<SqliteHarness>(inline_mode, in_file, watch_log_bytes); }};
}

}  // namespace

std::vector<Backend> ThreadedBackends() {
  return {
      Make("SqliteThreadsFile", false, true, 16 << 20),
      Make("SqliteThreadsMemory", false, false, 16 << 20),
      // Nothing is kept for watches: all of them read the history.
      Make("SqliteNoLog", false, true, 0),
  };
}

std::vector<Backend> Backends() {
  std::vector<Backend> backends = ThreadedBackends();
  backends.push_back(Make("SqliteInlineMemory", true, false, 16 << 20));
  backends.push_back(Make("SqliteInlineFile", true, true, 16 << 20));
  return backends;
}

}  // namespace nave
