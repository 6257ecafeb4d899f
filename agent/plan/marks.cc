#include "agent/plan/marks.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/value/codec.h"

namespace nave {

std::string FieldManagerName(absl::string_view hub_id) {
  std::string name = "nave-agent-";
  for (char c : hub_id) {
    if (name.size() == 19) break;
    if (absl::ascii_isxdigit(static_cast<unsigned char>(c))) name += absl::ascii_tolower(c);
  }
  return name;
}

std::string FormatOwner(const SpokeIdentity& who, const Uuid& bundle, const ObjectKey& object) {
  return absl::StrCat("v1;", who.hub_id, ";", who.cluster_uid, ";", bundle.ToString(), ";",
                      object.group, "/", object.kind, ";", object.ns, "/", object.name);
}

std::optional<OwnerMark> ReadOwner(const Value& live) {
  const Value* text = live.Find("metadata", "annotations", kOwnerAnnotation);
  if (text == nullptr || !text->is_string()) return std::nullopt;
  // A name may hold ';' (RBAC kinds), so only the first five separate.
  std::vector<std::string> parts = absl::StrSplit(*text->string(), absl::MaxSplits(';', 5));
  if (parts.size() != 6 || parts[0] != "v1") return std::nullopt;
  const ObjectKey self = KeyOf(live);
  if (parts[4] != absl::StrCat(self.group, "/", self.kind) ||
      parts[5] != absl::StrCat(self.ns, "/", self.name)) {
    return std::nullopt;
  }
  return OwnerMark{.hub_id = parts[1], .cluster_uid = parts[2], .bundle_uid = parts[3]};
}

Ownership ClassifyOwner(const std::optional<OwnerMark>& mark, const SpokeIdentity& who,
                        const Uuid& bundle) {
  if (!mark) return Ownership::kNone;
  if (mark->hub_id != who.hub_id || mark->cluster_uid != who.cluster_uid) {
    return Ownership::kForeign;
  }
  return mark->bundle_uid == bundle.ToString() ? Ownership::kOurs : Ownership::kOtherBundle;
}

void SetMarks(const SpokeIdentity& who, const Uuid& bundle, const ObjectKey& key, Value& object) {
  Value& metadata = object["metadata"];
  metadata["labels"][kAssignmentLabel] = bundle.ToString();
  metadata["annotations"][kOwnerAnnotation] = FormatOwner(who, bundle, key);
}

std::string UnmarkPatch(absl::string_view uid, absl::string_view resource_version) {
  Value patch;
  Value& metadata = patch["metadata"];
  metadata["labels"][kAssignmentLabel] = nullptr;
  metadata["annotations"][kOwnerAnnotation] = nullptr;
  metadata["uid"] = uid;
  metadata["resourceVersion"] = resource_version;
  return FormatJson(patch);
}

}  // namespace nave
