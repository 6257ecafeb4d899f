#include "hub/rpc/kinds.h"

#include <map>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/model/names.h"
#include "common/wire/api.h"
#include "hub/records/codec.h"
#include "hub/rpc/bundle_content.h"
#include "hub/rpc/record_rules.h"

namespace nave {
namespace {

constexpr size_t kStorePage = 200;

absl::string_view CollectionOf(KeyKind kind) {
  switch (kind) {
    case KeyKind::kProject:
      return "projects";
    case KeyKind::kClusterSet:
      return "clusterSets";
    case KeyKind::kCluster:
      return "clusters";
    case KeyKind::kRoleBinding:
      return "roleBindings";
    default:
      return "joinTokens";
  }
}

// Id of the record whose key is `after`; empty for none.
std::string IdAfter(absl::string_view after) {
  auto key = ParseStoreKey(after);
  return key.has_value() ? key->id : "";
}

template <typename Record>
const std::map<std::string, Versioned<Record>>& MapOf(const FleetSnapshot& snapshot);
template <>
const std::map<std::string, Versioned<Project>>& MapOf(const FleetSnapshot& snapshot) {
  return snapshot.projects;
}
template <>
const std::map<std::string, Versioned<ClusterSet>>& MapOf(const FleetSnapshot& snapshot) {
  return snapshot.cluster_sets;
}
template <>
const std::map<std::string, Versioned<RoleBinding>>& MapOf(const FleetSnapshot& snapshot) {
  return snapshot.role_bindings;
}

template <typename Record>
std::optional<Versioned<Record>> Find(const ApiCall& call, const RecordRef& ref) {
  const auto& map = MapOf<Record>(call.snapshot());
  auto it = map.find(ref.id);
  if (it == map.end()) return std::nullopt;
  return it->second;
}

template <typename Record>
std::optional<Versioned<Record>> Copy(const std::shared_ptr<const Versioned<Record>>& record) {
  if (record == nullptr) return std::nullopt;
  return *record;
}

template <typename Record>
absl::StatusOr<std::optional<Versioned<Record>>> FindStored(const ApiCall& call,
                                                            const RecordRef& ref) {
  ASSIGN_OR_RETURN(std::optional<StoredValue> stored,
                   call.store().Get(RecordKey(Kind<Record>::kKey, ref)));
  if (!stored.has_value()) return std::optional<Versioned<Record>>();
  ASSIGN_OR_RETURN(Record record, DecodeRecord<Record>(stored->bytes));
  return std::optional<Versioned<Record>>({std::move(record), stored->mod_revision});
}

template <typename Record>
absl::Status VisitMap(const ApiCall& call, absl::string_view after,
                      const std::function<bool(const Versioned<Record>&)>& visit) {
  const auto& map = MapOf<Record>(call.snapshot());
  for (auto it = map.upper_bound(IdAfter(after)); it != map.end(); ++it) {
    if (!visit(it->second)) break;
  }
  return absl::OkStatus();
}

template <typename Record>
absl::Status VisitStored(const ApiCall& call, absl::string_view prefix, absl::string_view after,
                         const std::function<bool(const Versioned<Record>&)>& visit) {
  std::string last(after);
  uint64_t at = 0;
  for (;;) {
    ASSIGN_OR_RETURN(RangePage page, call.store().Range(prefix, last, kStorePage, at));
    at = page.revision;
    for (const KeyValue& item : page.items) {
      ASSIGN_OR_RETURN(Record record, DecodeRecord<Record>(item.value));
      if (!visit({std::move(record), item.mod_revision})) return absl::OkStatus();
      last = item.key;
    }
    if (!page.more) return absl::OkStatus();
  }
}

template <typename Record>
absl::Status ToApiDerived(const ApiCall& call, const Versioned<Record>& record,
                          typename Kind<Record>::Proto* out) {
  Record filled = record.value;
  filled.meta.resource_version = record.mod_revision;
  Derive(call.snapshot(), call.live(), call.now(), &filled);
  ToProto(filled, out);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RecordRef> ParseRecordName(KeyKind kind, absl::string_view field,
                                          absl::string_view name) {
  if (kind == KeyKind::kBundle) {
    ASSIGN_OR_RETURN(BundleRef ref, ParseBundleName(field, name));
    return RecordRef{ref.project, ref.bundle};
  }
  if (kind == KeyKind::kEvent) {
    ASSIGN_OR_RETURN(EventRef ref, ParseEventName(field, name));
    return RecordRef{ref.project, ref.id};
  }
  ASSIGN_OR_RETURN(std::string id, ParseName(field, CollectionOf(kind), name));
  return RecordRef{"", std::move(id)};
}

std::string RecordName(KeyKind kind, const RecordRef& ref) {
  switch (kind) {
    case KeyKind::kProject:
      return ProjectName(ref.id);
    case KeyKind::kClusterSet:
      return ClusterSetName(ref.id);
    case KeyKind::kCluster:
      return ClusterName(ref.id);
    case KeyKind::kRoleBinding:
      return RoleBindingName(ref.id);
    case KeyKind::kBundle:
      return BundleName(ref.project, ref.id);
    case KeyKind::kEvent:
      return EventName(ref.project, ref.id);
    default:
      return JoinTokenName(ref.id);
  }
}

std::string RecordKey(KeyKind kind, const RecordRef& ref) {
  switch (kind) {
    case KeyKind::kProject:
      return ProjectKey(ref.id);
    case KeyKind::kClusterSet:
      return ClusterSetKey(ref.id);
    case KeyKind::kCluster:
      return ClusterKey(ref.id);
    case KeyKind::kRoleBinding:
      return RoleBindingKey(ref.id);
    case KeyKind::kBundle:
      return BundleKey(ref.project, ref.id);
    case KeyKind::kEvent:
      return EventKey(ref.project, ref.id);
    default:
      return JoinTokenKey(ref.id);
  }
}

// --- Reading one.

template <>
absl::StatusOr<std::optional<Versioned<Project>>> FindRecord(const ApiCall& call,
                                                             const RecordRef& ref) {
  return Find<Project>(call, ref);
}
template <>
absl::StatusOr<std::optional<Versioned<ClusterSet>>> FindRecord(const ApiCall& call,
                                                                const RecordRef& ref) {
  return Find<ClusterSet>(call, ref);
}
template <>
absl::StatusOr<std::optional<Versioned<RoleBinding>>> FindRecord(const ApiCall& call,
                                                                 const RecordRef& ref) {
  return Find<RoleBinding>(call, ref);
}
template <>
absl::StatusOr<std::optional<Versioned<Cluster>>> FindRecord(const ApiCall& call,
                                                             const RecordRef& ref) {
  return Copy(call.snapshot().ClusterById(ref.id));
}
template <>
absl::StatusOr<std::optional<Versioned<Bundle>>> FindRecord(const ApiCall& call,
                                                            const RecordRef& ref) {
  return Copy(call.snapshot().BundleById(ref.project, ref.id));
}
template <>
absl::StatusOr<std::optional<Versioned<JoinToken>>> FindRecord(const ApiCall& call,
                                                               const RecordRef& ref) {
  return FindStored<JoinToken>(call, ref);
}
template <>
absl::StatusOr<std::optional<Versioned<Event>>> FindRecord(const ApiCall& call,
                                                           const RecordRef& ref) {
  return FindStored<Event>(call, ref);
}

// --- Reading many.

template <>
absl::Status VisitRecords(const ApiCall& call, absl::string_view, absl::string_view after,
                          const std::function<bool(const Versioned<Project>&)>& visit) {
  return VisitMap<Project>(call, after, visit);
}
template <>
absl::Status VisitRecords(const ApiCall& call, absl::string_view, absl::string_view after,
                          const std::function<bool(const Versioned<ClusterSet>&)>& visit) {
  return VisitMap<ClusterSet>(call, after, visit);
}
template <>
absl::Status VisitRecords(const ApiCall& call, absl::string_view, absl::string_view after,
                          const std::function<bool(const Versioned<RoleBinding>&)>& visit) {
  return VisitMap<RoleBinding>(call, after, visit);
}
template <>
absl::Status VisitRecords(const ApiCall& call, absl::string_view, absl::string_view after,
                          const std::function<bool(const Versioned<Cluster>&)>& visit) {
  const auto& names = call.snapshot().names->clusters;
  for (auto it = names.upper_bound(IdAfter(after)); it != names.end(); ++it) {
    auto record = call.snapshot().clusters.Find(it->second);
    if (record != nullptr && !visit(*record)) break;
  }
  return absl::OkStatus();
}
template <>
absl::Status VisitRecords(const ApiCall& call, absl::string_view project, absl::string_view after,
                          const std::function<bool(const Versioned<Bundle>&)>& visit) {
  const auto& names = call.snapshot().names->bundles;
  bool any = project == kAnyProject;
  std::pair<std::string, std::string> first(any ? "" : std::string(project), "");
  auto key = ParseStoreKey(after);
  if (key.has_value()) first = {key->project, key->id};
  for (auto it = names.upper_bound(first); it != names.end(); ++it) {
    if (!any && it->first.first != project) break;
    auto record = call.snapshot().bundles.Find(it->second);
    if (record != nullptr && !visit(*record)) break;
  }
  return absl::OkStatus();
}
template <>
absl::Status VisitRecords(const ApiCall& call, absl::string_view, absl::string_view after,
                          const std::function<bool(const Versioned<JoinToken>&)>& visit) {
  return VisitStored<JoinToken>(call, KindPrefix(KeyKind::kJoinToken), after, visit);
}
template <>
absl::Status VisitRecords(const ApiCall& call, absl::string_view project, absl::string_view after,
                          const std::function<bool(const Versioned<Event>&)>& visit) {
  if (project == kAnyProject)
    return VisitStored<Event>(call, KindPrefix(KeyKind::kEvent), after, visit);
  return VisitStored<Event>(call, ProjectPrefix(KeyKind::kEvent, project), after, visit);
}

// --- Rights.

template <typename Record>
bool MayReadRecord(const ApiCall& call, const Record& record) {
  RightNeeded needed = NeededToRead(call.snapshot(), record);
  return call.rights().May(needed.role, needed.scope);
}
template bool MayReadRecord(const ApiCall&, const Project&);
template bool MayReadRecord(const ApiCall&, const ClusterSet&);
template bool MayReadRecord(const ApiCall&, const Cluster&);
template bool MayReadRecord(const ApiCall&, const RoleBinding&);
template bool MayReadRecord(const ApiCall&, const JoinToken&);
template bool MayReadRecord(const ApiCall&, const Bundle&);
template bool MayReadRecord(const ApiCall&, const Event&);

template <typename Record>
absl::Status CheckRead(const ApiCall& call, const Record& record) {
  RightNeeded needed = NeededToRead(call.snapshot(), record);
  return call.rights().Check(needed.role, needed.scope, "read it");
}
template absl::Status CheckRead(const ApiCall&, const Project&);
template absl::Status CheckRead(const ApiCall&, const ClusterSet&);
template absl::Status CheckRead(const ApiCall&, const Cluster&);
template absl::Status CheckRead(const ApiCall&, const RoleBinding&);
template absl::Status CheckRead(const ApiCall&, const JoinToken&);
template absl::Status CheckRead(const ApiCall&, const Bundle&);
template absl::Status CheckRead(const ApiCall&, const Event&);

// --- Answers.

template <typename Record>
absl::Status ToApi(const ApiCall& call, const Versioned<Record>& record,
                   typename Kind<Record>::Proto* out) {
  return ToApiDerived(call, record, out);
}
template absl::Status ToApi(const ApiCall&, const Versioned<Project>&, v1::Project*);
template absl::Status ToApi(const ApiCall&, const Versioned<ClusterSet>&, v1::ClusterSet*);
template absl::Status ToApi(const ApiCall&, const Versioned<Cluster>&, v1::Cluster*);
template absl::Status ToApi(const ApiCall&, const Versioned<RoleBinding>&, v1::RoleBinding*);

template <>
absl::Status ToApi(const ApiCall& call, const Versioned<Bundle>& record, v1::Bundle* out) {
  Versioned<Bundle> with_files = record;
  RETURN_IF_ERROR(FillManifests(call, &with_files.value));
  return ToApiDerived(call, with_files, out);
}
template <>
absl::Status ToApi(const ApiCall& call, const Versioned<JoinToken>& record, v1::JoinToken* out) {
  JoinToken token = record.value;
  token.meta.resource_version = record.mod_revision;
  ToProto(token, call.now(), out);
  return absl::OkStatus();
}
template <>
absl::Status ToApi(const ApiCall&, const Versioned<Event>& record, v1::Event* out) {
  Event event = record.value;
  event.meta.resource_version = record.mod_revision;
  ToProto(event, out);
  return absl::OkStatus();
}

}  // namespace nave
