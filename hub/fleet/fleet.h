// The hub's index of its store: loaded at start, kept by the store's watch, published as immutable
// snapshots.
#ifndef NAVE_HUB_FLEET_FLEET_H_
#define NAVE_HUB_FLEET_FLEET_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/runtime/executor.h"
#include "hub/fleet/live.h"
#include "hub/fleet/snapshot.h"
#include "hub/store/store.h"

namespace nave {

// A stored key as a change of the index; nullopt for kinds that the index does not hold (blobs,
// audit, events, status, requests, tokens). An error names the key: a record that cannot be read
// stops the load, and is skipped with a log line when it comes by watch.
absl::StatusOr<std::optional<RecordChange>> DecodeChange(const KeyValue& kv, bool deleted);

// Loop thread only, but for Start. `store` must outlive it.
class Fleet {
 public:
  using OnSnapshot = std::function<void(FleetSnapshotPtr, const FleetChanges&)>;

  // `reader` runs loads, which block.
  Fleet(Executor* loop, Executor* reader, Store* store, std::string hub_id, OnSnapshot on_snapshot);
  ~Fleet();

  // Loads and begins to watch; `loaded` runs on the loop after the first snapshot was delivered, or
  // with the error that stopped it.
  void Start(std::function<void(absl::Status)> loaded);

  FleetSnapshotPtr snapshot() const { return snapshot_; }
  uint64_t reloads_total() const { return reloads_total_; }

 private:
  struct Loaded {
    std::shared_ptr<SnapshotBuilder> builder;
    Revision revision = 0;
  };
  static absl::StatusOr<Loaded> Load(Store* store, const std::string& hub_id);
  void OnLoaded(absl::StatusOr<Loaded> loaded, std::function<void(absl::Status)> done);
  void OnBatch(uint64_t generation, WatchBatch batch);
  void Reload();

  Executor* const loop_;
  Executor* const reader_;
  Store* const store_;
  const std::string hub_id_;
  const OnSnapshot on_snapshot_;
  std::shared_ptr<SnapshotBuilder> builder_;
  FleetSnapshotPtr snapshot_;
  std::unique_ptr<StoreWatch> watch_;
  // Batches of a watch that was replaced are dropped.
  uint64_t generation_ = 0;
  uint64_t reloads_total_ = 0;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

// Fills `live` with the stored summaries.
absl::Status LoadSummaries(Store* store, LiveTable* live);

}  // namespace nave

#endif  // NAVE_HUB_FLEET_FLEET_H_
