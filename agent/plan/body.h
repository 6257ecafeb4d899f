// What is sent for an object of a bundle.
#ifndef NAVE_AGENT_PLAN_BODY_H_
#define NAVE_AGENT_PLAN_BODY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/plan/marks.h"
#include "common/base/digest.h"
#include "common/value/value.h"

namespace nave {

// Where a body goes and for whom.
struct BodyTarget {
  SpokeIdentity who;
  Uuid bundle;
  // After namespace defaulting; ns is empty for a cluster-scoped kind.
  ObjectKey key;
};

// The apply body of one canonical object: namespace, marks, and without what would make a repeated
// apply differ (empty labels, stringData, rules of aggregated roles, placeholder CA bundles). No
// precondition in it.
Value BuildBody(Value object, const BodyTarget& target);

// Digest of a body without precondition: what the inventory calls `sent`.
Digest BodyDigest(const Value& body);

// The body's text with preconditions; an empty one is left out. resourceVersion "1" means: only if
// there is none yet.
std::string FormatBody(const Value& body, absl::string_view uid,
                       absl::string_view resource_version);

// A Namespace that asks for nothing but to be there (what a bundle's create_namespace adds).
bool IsBareNamespace(const Value& object);

}  // namespace nave

#endif  // NAVE_AGENT_PLAN_BODY_H_
