// What one watch has sent, and what it has to send next. No gRPC: the stream around it writes one
// message at a time.
#ifndef NAVE_HUB_RPC_WATCH_FEED_H_
#define NAVE_HUB_RPC_WATCH_FEED_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/model/selector.h"
#include "hub/fleet/snapshot.h"
#include "hub/rpc/api_call.h"
#include "hub/rpc/kinds.h"
#include "hub/rpc/watches.h"
#include "nave/v1/meta.pb.h"

namespace nave {

// Which records a watch is about.
template <typename Record>
struct WatchFilter {
  Selector selector;
  // As of VisitRecords.
  std::string project;
  std::function<bool(const Record&)> matches;  // May be null.

  bool Matches(const ApiCall& call, const Record& record) const {
    if (!selector.Matches(record.meta.labels) || !MayReadRecord(call, record)) return false;
    return matches == nullptr || matches(record);
  }
};

// How kinds are found that changed.
template <typename Record>
struct WatchKind {
  // Not in the snapshot: the store's own watch says what changed.
  static constexpr bool kStored = false;
  // Has a state that agents report.
  static constexpr bool kLive = false;
};
template <>
struct WatchKind<JoinToken> {
  static constexpr bool kStored = true;
  static constexpr bool kLive = false;
};
template <>
struct WatchKind<Event> {
  static constexpr bool kStored = true;
  static constexpr bool kLive = false;
};
template <>
struct WatchKind<Cluster> {
  static constexpr bool kStored = false;
  static constexpr bool kLive = true;
};
template <>
struct WatchKind<Bundle> {
  static constexpr bool kStored = false;
  static constexpr bool kLive = true;
};

template <typename Proto>
struct WatchMessage {
  v1::WatchEventType type = v1::WATCH_EVENT_TYPE_ITEM;
  Proto record;
  std::string resource_version;
};

// The part of a resource that a deletion still tells.
template <typename Proto>
void SetIdentity(const std::string& name, const Uuid& uid, Proto* out) {
  out->set_name(name);
  if (!uid.IsNone()) out->mutable_metadata()->set_uid(uid.ToString());
}

// One record as bytes that are equal while there is nothing to tell.
uint64_t Fingerprint(const google::protobuf::Message& record);

// Loop only.
template <typename Record>
class WatchFeed {
 public:
  using Proto = typename Kind<Record>::Proto;
  struct Sent {
    Uuid uid;
    uint64_t mod_revision = 0;
    // 0: by an earlier stream.
    uint64_t fingerprint = 0;
  };
  using SentMap = std::map<std::string, Sent>;  // By key.

  WatchFeed(std::unique_ptr<ApiCall> call, Watches* watches, WatchFilter<Record> filter)
      : call_(std::move(call)), watches_(watches), filter_(std::move(filter)) {}

  // Everything that is there waits, then SYNCED. With `resume`: what is not as in `sent`, which was
  // visible at that version.
  absl::Status Begin(std::optional<WatchVersion> resume, SentMap sent, uint64_t revision);

  void OnChanges(const FleetChanges& changes);
  // Keys of the store that changed, up to `revision`.
  void OnStored(const std::vector<std::string>& keys, uint64_t revision);

  // The next message; nullopt: nothing is to be told now.
  absl::StatusOr<std::optional<WatchMessage<Proto>>> Next();
  // Changes that wait after the first items were sent.
  size_t backlog() const { return synced_ ? queue_.size() : 0; }

 private:
  void Queue(const std::string& key) {
    if (queued_.insert(key).second) queue_.push_back(key);
  }
  void QueueAll();
  void QueueUid(const Uuid& uid);
  absl::StatusOr<bool> Look(const std::string& key, WatchMessage<Proto>* message);
  absl::StatusOr<bool> Gone(const std::string& key, const RecordRef& ref,
                            WatchMessage<Proto>* message);
  void SetVersion(WatchMessage<Proto>* message);

  std::unique_ptr<ApiCall> call_;
  Watches* const watches_;
  const WatchFilter<Record> filter_;
  SentMap sent_;
  std::map<Uuid, std::string> keys_;  // Of what is in sent_.
  std::deque<std::string> queue_;
  std::set<std::string> queued_;
  // What is reached when the queue is empty, and what was reached when it last was. Empty: no way
  // to resume yet.
  std::string target_;
  std::string reached_;
  bool synced_ = false;
};

}  // namespace nave

#endif  // NAVE_HUB_RPC_WATCH_FEED_H_
