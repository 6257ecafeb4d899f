#include "common/http2/exchange.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace nave {
namespace {

constexpr size_t kChunkBytesMax = 64 * 1024;

}  // namespace

void DeliveryTarget::Post(Task task) {
  std::lock_guard lock(mutex_);
  if (executor_ != nullptr) executor_->Post(std::move(task));
}

void DeliveryTarget::Close() {
  closed_ = true;
  std::lock_guard lock(mutex_);
  executor_ = nullptr;
}

void Delivery::Headers(int status, Http2Headers headers) {
  Add(HeadersEvent{status, std::move(headers)});
}

void Delivery::Data(absl::string_view data) {
  {
    std::lock_guard lock(mutex_);
    if (!events_.empty()) {
      std::string* last = std::get_if<std::string>(&events_.back());
      if (last != nullptr && last->size() + data.size() <= kChunkBytesMax) {
        last->append(data.data(), data.size());
        return;  // An event that waits is scheduled already.
      }
    }
  }
  Add(std::string(data));
}

void Delivery::End(Http2End end) { Add(std::move(end)); }

void Delivery::Add(Event event) {
  {
    std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    if (scheduled_) return;
    scheduled_ = true;
  }
  Schedule();
}

void Delivery::Schedule() {
  target_->Post([self = shared_from_this()] { self->Run(); });
}

void Delivery::Run() {
  std::vector<Event> events;
  {
    std::lock_guard lock(mutex_);
    events.swap(events_);
    scheduled_ = false;
  }
  const std::shared_ptr<Http2Callbacks> callbacks = callbacks_;
  size_t consumed = 0;
  for (Event& event : events) {
    if (cancelled_ || target_->IsClosed()) return;
    if (auto* headers = std::get_if<HeadersEvent>(&event)) {
      if (callbacks->on_headers)
        callbacks->on_headers(headers->status, std::move(headers->headers));
    } else if (auto* chunk = std::get_if<std::string>(&event)) {
      consumed += chunk->size();
      if (callbacks->on_data) callbacks->on_data(std::move(*chunk));
    } else {
      ended_ = true;
      callbacks_.reset();
      if (callbacks->on_end) callbacks->on_end(std::get<Http2End>(event));
      return;
    }
  }
  if (consumed > 0 && !cancelled_ && on_consumed_) on_consumed_(consumed);
}

void Delivery::Cancel() {
  cancelled_ = true;
  callbacks_.reset();
}

size_t Exchange::Read(char* buffer, size_t size, bool* end) {
  if (body_sent < request.body.size()) {
    const size_t n = std::min(size, request.body.size() - body_sent);
    std::memcpy(buffer, request.body.data() + body_sent, n);
    body_sent += n;
    *end = body_sent == request.body.size() && !request.body_open;
    return n;
  }
  size_t n = 0;
  while (n < size && !more.empty()) {
    std::string& front = more.front();
    const size_t part = std::min(size - n, front.size());
    std::memcpy(buffer + n, front.data(), part);
    n += part;
    if (part == front.size()) {
      more.pop_front();
    } else {
      front.erase(0, part);
    }
  }
  *end = !request.body_open || (more.empty() && more_ended);
  return n;
}

}  // namespace nave
