// The hub without its ports: index, sessions and controllers over one store, wired together. The
// simulation runs it as it is.
#ifndef NAVE_HUB_CORE_HUB_CORE_H_
#define NAVE_HUB_CORE_HUB_CORE_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/runtime/executor.h"
#include "hub/controllers/controller_loop.h"
#include "hub/fleet/fleet.h"
#include "hub/fleet/live.h"
#include "hub/records/record_store.h"
#include "hub/session/content_cache.h"
#include "hub/session/session_host.h"

namespace nave {

struct HubCoreOptions {
  // Owns index and sessions; what runs there does not block.
  Executor* loop = nullptr;
  // Reads of the store, which block.
  Executor* reader = nullptr;
  // The controllers, whose commits block. All three may be one executor when the store is inline.
  Executor* controllers = nullptr;
  SessionHostOptions sessions;
  BundleController::Options bundles;
  uint64_t seed = 1;
  // Called after sessions and controllers have it: on the loop, short.
  std::function<void(const FleetChanges&)> on_snapshot;
  // Any thread, short.
  std::function<void(const Uuid&)> on_live_changed;
};

// Thread-safe, but for Start, sessions() and the ends. `records`, `blobs` and the executors must
// outlive it. With threads, call CloseControllers on the controllers' executor and then Close on
// the loop before it is destroyed.
class HubCore {
 public:
  HubCore(RecordStore* records, BlobReader* blobs, HubCoreOptions options);
  ~HubCore();

  // Loads the index. `loaded` runs on the loop once sessions and controllers have the first
  // snapshot, or with what stopped it.
  void Start(std::function<void(absl::Status)> loaded);

  // The controllers run no more.
  void CloseControllers();
  // Sessions and index are gone; the last snapshot can still be read. Idempotent, as is
  // CloseControllers.
  void Close();

  LiveTable* live() { return &live_; }
  // Loop thread only.
  SessionHost* sessions() { return sessions_.get(); }
  const ControllerLoop& controllers() const { return *controllers_; }

  // The newest; null before the index is loaded.
  FleetSnapshotPtr snapshot() const;
  // Waits until the snapshot has reached `revision`. False: not within `timeout`. Not on the loop.
  bool AwaitRevision(uint64_t revision, absl::Duration timeout) const;

 private:
  void OnSnapshot(FleetSnapshotPtr snapshot, const FleetChanges& changes);

  RecordStore* const records_;
  const HubCoreOptions options_;
  LiveTable live_;
  const std::unique_ptr<SessionStore> session_store_;
  const std::unique_ptr<ControlStore> control_store_;
  std::unique_ptr<ContentCache> content_;
  std::unique_ptr<SessionHost> sessions_;
  std::unique_ptr<ControllerLoop> controllers_;
  std::unique_ptr<Fleet> fleet_;

  mutable std::mutex mutex_;  // Guards snapshot_.
  mutable std::condition_variable advanced_;
  FleetSnapshotPtr snapshot_;
};

}  // namespace nave

#endif  // NAVE_HUB_CORE_HUB_CORE_H_
