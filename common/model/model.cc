#include <algorithm>

#include "common/model/assignment.h"
#include "common/model/cluster.h"
#include "common/model/health.h"
#include "common/model/meta.h"
#include "common/model/stream.h"

namespace nave {

absl::string_view FormatHealth(Health health) {
  switch (health) {
    case Health::kHealthy:
      return "Healthy";
    case Health::kSuspended:
      return "Suspended";
    case Health::kProgressing:
      return "Progressing";
    case Health::kTerminating:
      return "Terminating";
    case Health::kUnknown:
      return "Unknown";
    case Health::kMissing:
      return "Missing";
    case Health::kDegraded:
      return "Degraded";
  }
  return "Unknown";
}

absl::string_view FormatClusterPhase(ClusterPhase phase) {
  switch (phase) {
    case ClusterPhase::kRemoving:
      return "Removing";
    case ClusterPhase::kRevoked:
      return "Revoked";
    case ClusterPhase::kRejected:
      return "Rejected";
    case ClusterPhase::kPending:
      return "Pending";
    case ClusterPhase::kDisconnected:
      return "Disconnected";
    case ClusterPhase::kOnHold:
      return "OnHold";
    case ClusterPhase::kSyncing:
      return "Syncing";
    case ClusterPhase::kDegraded:
      return "Degraded";
    case ClusterPhase::kReady:
      return "Ready";
  }
  return "Pending";
}

absl::string_view FormatPhase(Phase phase) {
  switch (phase) {
    case Phase::kPending:
      return "Pending";
    case Phase::kApplying:
      return "Applying";
    case Phase::kApplied:
      return "Applied";
    case Phase::kFailed:
      return "Failed";
    case Phase::kPruneWaiting:
      return "PruneWaiting";
    case Phase::kRemovalHeld:
      return "RemovalHeld";
    case Phase::kRemoving:
      return "Removing";
    case Phase::kRemoved:
      return "Removed";
    case Phase::kNotDesired:
      return "NotDesired";
    case Phase::kRejected:
      return "Rejected";
  }
  return "Pending";
}

absl::string_view FormatRefusalReason(RefusalReason reason) {
  switch (reason) {
    case RefusalReason::kUnspecified:
      return "UNSPECIFIED";
    case RefusalReason::kNotAccepted:
      return "NOT_ACCEPTED";
    case RefusalReason::kRejected:
      return "REJECTED";
    case RefusalReason::kRevoked:
      return "REVOKED";
    case RefusalReason::kUnknownCluster:
      return "UNKNOWN_CLUSTER";
    case RefusalReason::kWrongCluster:
      return "WRONG_CLUSTER";
    case RefusalReason::kCertExpired:
      return "CERT_EXPIRED";
    case RefusalReason::kCertUntrusted:
      return "CERT_UNTRUSTED";
    case RefusalReason::kSuperseded:
      return "SUPERSEDED";
    case RefusalReason::kStaleAttempt:
      return "STALE_ATTEMPT";
    case RefusalReason::kDuplicateIdentity:
      return "DUPLICATE_IDENTITY";
    case RefusalReason::kProtocolUnsupported:
      return "PROTOCOL_UNSUPPORTED";
    case RefusalReason::kHubStarting:
      return "HUB_STARTING";
    case RefusalReason::kBehind:
      return "BEHIND";
    case RefusalReason::kOverloaded:
      return "OVERLOADED";
    case RefusalReason::kDraining:
      return "DRAINING";
    case RefusalReason::kProtocolError:
      return "PROTOCOL_ERROR";
  }
  return "UNSPECIFIED";
}

bool SetCondition(std::vector<Condition>* conditions, Condition condition) {
  for (Condition& present : *conditions) {
    if (present.type != condition.type) continue;
    if (present.status == condition.status) condition.since = present.since;
    if (present == condition) return false;
    present = std::move(condition);
    return true;
  }
  conditions->push_back(std::move(condition));
  return true;
}

const Condition* FindCondition(const std::vector<Condition>& conditions, absl::string_view type) {
  for (const Condition& condition : conditions) {
    if (condition.type == type) return &condition;
  }
  return nullptr;
}

bool RemoveCondition(std::vector<Condition>* conditions, absl::string_view type) {
  auto it = std::remove_if(conditions->begin(), conditions->end(),
                           [&](const Condition& condition) { return condition.type == type; });
  bool removed = it != conditions->end();
  conditions->erase(it, conditions->end());
  return removed;
}

std::string ClampMessage(absl::string_view text) {
  if (text.size() <= kMessageBytesMax) return std::string(text);
  size_t end = kMessageBytesMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end));
}

Digest ComputeRoot(const std::vector<KeySetEntry>& keys) {
  Sha256Builder builder;
  for (const KeySetEntry& entry : keys) {
    if (entry.state != KeyState::kPresent) continue;
    builder.Add(entry.key.View());
    builder.Add(entry.digest.View());
    builder.Add(absl::string_view(entry.confirmed ? "\1" : "\0", 1));
  }
  return builder.Finish();
}

}  // namespace nave
