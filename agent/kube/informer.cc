#include "agent/kube/informer.h"

#include <algorithm>
#include <vector>

#include "agent/kube/rest.h"

namespace nave {
namespace {

constexpr absl::Duration kDelay = absl::Milliseconds(800);
constexpr absl::Duration kDelayMax = absl::Seconds(30);
constexpr absl::Duration kCalm = absl::Minutes(2);
// A watch that ends sooner than this without an event did not really work.
constexpr absl::Duration kWatchTooShort = absl::Seconds(1);
constexpr absl::Duration kWatchStands = absl::Seconds(5);

// Null once it was destroyed. Does not hold on to it, so that what runs sees when that happens.
Informer* Get(const std::weak_ptr<Informer*>& weak) {
  const std::shared_ptr<Informer*> held = weak.lock();
  return held == nullptr ? nullptr : *held;
}

}  // namespace

absl::Duration InformerBackoff::Next(absl::Time now, double uniform) {
  if (now - last_ > kCalm) failures_ = 0;
  last_ = now;
  absl::Duration delay = kDelay;
  for (int i = 0; i < failures_ && delay < kDelayMax; ++i) delay *= 2;
  ++failures_;
  return std::min(delay, kDelayMax) * (0.5 + 0.5 * uniform);
}

Informer::Informer(KubeClient& client, Executor& executor, InformerOptions options,
                   InformerHandler& handler)
    : client_(client),
      executor_(executor),
      options_(std::move(options)),
      handler_(handler),
      random_(options_.seed),
      self_(std::make_shared<Informer*>(this)) {}

Informer::~Informer() { executor_.Cancel(timer_); }

void Informer::Start() { List(""); }

std::optional<absl::Time> Informer::TroubleSince() const {
  const bool stands = watch_ != nullptr && executor_.Now() - watch_began_ >= kWatchStands;
  return stands ? std::nullopt : trouble_since_;
}

void Informer::List(std::string continue_token) {
  // Pages of one round are of one moment; a round that is not finished is worth nothing for what is
  // gone.
  if (continue_token.empty()) ++round_;
  ListRequest request;
  request.type = options_.type;
  request.ns = options_.ns;
  request.label_selector = options_.label_selector;
  request.limit = options_.page_items_max;
  request.continue_token = std::move(continue_token);
  request.metadata_only = options_.metadata_only;
  client_.List(std::move(request), [weak = std::weak_ptr(self_)](ListPage page) {
    if (Informer* self = Get(weak)) self->OnPage(std::move(page));
  });
}

void Informer::OnPage(ListPage page) {
  if (!page.error.ok()) {
    // An expired token, too: the list begins again, from its first page.
    Retry(page.error);
    return;
  }
  for (Value& item : page.items) {
    if (!Upsert(std::move(item))) return;
  }
  if (!page.continue_token.empty()) {
    List(std::move(page.continue_token));
    return;
  }
  OnListComplete(page.resource_version);
}

void Informer::OnListComplete(const std::string& resource_version) {
  const std::weak_ptr<Informer*> alive = self_;
  std::vector<Value> gone;
  for (auto it = known_.begin(); it != known_.end();) {
    if (it->second.round == round_) {
      ++it;
      continue;
    }
    gone.push_back(Tombstone(it->first, it->second));
    it = known_.erase(it);
  }
  for (Value& object : gone) {
    handler_.OnDelete(std::move(object));
    if (alive.expired()) return;
  }
  resource_version_ = resource_version;
  synced_ = true;
  trouble_since_.reset();
  handler_.OnSynced();
  if (!alive.expired()) BeginWatch();
}

void Informer::BeginWatch() {
  WatchRequest request;
  request.type = options_.type;
  request.ns = options_.ns;
  request.label_selector = options_.label_selector;
  request.resource_version = resource_version_;
  request.metadata_only = options_.metadata_only;
  watch_began_ = executor_.Now();
  watch_had_events_ = false;
  watch_ = client_.Watch(
      std::move(request),
      [weak = std::weak_ptr(self_)](KubeEvent event) {
        if (Informer* self = Get(weak)) self->OnEvent(std::move(event));
      },
      [weak = std::weak_ptr(self_)](KubeError error) {
        if (Informer* self = Get(weak)) self->OnWatchEnd(std::move(error));
      });
}

void Informer::OnEvent(KubeEvent event) {
  watch_had_events_ = true;
  trouble_since_.reset();
  const std::string version = event.object.StringAt("metadata", "resourceVersion");
  if (!version.empty()) resource_version_ = version;
  if (event.type == KubeEvent::Type::kBookmark) return;
  if (event.type != KubeEvent::Type::kDeleted) {
    Upsert(std::move(event.object));
    return;
  }
  const Key key(event.object.StringAt("metadata", "namespace"),
                event.object.StringAt("metadata", "name"));
  if (known_.erase(key) > 0) handler_.OnDelete(std::move(event.object));
}

bool Informer::Upsert(Value object) {
  const Key key(object.StringAt("metadata", "namespace"), object.StringAt("metadata", "name"));
  std::string uid = object.StringAt("metadata", "uid");
  std::string version = object.StringAt("metadata", "resourceVersion");
  Known& known = known_[key];
  known.round = round_;
  if (known.uid == uid && known.resource_version == version && !version.empty()) return true;
  known.uid = std::move(uid);
  known.resource_version = std::move(version);
  const std::weak_ptr<Informer*> alive = self_;
  handler_.OnUpsert(std::move(object));
  return !alive.expired();
}

Value Informer::Tombstone(const Key& key, const Known& known) const {
  Value object;
  object["apiVersion"] = ApiVersionOf(options_.type);
  object["kind"] = options_.type.kind;
  Value& metadata = object["metadata"];
  if (!key.first.empty()) metadata["namespace"] = key.first;
  metadata["name"] = key.second;
  metadata["uid"] = known.uid;
  metadata["resourceVersion"] = known.resource_version;
  return object;
}

void Informer::OnWatchEnd(KubeError error) {
  watch_.reset();
  const bool worked = watch_had_events_ || executor_.Now() - watch_began_ >= kWatchTooShort;
  switch (error.error_class) {
    case KubeErrorClass::kNone:
      if (!worked) {
        Schedule(backoff_.Next(executor_.Now(), random_.Uniform()));
        return;
      }
      trouble_since_.reset();
      Continue();
      return;
    case KubeErrorClass::kGone:
      resource_version_.clear();
      if (worked) {
        Continue();
        return;
      }
      break;
    case KubeErrorClass::kInvalid:
    case KubeErrorClass::kKindNotServed:
      // The place to go on from may be what the server does not understand.
      resource_version_.clear();
      break;
    default:
      break;
  }
  Retry(error);
}

void Informer::Retry(const KubeError& error) {
  if (!trouble_since_) trouble_since_ = executor_.Now();
  last_error_ = error;
  absl::Duration delay = backoff_.Next(executor_.Now(), random_.Uniform());
  if (error.retry_after) delay = std::max(delay, *error.retry_after);
  Schedule(delay);
  handler_.OnTrouble(error);
}

void Informer::Schedule(absl::Duration delay) {
  timer_ = executor_.PostAfter(delay, [weak = std::weak_ptr(self_)] {
    Informer* self = Get(weak);
    if (self == nullptr) return;
    self->timer_ = 0;
    self->Continue();
  });
}

void Informer::Continue() {
  if (resource_version_.empty()) {
    List("");
  } else {
    BeginWatch();
  }
}

}  // namespace nave
