#include "agent/kube/discovery.h"

#include <algorithm>
#include <utility>

namespace nave {
namespace {

// Null once it was destroyed. Does not hold on to it, so that what runs sees when that happens.
DiscoveryCache* Get(const std::weak_ptr<DiscoveryCache*>& weak) {
  const std::shared_ptr<DiscoveryCache*> held = weak.lock();
  return held == nullptr ? nullptr : *held;
}

}  // namespace

DiscoveryCache::DiscoveryCache(KubeClient& client, Executor& executor)
    : client_(client), executor_(executor), self_(std::make_shared<DiscoveryCache*>(this)) {}

bool DiscoveryCache::IsFailed(absl::string_view group) const {
  return std::find(failed_groups_.begin(), failed_groups_.end(), group) != failed_groups_.end();
}

KindLookup DiscoveryCache::Find(absl::string_view group, absl::string_view version,
                                absl::string_view kind) const {
  KindLookup lookup;
  lookup.error = last_error_;
  const auto found =
      index_.find(KindKey(std::string(group), std::string(kind), std::string(version)));
  if (found != index_.end()) {
    lookup.outcome = KindLookup::Outcome::kServed;
    lookup.type = types_[found->second];
  } else if (loaded_ && last_error_.ok() && !IsFailed(group)) {
    lookup.outcome = KindLookup::Outcome::kNotServed;
  }
  return lookup;
}

void DiscoveryCache::Resolve(std::string group, std::string version, std::string kind,
                             KubeClient::Callback<KindLookup> done) {
  KindLookup lookup = Find(group, version, kind);
  if (lookup.outcome == KindLookup::Outcome::kServed) {
    executor_.Post([weak = std::weak_ptr(self_), lookup = std::move(lookup),
                    done = std::move(done)]() mutable {
      if (weak.lock() != nullptr) std::move(done)(std::move(lookup));
    });
    return;
  }
  // Runs within OnDiscovered, so this is alive.
  Refresh(
      [this, group = std::move(group), version = std::move(version), kind = std::move(kind),
       done = std::move(done)](KubeError) mutable { std::move(done)(Find(group, version, kind)); });
}

void DiscoveryCache::Refresh(KubeClient::Callback<KubeError> done) {
  next_.push_back(std::move(done));
  if (!running_) Start();
}

void DiscoveryCache::Start() {
  running_ = true;
  present_ = std::move(next_);
  next_.clear();
  client_.Discover([weak = std::weak_ptr(self_)](KubeClient::Discovery found) {
    if (DiscoveryCache* self = Get(weak)) self->OnDiscovered(std::move(found));
  });
}

void DiscoveryCache::OnDiscovered(KubeClient::Discovery found) {
  running_ = false;
  last_error_ = found.error;
  bool changed = false;
  if (found.error.ok()) {
    changed = !loaded_ || types_ != found.types || failed_groups_ != found.failed_groups;
    loaded_ = true;
    if (changed) {
      types_ = std::move(found.types);
      failed_groups_ = std::move(found.failed_groups);
      index_.clear();
      for (size_t i = 0; i < types_.size(); ++i) {
        const ResourceType& type = types_[i];
        index_.emplace(KindKey(type.group, type.kind, type.version), i);
        index_.emplace(KindKey(type.group, type.kind, ""), i);
      }
    }
  }
  std::vector<KubeClient::Callback<KubeError>> waiting = std::move(present_);
  present_.clear();
  const std::weak_ptr<DiscoveryCache*> alive = self_;
  if (changed && on_change_) on_change_();
  for (auto& done : waiting) {
    if (alive.lock() == nullptr) return;
    std::move(done)(found.error);
  }
  if (alive.lock() != nullptr && !running_ && !next_.empty()) Start();
}

}  // namespace nave
