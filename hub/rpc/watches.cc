#include "hub/rpc/watches.h"

#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/error.h"
#include "common/model/violations.h"

namespace nave {

std::string WatchVersion::ToString() const {
  return tick == 0 ? absl::StrCat(revision) : absl::StrCat(revision, "-", tick, "-", nonce);
}

absl::StatusOr<WatchVersion> ParseWatchVersion(absl::string_view text) {
  std::vector<absl::string_view> parts = absl::StrSplit(text, '-');
  WatchVersion version;
  bool good = (parts.size() == 1 || parts.size() == 3) &&
              absl::SimpleAtoi(parts[0], &version.revision) && version.revision > 0;
  if (good && parts.size() == 3) {
    good = absl::SimpleAtoi(parts[1], &version.tick);
    version.nonce = std::string(parts[2]);
  }
  if (good) return version;
  return FieldError("resource_version", "must be one that this hub gave, or empty");
}

Watches::Watches(ApiState* state)
    : state_(state), nonce_(Uuid::Random().ToString().substr(0, 8)), loop_(MakeThreadExecutor()) {}

Watches::~Watches() { loop_.reset(); }

void Watches::Note(const FleetChanges& changes) {
  std::lock_guard<std::mutex> lock(mutex_);
  dirty_.Add(changes);
  Schedule();
}

void Watches::NoteLive(const Uuid& cluster) {
  std::lock_guard<std::mutex> lock(mutex_);
  dirty_live_.insert(cluster);
  Schedule();
}

void Watches::Schedule() {
  if (std::exchange(scheduled_, true)) return;
  loop_->PostAfter(state_->options.watch_interval, [this] { Tick(); });
}

void Watches::Tick() {
  FleetChanges changes;
  std::set<Uuid> live;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    scheduled_ = false;
    changes = std::exchange(dirty_, FleetChanges{});
    live.swap(dirty_live_);
  }
  FleetSnapshotPtr snapshot = state_->backend->Snapshot();
  if (snapshot == nullptr) return;
  // A bundle's state is made of what its clusters report.
  changes.clusters.insert(live.begin(), live.end());
  for (const Uuid& cluster : changes.clusters) {
    auto assigned = snapshot->assigned.Find(cluster);
    if (assigned != nullptr) changes.bundles.insert(assigned->begin(), assigned->end());
    auto tombstones = snapshot->tombstones.Find(cluster);
    if (tombstones == nullptr) continue;
    for (const auto& [bundle, tombstone] : *tombstones) changes.bundles.insert(bundle);
  }
  ++tick_;
  for (const Uuid& uid : changes.clusters) last_tick_[uid] = tick_;
  for (const Uuid& uid : changes.bundles) last_tick_[uid] = tick_;
  for (const auto& [id, watch] : watches_) watch->OnChanges(changes);
}

WatchVersion Watches::VersionAt(uint64_t revision) const { return {revision, tick_, nonce_}; }

bool Watches::ChangedSince(const Uuid& uid, const WatchVersion& version) const {
  if (version.nonce != nonce_) return true;
  auto it = last_tick_.find(uid);
  return it != last_tick_.end() && it->second > version.tick;
}

uint64_t Watches::Add(std::shared_ptr<WatchBase> watch) {
  uint64_t id;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    id = next_id_++;
  }
  loop_->Post([this, id, watch = std::move(watch)] {
    if (draining_) watch->End(MakeError(Reason::kDraining, "the hub is stopping"));
    watches_[id] = watch;
  });
  return id;
}

void Watches::Remove(uint64_t id) {
  loop_->Post([this, id] { watches_.erase(id); });
}

void Watches::Drain() {
  loop_->Post([this] {
    draining_ = true;
    for (const auto& [id, watch] : watches_)
      watch->End(MakeError(Reason::kDraining, "the hub is stopping"));
  });
}

}  // namespace nave
