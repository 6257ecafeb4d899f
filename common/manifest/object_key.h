// Identity of an object on a spoke: group, kind, namespace, name. The version is not part of it.
#ifndef NAVE_COMMON_MANIFEST_OBJECT_KEY_H_
#define NAVE_COMMON_MANIFEST_OBJECT_KEY_H_

#include <compare>
#include <string>

#include "absl/strings/string_view.h"
#include "common/value/value.h"

namespace nave {

struct ObjectKey {
  std::string group;  // Empty: core.
  std::string kind;
  std::string ns;  // Empty: cluster-scoped, or not yet defaulted.
  std::string name;

  auto operator<=>(const ObjectKey&) const = default;
  // "apps/Deployment shop/web", "Namespace shop": for messages and logs.
  std::string ToString() const;
};

// Splits apiVersion into group and version: "v1" -> {"", "v1"}.
struct GroupVersion {
  std::string group;
  std::string version;
};
GroupVersion ParseApiVersion(absl::string_view api_version);
std::string FormatApiVersion(absl::string_view group, absl::string_view version);

// Key and apiVersion of a manifest or API object (no checks: absent parts are empty).
ObjectKey KeyOf(const Value& object);

}  // namespace nave

#endif  // NAVE_COMMON_MANIFEST_OBJECT_KEY_H_
