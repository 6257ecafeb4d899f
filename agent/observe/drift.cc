#include "agent/observe/drift.h"

#include <algorithm>
#include <cstring>

#include "agent/plan/compare.h"
#include "agent/plan/fields.h"
#include "common/value/codec.h"

namespace nave {
namespace {

// One more heal every so often.
constexpr absl::Duration kRefill = absl::Seconds(20);
constexpr absl::Duration kDelayMin = absl::Seconds(2);
constexpr absl::Duration kDelayMax = absl::Minutes(5);

}  // namespace

uint64_t MetaHash(const Value& live) {
  Sha256Builder builder;
  for (absl::string_view name : {"labels", "annotations"}) {
    const Value* map = live.Find("metadata", name);
    builder.Add(map == nullptr ? "-" : FormatJson(*map));
    builder.Add("\n");
  }
  const Digest digest = builder.Finish();
  uint64_t hash = 0;
  std::memcpy(&hash, digest.bytes.data(), sizeof(hash));
  return hash == 0 ? 1 : hash;
}

Baseline TakeBaseline(const Value& live, absl::string_view manager) {
  return {.uid = live.StringAt("metadata", "uid"),
          .resource_version = live.StringAt("metadata", "resourceVersion"),
          .generation = GenerationOf(live),
          .fields = Fingerprint(live, manager),
          .meta = MetaHash(live)};
}

Change ClassifyChange(const Value& live, const Baseline& baseline, absl::string_view manager) {
  if (live.StringAt("metadata", "uid") != baseline.uid) return Change::kReplaced;
  if (live.Find("metadata", "deletionTimestamp") != nullptr) return Change::kTerminating;
  if (live.StringAt("metadata", "resourceVersion") == baseline.resource_version) {
    return Change::kNone;
  }
  const bool same = GenerationOf(live) == baseline.generation && MetaHash(live) == baseline.meta &&
                    Fingerprint(live, manager) == baseline.fields;
  return same ? Change::kBenign : Change::kSuspect;
}

bool SettleSuspect(const Value& live, const Value& body, const Baseline& baseline,
                   absl::string_view manager) {
  const bool same_spec =
      GenerationOf(live) == baseline.generation && Fingerprint(live, manager) == baseline.fields;
  if (same_spec && HasGeneration(live)) return MetadataIsWithin(body, live);
  // Our entry lost a path when someone else took it, even if the value happens to be the same.
  if (HasGeneration(live) && Fingerprint(live, manager) != baseline.fields) return false;
  return OwnFields(live, manager) != nullptr && IsWithin(body, live);
}

absl::Duration HealBudget::Take(absl::Time now) {
  if (refilled_ == absl::InfinitePast()) refilled_ = now;
  const double gained = absl::FDivDuration(now - refilled_, kRefill);
  tokens_ = std::min(kBurst, tokens_ + std::max(gained, 0.0));
  refilled_ = std::max(refilled_, now);
  if (tokens_ >= 1) {
    tokens_ -= 1;
    streak_ = 0;
    return absl::ZeroDuration();
  }
  const absl::Duration delay = std::min(kDelayMin * (1 << std::min(streak_++, 10)), kDelayMax);
  // Only calm earns a heal at once; waiting for a heal is no calm.
  refilled_ = now + delay;
  return delay;
}

}  // namespace nave
