// What the session host needs of the store.
#ifndef NAVE_HUB_SESSION_SESSION_STORE_H_
#define NAVE_HUB_SESSION_SESSION_STORE_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "common/base/uuid.h"
#include "common/model/cluster.h"
#include "hub/decide/admission.h"
#include "hub/records/records.h"

namespace nave {

// One cluster's part of a status transaction. It holds only while the session record stands at
// `session_revision`.
struct StatusWrite {
  Uuid cluster;
  uint64_t session_revision = 0;
  StatusSummary summary;
  // Tombstones that the agent reported done: bundle and the revision at which each stands.
  std::vector<std::pair<Uuid, uint64_t>> tombstones_done;
};

// Reads block (call them off the loop); writes are asynchronous and may call back on any thread.
class SessionStore {
 public:
  // Revision of the transaction; nullopt: a compare did not hold, nothing was written.
  using CommitCallback = absl::AnyInvocable<void(absl::StatusOr<std::optional<uint64_t>>) &&>;

  virtual ~SessionStore() = default;

  virtual absl::StatusOr<AdmissionRecords> ReadRecords(const Uuid& cluster) = 0;
  virtual absl::StatusOr<uint64_t> ReadHead() = 0;

  // Writes the session record, and the cluster's when given, if both stand at the revisions of
  // `read` (0: absent).
  virtual void CommitSession(const SessionRecord& session, const std::optional<Cluster>& cluster,
                             const AdmissionRecords& read, CommitCallback done) = 0;
  // All of the batch or nothing.
  virtual void CommitStatuses(std::vector<StatusWrite> batch, CommitCallback done) = 0;
  // Locks or unlocks a cluster (duplicate identity), if its record stands at `revision`.
  virtual void CommitLock(const Cluster& cluster, uint64_t revision, bool locked,
                          CommitCallback done) = 0;
};

}  // namespace nave

#endif  // NAVE_HUB_SESSION_SESSION_STORE_H_
