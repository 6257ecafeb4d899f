#include "hub/fleet/snapshot.h"

#include <algorithm>
#include <utility>

namespace nave {

At FleetSnapshot::at() const {
  At at;
  if (terms->empty()) return at;
  at.term = terms->back().number;
  at.nonce = terms->back().nonce;
  at.revision = revision;
  return at;
}

bool FleetSnapshot::Adopted(const Uuid& cluster) const {
  if (terms->empty() || adopt.term != terms->back().number || adopt.nonce != terms->back().nonce)
    return false;
  return adopt.all ||
         std::find(adopt.clusters.begin(), adopt.clusters.end(), cluster) != adopt.clusters.end();
}

std::shared_ptr<const Versioned<Cluster>> FleetSnapshot::ClusterById(const std::string& id) const {
  auto it = names->clusters.find(id);
  return it == names->clusters.end() ? nullptr : clusters.Find(it->second);
}

std::shared_ptr<const Versioned<Bundle>> FleetSnapshot::BundleById(const std::string& project,
                                                                   const std::string& id) const {
  auto it = names->bundles.find({project, id});
  return it == names->bundles.end() ? nullptr : bundles.Find(it->second);
}

void FleetChanges::Add(const FleetChanges& other) {
  clusters.insert(other.clusters.begin(), other.clusters.end());
  bundles.insert(other.bundles.begin(), other.bundles.end());
  tenancy |= other.tenancy;
  adopt |= other.adopt;
}

void SnapshotBuilder::SetAssigned(const Uuid& cluster, const Uuid& bundle, bool assigned) {
  auto present = building_.assigned.Find(cluster);
  std::set<Uuid> bundles = present == nullptr ? std::set<Uuid>{} : *present;
  if (assigned) {
    bundles.insert(bundle);
  } else {
    bundles.erase(bundle);
  }
  if (bundles.empty()) {
    building_.assigned.Erase(cluster);
  } else {
    building_.assigned.Set(cluster, std::make_shared<const std::set<Uuid>>(std::move(bundles)));
  }
}

void SnapshotBuilder::TrackKubeSystemUid(const Uuid& cluster, const std::string& before,
                                         const std::string& after) {
  if (before == after) return;
  names_changed_ = true;
  for (const std::string& kube_system_uid : {before, after}) {
    if (kube_system_uid.empty()) continue;
    std::set<Uuid>& same = by_kube_system_uid_[kube_system_uid];
    for (const Uuid& one : same) names_.twins.erase(one);
    names_.twins.erase(cluster);
    if (kube_system_uid == before) {
      same.erase(cluster);
    } else {
      same.insert(cluster);
    }
    if (same.size() > 1) {
      for (const Uuid& one : same)
        names_.twins[one] = one == *same.begin() ? *same.rbegin() : *same.begin();
    }
    if (same.empty()) by_kube_system_uid_.erase(kube_system_uid);
  }
}

void SnapshotBuilder::SwitchDecision(const Uuid& bundle, FleetChanges* changes) {
  auto decision = std::make_shared<Decision>();
  auto head = heads_.find(bundle);
  if (head != heads_.end()) {
    decision->head = head->second.value;
    decision->head_mod_revision = head->second.mod_revision;
    auto& pages = pages_[bundle];
    for (uint32_t n = 0; n < decision->head.pages; ++n) {
      auto page = pages.find({decision->head.number, n});
      if (page == pages.end()) continue;
      for (const DecisionEntry& entry : page->second.entries)
        decision->entries[entry.cluster] = entry;
    }
    // What older heads named is no longer read; the deletions of those pages will find nothing.
    pages.erase(pages.begin(), pages.lower_bound({decision->head.number, 0}));
  }
  auto previous = building_.decisions.Find(bundle);
  if (previous != nullptr) {
    for (const auto& [cluster, entry] : previous->entries) {
      auto now = decision->entries.find(cluster);
      if (now == decision->entries.end()) SetAssigned(cluster, bundle, false);
      if (now == decision->entries.end() || !(now->second == entry))
        changes->clusters.insert(cluster);
    }
  }
  for (const auto& [cluster, entry] : decision->entries) {
    if (previous != nullptr && previous->entries.count(cluster) > 0) continue;
    SetAssigned(cluster, bundle, true);
    changes->clusters.insert(cluster);
  }
  changes->bundles.insert(bundle);
  if (head == heads_.end()) {
    building_.decisions.Erase(bundle);
    pages_.erase(bundle);
  } else {
    building_.decisions.Set(bundle, std::move(decision));
  }
}

// One overload per kind of change.
struct SnapshotBuilder::Applier {
  SnapshotBuilder* builder;
  FleetChanges* changes;
  uint64_t mod_revision;

