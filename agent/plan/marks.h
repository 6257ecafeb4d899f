// Ownership marks: what an object on the spoke says about who owns it.
#ifndef NAVE_AGENT_PLAN_MARKS_H_
#define NAVE_AGENT_PLAN_MARKS_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/uuid.h"
#include "common/manifest/object_key.h"
#include "common/value/value.h"

namespace nave {

// Label: the bundle's UID. What watches select; no proof of ownership, since controllers copy
// labels.
inline constexpr absl::string_view kAssignmentLabel = "nave.dev/assignment";
// Annotation: "v1;<hub id>;<cluster uid>;<bundle uid>;<group>/<kind>;<namespace>/<name>". Proof
// only on the object it names.
inline constexpr absl::string_view kOwnerAnnotation = "nave.dev/owner";

// On whose behalf this agent writes.
struct SpokeIdentity {
  std::string hub_id;
  std::string cluster_uid;
  bool operator==(const SpokeIdentity&) const = default;
};

// What a valid owner annotation says.
struct OwnerMark {
  std::string hub_id;
  std::string cluster_uid;
  std::string bundle_uid;
  bool operator==(const OwnerMark&) const = default;
};

// "nave-agent-<8 hex of the hub id>". Two hubs' agents must not share a name: they would prune each
// other's fields without a conflict.
std::string FieldManagerName(absl::string_view hub_id);

std::string FormatOwner(const SpokeIdentity& who, const Uuid& bundle, const ObjectKey& object);

// The owner mark of `live`; nullopt when there is none or it names another object (copied by a
// controller or a person).
std::optional<OwnerMark> ReadOwner(const Value& live);

enum class Ownership {
  kNone,         // No valid mark.
  kOurs,         // This hub, this cluster, this bundle.
  kOtherBundle,  // This hub and cluster, another bundle.
  kForeign,      // Another hub, or the same hub's mark for another cluster.
};
Ownership ClassifyOwner(const std::optional<OwnerMark>& mark, const SpokeIdentity& who,
                        const Uuid& bundle);

// Puts both marks on `object` (its own metadata, never a template's).
void SetMarks(const SpokeIdentity& who, const Uuid& bundle, const ObjectKey& key, Value& object);

// Merge patch that takes both marks from an object, if it still has this uid and resourceVersion.
std::string UnmarkPatch(absl::string_view uid, absl::string_view resource_version);

}  // namespace nave

#endif  // NAVE_AGENT_PLAN_MARKS_H_
