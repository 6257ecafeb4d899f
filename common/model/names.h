// Resource names of the public API: projects/p/bundles/b. Ids are RFC 1123 labels of at most 63
// characters. Pure.
#ifndef NAVE_COMMON_MODEL_NAMES_H_
#define NAVE_COMMON_MODEL_NAMES_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace nave {

inline constexpr size_t kIdBytesMax = 63;
// Stands for "every project" in the parent of a list.
inline constexpr absl::string_view kAnyProject = "-";

// Lower-case letters, digits and '-', beginning and ending with a letter or digit, 1 to 63
// characters.
bool IsId(absl::string_view id);

std::string ProjectName(absl::string_view project);
std::string BundleName(absl::string_view project, absl::string_view bundle);
std::string RevisionName(absl::string_view project, absl::string_view bundle, uint64_t number);
std::string ClusterName(absl::string_view cluster);
std::string ClusterSetName(absl::string_view cluster_set);
std::string RoleBindingName(absl::string_view id);
std::string JoinTokenName(absl::string_view id);
// `project` empty: events/{id}.
std::string EventName(absl::string_view project, absl::string_view id);

// Readers refuse with INVALID_FIELD, the field being `field`.
// "clusters/c" with collection "clusters" -> "c".
absl::StatusOr<std::string> ParseName(absl::string_view field, absl::string_view collection,
                                      absl::string_view name);

struct BundleRef {
  std::string project;
  std::string bundle;
  bool operator==(const BundleRef&) const = default;
};
absl::StatusOr<BundleRef> ParseBundleName(absl::string_view field, absl::string_view name);

struct RevisionRef {
  std::string project;
  std::string bundle;
  uint64_t number = 0;
  bool operator==(const RevisionRef&) const = default;
};
absl::StatusOr<RevisionRef> ParseRevisionName(absl::string_view field, absl::string_view name);

struct EventRef {
  std::string project;  // Empty: of a cluster or the hub.
  std::string id;
  bool operator==(const EventRef&) const = default;
};
absl::StatusOr<EventRef> ParseEventName(absl::string_view field, absl::string_view name);

// "projects/p" or "projects/-" -> "p" or "-".
absl::StatusOr<std::string> ParseProjectParent(absl::string_view field, absl::string_view parent);

}  // namespace nave

#endif  // NAVE_COMMON_MODEL_NAMES_H_
