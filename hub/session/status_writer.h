// Brings cluster summaries to the store in few transactions, and says when an agent's report is
// durable.
#ifndef NAVE_HUB_SESSION_STATUS_WRITER_H_
#define NAVE_HUB_SESSION_STATUS_WRITER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "common/base/uuid.h"
#include "common/runtime/executor.h"
#include "hub/fleet/live.h"
#include "hub/fleet/snapshot.h"
#include "hub/session/session_store.h"

namespace nave {

// Loop thread only. Keeps one entry per cluster, whatever arrives meanwhile, and as many
// transactions under way as keep the store busy: what comes while they run goes into the next.
class StatusWriter {
 public:
  struct Entry {
    uint64_t session_revision = 0;
    // Highest batch that the entry stands for.
    uint64_t seq = 0;
  };
  // `durable(cluster, entry)`: everything up to entry.seq of that session is in the store.
  StatusWriter(Executor* loop, SessionStore* store, LiveTable* live,
               std::function<void(const Uuid&, const Entry&)> durable)
      : loop_(loop),
        store_(store),
        live_(live),
        durable_(std::move(durable)),
        alive_(std::make_shared<int>()) {}

  // A newer entry of the same cluster replaces the older.
  void Add(const Uuid& cluster, Entry entry);
  // The session is gone: what it said last is not written any more on its behalf.
  void Drop(const Uuid& cluster, uint64_t session_revision);
  void OnSnapshot(FleetSnapshotPtr snapshot) { snapshot_ = std::move(snapshot); }
  void Flush();

  uint64_t writes_total() const { return writes_total_; }
  bool idle() const { return pending_.empty() && in_flight_ == 0; }

 private:
  struct Batch {
    std::vector<StatusWrite> writes;
    std::map<Uuid, Entry> entries;
    size_t bytes = 0;
    size_t keys = 0;
  };
  // Whether `cluster` fitted into `batch`.
  bool AddTo(Batch* batch, const Uuid& cluster, const Entry& entry);
  void Commit(Batch batch);
  void OnCommitted(std::map<Uuid, Entry> entries, absl::StatusOr<std::optional<uint64_t>> result);

  Executor* loop_;
  SessionStore* store_;
  LiveTable* live_;
  std::function<void(const Uuid&, const Entry&)> durable_;
  FleetSnapshotPtr snapshot_;
  std::map<Uuid, Entry> pending_;
  // Clusters whose batch failed a compare: written alone, so that one lost session delays nobody.
  std::map<Uuid, int> suspects_;
  size_t in_flight_ = 0;
  uint64_t writes_total_ = 0;
  TimerId retry_ = 0;
  std::shared_ptr<int> alive_;
};

}  // namespace nave

#endif  // NAVE_HUB_SESSION_STATUS_WRITER_H_
