// Clusters, cluster sets, and what the hub knows of a spoke.
#ifndef NAVE_COMMON_MODEL_CLUSTER_H_
#define NAVE_COMMON_MODEL_CLUSTER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/model/health.h"
#include "common/model/meta.h"

namespace nave {

enum class TaintEffect { kNoSchedule, kPreferNoSchedule, kNoExecute };

struct Taint {
  std::string key;
  std::string value;
  TaintEffect effect = TaintEffect::kNoSchedule;
  absl::Time since = absl::InfinitePast();
  bool operator==(const Taint&) const = default;
};

struct ClusterSpec {
  // Exactly one; default "default".
  std::string cluster_set = "default";
  std::vector<Taint> taints;
  // No new assignment is decided for it; existing ones follow their bundles.
  bool cordoned = false;
  bool operator==(const ClusterSpec&) const = default;
};

// Decided by people; the derived phase (below) also looks at the session.
enum class Admission { kPending, kAccepted, kRejected };

// What the spoke is, as its agent says.
struct Facts {
  std::string kubernetes_version;
  uint32_t nodes = 0;
  uint32_t nodes_ready = 0;
  std::map<std::string, uint32_t> node_versions;
  uint64_t cpu_millis = 0;
  uint64_t memory_bytes = 0;
  std::vector<Condition> conditions;
  bool operator==(const Facts&) const = default;
};

// Derived, in this order: the first that holds (architecture: life of a cluster).
enum class ClusterPhase {
  kRemoving,
  kRevoked,
  kRejected,
  kPending,
  kDisconnected,
  kOnHold,
  kSyncing,
  kDegraded,
  kReady,
};

absl::string_view FormatClusterPhase(ClusterPhase phase);

struct ClusterStatus {
  // Stored with the record: written by enrolment and by people's verbs.
  Admission admission = Admission::kPending;
  bool revoked = false;
  // Set by `cluster remove`; confirmed says that the request carried the name.
  bool removing = false;
  bool remove_confirmed = false;
  // Certificates of a lower generation are refused. The serial number begins with the generation.
  uint32_t certificate_generation = 0;
  // Highest generation seen in a session or issued.
  uint32_t certificate_generation_seen = 0;
  // End of the newest certificate seen in a session or a renewal (not: issued, the answer may have
  // been lost).
  absl::Time certificate_not_after = absl::InfinitePast();
  // Empty until the first session; cleared by a rejoin.
  std::string kube_system_uid;
  // Both agents of a duplicate identity are refused until this is cleared.
  bool locked = false;
  std::vector<Condition> conditions;

  // Filled in when read, from the session and the stored status summary.
  ClusterPhase phase = ClusterPhase::kPending;
  std::string reason;
  std::string message;
  absl::Time phase_since = absl::InfinitePast();
  bool connected = false;
  absl::Time last_seen = absl::InfinitePast();
  std::string agent_version;
  std::string agent_address;
  absl::Time connected_since = absl::InfinitePast();
  uint64_t epoch = 0;
  Facts facts;
  uint32_t bundles = 0;
  uint32_t bundles_ready = 0;
  Health health = Health::kUnknown;
  bool operator==(const ClusterStatus&) const = default;
};

struct Cluster {
  // The id: name without the collection's prefix.
  std::string id;
  ObjectMeta meta;
  ClusterSpec spec;
  ClusterStatus status;
  bool operator==(const Cluster&) const = default;
};

struct ClusterSet {
  std::string id;
  ObjectMeta meta;
  std::string description;
  // Filled in when read.
  uint32_t clusters = 0;
  bool operator==(const ClusterSet&) const = default;
};

}  // namespace nave

#endif  // NAVE_COMMON_MODEL_CLUSTER_H_
