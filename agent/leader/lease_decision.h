// Who leads, decided from what a Lease says: pure.
#ifndef NAVE_AGENT_LEADER_LEASE_DECISION_H_
#define NAVE_AGENT_LEADER_LEASE_DECISION_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/value/value.h"

namespace nave {

// A Lease of coordination.k8s.io/v1 as far as it matters.
struct LeaseRecord {
  // Empty: released.
  std::string holder;
  // The process that holds it: a pod's second process has the name of the first.
  std::string instance;
  absl::Duration duration = absl::Seconds(15);
  absl::Time acquired = absl::InfinitePast();
  int64_t transitions = 0;
  std::string resource_version;
  bool operator==(const LeaseRecord&) const = default;
};

LeaseRecord ParseLease(const Value& lease);
// The object to create (resource_version empty) or to replace the present one with. `now` is wall
// time, for other readers.
Value FormatLease(const LeaseRecord& lease, absl::string_view ns, absl::string_view name,
                  absl::Time now);

struct LeaseDecision {
  // Write this; nullopt: another one leads.
  std::optional<LeaseRecord> take;
  // When to look again if another one leads.
  absl::Time look_at = absl::InfiniteFuture();
};

// For a process that does not lead. `present`: the Lease as read now, nullopt when there is none;
// `seen_since`: since when it looked exactly so (by this process's own clock: those of others are
// not compared). `restarted`: this process has not led yet, so a Lease under its own name is that
// of a process before it in the same pod, which is dead: it is taken at once.
LeaseDecision DecideLease(const std::optional<LeaseRecord>& present, absl::Time seen_since,
                          absl::string_view self, absl::string_view instance, bool restarted,
                          absl::Duration duration, absl::Time now, absl::Time wall_now);

}  // namespace nave

#endif  // NAVE_AGENT_LEADER_LEASE_DECISION_H_