  template <typename T>
  std::shared_ptr<const Versioned<T>> Pointer(const T& value) const {
    return std::make_shared<const Versioned<T>>(Versioned<T>{value, mod_revision});
  }
  FleetSnapshot& building() const { return builder->building_; }

  void operator()(const std::monostate&) const {}
  void operator()(const change::Head&) const {}

  void operator()(const TermRecord& term) const {
    auto& terms = builder->terms_;
    builder->terms_changed_ = true;
    auto it = std::lower_bound(terms.begin(), terms.end(), term.number,
                               [](const TermRecord& t, uint64_t n) { return t.number < n; });
    if (it != terms.end() && it->number == term.number) {
      *it = term;
    } else {
      terms.insert(it, term);
    }
  }

  void operator()(const AdoptRecord& adopt) const {
    building().adopt = adopt;
    changes->adopt = true;
  }

  void operator()(const Cluster& cluster) const {
    auto present = building().clusters.Find(cluster.meta.uid);
    builder->TrackKubeSystemUid(cluster.meta.uid,
                                present == nullptr ? "" : present->value.status.kube_system_uid,
                                cluster.status.kube_system_uid);
    building().clusters.Set(cluster.meta.uid, Pointer(cluster));
    if (present == nullptr || present->value.id != cluster.id) {
      builder->names_.clusters[cluster.id] = cluster.meta.uid;
      builder->names_changed_ = true;
    }
    changes->clusters.insert(cluster.meta.uid);
  }
  void operator()(const change::NoCluster& gone) const {
    auto name = builder->names_.clusters.find(gone.id);
    if (name == builder->names_.clusters.end()) return;
    Uuid uid = name->second;
    builder->names_.clusters.erase(name);
    builder->names_changed_ = true;
    if (auto present = building().clusters.Find(uid); present != nullptr) {
      builder->TrackKubeSystemUid(uid, present->value.status.kube_system_uid, "");
    }
    building().clusters.Erase(uid);
    changes->clusters.insert(uid);
  }

  void operator()(const Bundle& bundle) const {
    if (building().bundles.Find(bundle.meta.uid) == nullptr) {
      builder->names_.bundles[{bundle.project, bundle.id}] = bundle.meta.uid;
      builder->names_changed_ = true;
    }
    building().bundles.Set(bundle.meta.uid, Pointer(bundle));
    changes->bundles.insert(bundle.meta.uid);
  }
  void operator()(const change::NoBundle& gone) const {
    auto name = builder->names_.bundles.find({gone.project, gone.id});
    if (name == builder->names_.bundles.end()) return;
    Uuid uid = name->second;
    builder->names_.bundles.erase(name);
    builder->names_changed_ = true;
    building().bundles.Erase(uid);
    changes->bundles.insert(uid);
  }

  void operator()(const BundleRevision& revision) const {
    auto present = building().revisions.Find(revision.bundle_uid);
    RevisionsOfBundle revisions = present == nullptr ? RevisionsOfBundle{} : *present;
    revisions[revision.number] = revision;
    building().revisions.Set(revision.bundle_uid,
                             std::make_shared<const RevisionsOfBundle>(std::move(revisions)));
    changes->bundles.insert(revision.bundle_uid);
  }
  void operator()(const change::NoRevision& gone) const {
    auto present = building().revisions.Find(gone.bundle);
    if (present == nullptr) return;
    RevisionsOfBundle revisions = *present;
    revisions.erase(gone.number);
    if (revisions.empty()) {
      building().revisions.Erase(gone.bundle);
    } else {
      building().revisions.Set(gone.bundle,
                               std::make_shared<const RevisionsOfBundle>(std::move(revisions)));
    }
    changes->bundles.insert(gone.bundle);
  }

  void operator()(const change::Page& page) const {
    builder->pages_[page.bundle][{page.head, page.page}] = page.content;
  }
  void operator()(const DecisionHead& head) const {
    builder->heads_[head.bundle] = {head, mod_revision};
    builder->SwitchDecision(head.bundle, changes);
  }
  void operator()(const change::NoDecision& gone) const {
    builder->heads_.erase(gone.bundle);
    builder->SwitchDecision(gone.bundle, changes);
  }

