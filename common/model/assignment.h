// State of one bundle on one cluster, as the agent reports it.
#ifndef NAVE_COMMON_MODEL_ASSIGNMENT_H_
#define NAVE_COMMON_MODEL_ASSIGNMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/digest.h"
#include "common/base/uuid.h"
#include "common/model/health.h"

namespace nave {

enum class Phase {
  kPending,
  kApplying,
  kApplied,
  kFailed,
  kPruneWaiting,
  kRemovalHeld,
  kRemoving,
  kRemoved,
  kNotDesired,
  kRejected,
};

absl::string_view FormatPhase(Phase phase);

struct ObjectStatus {
  std::string group;
  std::string version;
  std::string kind;
  std::string ns;
  std::string name;
  Health health = Health::kUnknown;
  bool applied = false;
  std::string reason;
  std::string message;
  absl::Time since = absl::InfinitePast();
  bool operator==(const ObjectStatus&) const = default;
};

struct ObjectCounts {
  uint32_t total = 0;
  uint32_t applied = 0;
  uint32_t healthy = 0;
  uint32_t not_ok = 0;
  bool operator==(const ObjectCounts&) const = default;
};

struct AssignmentStatus {
  // UID of the bundle.
  Uuid key;
  // projects/p/bundles/b, as far as the agent knows it.
  std::string name;
  // at.revision of the batch that brought what is reported on; 0 in HOLD.
  uint64_t revision = 0;
  // Listing that is reported on; another one than the desired counts for nothing.
  Digest digest;
  Phase phase = Phase::kPending;
  Health health = Health::kUnknown;
  ObjectCounts counts;
  // Worst first, at most kStatusObjectsMax.
  std::vector<ObjectStatus> not_ok;
  uint32_t not_ok_total = 0;
  std::string reason;
  std::string message;
  absl::Time since = absl::InfinitePast();
  bool operator==(const AssignmentStatus&) const = default;
};

// Limits of the wire and of what is kept (architecture §4, protocol §2).
inline constexpr uint32_t kStatusObjectsMax = 200;
inline constexpr size_t kMessageBytesMax = 512;
inline constexpr size_t kFrameBytesMax = 1 << 20;
inline constexpr size_t kInlineBlobBytesMax = 256 << 10;
inline constexpr size_t kAssignmentsPerClusterMax = 2000;
inline constexpr size_t kObjectBytesMax = 1 << 20;
inline constexpr size_t kBundleObjectsMax = 5000;
inline constexpr size_t kBundleBytesMax = 16 << 20;

// `text` cut to kMessageBytesMax at a character's border.
std::string ClampMessage(absl::string_view text);

}  // namespace nave

#endif  // NAVE_COMMON_MODEL_ASSIGNMENT_H_
