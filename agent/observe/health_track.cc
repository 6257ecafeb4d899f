#include "agent/observe/health_track.h"

#include <utility>

#include "agent/plan/fields.h"
#include "common/manifest/object_key.h"

namespace nave {

bool TrackHealth(const Value& live, absl::Time now, HealthTrack& track) {
  HealthResult fresh = EvaluateHealth(live, now, now);
  const int64_t generation = GenerationOf(live);
  if (!track.known || generation != track.generation || fresh.health != track.fresh ||
      fresh.reason != track.fresh_reason) {
    track.first_seen = now;
    track.generation = generation;
    track.fresh = fresh.health;
    track.fresh_reason = fresh.reason;
  }
  HealthResult verdict =
      track.first_seen == now ? std::move(fresh) : EvaluateHealth(live, now, track.first_seen);
  const bool changed = !track.known || verdict.health != track.health ||
                       verdict.reason != track.reason || verdict.message != track.message;
  track.known = true;
  track.health = verdict.health;
  track.reason = std::move(verdict.reason);
  track.message = std::move(verdict.message);
  track.recheck = verdict.recheck;
  return changed;
}

bool RanToItsEnd(const Value& live) {
  const ObjectKey key = KeyOf(live);
  if (key.group.empty() && key.kind == "Pod") {
    const std::string phase = live.StringAt("status", "phase");
    return phase == "Succeeded" || phase == "Failed";
  }
  if (key.group != "batch" || key.kind != "Job") return false;
  const Value* conditions = live.Find("status", "conditions");
  if (conditions == nullptr || conditions->array() == nullptr) return false;
  for (const Value& condition : *conditions->array()) {
    const std::string type = condition.StringAt("type");
    if ((type == "Complete" || type == "Failed") && condition.StringAt("status") == "True") {
      return true;
    }
  }
  return false;
}

}  // namespace nave
