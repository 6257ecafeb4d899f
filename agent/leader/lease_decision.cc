#include "agent/leader/lease_decision.h"

#include <algorithm>

namespace nave {
namespace {

constexpr char kInstanceAnnotation[] = "nave.dev/instance";
constexpr char kMicroTime[] = "%Y-%m-%dT%H:%M:%E6SZ";

std::string FormatMicroTime(absl::Time time) {
  return absl::FormatTime(kMicroTime, time, absl::UTCTimeZone());
}

}  // namespace

LeaseRecord ParseLease(const Value& lease) {
  LeaseRecord record;
  record.holder = lease.StringAt("spec", "holderIdentity");
  record.instance = lease.StringAt("metadata", "annotations", kInstanceAnnotation);
  record.resource_version = lease.StringAt("metadata", "resourceVersion");
  if (const Value* seconds = lease.Find("spec", "leaseDurationSeconds")) {
    record.duration = absl::Seconds(std::max<int64_t>(1, seconds->IntOr(15)));
  }
  if (const Value* transitions = lease.Find("spec", "leaseTransitions")) {
    record.transitions = transitions->IntOr(0);
  }
  absl::Time acquired;
  if (absl::ParseTime(absl::RFC3339_full, lease.StringAt("spec", "acquireTime"), &acquired,
                      nullptr)) {
    record.acquired = acquired;
  }
  return record;
}

Value FormatLease(const LeaseRecord& lease, absl::string_view ns, absl::string_view name,
                  absl::Time now) {
  Value value{Object{}};
  value["apiVersion"] = "coordination.k8s.io/v1";
  value["kind"] = "Lease";
  Value& metadata = value["metadata"];
  metadata["name"] = name;
  metadata["namespace"] = ns;
  metadata["annotations"][kInstanceAnnotation] = lease.instance;
  if (!lease.resource_version.empty()) metadata["resourceVersion"] = lease.resource_version;
  Value& spec = value["spec"];
  spec["holderIdentity"] = lease.holder;
  spec["leaseDurationSeconds"] = absl::ToInt64Seconds(lease.duration);
  spec["leaseTransitions"] = lease.transitions;
  spec["renewTime"] = FormatMicroTime(now);
  if (lease.acquired != absl::InfinitePast()) spec["acquireTime"] = FormatMicroTime(lease.acquired);
  return value;
}

LeaseDecision DecideLease(const std::optional<LeaseRecord>& present, absl::Time seen_since,
                          absl::string_view self, absl::string_view instance, bool restarted,
                          absl::Duration duration, absl::Time now, absl::Time wall_now) {
  LeaseDecision decision;
  const bool own = present.has_value() && present->holder == self &&
                   (restarted || present->instance == instance);
  const bool free = !present.has_value() || present->holder.empty() || own;
  const absl::Time ends = present.has_value() ? seen_since + present->duration : now;
  if (!free && now < ends) {
    decision.look_at = ends;
    return decision;
  }
  LeaseRecord take;
  take.holder = std::string(self);
  take.instance = std::string(instance);
  take.duration = duration;
  take.acquired = wall_now;
  if (present.has_value()) {
    take.resource_version = present->resource_version;
    take.transitions = present->transitions + (present->holder == self ? 0 : 1);
  }
  decision.take = std::move(take);
  return decision;
}

}  // namespace nave
