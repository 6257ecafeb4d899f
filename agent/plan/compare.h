// Comparing live objects: what counts as a difference, and for which question.
#ifndef NAVE_AGENT_PLAN_COMPARE_H_
#define NAVE_AGENT_PLAN_COMPARE_H_

#include "absl/strings/string_view.h"
#include "common/value/value.h"

namespace nave {

// Whether a dry-run's answer differs from the live object in nothing but our marks and what the
// server counts by itself: the condition under which an object of others is adopted.
bool EqualButMarks(const Value& dry_run, const Value& live);

// Whether everything that `body` says is in `live` as it stands (metadata: labels and annotations
// only). Lists must be equal in length, member by member. False does not prove a difference (the
// server normalises quantities), true does prove that there is none.
bool IsWithin(const Value& body, const Value& live);

// The same for labels and annotations alone.
bool MetadataIsWithin(const Value& body, const Value& live);

}  // namespace nave

#endif  // NAVE_AGENT_PLAN_COMPARE_H_
