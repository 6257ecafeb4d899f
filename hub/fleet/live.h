// What agents say of their clusters right now: soft state, kept in memory, sent again by every
// agent that connects.
#ifndef NAVE_HUB_FLEET_LIVE_H_
#define NAVE_HUB_FLEET_LIVE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/model/assignment.h"
#include "common/model/cluster.h"
#include "common/model/stream.h"
#include "hub/fleet/cow_map.h"
#include "hub/records/records.h"

namespace nave {

using AssignmentStatusPtr = std::shared_ptr<const AssignmentStatus>;

// One cluster as last heard of. Immutable once published.
struct ClusterLive {
  bool connected = false;
  uint64_t epoch = 0;
  // Since when it is (dis)connected; InfinitePast: not in the memory of this process.
  absl::Time since = absl::InfinitePast();
  // Why the last session ended; empty while connected.
  std::string disconnect_reason;
  std::string address;
  std::string agent_version;
  absl::Time certificate_not_after = absl::InfinitePast();
  Facts facts;
  // Empty: no HOLD.
  std::string hold_reason;
  // The spoke's clock minus ours, as of the last Hello.
  absl::Duration clock_offset = absl::ZeroDuration();
  // A full status came in this session: what is not in `assignments` is not on the spoke.
  bool status_complete = false;
  // False: loaded from the stored summary, without messages.
  bool status_from_session = false;
  std::map<Uuid, AssignmentStatusPtr> assignments;  // By bundle.
  std::map<Uuid, Rejection> rejections;             // By bundle.
  // Time of the newest frame, nanoseconds since the epoch; shared by all versions of one session.
  std::shared_ptr<std::atomic<int64_t>> last_seen_ns;

  absl::Time last_seen() const {
    return last_seen_ns == nullptr ? absl::InfinitePast() : absl::FromUnixNanos(*last_seen_ns);
  }
};

// An agent with a valid certificate of this hub whose cluster has no record. Kept in memory only.
struct UnknownCluster {
  Uuid uid;
  std::string id;
  uint32_t generation = 0;
  std::string address;
  absl::Time last_seen;
};

// All clusters' live state. Thread-safe: written by the loop, read by API calls; its one mutex is
// never held while anything else is called.
class LiveTable {
 public:
  using Map = CowMap<Uuid, ClusterLive>;

  // A consistent copy, cheap.
  Map Snapshot() const;
  // nullptr when nothing is known.
  std::shared_ptr<const ClusterLive> Find(const Uuid& cluster) const;
  void Set(const Uuid& cluster, std::shared_ptr<const ClusterLive> live);
  void Erase(const Uuid& cluster);

  // At most 1,000; the oldest makes room.
  void NoteUnknown(const UnknownCluster& unknown);
  void ForgetUnknown(const Uuid& cluster);
  std::vector<UnknownCluster> Unknown() const;

  // Called after each Set and Erase on the caller's thread, outside the mutex. Set once, before
  // use.
  void set_on_change(std::function<void(const Uuid&)> on_change) {
    on_change_ = std::move(on_change);
  }

 private:
  mutable std::mutex mutex_;
  Map clusters_;
  std::map<Uuid, UnknownCluster> unknown_;
  std::function<void(const Uuid&)> on_change_;
};

// The stored form of `live`, and back. Messages and objects are not stored.
StatusSummary Summarize(const Uuid& cluster, const ClusterLive& live);
ClusterLive FromSummary(const StatusSummary& summary);

}  // namespace nave

#endif  // NAVE_HUB_FLEET_LIVE_H_
