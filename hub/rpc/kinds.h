// How handlers that are the same for all kinds get at a kind's records: names, keys, and where they
// are read.
#ifndef NAVE_HUB_RPC_KINDS_H_
#define NAVE_HUB_RPC_KINDS_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/model/bundle.h"
#include "common/model/cluster.h"
#include "common/model/tenancy.h"
#include "hub/fleet/snapshot.h"
#include "hub/records/keys.h"
#include "hub/rpc/api_call.h"
#include "nave/v1/bundle.pb.h"
#include "nave/v1/cluster.pb.h"
#include "nave/v1/cluster_set.pb.h"
#include "nave/v1/event.pb.h"
#include "nave/v1/join_token.pb.h"
#include "nave/v1/project.pb.h"
#include "nave/v1/role_binding.pb.h"

namespace nave {

// Name of a record, taken apart. `project` is empty for kinds that are in none.
struct RecordRef {
  std::string project;
  std::string id;
  bool operator==(const RecordRef&) const = default;
};

template <typename Record>
struct Kind;

template <>
struct Kind<Project> {
  using Proto = v1::Project;
  static constexpr KeyKind kKey = KeyKind::kProject;
  static constexpr absl::string_view kNoun = "project";
};
template <>
struct Kind<ClusterSet> {
  using Proto = v1::ClusterSet;
  static constexpr KeyKind kKey = KeyKind::kClusterSet;
  static constexpr absl::string_view kNoun = "cluster set";
};
template <>
struct Kind<Cluster> {
  using Proto = v1::Cluster;
  static constexpr KeyKind kKey = KeyKind::kCluster;
  static constexpr absl::string_view kNoun = "cluster";
};
template <>
struct Kind<RoleBinding> {
  using Proto = v1::RoleBinding;
  static constexpr KeyKind kKey = KeyKind::kRoleBinding;
  static constexpr absl::string_view kNoun = "role binding";
};
template <>
struct Kind<JoinToken> {
  using Proto = v1::JoinToken;
  static constexpr KeyKind kKey = KeyKind::kJoinToken;
  static constexpr absl::string_view kNoun = "join token";
};
template <>
struct Kind<Bundle> {
  using Proto = v1::Bundle;
  static constexpr KeyKind kKey = KeyKind::kBundle;
  static constexpr absl::string_view kNoun = "bundle";
};
template <>
struct Kind<Event> {
  using Proto = v1::Event;
  static constexpr KeyKind kKey = KeyKind::kEvent;
  static constexpr absl::string_view kNoun = "event";
};

// Refused with INVALID_FIELD, the field being `field`.
absl::StatusOr<RecordRef> ParseRecordName(KeyKind kind, absl::string_view field,
                                          absl::string_view name);
std::string RecordName(KeyKind kind, const RecordRef& ref);
std::string RecordKey(KeyKind kind, const RecordRef& ref);

inline RecordRef RefOf(const Project& record) { return {"", record.id}; }
inline RecordRef RefOf(const ClusterSet& record) { return {"", record.id}; }
inline RecordRef RefOf(const Cluster& record) { return {"", record.id}; }
inline RecordRef RefOf(const RoleBinding& record) { return {"", record.id}; }
inline RecordRef RefOf(const JoinToken& record) { return {"", record.id}; }
inline RecordRef RefOf(const Bundle& record) { return {record.project, record.id}; }
inline RecordRef RefOf(const Event& record) { return {record.project, record.id}; }

// The record of that name, by the call's snapshot; join tokens and events from the store. nullopt:
// there is none.
template <typename Record>
absl::StatusOr<std::optional<Versioned<Record>>> FindRecord(const ApiCall& call,
                                                            const RecordRef& ref);

// Visits records after `after` (a store key; empty: all) in the order of their keys until `visit`
// returns false. `project`: only of that one, kAnyProject: of all; ignored for kinds in no project
// (for events: empty means those of none).
template <typename Record>
absl::Status VisitRecords(const ApiCall& call, absl::string_view project, absl::string_view after,
                          const std::function<bool(const Versioned<Record>&)>& visit);

// Whether the caller may see the record.
template <typename Record>
bool MayReadRecord(const ApiCall& call, const Record& record);

// PERMISSION_DENIED for one who may not.
template <typename Record>
absl::Status CheckRead(const ApiCall& call, const Record& record);

// The record as the API gives it, with what is derived.
template <typename Record>
absl::Status ToApi(const ApiCall& call, const Versioned<Record>& record,
                   typename Kind<Record>::Proto* out);

}  // namespace nave

#endif  // NAVE_HUB_RPC_KINDS_H_
