#include "hub/core/hub_core.h"

#include <chrono>
#include <utility>

#include "hub/core/record_ports.h"

namespace nave {

HubCore::HubCore(RecordStore* records, BlobReader* blobs, HubCoreOptions options)
    : records_(records),
      options_(std::move(options)),
      session_store_(MakeSessionStore(records)),
      control_store_(MakeControlStore(records)) {
  content_ = std::make_unique<ContentCache>(options_.loop, options_.reader, blobs,
                                            [this] { sessions_->OnContentLoaded(); });
  SessionHostOptions sessions = options_.sessions;
  sessions.seed = options_.seed;
  sessions_ = SessionHost::Make(options_.loop, options_.reader, session_store_.get(), &live_,
                                content_.get(), sessions);
  controllers_ = std::make_unique<ControllerLoop>(options_.controllers, control_store_.get(),
                                                  &live_, options_.bundles, options_.seed + 1);
  live_.set_on_change([this](const Uuid& cluster) {
    controllers_->OnLiveChanged(cluster);
    if (options_.on_live_changed != nullptr) options_.on_live_changed(cluster);
  });
  fleet_ =
      std::make_unique<Fleet>(options_.loop, options_.reader, records->store(), records->hub_id(),
                              [this](FleetSnapshotPtr snapshot, const FleetChanges& changes) {
                                OnSnapshot(std::move(snapshot), changes);
                              });
}

HubCore::~HubCore() {
  CloseControllers();
  Close();
}

void HubCore::CloseControllers() { controllers_->Close(); }

void HubCore::Close() {
  // First what calls the others.
  fleet_.reset();
  sessions_.reset();
  content_.reset();
}

void HubCore::Start(std::function<void(absl::Status)> loaded) {
  // Agents that do not come back are still shown with what was last known of them.
  options_.reader->Post([this, loaded = std::move(loaded)]() mutable {
    absl::Status status = LoadSummaries(records_->store(), &live_);
    options_.loop->Post([this, status, loaded = std::move(loaded)]() mutable {
      if (!status.ok()) return loaded(status);
      fleet_->Start(std::move(loaded));
    });
  });
}

void HubCore::OnSnapshot(FleetSnapshotPtr snapshot, const FleetChanges& changes) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    snapshot_ = snapshot;
  }
  advanced_.notify_all();
  sessions_->OnSnapshot(snapshot, changes);
  controllers_->OnSnapshot(std::move(snapshot), changes);
  if (options_.on_snapshot != nullptr) options_.on_snapshot(changes);
}

FleetSnapshotPtr HubCore::snapshot() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return snapshot_;
}

bool HubCore::AwaitRevision(uint64_t revision, absl::Duration timeout) const {
  std::unique_lock<std::mutex> lock(mutex_);
  return advanced_.wait_for(lock, absl::ToChronoMilliseconds(timeout), [&] {
    return snapshot_ != nullptr && snapshot_->revision >= revision;
  });
}

}  // namespace nave
