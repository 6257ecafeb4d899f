// What the hub stores beside the records of the public API (common/model), as plain values. codec.h
// turns them into stored bytes; keys.h says where they stand.
#ifndef NAVE_HUB_RECORDS_RECORDS_H_
#define NAVE_HUB_RECORDS_RECORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/digest.h"
#include "common/base/uuid.h"
#include "common/model/assignment.h"
#include "common/model/cluster.h"
#include "common/model/stream.h"

namespace nave {

// /v1/meta/schema
struct SchemaRecord {
  uint32_t format = 1;
  std::string written_by;  // Version of the hub that made the store.
};
inline constexpr uint32_t kStoreFormat = 1;
inline constexpr uint32_t kFeatureLevel = 1;  // /v1/meta/feature_level holds it as decimal text.

// /v1/term/{n}: begun by each start of a hub process.
struct TermRecord {
  uint64_t number = 0;
  Uuid nonce;
  // Head of the store before this term.
  uint64_t after = 0;
  absl::Time start_time;
  bool operator==(const TermRecord&) const = default;
};

// /v1/meta/head: written by every transaction, so that its mod revision is the store's head as far
// as hubs are concerned, and its value tells one history from another.
struct HeadRecord {
  uint64_t term = 0;
  Uuid nonce;
  // Counts the transactions of the term.
  uint64_t sequence = 0;
  bool operator==(const HeadRecord&) const = default;
};

// /v1/meta/adopt: a person's decision; counts only in the term that it names.
struct AdoptRecord {
  uint64_t term = 0;
  Uuid nonce;
  bool all = false;
  std::vector<Uuid> clusters;
  bool operator==(const AdoptRecord&) const = default;
};

// /v1/session/{cluster uid}. Outlives the replica's lease, so epochs never fall.
struct SessionRecord {
  Uuid cluster;
  // Of the replica; empty while there is one hub.
  std::string lease;
  uint64_t epoch = 0;
  Uuid instance_id;
  uint64_t attempt = 0;
  bool operator==(const SessionRecord&) const = default;
};

// /v1/tombstone/{cluster uid}/{bundle uid}. The revision at which it stands is the key's mod
// revision.
struct TombstoneRecord {
  Uuid cluster;
  Uuid bundle;
  // projects/p/bundles/b, for people.
  std::string name;
  std::string reason;
  Propagation propagation = Propagation::kDelete;
  bool confirmed = false;
  // Number of the decision head that it belongs to; 0: none, always in force (--remove-unclaimed,
  // cluster removal).
  uint64_t head = 0;
  absl::Time create_time;
  bool operator==(const TombstoneRecord&) const = default;
};

// /v1/decision/{bundle uid}/head: switches pages atomically.
struct DecisionHead {
  Uuid bundle;
  // Raised by every switch; names the pages.
  uint64_t number = 0;
  uint32_t pages = 0;
  uint32_t clusters = 0;
  // SHA-256 of the placement's own names when this was decided: a change of them is a person's
  // order.
  Digest names_hash;
  absl::Time decide_time;
  bool operator==(const DecisionHead&) const = default;
};

inline constexpr size_t kDecisionPageClustersMax = 500;

struct DecisionEntry {
  Uuid cluster;
  std::string cluster_id;
  // Revision of the bundle that this cluster is to run.
  uint64_t revision = 0;
  // A confirmed removal on this cluster: the digest that was shown, and the revision it stands for.
  Digest confirmed_digest;
  uint64_t confirmed_revision = 0;
  // Why it was chosen, for `why` (reason word).
  std::string reason;
  bool operator==(const DecisionEntry&) const = default;
};

// /v1/decision/{bundle uid}/{head number}-{page}
struct DecisionPage {
  std::vector<DecisionEntry> entries;
  bool operator==(const DecisionPage&) const = default;
};

// /v1/status/{cluster uid}: one compact summary per cluster, without messages; coalesced and
// written in batches.
struct StatusSummary {
  struct Assignment {
    Uuid bundle;
    std::string name;
    uint64_t revision = 0;
    Digest digest;
    Phase phase = Phase::kPending;
    Health health = Health::kUnknown;
    ObjectCounts counts;
    std::string reason;
    absl::Time since;
    bool operator==(const Assignment&) const = default;
  };
  Uuid cluster;
  std::string hold_reason;
  std::string agent_version;
  absl::Time last_seen;
  Facts facts;
  std::vector<Assignment> assignments;
  bool operator==(const StatusSummary&) const = default;
};

// /v1/retired/{cluster uid}: keeps uid and generation of what was removed or forgotten for 97 days
// (a certificate's life and the grace of Renew).
struct RetiredRecord {
  Uuid cluster;
  std::string id;
  uint32_t certificate_generation = 0;
  // Removed cleanly: its agent gets REVOKED. Forgotten: UNKNOWN_CLUSTER.
  bool removed = false;
  absl::Time until;
  bool operator==(const RetiredRecord&) const = default;
};
inline constexpr absl::Duration kRetiredFor = absl::Hours(24 * 97);

// /v1/audit/-/{time-ordered id}
struct AuditRecord {
  absl::Time time;
  std::string user;
  std::string from;    // Peer address.
  std::string method;  // nave.v1.BundleService/UpdateBundle, or a controller's name.
  std::string resource;
  std::string result;  // "OK" or the reason code.
  std::string detail;
  uint32_t count = 1;  // Refused attempts are coalesced per caller and minute.
  bool operator==(const AuditRecord&) const = default;
};

// /v1/request/{uuid}, leased for 10 minutes.
struct RequestRecord {
  Digest request;        // SHA-256 of method, caller and serialised request.
  std::string response;  // Serialised response.
  bool operator==(const RequestRecord&) const = default;
};

}  // namespace nave

#endif  // NAVE_HUB_RECORDS_RECORDS_H_
