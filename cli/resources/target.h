// How people name things on the command line: KIND NAME, KIND/NAME, or the full resource name.
// Pure.
#ifndef NAVE_CLI_RESOURCES_TARGET_H_
#define NAVE_CLI_RESOURCES_TARGET_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/wire/kinds.h"

namespace nave::cli {

struct Target {
  const KindInfo* kind = nullptr;
  // Full: projects/p/bundles/b.
  std::string name;
};

// USAGE_INVALID names the nearest kind.
absl::StatusOr<const KindInfo*> ParseKindWord(absl::string_view word);

// `id` of a kind: "web", "web/3" or "web@3" for a revision. INVALID_FIELD when it cannot be a name.
absl::StatusOr<Target> MakeTarget(const KindInfo& kind, absl::string_view id,
                                  absl::string_view project);

// "bundle/web", "projects/p/bundles/web", "clusters/c".
absl::StatusOr<Target> ParseTarget(absl::string_view text, absl::string_view project);

// Arguments of get, describe, delete, wait: "KIND NAME…", or "KIND/NAME…" throughout. A lone KIND
// leaves `targets` empty.
struct Selection {
  const KindInfo* kind = nullptr;  // When a kind was given without names.
  std::vector<Target> targets;
};
absl::StatusOr<Selection> ParseSelection(const std::vector<std::string>& arguments,
                                         absl::string_view project);

// Lower-case singular: bundle, cluster, clusterset, token.
std::string KindWord(const KindInfo& kind);
// "bundle/web"; the full name when its project is not `project`.
std::string ShortName(const KindInfo& kind, absl::string_view name, absl::string_view project);
// Last part: "web".
std::string IdOf(absl::string_view name);
// Project in the name; empty when there is none.
std::string ProjectOf(absl::string_view name);

}  // namespace nave::cli

#endif  // NAVE_CLI_RESOURCES_TARGET_H_
