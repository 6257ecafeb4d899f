#include "hub/auth/authorize.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/error.h"

namespace nave {
namespace {

constexpr size_t kGrantsNamedMax = 5;

bool Names(const std::string& subject, const Caller& caller) {
  absl::string_view name = subject;
  if (absl::ConsumePrefix(&name, "user:")) return name == caller.user;
  if (!absl::ConsumePrefix(&name, "group:")) return false;
  return std::find(caller.groups.begin(), caller.groups.end(), name) != caller.groups.end();
}

Scope ScopeOf(const RoleBinding& binding) {
  if (!binding.project.empty()) return Scope::OfProject(binding.project);
  if (!binding.cluster_set.empty()) return Scope::OfClusterSet(binding.cluster_set);
  return Scope::Hub();
}

}  // namespace

std::string Scope::ToString() const {
  switch (kind) {
    case Kind::kHub:
      return "the hub";
    case Kind::kProject:
      return absl::StrCat("project \"", id, "\"");
    case Kind::kClusterSet:
      return absl::StrCat("cluster set \"", id, "\"");
  }
  return "";
}

absl::string_view FormatRole(Role role) {
  switch (role) {
    case Role::kViewer:
      return "viewer";
    case Role::kEditor:
      return "editor";
    case Role::kAdmin:
      return "admin";
  }
  return "";
}

Rights::Rights(const Caller& caller, const std::vector<const RoleBinding*>& bindings)
    : user_(caller.user) {
  if (caller.user == kBuiltInAdmin) grants_.push_back({"", Role::kAdmin, Scope::Hub()});
  for (const RoleBinding* binding : bindings) {
    bool named = std::any_of(binding->subjects.begin(), binding->subjects.end(),
                             [&](const std::string& subject) { return Names(subject, caller); });
    if (named) grants_.push_back({binding->id, binding->role, ScopeOf(*binding)});
  }
}

bool Rights::May(Role role, const Scope& scope) const {
  return std::any_of(grants_.begin(), grants_.end(), [&](const Grant& grant) {
    return grant.role >= role && (grant.scope == scope || grant.scope.kind == Scope::Kind::kHub);
  });
}

absl::Status Rights::Check(Role role, const Scope& scope, absl::string_view action) const {
  if (May(role, scope)) return absl::OkStatus();
  std::vector<std::string> has;
  for (const Grant& grant : grants_) {
    if (has.size() == kGrantsNamedMax) {
      has.push_back("…");
      break;
    }
    has.push_back(absl::StrCat(FormatRole(grant.role), " of ", grant.scope.ToString()));
  }
  std::string right = absl::StrCat(FormatRole(role), " of ", scope.ToString());
  return MakeError(
      Reason::kPermissionDenied,
      absl::StrCat("user \"", user_, "\": to ", action, " one must be ", right, "; this user is ",
                   has.empty() ? "bound to no role" : absl::StrJoin(has, ", ")),
      {{"user", user_}, {"right", right}, {"action", std::string(action)}});
}

}  // namespace nave
