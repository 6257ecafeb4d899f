// Whether an agent that says Hello gets a session. Pure.
#ifndef NAVE_HUB_DECIDE_ADMISSION_H_
#define NAVE_HUB_DECIDE_ADMISSION_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "common/base/uuid.h"
#include "common/model/cluster.h"
#include "common/model/stream.h"
#include "hub/fleet/snapshot.h"
#include "hub/records/records.h"

namespace nave {

// Who the other side is, by its certificate and nothing else.
struct PeerIdentity {
  Uuid cluster;
  // Common name: the cluster's id when the certificate was issued.
  std::string cluster_id;
  uint32_t generation = 0;
  absl::Time not_after;
  // Network address, for people.
  std::string address;
};

// The records that an answer to one Hello rests on, as the snapshot or the store has them.
struct AdmissionRecords {
  std::optional<Versioned<Cluster>> cluster;
  std::optional<Versioned<RetiredRecord>> retired;
  std::optional<Versioned<SessionRecord>> session;
};

struct AdmissionVerdict {
  // Set: refuse. A refusal that rests on a record is final only when `records` were read from the
  // store.
  std::optional<Refusal> refusal;
  bool rests_on_record = false;
  // Admitted: what to write, and the cluster's record when the session changes it (first
  // kube-system uid, newest generation).
  SessionRecord session;
  std::optional<Cluster> cluster_update;
};

// The present protocol version; agents and hubs choose from ranges, never by comparing product
// versions.
inline constexpr uint32_t kProtocolVersion = 1;

AdmissionVerdict DecideAdmission(const PeerIdentity& peer, const Hello& hello,
                                 const AdmissionRecords& records);

// Why a live session must end by what its cluster's record says now; nullopt: it goes on.
std::optional<Refusal> RefusalOfLive(const PeerIdentity& peer, const Hello& hello,
                                     const AdmissionRecords& records);

// Where the agent's last commit lies.
enum class HistoryAnswer {
  kContained,
  kNotContained,
  // The snapshot is behind the agent: read the store's head, and wait for the snapshot if the store
  // has reached it.
  kSnapshotBehind,
};
HistoryAnswer CheckHistory(const Hello& hello, const FleetSnapshot& snapshot);

// The agent's clock and ours differ by more than this: condition ClockSkew, the session goes on.
inline constexpr absl::Duration kClockSkewMax = absl::Minutes(5);

// How the first redial after a lost session is spread: 600 sessions per second come back.
absl::Duration ReconnectSpread(size_t sessions);

}  // namespace nave

#endif  // NAVE_HUB_DECIDE_ADMISSION_H_
