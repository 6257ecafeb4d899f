#include "common/model/names.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/error.h"
#include "common/model/violations.h"

namespace nave {
namespace {

absl::Status Refuse(absl::string_view field, absl::string_view want, absl::string_view got) {
  return FieldError(field, absl::StrCat("must be ", want, ", got '", got.substr(0, 200), "'"));
}

bool IsLowerAlnum(char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c); }

}  // namespace

bool IsId(absl::string_view id) {
  if (id.empty() || id.size() > kIdBytesMax) return false;
  for (char c : id) {
    if (!IsLowerAlnum(c) && c != '-') return false;
  }
  return IsLowerAlnum(id.front()) && IsLowerAlnum(id.back());
}

std::string ProjectName(absl::string_view project) { return absl::StrCat("projects/", project); }
std::string BundleName(absl::string_view project, absl::string_view bundle) {
  return absl::StrCat("projects/", project, "/bundles/", bundle);
}
std::string RevisionName(absl::string_view project, absl::string_view bundle, uint64_t number) {
  return absl::StrCat("projects/", project, "/bundles/", bundle, "/revisions/", number);
}
std::string ClusterName(absl::string_view cluster) { return absl::StrCat("clusters/", cluster); }
std::string ClusterSetName(absl::string_view cluster_set) {
  return absl::StrCat("clusterSets/", cluster_set);
}
std::string RoleBindingName(absl::string_view id) { return absl::StrCat("roleBindings/", id); }
std::string JoinTokenName(absl::string_view id) { return absl::StrCat("joinTokens/", id); }
std::string EventName(absl::string_view project, absl::string_view id) {
  return project.empty() ? absl::StrCat("events/", id)
                         : absl::StrCat("projects/", project, "/events/", id);
}

absl::StatusOr<std::string> ParseName(absl::string_view field, absl::string_view collection,
                                      absl::string_view name) {
  std::vector<absl::string_view> parts = absl::StrSplit(name, '/');
  if (parts.size() != 2 || parts[0] != collection || !IsId(parts[1])) {
    return Refuse(field, absl::StrCat("'", collection, "/{id}' with an RFC 1123 label"), name);
  }
  return std::string(parts[1]);
}

absl::StatusOr<BundleRef> ParseBundleName(absl::string_view field, absl::string_view name) {
  std::vector<absl::string_view> parts = absl::StrSplit(name, '/');
  if (parts.size() != 4 || parts[0] != "projects" || parts[2] != "bundles" || !IsId(parts[1]) ||
      !IsId(parts[3])) {
    return Refuse(field, "'projects/{project}/bundles/{bundle}' with RFC 1123 labels", name);
  }
  return BundleRef{std::string(parts[1]), std::string(parts[3])};
}

absl::StatusOr<RevisionRef> ParseRevisionName(absl::string_view field, absl::string_view name) {
  std::vector<absl::string_view> parts = absl::StrSplit(name, '/');
  uint64_t number = 0;
  if (parts.size() != 6 || parts[0] != "projects" || parts[2] != "bundles" ||
      parts[4] != "revisions" || !IsId(parts[1]) || !IsId(parts[3]) ||
      !absl::SimpleAtoi(parts[5], &number) || number == 0) {
    return Refuse(field, "'projects/{project}/bundles/{bundle}/revisions/{number}'", name);
  }
  return RevisionRef{std::string(parts[1]), std::string(parts[3]), number};
}

absl::StatusOr<EventRef> ParseEventName(absl::string_view field, absl::string_view name) {
  std::vector<absl::string_view> parts = absl::StrSplit(name, '/');
  if (parts.size() == 2 && parts[0] == "events" && IsId(parts[1]))
    return EventRef{"", std::string(parts[1])};
  if (parts.size() == 4 && parts[0] == "projects" && parts[2] == "events" && IsId(parts[1]) &&
      IsId(parts[3])) {
    return EventRef{std::string(parts[1]), std::string(parts[3])};
  }
  return Refuse(field, "'projects/{project}/events/{event}' or 'events/{event}'", name);
}

absl::StatusOr<std::string> ParseProjectParent(absl::string_view field, absl::string_view parent) {
  std::vector<absl::string_view> parts = absl::StrSplit(parent, '/');
  if (parts.size() != 2 || parts[0] != "projects" || (parts[1] != kAnyProject && !IsId(parts[1]))) {
    return Refuse(field, "'projects/{project}' or 'projects/-'", parent);
  }
  return std::string(parts[1]);
}

}  // namespace nave
