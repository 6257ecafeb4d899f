#include "agent/observe/kind_watch.h"

#include <algorithm>
#include <utility>

#include "common/base/log.h"

namespace nave {
namespace {

constexpr size_t kPageSize = 500;
constexpr absl::Duration kRetryMin = absl::Milliseconds(500);
constexpr absl::Duration kRetryMax = absl::Seconds(30);
// A watch that ends sooner than this without an event does not reset the back-off.
constexpr absl::Duration kWatchWorked = absl::Seconds(5);

}  // namespace

KindWatch::KindWatch(KubeClient& kube, Executor& executor, ResourceType type, std::string ns,
                     std::string label_selector, Callbacks callbacks)
    : kube_(kube),
      executor_(executor),
      type_(std::move(type)),
      ns_(std::move(ns)),
      label_selector_(std::move(label_selector)),
      callbacks_(std::move(callbacks)) {
  List();
}

KindWatch::~KindWatch() {
  if (timer_ != 0) executor_.Cancel(timer_);
}

void KindWatch::List() {
  watch_.reset();
  if (continue_token_.empty()) listed_.clear();
  ListRequest request;
  request.type = type_;
  request.ns = ns_;
  request.label_selector = label_selector_;
  request.limit = kPageSize;
  request.continue_token = continue_token_;
  kube_.List(std::move(request), [this, alive = std::weak_ptr<bool>(alive_)](ListPage page) {
    if (!alive.expired()) OnPage(std::move(page));
  });
}

void KindWatch::OnPage(ListPage page) {
  if (!page.error.ok()) {
    // Pages of two lists are never mixed: after any failure the list begins anew.
    continue_token_.clear();
    Retry(page.error, /*list=*/true);
    return;
  }
  for (const Value& item : page.items) {
    listed_.insert(KeyOf(item));
    callbacks_.on_object(item);
  }
  continue_token_ = page.continue_token;
  if (!continue_token_.empty()) {
    List();
    return;
  }
  resource_version_ = page.resource_version;
  failures_ = 0;
  broken_since_ = absl::InfiniteFuture();
  callbacks_.on_synced(std::exchange(listed_, {}));
  Watch();
}

void KindWatch::Watch() {
  WatchRequest request;
  request.type = type_;
  request.ns = ns_;
  request.label_selector = label_selector_;
  request.resource_version = resource_version_;
  watch_start_ = executor_.Now();
  got_event_ = false;
  std::weak_ptr<bool> alive = alive_;
  watch_ = kube_.Watch(
      std::move(request),
      [this, alive](KubeEvent event) {
        if (!alive.expired()) OnEvent(std::move(event));
      },
      [this, alive](KubeError error) {
        if (!alive.expired()) OnWatchEnd(std::move(error));
      });
}

void KindWatch::OnEvent(KubeEvent event) {
  got_event_ = true;
  failures_ = 0;
  broken_since_ = absl::InfiniteFuture();
  std::string version = event.object.StringAt("metadata", "resourceVersion");
  if (!version.empty()) resource_version_ = std::move(version);
  switch (event.type) {
    case KubeEvent::Type::kAdded:
    case KubeEvent::Type::kModified:
      callbacks_.on_object(event.object);
      return;
    case KubeEvent::Type::kDeleted:
      callbacks_.on_gone(event.object);
      return;
    case KubeEvent::Type::kBookmark:
      return;
  }
}

void KindWatch::OnWatchEnd(KubeError error) {
  const bool worked = got_event_ || executor_.Now() - watch_start_ >= kWatchWorked;
  if (error.ok() && worked) {
    // The handle must not be destroyed from its own callback.
    Later(absl::ZeroDuration(), /*list=*/false);
    return;
  }
  if (error.ok()) {
    Later(std::min(kRetryMin * (1 << std::min(failures_++, 6)), kRetryMax), /*list=*/false);
    return;
  }
  Retry(error, error.error_class == KubeErrorClass::kGone);
}

void KindWatch::Retry(const KubeError& error, bool list) {
  if (broken_since_ == absl::InfiniteFuture()) broken_since_ = executor_.Now();
  const bool unserved = error.error_class == KubeErrorClass::kKindNotServed ||
                        error.error_class == KubeErrorClass::kNotFound;
  absl::Duration delay = kRetryMin * (1 << std::min(failures_, 6));
  if (error.error_class == KubeErrorClass::kGone && failures_ == 0) delay = absl::ZeroDuration();
  ++failures_;
  delay = std::min(delay, kRetryMax);
  if (error.retry_after) delay = std::max(delay, *error.retry_after);
  if (failures_ == 4) {
    LogWarning("watch fails", {{"kind", type_.kind}, {"error", error.message}});
  }
  Later(delay, list || unserved);
  if (unserved) callbacks_.on_unserved();
}

void KindWatch::Later(absl::Duration delay, bool list) {
  if (timer_ != 0) executor_.Cancel(timer_);
  timer_ = executor_.PostAfter(delay, [this, list, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    timer_ = 0;
    watch_.reset();
    if (list) {
      List();
    } else {
      Watch();
    }
  });
}

}  // namespace nave
