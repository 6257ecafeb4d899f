#include "tests/hub/store/harness.h"

#include <stdlib.h>

#include <chrono>
#include <filesystem>

namespace nave {

TempFolder::TempFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "nave-store-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) abort();
  path_ = pattern;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Store::WatchCallback WatchLogger::Callback() {
  return [this](WatchBatch batch) {
    std::lock_guard<std::mutex> lock(mutex_);
    batches_.push_back(std::move(batch));
    changed_.notify_all();
  };
}

bool WatchLogger::WaitFor(StoreHarness& harness,
                          const std::function<bool(const WatchLogger&)>& enough) {
  harness.Pump();
  std::unique_lock<std::mutex> lock(mutex_);
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!enough(*this)) {
    if (!harness.threads()) return false;
    if (changed_.wait_until(lock, deadline) == std::cv_status::timeout) return enough(*this);
  }
  return true;
}

bool WatchLogger::WaitForRevision(StoreHarness& harness, Revision revision) {
  return WaitFor(harness, [&](const WatchLogger& log) {
    return !log.batches().empty() && log.batches().back().revision >= revision;
  });
}

std::vector<WatchEvent> WatchLogger::Events() const {
  std::vector<WatchEvent> events;
  for (const WatchBatch& batch : batches_) {
    events.insert(events.end(), batch.events.begin(), batch.events.end());
  }
  return events;
}

}  // namespace nave
