#include "hub/rpc/record_rules.h"

#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/model/names.h"
#include "common/model/violations.h"
#include "hub/decide/rollup.h"

namespace nave {
namespace {

constexpr absl::string_view kDefaultName = "default";

Scope ScopeOf(const Cluster& cluster) { return Scope::OfClusterSet(cluster.spec.cluster_set); }

Scope ScopeOf(const RoleBinding& binding) {
  // Bindings of a set are the hub's business: they give rights over machines.
  return binding.project.empty() ? Scope::Hub() : Scope::OfProject(binding.project);
}

bool Contains(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

absl::Status MissingReference(absl::string_view field, absl::string_view kind,
                              absl::string_view id) {
  return FieldError(field,
                    absl::StrCat("must name a ", kind, " that exists, there is no '", id, "'"));
}

absl::Status SetInUse(absl::string_view text, const std::string& resource) {
  return MakeError(Reason::kSetInUse, text, {{"resource", resource}});
}

// A bundle of `project` that runs on a cluster of `set`; nullopt: none does.
std::optional<std::string> UseOfSet(const FleetSnapshot& snapshot, const std::string& project,
                                    const std::string& set) {
  std::optional<std::string> found;
  snapshot.bundles.ForEach([&](const Uuid& uid, const Versioned<Bundle>& bundle) {
    if (found.has_value() || bundle.value.project != project) return;
    auto decision = snapshot.decisions.Find(uid);
    if (decision == nullptr) return;
    for (const auto& [cluster_uid, entry] : decision->entries) {
      auto cluster = snapshot.clusters.Find(cluster_uid);
      if (cluster == nullptr || cluster->value.spec.cluster_set != set) continue;
      found = absl::StrCat("bundle \"", bundle.value.id, "\" runs on cluster \"", cluster->value.id,
                           "\" of it");
      return;
    }
  });
  return found;
}

// A bundle that runs on the cluster by way of a set that it would not be in any more.
std::optional<std::string> LostByMove(const FleetSnapshot& snapshot, const Cluster& before,
                                      const Cluster& after) {
  auto assigned = snapshot.assigned.Find(before.meta.uid);
  if (assigned == nullptr) return std::nullopt;
  for (const Uuid& uid : *assigned) {
    auto bundle = snapshot.bundles.Find(uid);
    if (bundle == nullptr || bundle->value.meta.deleting()) continue;
    auto project = snapshot.projects.find(bundle->value.project);
    const std::optional<PlacementSpec>& placement = bundle->value.spec.placement;
    bool bound = project != snapshot.projects.end() &&
                 Contains(project->second.value.cluster_sets, after.spec.cluster_set);
    bool named =
        placement.has_value() && (placement->cluster_sets.empty() ||
                                  Contains(placement->cluster_sets, after.spec.cluster_set));
    if (!bound || !named) return BundleName(bundle->value.project, bundle->value.id);
  }
  return std::nullopt;
}

}  // namespace

RightNeeded NeededToRead(const FleetSnapshot&, const Project& project) {
  return {Role::kViewer, Scope::OfProject(project.id)};
}
RightNeeded NeededToRead(const FleetSnapshot&, const ClusterSet& set) {
  return {Role::kViewer, Scope::OfClusterSet(set.id)};
}
RightNeeded NeededToRead(const FleetSnapshot&, const Cluster& cluster) {
  return {Role::kViewer, ScopeOf(cluster)};
}
RightNeeded NeededToRead(const FleetSnapshot&, const Bundle& bundle) {
  return {Role::kViewer, Scope::OfProject(bundle.project)};
}
RightNeeded NeededToRead(const FleetSnapshot&, const RoleBinding& binding) {
  return {Role::kAdmin, ScopeOf(binding)};
}
RightNeeded NeededToRead(const FleetSnapshot&, const JoinToken& token) {
  return {Role::kAdmin, Scope::OfClusterSet(token.cluster_set)};
}
RightNeeded NeededToRead(const FleetSnapshot& snapshot, const Event& event) {
  if (!event.project.empty()) return {Role::kViewer, Scope::OfProject(event.project)};
  absl::string_view about = event.about;
  if (absl::ConsumePrefix(&about, "clusters/")) {
    auto cluster = snapshot.ClusterById(std::string(about));
    if (cluster != nullptr) return NeededToRead(snapshot, cluster->value);
  }
  return {Role::kViewer, Scope::Hub()};
}

absl::Status CheckRights(const Rights& rights, const Project*, const Project*) {
  return rights.Check(Role::kAdmin, Scope::Hub(), "write projects");
}

absl::Status CheckRights(const Rights& rights, const ClusterSet*, const ClusterSet*) {
  return rights.Check(Role::kAdmin, Scope::Hub(), "write cluster sets");
}

absl::Status CheckRights(const Rights& rights, const Cluster* before, const Cluster* after) {
  if (before == nullptr) return rights.Check(Role::kAdmin, ScopeOf(*after), "add clusters");
  if (after == nullptr) return rights.Check(Role::kAdmin, ScopeOf(*before), "remove clusters");
  if (ScopeOf(*before) == ScopeOf(*after)) {
    return rights.Check(Role::kEditor, ScopeOf(*before), "change clusters");
  }
  RETURN_IF_ERROR(rights.Check(Role::kAdmin, ScopeOf(*before), "move clusters out of the set"));
  return rights.Check(Role::kAdmin, ScopeOf(*after), "move clusters into the set");
}

absl::Status CheckRights(const Rights& rights, const RoleBinding* before,
                         const RoleBinding* after) {
  for (const RoleBinding* binding : {before, after}) {
    if (binding == nullptr) continue;
    RETURN_IF_ERROR(rights.Check(Role::kAdmin, ScopeOf(*binding), "write role bindings"));
  }
  return absl::OkStatus();
}

absl::Status CheckRights(const Rights& rights, const JoinToken* before, const JoinToken* after) {
  const JoinToken& token = before != nullptr ? *before : *after;
  return rights.Check(Role::kAdmin, Scope::OfClusterSet(token.cluster_set), "write join tokens");
}

absl::Status CheckRights(const Rights& rights, const Bundle* before, const Bundle* after) {
  const Bundle& bundle = before != nullptr ? *before : *after;
  return rights.Check(Role::kEditor, Scope::OfProject(bundle.project), "write bundles");
}

absl::Status CheckReferences(const FleetSnapshot& snapshot, const Project* before,
                             const Project* after) {
  if (after == nullptr) {
    bool used = false;
    snapshot.bundles.ForEach([&](const Uuid&, const Versioned<Bundle>& bundle) {
      used = used || bundle.value.project == before->id;
    });
    if (!used) return absl::OkStatus();
    return MakeError(Reason::kProjectNotEmpty,
                     absl::StrCat("project \"", before->id, "\": still has bundles"),
                     {{"resource", ProjectName(before->id)}});
  }
  for (size_t i = 0; i < after->cluster_sets.size(); ++i) {
    if (snapshot.cluster_sets.count(after->cluster_sets[i]) > 0) continue;
    return MissingReference(absl::StrCat("spec.clusterSets[", i, "]"), "cluster set",
                            after->cluster_sets[i]);
  }
  if (before == nullptr) return absl::OkStatus();
  for (const std::string& set : before->cluster_sets) {
    if (Contains(after->cluster_sets, set)) continue;
    auto use = UseOfSet(snapshot, before->id, set);
    if (!use.has_value()) continue;
    return SetInUse(absl::StrCat("cluster set \"", set, "\": cannot be unbound from project \"",
                                 before->id, "\", ", *use),
                    ProjectName(before->id));
  }
  return absl::OkStatus();
}

absl::Status CheckReferences(const FleetSnapshot& snapshot, const ClusterSet* before,
                             const ClusterSet* after) {
  if (after != nullptr) return absl::OkStatus();
  std::string name = ClusterSetName(before->id);
  if (before->id == kDefaultName)
    return SetInUse("cluster set \"default\": new clusters need it", name);
  for (const auto& [id, project] : snapshot.projects) {
    if (Contains(project.value.cluster_sets, before->id)) {
      return SetInUse(
          absl::StrCat("cluster set \"", before->id, "\": project \"", id, "\" is bound to it"),
          name);
    }
  }
  std::string member;
  snapshot.clusters.ForEach([&](const Uuid&, const Versioned<Cluster>& cluster) {
    if (cluster.value.spec.cluster_set == before->id) member = cluster.value.id;
  });
  if (member.empty()) return absl::OkStatus();
  return SetInUse(
      absl::StrCat("cluster set \"", before->id, "\": cluster \"", member, "\" is in it"), name);
}

absl::Status CheckReferences(const FleetSnapshot& snapshot, const Cluster* before,
                             const Cluster* after) {
  if (after == nullptr) return absl::OkStatus();
  const std::string& set = after->spec.cluster_set;
  if (snapshot.cluster_sets.count(set) == 0)
    return MissingReference("spec.clusterSet", "cluster set", set);
  if (before == nullptr || before->spec.cluster_set == set) return absl::OkStatus();
  auto lost = LostByMove(snapshot, *before, *after);
  if (!lost.has_value()) return absl::OkStatus();
  return SetInUse(absl::StrCat("cluster \"", before->id, "\": cannot leave cluster set \"",
                               before->spec.cluster_set, "\", ", *lost, " runs there through it"),
                  ClusterName(before->id));
}

absl::Status CheckReferences(const FleetSnapshot& snapshot, const RoleBinding*,
                             const RoleBinding* after) {
  if (after == nullptr) return absl::OkStatus();
  if (!after->project.empty() && snapshot.projects.count(after->project) == 0) {
    return MissingReference("spec.project", "project", after->project);
  }
  if (!after->cluster_set.empty() && snapshot.cluster_sets.count(after->cluster_set) == 0) {
    return MissingReference("spec.clusterSet", "cluster set", after->cluster_set);
  }
  return absl::OkStatus();
}

absl::Status CheckReferences(const FleetSnapshot& snapshot, const JoinToken*,
                             const JoinToken* after) {
  if (after == nullptr || snapshot.cluster_sets.count(after->cluster_set) > 0)
    return absl::OkStatus();
  return MissingReference("spec.clusterSet", "cluster set", after->cluster_set);
}

absl::Status CheckReferences(const FleetSnapshot& snapshot, const Bundle*, const Bundle* after) {
  if (after == nullptr || snapshot.projects.count(after->project) > 0) return absl::OkStatus();
  return MakeError(Reason::kNotFound,
                   absl::StrCat("project \"", after->project, "\": does not exist"),
                   {{"resource", ProjectName(after->project)}});
}

void Derive(const FleetSnapshot& snapshot, const LiveTable::Map&, absl::Time, Project* project) {
  project->bundles = 0;
  snapshot.bundles.ForEach([&](const Uuid&, const Versioned<Bundle>& bundle) {
    if (bundle.value.project == project->id) ++project->bundles;
  });
}

void Derive(const FleetSnapshot& snapshot, const LiveTable::Map&, absl::Time,
            ClusterSet* cluster_set) {
  cluster_set->clusters = 0;
  snapshot.clusters.ForEach([&](const Uuid&, const Versioned<Cluster>& cluster) {
    if (cluster.value.spec.cluster_set == cluster_set->id) ++cluster_set->clusters;
  });
}

void Derive(const FleetSnapshot& snapshot, const LiveTable::Map& live, absl::Time now,
            Cluster* cluster) {
  auto at = live.Find(cluster->meta.uid);
  cluster->status = DeriveClusterStatus(snapshot, *cluster, at.get(), now);
}

void Derive(const FleetSnapshot&, const LiveTable::Map&, absl::Time, RoleBinding*) {}

void Derive(const FleetSnapshot& snapshot, const LiveTable::Map& live, absl::Time now,
            Bundle* bundle) {
  bundle->status = DeriveBundleStatus(snapshot, *bundle, live, now);
}

}  // namespace nave
