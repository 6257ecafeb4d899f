// All watches of the public API: they live on one loop, and are told together what changed.
#ifndef NAVE_HUB_RPC_WATCHES_H_
#define NAVE_HUB_RPC_WATCHES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/uuid.h"
#include "common/runtime/executor.h"
#include "hub/fleet/snapshot.h"
#include "hub/rpc/api_state.h"

namespace nave {

// One caller's watch. All methods run on the loop.
class WatchBase {
 public:
  virtual ~WatchBase() = default;
  // Records of these may have another state. What an agent reported counts as a change of its
  // cluster and of the bundles there.
  virtual void OnChanges(const FleetChanges& changes) = 0;
  // Ends the stream; a second end is ignored.
  virtual void End(const absl::Status& status) = 0;
};

// A point from which a watch goes on: what has been sent of the store, and of what agents report.
struct WatchVersion {
  uint64_t revision = 0;
  // Tick of the process with this nonce; 0: none.
  uint64_t tick = 0;
  std::string nonce;
  std::string ToString() const;
};
// INVALID_FIELD.
absl::StatusOr<WatchVersion> ParseWatchVersion(absl::string_view text);

class Watches {
 public:
  explicit Watches(ApiState* state);
  // After the server's shutdown, when all streams are done.
  ~Watches();

  // Any thread.
  void Note(const FleetChanges& changes);
  void NoteLive(const Uuid& cluster);
  void Drain();

  Executor* loop() { return loop_.get(); }
  ApiState* state() { return state_; }

  // Takes a watch; its id is for With and Remove. Any thread.
  uint64_t Add(std::shared_ptr<WatchBase> watch);
  void Remove(uint64_t id);

  // Loop only. Where the watches stand with `revision` of the store.
  WatchVersion VersionAt(uint64_t revision) const;
  // Whether the state of that cluster or bundle may have changed after `version` for another reason
  // than a write.
  bool ChangedSince(const Uuid& uid, const WatchVersion& version) const;

 private:
  void Schedule();
  void Tick();

  ApiState* const state_;
  const std::string nonce_;
  std::mutex mutex_;  // Guards the next four.
  FleetChanges dirty_;
  std::set<Uuid> dirty_live_;
  bool scheduled_ = false;
  uint64_t next_id_ = 1;
  // Loop only.
  std::map<uint64_t, std::shared_ptr<WatchBase>> watches_;
  std::map<Uuid, uint64_t> last_tick_;
  uint64_t tick_ = 1;
  bool draining_ = false;
  // Last: its tasks use what is above.
  std::unique_ptr<Executor> loop_;
};

}  // namespace nave

#endif  // NAVE_HUB_RPC_WATCHES_H_
