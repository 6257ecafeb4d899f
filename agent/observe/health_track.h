// Health of one object over time. Pure.
#ifndef NAVE_AGENT_OBSERVE_HEALTH_TRACK_H_
#define NAVE_AGENT_OBSERVE_HEALTH_TRACK_H_

#include <string>

#include "absl/time/time.h"
#include "common/health/health.h"
#include "common/value/value.h"

namespace nave {

// What is remembered of an object between two looks at it.
struct HealthTrack {
  bool known = false;
  Health health = Health::kUnknown;
  std::string reason;
  std::string message;
  // When to look again although nothing changed; InfiniteFuture: never.
  absl::Time recheck = absl::InfiniteFuture();

  // When it was first seen at its generation in its state (the verdict that it would get if it were
  // new).
  absl::Time first_seen = absl::InfinitePast();
  int64_t generation = 0;
  Health fresh = Health::kUnknown;
  std::string fresh_reason;
};

// Looks at `live` at `now`. True when health, reason or message changed.
bool TrackHealth(const Value& live, absl::Time now, HealthTrack& track);

// Whether this is a Job or a bare Pod that has run to its end: when it disappears it is done, not
// missing.
bool RanToItsEnd(const Value& live);

}  // namespace nave

#endif  // NAVE_AGENT_OBSERVE_HEALTH_TRACK_H_
