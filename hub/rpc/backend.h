// What the public API needs of the rest of the hub.
#ifndef NAVE_HUB_RPC_BACKEND_H_
#define NAVE_HUB_RPC_BACKEND_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/digest.h"
#include "common/base/uuid.h"
#include "common/model/bundle.h"
#include "hub/controllers/control_store.h"
#include "hub/fleet/live.h"
#include "hub/fleet/snapshot.h"
#include "hub/records/records.h"
#include "hub/store/store.h"

namespace nave {

struct StoredValue {
  std::string bytes;
  uint64_t mod_revision = 0;
};

// The answer to a write, remembered under the request id that came with it.
struct RememberedRequest {
  Uuid id;
  RequestRecord record;
};

// Stored records by key (hub/records/keys.h) and bytes (hub/records/codec.h). Thread-safe; every
// call blocks.
class ApiStore {
 public:
  virtual ~ApiStore() = default;

  // nullopt: absent.
  virtual absl::StatusOr<std::optional<StoredValue>> Get(absl::string_view key) = 0;
  // As Store::Range.
  virtual absl::StatusOr<RangePage> Range(absl::string_view prefix, absl::string_view after,
                                          size_t limit, uint64_t at) = 0;
  // Durable when it returns. Revision of the transaction; nullopt: a compare did not hold (the
  // request id is compared too: absent), nothing was written.
  virtual absl::StatusOr<std::optional<uint64_t>> Commit(
      ControlTxn txn, std::optional<RememberedRequest> request) = 0;

  // Makes blobs durable, and adds to `txn`, which names them, what keeps the collector from taking
  // them.
  virtual absl::Status PutBlobs(const std::vector<absl::string_view>& contents,
                                ControlTxn* txn) = 0;
  // NOT_FOUND.
  virtual absl::StatusOr<std::string> GetBlob(const Digest& digest) = 0;

  // As Store::Watch.
  virtual std::unique_ptr<StoreWatch> Watch(absl::string_view prefix, uint64_t after,
                                            Store::WatchCallback on_batch) = 0;
};

// Facts of the hub process.
struct HubFacts {
  std::string version;
  std::string hub_id;
  // host:port and CA pin that go into join tokens.
  std::string agent_endpoint;
  Digest ca_pin;
  uint32_t feature_level = kFeatureLevel;
  std::vector<Condition> conditions;
};

// Thread-safe.
class ApiBackend {
 public:
  virtual ~ApiBackend() = default;

  // The newest one; nullptr while the hub starts.
  virtual FleetSnapshotPtr Snapshot() = 0;
  // Waits until the snapshot has reached `revision`, so that a caller reads what it wrote. False:
  // not within `timeout`.
  virtual bool AwaitRevision(uint64_t revision, absl::Duration timeout) = 0;
  virtual LiveTable* live() = 0;
  virtual ApiStore* store() = 0;
  virtual HubFacts Facts() = 0;
  // Trusted client roots, PEM. Does not block.
  virtual std::string Roots() = 0;
  virtual absl::Time Now() = 0;
};

}  // namespace nave

#endif  // NAVE_HUB_RPC_BACKEND_H_
