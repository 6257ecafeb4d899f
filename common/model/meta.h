// What every record of the public API has.
#ifndef NAVE_COMMON_MODEL_META_H_
#define NAVE_COMMON_MODEL_META_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/uuid.h"

namespace nave {

using StringMap = std::map<std::string, std::string>;

// Conditions are a map keyed by type; absent means Unknown.
enum class ConditionStatus { kUnknown, kTrue, kFalse };

struct Condition {
  std::string type;
  ConditionStatus status = ConditionStatus::kUnknown;
  // CamelCase word of the reason registry, or one that an API server gave.
  std::string reason;
  std::string message;
  absl::Time since;
  uint64_t observed_generation = 0;

  bool operator==(const Condition&) const = default;
};

// Sets the condition of that type; `since` moves only when the status changes. Returns whether
// anything changed.
bool SetCondition(std::vector<Condition>* conditions, Condition condition);
const Condition* FindCondition(const std::vector<Condition>& conditions, absl::string_view type);
// Whether there was one.
bool RemoveCondition(std::vector<Condition>* conditions, absl::string_view type);

struct ObjectMeta {
  Uuid uid;
  StringMap labels;
  StringMap annotations;
  // Raised by changes of the spec only.
  uint64_t generation = 0;
  // Store revision of the last write; opaque to users. Filled in when read, never stored.
  uint64_t resource_version = 0;
  absl::Time create_time = absl::InfinitePast();
  absl::Time update_time = absl::InfinitePast();
  // InfinitePast: not being deleted.
  absl::Time delete_time = absl::InfinitePast();

  bool deleting() const { return delete_time != absl::InfinitePast(); }
  bool operator==(const ObjectMeta&) const = default;
};

}  // namespace nave

#endif  // NAVE_COMMON_MODEL_META_H_
