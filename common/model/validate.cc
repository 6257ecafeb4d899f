#include "common/model/validate.h"

#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/reasons.h"
#include "common/model/assignment.h"
#include "common/model/names.h"
#include "common/model/selector.h"

namespace nave {
namespace {

constexpr size_t kSubjectsMax = 200;
constexpr size_t kSubjectBytesMax = 256;
constexpr size_t kTaintsMax = 50;

std::string Quoted(absl::string_view text) { return absl::StrCat("'", text.substr(0, 100), "'"); }

// Every element an id, none twice, not too many.
void ValidateIds(absl::string_view field, const std::vector<std::string>& ids,
                 Violations* violations) {
  if (ids.size() > kNamesMax) {
    violations->Add(field,
                    absl::StrCat("must have at most ", kNamesMax, " elements, got ", ids.size()));
    return;
  }
  std::set<std::string> seen;
  for (size_t i = 0; i < ids.size(); ++i) {
    std::string path = absl::StrCat(field, "[", i, "]");
    ValidateId(path, ids[i], violations);
    if (!seen.insert(ids[i]).second)
      violations->Add(path,
                      absl::StrCat("must be named once, ", Quoted(ids[i]), " is there twice"));
  }
}

void ValidateLabels(absl::string_view field, const StringMap& labels, Violations* violations) {
  if (labels.size() > kLabelsMax) {
    violations->Add(field,
                    absl::StrCat("must have at most ", kLabelsMax, " labels, got ", labels.size()));
  }
  for (const auto& [key, value] : labels) {
    std::string path = absl::StrCat(field, "[", key.substr(0, 100), "]");
    std::string wrong = CheckLabelKey(key);
    if (!wrong.empty()) violations->Add(path, absl::StrCat("key ", wrong));
    wrong = CheckLabelValue(value);
    if (!wrong.empty()) violations->Add(path, absl::StrCat("value ", Quoted(value), " ", wrong));
  }
}

void ValidatePlacement(const PlacementSpec& placement, Violations* violations) {
  ValidateIds("spec.placement.clusterSets", placement.cluster_sets, violations);
  ValidateIds("spec.placement.names", placement.names, violations);
  ValidateIds("spec.placement.exclude", placement.exclude, violations);
  if (placement.cluster_sets.empty() && placement.names.empty() &&
      !placement.selector.has_value()) {
    violations->Add("spec.placement",
                    "must have at least one of clusterSets, names and selector; an empty selector "
                    "names every cluster");
  }
  if (!placement.selector.has_value()) return;
  auto selector = Selector::Parse("spec.placement.selector", *placement.selector);
  if (!selector.ok()) {
    absl::string_view text = selector.status().message();
    absl::ConsumePrefix(&text, "`spec.placement.selector`: ");
    violations->Add("spec.placement.selector", text);
  }
}

}  // namespace

void ValidateId(absl::string_view field, absl::string_view id, Violations* violations) {
  if (IsId(id)) return;
  violations->Add(
      field,
      absl::StrCat(
          "must be at most 63 lower-case letters, digits or '-', beginning and ending with a "
          "letter or digit, got ",
          Quoted(id)));
}

void ValidateMeta(const ObjectMeta& meta, Violations* violations) {
  ValidateLabels("metadata.labels", meta.labels, violations);
  size_t bytes = 0;
  for (const auto& [key, value] : meta.annotations) {
    bytes += key.size() + value.size();
    std::string wrong = CheckLabelKey(key);
    if (!wrong.empty()) {
      violations->Add(absl::StrCat("metadata.annotations[", key.substr(0, 100), "]"),
                      absl::StrCat("key ", wrong));
    }
  }
  if (bytes > kAnnotationsBytesMax) {
    violations->Add("metadata.annotations", absl::StrCat("must be at most ", kAnnotationsBytesMax,
                                                         " bytes together, got ", bytes));
  }
}

void Validate(const Project& project, Violations* violations) {
  ValidateMeta(project.meta, violations);
  ValidateIds("spec.clusterSets", project.cluster_sets, violations);
}

void Validate(const ClusterSet& cluster_set, Violations* violations) {
  ValidateMeta(cluster_set.meta, violations);
  if (cluster_set.description.size() > kMessageBytesMax) {
    violations->Add("spec.description",
                    absl::StrCat("must be at most ", kMessageBytesMax, " bytes, got ",
                                 cluster_set.description.size()));
  }
}

void Validate(const Cluster& cluster, Violations* violations) {
  ValidateMeta(cluster.meta, violations);
  ValidateId("spec.clusterSet", cluster.spec.cluster_set, violations);
  const std::vector<Taint>& taints = cluster.spec.taints;
  if (taints.size() > kTaintsMax) {
    violations->Add("spec.taints",
                    absl::StrCat("must have at most ", kTaintsMax, " taints, got ", taints.size()));
  }
  std::set<std::pair<std::string, TaintEffect>> seen;
  for (size_t i = 0; i < taints.size(); ++i) {
    std::string path = absl::StrCat("spec.taints[", i, "]");
    std::string wrong = CheckLabelKey(taints[i].key);
    if (!wrong.empty()) violations->Add(absl::StrCat(path, ".key"), wrong);
    wrong = CheckLabelValue(taints[i].value);
    if (!wrong.empty()) violations->Add(absl::StrCat(path, ".value"), wrong);
    if (!seen.emplace(taints[i].key, taints[i].effect).second) {
      violations->Add(path, "must be the only taint of its key and effect");
    }
  }
}

void Validate(const RoleBinding& binding, Violations* violations) {
  ValidateMeta(binding.meta, violations);
  if (binding.subjects.empty() || binding.subjects.size() > kSubjectsMax) {
    violations->Add("spec.subjects", absl::StrCat("must have 1 to ", kSubjectsMax,
                                                  " subjects, got ", binding.subjects.size()));
  }
  for (size_t i = 0; i < binding.subjects.size(); ++i) {
    absl::string_view subject = binding.subjects[i];
    bool kind = absl::ConsumePrefix(&subject, "user:") || absl::ConsumePrefix(&subject, "group:");
    if (!kind || subject.empty() || subject.size() > kSubjectBytesMax) {
      violations->Add(
          absl::StrCat("spec.subjects[", i, "]"),
          absl::StrCat("must be 'user:NAME' or 'group:NAME', got ", Quoted(binding.subjects[i])));
    }
  }
  if (!binding.project.empty() && !binding.cluster_set.empty()) {
    violations->Add("spec.clusterSet", "must be empty when spec.project is set");
  }
  if (!binding.project.empty()) ValidateId("spec.project", binding.project, violations);
  if (!binding.cluster_set.empty()) ValidateId("spec.clusterSet", binding.cluster_set, violations);
}

void Validate(const JoinToken& token, Violations* violations) {
  ValidateMeta(token.meta, violations);
  if (!token.cluster.empty()) ValidateId("spec.cluster", token.cluster, violations);
  if (token.rejoin && token.cluster.empty())
    violations->Add("spec.cluster", "must be set when spec.rejoin is true");
  if (token.ttl < kTokenTtlMin || token.ttl > kTokenTtlMax) {
    violations->Add("spec.ttl", absl::StrCat("must be from ", absl::FormatDuration(kTokenTtlMin),
                                             " to ", absl::FormatDuration(kTokenTtlMax), ", got ",
                                             absl::FormatDuration(token.ttl)));
  }
  ValidateLabels("spec.labels", token.labels, violations);
  ValidateId("spec.clusterSet", token.cluster_set, violations);
}

void Validate(const Bundle& bundle, Violations* violations) {
  ValidateMeta(bundle.meta, violations);
  const BundleSpec& spec = bundle.spec;
  if (spec.manifests.size() > kManifestsMax) {
    violations->Add("spec.manifests", absl::StrCat("must have at most ", kManifestsMax,
                                                   " files, got ", spec.manifests.size()));
    return;
  }
  std::set<std::string> paths;
  for (size_t i = 0; i < spec.manifests.size(); ++i) {
    const Manifest& manifest = spec.manifests[i];
    std::string path = absl::StrCat("spec.manifests[", i, "]");
    if (manifest.path.empty() || manifest.path.size() > kPathBytesMax) {
      violations->Add(
          absl::StrCat(path, ".path"),
          absl::StrCat("must have 1 to ", kPathBytesMax, " bytes, got ", manifest.path.size()));
    } else if (!paths.insert(manifest.path).second) {
      violations->Add(
          absl::StrCat(path, ".path"),
          absl::StrCat("must be unique in the bundle, ", Quoted(manifest.path), " is there twice"));
    }
    if (manifest.content.empty() && manifest.digest.IsNone()) {
      violations->Add(
          path, "must have content, or the digest of content that a revision of this bundle has");
    }
  }
  ValidateId("spec.defaultNamespace", spec.default_namespace, violations);
  if (spec.placement.has_value()) ValidatePlacement(*spec.placement, violations);
}

}  // namespace nave
