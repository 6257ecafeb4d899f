// The hub's index as an immutable value: what sessions, controllers and the API decide from.
#ifndef NAVE_HUB_FLEET_SNAPSHOT_H_
#define NAVE_HUB_FLEET_SNAPSHOT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/uuid.h"
#include "common/model/bundle.h"
#include "common/model/cluster.h"
#include "common/model/stream.h"
#include "common/model/tenancy.h"
#include "hub/fleet/cow_map.h"
#include "hub/records/records.h"

namespace nave {

// A stored value and the revision at which it stands.
template <typename T>
struct Versioned {
  T value;
  uint64_t mod_revision = 0;
};

// A bundle's current decision, its pages put together.
struct Decision {
  DecisionHead head;
  uint64_t head_mod_revision = 0;
  std::map<Uuid, DecisionEntry> entries;  // By cluster.
};

using TombstonesOfCluster = std::map<Uuid, Versioned<TombstoneRecord>>;  // By bundle.
using RevisionsOfBundle = std::map<uint64_t, BundleRevision>;            // By number.

// Shared by the snapshots between two changes of it.
struct FleetNames {
  std::map<std::string, Uuid> clusters;                         // Id -> uid.
  std::map<std::pair<std::string, std::string>, Uuid> bundles;  // Project and id -> uid.
  // Clusters that are one Kubernetes cluster under two names: uid -> another uid.
  std::map<Uuid, Uuid> twins;
};

// A prefix of the store's history. Immutable once published; later snapshots are later truth.
struct FleetSnapshot {
  // Mod revision of the head key: the newest transaction contained.
  uint64_t revision = 0;
  // Terms by number; the last one is the present one.
  std::shared_ptr<const std::vector<TermRecord>> terms =
      std::make_shared<std::vector<TermRecord>>();
  AdoptRecord adopt;
  std::string hub_id;

  CowMap<Uuid, Versioned<Cluster>> clusters;
  CowMap<Uuid, Versioned<Bundle>> bundles;
  CowMap<Uuid, RevisionsOfBundle> revisions;
  CowMap<Uuid, Decision> decisions;
  CowMap<Uuid, TombstonesOfCluster> tombstones;  // By cluster.
  CowMap<Uuid, Versioned<SessionRecord>> sessions;
  CowMap<Uuid, Versioned<RetiredRecord>> retired;
  // Bundles whose current decision contains the cluster.
  CowMap<Uuid, std::set<Uuid>> assigned;
  std::map<std::string, Versioned<Project>> projects;
  std::map<std::string, Versioned<ClusterSet>> cluster_sets;
  std::map<std::string, Versioned<RoleBinding>> role_bindings;
  // Never null.
  std::shared_ptr<const FleetNames> names = std::make_shared<FleetNames>();

  // The point in history that answers made from this snapshot carry.
  At at() const;
  // Whether a person decided, in the present term, that this cluster follows the present state.
  bool Adopted(const Uuid& cluster) const;
  // nullptr when there is none.
  std::shared_ptr<const Versioned<Cluster>> ClusterById(const std::string& id) const;
  std::shared_ptr<const Versioned<Bundle>> BundleById(const std::string& project,
                                                      const std::string& id) const;
};
using FleetSnapshotPtr = std::shared_ptr<const FleetSnapshot>;

// One change of the store, decoded: a record that was put, or the key of one that was deleted.
namespace change {
struct Head {};  // /v1/meta/head moved.
struct Page {
  Uuid bundle;
  uint64_t head = 0;
  uint32_t page = 0;
  DecisionPage content;
};
struct NoCluster {
  std::string id;
};
struct NoBundle {
  std::string project;
  std::string id;
};
struct NoRevision {
  Uuid bundle;
  uint64_t number = 0;
};
struct NoDecision {
  Uuid bundle;
};
struct NoTombstone {
  Uuid cluster;
  Uuid bundle;
};
struct NoSession {
  Uuid cluster;
};
struct NoRetired {
  Uuid cluster;
};
struct NoProject {
  std::string id;
};
struct NoClusterSet {
  std::string id;
};
struct NoRoleBinding {
  std::string id;
};
}  // namespace change

struct RecordChange {
  uint64_t mod_revision = 0;
  std::variant<std::monostate, change::Head, TermRecord, AdoptRecord, Cluster, Bundle,
               BundleRevision, DecisionHead, change::Page, TombstoneRecord, SessionRecord,
               RetiredRecord, Project, ClusterSet, RoleBinding, change::NoCluster, change::NoBundle,
               change::NoRevision, change::NoDecision, change::NoTombstone, change::NoSession,
               change::NoRetired, change::NoProject, change::NoClusterSet, change::NoRoleBinding>
      body;
};

// What changes touched, so that only that is looked at again.
struct FleetChanges {
  std::set<Uuid> clusters;  // Record, assignments, tombstones or session of these.
  std::set<Uuid> bundles;   // Record, revisions, decision or tombstones of these.
  bool tenancy = false;     // Projects, sets or role bindings.
  bool adopt = false;
  void Add(const FleetChanges& other);
};

// Builds snapshots by applying changes in store order. Not thread-safe; owned by the loop.
class SnapshotBuilder {
 public:
  explicit SnapshotBuilder(std::string hub_id) { building_.hub_id = std::move(hub_id); }

  // Pages of a decision are kept aside until its head names them, so that no reader sees half of a
  // switch.
  void Apply(const RecordChange& change, FleetChanges* changes);
  // The state after all applied changes.
  FleetSnapshotPtr Publish();
  // Every cluster and bundle there is: what a reader must look at that knows nothing yet.
  FleetChanges Everything() const;

 private:
  struct Applier;

  void SwitchDecision(const Uuid& bundle, FleetChanges* changes);
  void SetAssigned(const Uuid& cluster, const Uuid& bundle, bool assigned);

  // Moves `cluster` from the clusters with kube-system uid `before` to those with `after` (empty:
  // none).
  void TrackKubeSystemUid(const Uuid& cluster, const std::string& before, const std::string& after);

  FleetSnapshot building_;
  // What `building_` shares with published snapshots is changed here and copied when published.
  std::vector<TermRecord> terms_;
  FleetNames names_;
  bool terms_changed_ = false;
  bool names_changed_ = false;
  std::map<std::string, std::set<Uuid>> by_kube_system_uid_;
  // bundle -> (head number, page) -> page.
  std::map<Uuid, std::map<std::pair<uint64_t, uint32_t>, DecisionPage>> pages_;
  std::map<Uuid, Versioned<DecisionHead>> heads_;
};

}  // namespace nave

#endif  // NAVE_HUB_FLEET_SNAPSHOT_H_
