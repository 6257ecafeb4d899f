#include "common/manifest/object_key.h"

#include "absl/strings/str_cat.h"

namespace nave {

std::string ObjectKey::ToString() const {
  return absl::StrCat(group, group.empty() ? "" : "/", kind, " ", ns, ns.empty() ? "" : "/", name);
}

GroupVersion ParseApiVersion(absl::string_view api_version) {
  size_t slash = api_version.find('/');
  if (slash == absl::string_view::npos) return {"", std::string(api_version)};
  return {std::string(api_version.substr(0, slash)), std::string(api_version.substr(slash + 1))};
}

std::string FormatApiVersion(absl::string_view group, absl::string_view version) {
  return absl::StrCat(group, group.empty() ? "" : "/", version);
}

ObjectKey KeyOf(const Value& object) {
  return {ParseApiVersion(object.StringAt("apiVersion")).group, object.StringAt("kind"),
          object.StringAt("metadata", "namespace"), object.StringAt("metadata", "name")};
}

}  // namespace nave
