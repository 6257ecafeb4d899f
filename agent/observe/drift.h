// When a change of an owned object is a reason to write, and how often that may happen. Pure.
#ifndef NAVE_AGENT_OBSERVE_DRIFT_H_
#define NAVE_AGENT_OBSERVE_DRIFT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/digest.h"
#include "common/value/value.h"

namespace nave {

// An owned object as it was when it was known to be right.
struct Baseline {
  std::string uid;
  std::string resource_version;
  int64_t generation = 0;
  Digest fields;      // Fingerprint
  uint64_t meta = 0;  // MetaHash; 0: not known.
  bool operator==(const Baseline&) const = default;
};

// Labels and annotations in eight bytes, never 0.
uint64_t MetaHash(const Value& live);

Baseline TakeBaseline(const Value& live, absl::string_view manager);

enum class Change {
  kNone,         // The same resourceVersion.
  kBenign,       // Status, or fields that are not ours.
  kSuspect,      // Something that may be ours moved; compare with the body.
  kReplaced,     // Another uid has its place.
  kTerminating,  // It is being deleted.
};

// Cheap: needs no manifest. kSuspect is settled by SettleSuspect.
Change ClassifyChange(const Value& live, const Baseline& baseline, absl::string_view manager);

// Whether a suspect change left everything as `body` wants it, so that no request is needed. False:
// apply for real (the server knows its normal forms, and an apply that changes nothing writes
// nothing).
bool SettleSuspect(const Value& live, const Value& body, const Baseline& baseline,
                   absl::string_view manager);

// How often one object may be healed: a burst at once, then ever more slowly, so that a fight with
// another writer costs both little.
class HealBudget {
 public:
  // Zero: heal now. Takes one from the budget in any case.
  absl::Duration Take(absl::Time now);
  // Whether healing is being slowed down.
  bool exhausted() const { return streak_ > 0; }

 private:
  static constexpr double kBurst = 30;
  double tokens_ = kBurst;
  absl::Time refilled_ = absl::InfinitePast();
  int streak_ = 0;
};

}  // namespace nave

#endif  // NAVE_AGENT_OBSERVE_DRIFT_H_