  void operator()(const TombstoneRecord& tombstone) const {
    auto present = building().tombstones.Find(tombstone.cluster);
    TombstonesOfCluster tombstones = present == nullptr ? TombstonesOfCluster{} : *present;
    tombstones[tombstone.bundle] = {tombstone, mod_revision};
    building().tombstones.Set(tombstone.cluster,
                              std::make_shared<const TombstonesOfCluster>(std::move(tombstones)));
    changes->clusters.insert(tombstone.cluster);
    changes->bundles.insert(tombstone.bundle);
  }
  void operator()(const change::NoTombstone& gone) const {
    auto present = building().tombstones.Find(gone.cluster);
    if (present == nullptr) return;
    TombstonesOfCluster tombstones = *present;
    tombstones.erase(gone.bundle);
    if (tombstones.empty()) {
      building().tombstones.Erase(gone.cluster);
    } else {
      building().tombstones.Set(gone.cluster,
                                std::make_shared<const TombstonesOfCluster>(std::move(tombstones)));
    }
    changes->clusters.insert(gone.cluster);
    changes->bundles.insert(gone.bundle);
  }

  void operator()(const SessionRecord& session) const {
    building().sessions.Set(session.cluster, Pointer(session));
  }
  void operator()(const change::NoSession& gone) const {
    building().sessions.Erase(gone.cluster);
    changes->clusters.insert(gone.cluster);
  }

  void operator()(const RetiredRecord& retired) const {
    building().retired.Set(retired.cluster, Pointer(retired));
    changes->clusters.insert(retired.cluster);
  }
  void operator()(const change::NoRetired& gone) const { building().retired.Erase(gone.cluster); }

  void operator()(const Project& project) const {
    building().projects[project.id] = {project, mod_revision};
    changes->tenancy = true;
  }
  void operator()(const change::NoProject& gone) const {
    building().projects.erase(gone.id);
    changes->tenancy = true;
  }
  void operator()(const ClusterSet& set) const {
    building().cluster_sets[set.id] = {set, mod_revision};
    changes->tenancy = true;
  }
  void operator()(const change::NoClusterSet& gone) const {
    building().cluster_sets.erase(gone.id);
    changes->tenancy = true;
  }
  void operator()(const RoleBinding& binding) const {
    building().role_bindings[binding.id] = {binding, mod_revision};
    changes->tenancy = true;
  }
  void operator()(const change::NoRoleBinding& gone) const {
    building().role_bindings.erase(gone.id);
    changes->tenancy = true;
  }
};

FleetSnapshotPtr SnapshotBuilder::Publish() {
  if (terms_changed_) building_.terms = std::make_shared<const std::vector<TermRecord>>(terms_);
  if (names_changed_) building_.names = std::make_shared<const FleetNames>(names_);
  terms_changed_ = false;
  names_changed_ = false;
  return std::make_shared<const FleetSnapshot>(building_);
}

FleetChanges SnapshotBuilder::Everything() const {
  FleetChanges changes;
  changes.tenancy = true;
  changes.adopt = true;
  building_.clusters.ForEach(
      [&](const Uuid& uid, const Versioned<Cluster>&) { changes.clusters.insert(uid); });
  building_.sessions.ForEach(
      [&](const Uuid& uid, const Versioned<SessionRecord>&) { changes.clusters.insert(uid); });
  building_.tombstones.ForEach(
      [&](const Uuid& uid, const TombstonesOfCluster&) { changes.clusters.insert(uid); });
  building_.retired.ForEach(
      [&](const Uuid& uid, const Versioned<RetiredRecord>&) { changes.clusters.insert(uid); });
  building_.assigned.ForEach(
      [&](const Uuid& uid, const std::set<Uuid>&) { changes.clusters.insert(uid); });
  building_.bundles.ForEach(
      [&](const Uuid& uid, const Versioned<Bundle>&) { changes.bundles.insert(uid); });
  building_.decisions.ForEach(
      [&](const Uuid& uid, const Decision&) { changes.bundles.insert(uid); });
  return changes;
}

void SnapshotBuilder::Apply(const RecordChange& change, FleetChanges* changes) {
  building_.revision = std::max(building_.revision, change.mod_revision);
  std::visit(Applier{this, changes, change.mod_revision}, change.body);
}

}  // namespace nave
