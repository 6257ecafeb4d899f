#include "common/runtime/work_queue.h"

#include <algorithm>
#include <chrono>

namespace nave {

absl::Time MonotonicNow() {
  return absl::UnixEpoch() + absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

WorkQueue::WorkQueue(const Options& options, Clock clock)
    : options_(options), clock_(std::move(clock)) {}

void WorkQueue::Add(absl::string_view key) {
  std::lock_guard<std::mutex> lock(mutex_);
  AddLocked(std::string(key));
}

void WorkQueue::AddLocked(const std::string& key) {
  if (shut_down_) return;
  auto due = due_by_key_.find(key);
  if (due != due_by_key_.end()) {
    delayed_.erase({due->second, key});
    due_by_key_.erase(due);
  }
  if (!dirty_.insert(key).second) return;
  // A worker has it: Done puts it into the queue.
  if (processing_.count(key) > 0) return;
  queue_.push_back(key);
  wake_.notify_one();
}

void WorkQueue::AddAfter(absl::string_view key_view, absl::Duration delay) {
  std::string key(key_view);
  std::lock_guard<std::mutex> lock(mutex_);
  if (shut_down_) return;
  if (delay <= absl::ZeroDuration()) {
    AddLocked(key);
    return;
  }
  absl::Time due = clock_() + delay;
  auto [present, is_new] = due_by_key_.emplace(key, due);
  if (!is_new) {
    if (present->second <= due) return;
    delayed_.erase({present->second, key});
    present->second = due;
  }
  delayed_.emplace(due, key);
  // A sleeping worker may sleep too long for this one.
  wake_.notify_one();
}

absl::Duration WorkQueue::Retry(absl::string_view key, double uniform) {
  absl::Duration delay;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto backoff = backoffs_.find(key);
    if (backoff == backoffs_.end()) {
      backoff =
          backoffs_.emplace(std::string(key), Backoff(options_.backoff_base, options_.backoff_cap))
              .first;
    }
    delay = backoff->second.Next(uniform);
  }
  AddAfter(key, delay);
  return delay;
}

void WorkQueue::Forget(absl::string_view key) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto backoff = backoffs_.find(key);
  if (backoff != backoffs_.end()) backoffs_.erase(backoff);
}

int WorkQueue::Failures(absl::string_view key) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto backoff = backoffs_.find(key);
  return backoff == backoffs_.end() ? 0 : backoff->second.failures();
}

void WorkQueue::MoveDueLocked(absl::Time now) {
  while (!delayed_.empty() && delayed_.begin()->first <= now) {
    std::string key = delayed_.begin()->second;
    AddLocked(key);  // Takes it out of the delayed ones.
  }
}

std::optional<std::string> WorkQueue::TakeLocked() {
  if (queue_.empty()) return std::nullopt;
  std::string key = std::move(queue_.front());
  queue_.pop_front();
  dirty_.erase(key);
  processing_.insert(key);
  return key;
}

std::optional<std::string> WorkQueue::Get() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!shut_down_) {
    absl::Time now = clock_();
    MoveDueLocked(now);
    if (std::optional<std::string> key = TakeLocked()) {
      // One notification may have stood for several keys that became due together.
      if (!queue_.empty()) wake_.notify_one();
      return key;
    }
    if (delayed_.empty()) {
      wake_.wait(lock);
    } else {
      absl::Duration delay = std::min(delayed_.begin()->first - now, absl::Hours(1));
      wake_.wait_for(lock, absl::ToChronoNanoseconds(delay));
    }
  }
  return std::nullopt;
}

std::optional<std::string> WorkQueue::TryGet() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (shut_down_) return std::nullopt;
  MoveDueLocked(clock_());
  return TakeLocked();
}

void WorkQueue::Done(absl::string_view key_view) {
  std::string key(key_view);
  std::lock_guard<std::mutex> lock(mutex_);
  if (processing_.erase(key) == 0 || dirty_.count(key) == 0) return;
  queue_.push_back(key);
  wake_.notify_one();
}

absl::Time WorkQueue::NextDue() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return delayed_.empty() ? absl::InfiniteFuture() : delayed_.begin()->first;
}

size_t WorkQueue::size() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return queue_.size();
}

void WorkQueue::ShutDown() {
  std::lock_guard<std::mutex> lock(mutex_);
  shut_down_ = true;
  queue_.clear();
  dirty_.clear();
  delayed_.clear();
  due_by_key_.clear();
  wake_.notify_all();
}

}  // namespace nave
