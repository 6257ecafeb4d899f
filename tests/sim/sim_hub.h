// The hub of the simulation: its real core over a store in memory that outlives its processes.
#ifndef NAVE_TESTS_SIM_SIM_HUB_H_
#define NAVE_TESTS_SIM_SIM_HUB_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "common/runtime/executor.h"
#include "hub/core/hub_core.h"
#include "hub/decide/rollup.h"
#include "hub/records/blobs.h"
#include "hub/records/record_store.h"
#include "hub/rpc/link_service.h"
#include "hub/store/sqlite_store.h"
#include "tests/sim/process.h"

namespace nave::sim {

extern const char kHubId[];

class SimHub {
 public:
  // `world` must outlive the hub. Starts at once.
  SimHub(Executor* world, uint64_t seed);
  ~SimHub();

  bool up() const { return core_ != nullptr; }
  // Counts processes: a stream belongs to one.
  uint64_t incarnation() const { return incarnation_; }
  // The process dies; what was committed stays.
  void Kill();
  void Start();
  // What is in the store, as a copy of the file.
  std::string Image();
  // Puts another content under the dead process; "": an empty store.
  void SetImage(std::string image) { image_ = std::move(image); }

  // While it is up.
  SessionHost* sessions() { return core_->sessions(); }
  LinkBackend* backend() { return backend_.get(); }
  HubCore* core() { return core_.get(); }
  Process* process() { return process_.get(); }

  // Orders, each one transaction; false: the hub is down.
  bool PutCluster(const Cluster& cluster);
  // A bundle with these manifests for those clusters; a new revision when it is there.
  // `too_large`: it claims a size that every agent refuses.
  bool ApplyBundle(const std::string& id, const std::string& manifests,
                   const std::set<std::string>& clusters, bool too_large);
  // Of the version that was applied last.
  const Digest& last_listing() const { return last_listing_; }
  bool DeleteBundle(const std::string& id);
  // What the agent of a cluster waits for, of one bundle.
  bool Confirm(const AssignmentView& held);
  // `hub adopt`.
  bool Adopt();
  std::optional<Bundle> FindBundle(const std::string& id);
  Uuid NextUuid();

 private:
  bool Commit(RecordTxn txn);
  void Tick();

  Executor* const world_;
  const uint64_t seed_;
  uint64_t next_uuid_ = 0;
  uint64_t incarnation_ = 0;
  std::string image_;
  Digest last_listing_;

  std::unique_ptr<Process> process_;
  SqliteStore* store_ = nullptr;
  std::unique_ptr<RecordStore> records_;
  std::unique_ptr<BlobStore> blobs_;
  std::unique_ptr<BlobReader> reader_;
  std::unique_ptr<HubCore> core_;
  std::unique_ptr<LinkBackend> backend_;
};

}  // namespace nave::sim

#endif  // NAVE_TESTS_SIM_SIM_HUB_H_
