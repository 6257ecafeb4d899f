// Messages of the agent stream as plain values: what the pure session state machines of hub and
// agent exchange. proto/nave/agent/v1/link.proto says what each field means; common/wire converts.
#ifndef NAVE_COMMON_MODEL_STREAM_H_
#define NAVE_COMMON_MODEL_STREAM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "common/base/digest.h"
#include "common/base/uuid.h"
#include "common/model/assignment.h"
#include "common/model/cluster.h"

namespace nave {

// A point in the hub's history. term 0 = none.
struct At {
  uint64_t term = 0;
  Uuid nonce;
  uint64_t revision = 0;
  bool IsNone() const { return term == 0; }
  bool operator==(const At&) const = default;
};

struct Hello {
  uint32_t protocol_min = 1;
  uint32_t protocol_max = 1;
  std::string agent_version;
  Uuid instance_id;
  uint64_t attempt = 0;
  std::string kube_system_uid;
  // Empty: never committed.
  std::string hub_id;
  At committed;
  Digest root;
  bool state_lost = false;
  absl::Time agent_time = absl::InfinitePast();
  Facts facts;
  bool operator==(const Hello&) const = default;
};

struct StatusCursor {
  Uuid instance_id;
  uint64_t seq = 0;
  bool operator==(const StatusCursor&) const = default;
};

struct Welcome {
  uint32_t protocol = 1;
  uint64_t epoch = 0;
  std::string hub_id;
  At current;
  bool history_contains_yours = true;
  bool adopt = false;
  bool set_matches = false;
  std::optional<StatusCursor> status;
  absl::Duration ping_interval = absl::Seconds(10);
  absl::Duration dead_after = absl::Seconds(25);
  absl::Duration reconnect_spread = absl::Seconds(1);
  absl::Time hub_time = absl::InfinitePast();
  bool operator==(const Welcome&) const = default;
};

enum class RefusalReason {
  kUnspecified,
  kNotAccepted,
  kRejected,
  kRevoked,
  kUnknownCluster,
  kWrongCluster,
  kCertExpired,
  kCertUntrusted,
  kSuperseded,
  kStaleAttempt,
  kDuplicateIdentity,
  kProtocolUnsupported,
  kHubStarting,
  kBehind,
  kOverloaded,
  kDraining,
  kProtocolError,
};

absl::string_view FormatRefusalReason(
    RefusalReason reason);  // UPPER_SNAKE, as in the reason registry.

struct Refusal {
  RefusalReason reason = RefusalReason::kUnspecified;
  std::string message;
  std::optional<absl::Duration> retry_after;
  bool operator==(const Refusal&) const = default;
};

enum class KeyState { kPresent, kRemoving, kNotDesired };

struct KeySetEntry {
  Uuid key;
  Digest digest;
  bool confirmed = false;
  KeyState state = KeyState::kPresent;
  bool operator==(const KeySetEntry&) const = default;
};

struct KeySet {
  std::vector<KeySetEntry> keys;  // Sorted by key.
  bool last = true;
  bool operator==(const KeySet&) const = default;
};

// SHA-256 over the Present keys of `keys` (sorted): key, digest, confirmed.
Digest ComputeRoot(const std::vector<KeySetEntry>& keys);

// One compressed blob; immutable and shared by every frame that carries it.
struct Blob {
  Digest digest;           // Of the uncompressed bytes. Not on the wire: the receiver computes it.
  std::string compressed;  // zstd.
};
using BlobPtr = std::shared_ptr<const Blob>;

struct Upsert {
  Uuid key;
  std::string name;
  Digest digest;
  uint64_t size = 0;
  bool confirmed = false;
  bool operator==(const Upsert&) const = default;
};

enum class Propagation { kDelete, kOrphan };

struct Tombstone {
  Uuid key;
  std::string reason;
  Propagation propagation = Propagation::kDelete;
  bool confirmed = false;
  bool operator==(const Tombstone&) const = default;
};

struct DesiredBatch {
  At at;
  uint32_t part = 0;
  bool last = false;
  uint32_t items = 0;
  Digest desired_root;
  std::vector<Upsert> upserts;
  std::vector<Tombstone> tombstones;
  std::vector<Uuid> not_desired;
  bool operator==(const DesiredBatch&) const = default;
};

struct Rejection {
  Uuid key;
  Digest digest;
  std::string code;
  std::string message;
  bool operator==(const Rejection&) const = default;
};

struct DesiredAck {
  uint64_t revision = 0;
  std::vector<Rejection> rejected;
  uint32_t rejected_total = 0;
  bool operator==(const DesiredAck&) const = default;
};

struct StatusBatch {
  uint64_t seq = 0;
  bool full = false;
  bool last = true;
  std::vector<AssignmentStatus> changed;
  std::vector<Uuid> gone;
  std::string hold_reason;
  bool operator==(const StatusBatch&) const = default;
};

struct StatusAck {
  uint64_t seq = 0;
  bool operator==(const StatusAck&) const = default;
};

struct Ping {
  bool operator==(const Ping&) const = default;
};
struct Pong {
  bool operator==(const Pong&) const = default;
};
struct Drain {
  bool operator==(const Drain&) const = default;
};

using AgentFrame = std::variant<Hello, KeySet, DesiredAck, StatusBatch, Facts, Ping>;

// Blobs that travel together to many clusters: encoded once (as the `blobs` field of a serialised
// HubFrame), shared by every frame that carries them. Immutable.
struct BlobSet {
  std::vector<BlobPtr> blobs;
  std::string encoded;
};
using BlobSetPtr = std::shared_ptr<const BlobSet>;

struct HubFrame {
  // What a receiver finds.
  std::vector<BlobPtr> blobs;
  // What a sender adds to `blobs` without encoding it again.
  std::vector<BlobSetPtr> shared_blobs;
  std::variant<std::monostate, Welcome, Refusal, DesiredBatch, StatusAck, Pong, Drain> body;
};

}  // namespace nave

#endif  // NAVE_COMMON_MODEL_STREAM_H_
