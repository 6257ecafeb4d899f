// Authorization: role bindings give rights, a refusal says which one is missing. Pure.
#ifndef NAVE_HUB_AUTH_AUTHORIZE_H_
#define NAVE_HUB_AUTH_AUTHORIZE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/model/tenancy.h"
#include "hub/auth/caller.h"

namespace nave {

// What a right is about.
struct Scope {
  enum class Kind { kHub, kProject, kClusterSet };
  Kind kind = Kind::kHub;
  std::string id;

  static Scope Hub() { return {}; }
  static Scope OfProject(absl::string_view id) { return {Kind::kProject, std::string(id)}; }
  static Scope OfClusterSet(absl::string_view id) { return {Kind::kClusterSet, std::string(id)}; }
  // "hub", "project \"shop\"", "cluster set \"eu\"".
  std::string ToString() const;
  bool operator==(const Scope&) const = default;
};

absl::string_view FormatRole(Role role);  // admin, editor, viewer.

// A role in a scope, and the binding that gives it.
struct Grant {
  std::string binding;  // Empty: built in.
  Role role = Role::kViewer;
  Scope scope;
  bool operator==(const Grant&) const = default;
};

// The user of the first start's certificate is admin of the hub by a binding that cannot be
// deleted.
inline constexpr absl::string_view kBuiltInAdmin = "admin";

// What one caller may do, by the bindings of one moment.
class Rights {
 public:
  Rights(const Caller& caller, const std::vector<const RoleBinding*>& bindings);

  // A role in the hub holds in every project and set; a higher role includes the lower ones.
  bool May(Role role, const Scope& scope) const;
  // PERMISSION_DENIED naming the right that is missing and those that there are: "to `action`".
  absl::Status Check(Role role, const Scope& scope, absl::string_view action) const;

  const std::vector<Grant>& grants() const { return grants_; }

 private:
  std::string user_;
  std::vector<Grant> grants_;
};

}  // namespace nave

#endif  // NAVE_HUB_AUTH_AUTHORIZE_H_
