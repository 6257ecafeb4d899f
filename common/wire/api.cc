#include "common/wire/api.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/model/names.h"
#include "common/model/violations.h"
#include "common/wire/scalars.h"
#include "nave/v1/cluster.pb.h"
#include "nave/v1/cluster_set.pb.h"
#include "nave/v1/event.pb.h"
#include "nave/v1/join_token.pb.h"
#include "nave/v1/project.pb.h"
#include "nave/v1/role_binding.pb.h"

namespace nave {
namespace {

template <typename Message>
void SetTime(absl::Time time, Message* message,
             google::protobuf::Timestamp* (Message::*mutable_field)(),
             void (Message::*clear_field)()) {
  if (!TimeToProto(time, (message->*mutable_field)())) (message->*clear_field)();
}

template <typename Map>
void WriteMap(const StringMap& from, Map* to) {
  for (const auto& [key, value] : from) (*to)[MakeUtf8(key)] = MakeUtf8(value);
}

template <typename Map>
StringMap ReadMap(const Map& from) {
  return StringMap(from.begin(), from.end());
}

// An enum number that this version does not know.
absl::Status UnknownEnum(absl::string_view field, int number) {
  return FieldError(field, absl::StrCat("must be a value that this hub knows, got number ", number),
                    Reason::kNotSupportedYet);
}

void ReadMeta(const v1::ObjectMeta& proto, ObjectMeta* out) {
  out->labels = ReadMap(proto.labels());
  out->annotations = ReadMap(proto.annotations());
}

// The id in a resource name; an empty name is left for the caller (Create gives the id apart).
absl::Status ReadName(absl::string_view collection, absl::string_view name, std::string* id) {
  if (name.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(*id, ParseName("name", collection, name));
  return absl::OkStatus();
}

v1::ClusterPhase PhaseToProto(ClusterPhase phase) {
  switch (phase) {
    case ClusterPhase::kRemoving:
      return v1::CLUSTER_PHASE_REMOVING;
    case ClusterPhase::kRevoked:
      return v1::CLUSTER_PHASE_REVOKED;
    case ClusterPhase::kRejected:
      return v1::CLUSTER_PHASE_REJECTED;
    case ClusterPhase::kPending:
      return v1::CLUSTER_PHASE_PENDING;
    case ClusterPhase::kDisconnected:
      return v1::CLUSTER_PHASE_DISCONNECTED;
    case ClusterPhase::kOnHold:
      return v1::CLUSTER_PHASE_ON_HOLD;
    case ClusterPhase::kSyncing:
      return v1::CLUSTER_PHASE_SYNCING;
    case ClusterPhase::kDegraded:
      return v1::CLUSTER_PHASE_DEGRADED;
    case ClusterPhase::kReady:
      return v1::CLUSTER_PHASE_READY;
  }
  return v1::CLUSTER_PHASE_UNSPECIFIED;
}

v1::ClusterAdmission AdmissionToProto(Admission admission) {
  switch (admission) {
    case Admission::kPending:
      return v1::CLUSTER_ADMISSION_PENDING;
    case Admission::kAccepted:
      return v1::CLUSTER_ADMISSION_ACCEPTED;
    case Admission::kRejected:
      return v1::CLUSTER_ADMISSION_REJECTED;
  }
  return v1::CLUSTER_ADMISSION_UNSPECIFIED;
}

v1::TaintEffect EffectToProto(TaintEffect effect) {
  switch (effect) {
    case TaintEffect::kNoSchedule:
      return v1::TAINT_EFFECT_NO_SCHEDULE;
    case TaintEffect::kPreferNoSchedule:
      return v1::TAINT_EFFECT_PREFER_NO_SCHEDULE;
    case TaintEffect::kNoExecute:
      return v1::TAINT_EFFECT_NO_EXECUTE;
  }
  return v1::TAINT_EFFECT_UNSPECIFIED;
}

absl::Status ReadTaint(absl::string_view path, const v1::Taint& proto, Taint* out) {
  out->key = proto.key();
  out->value = proto.value();
  switch (proto.effect()) {
    case v1::TAINT_EFFECT_NO_SCHEDULE:
      out->effect = TaintEffect::kNoSchedule;
      return absl::OkStatus();
    case v1::TAINT_EFFECT_PREFER_NO_SCHEDULE:
      out->effect = TaintEffect::kPreferNoSchedule;
      return absl::OkStatus();
    case v1::TAINT_EFFECT_NO_EXECUTE:
      out->effect = TaintEffect::kNoExecute;
      return absl::OkStatus();
    case v1::TAINT_EFFECT_UNSPECIFIED:
      return FieldError(absl::StrCat(path, ".effect"),
                        "must be one of NoSchedule, PreferNoSchedule and NoExecute");
    default:
      return UnknownEnum(absl::StrCat(path, ".effect"), proto.effect());
  }
}

void WriteFacts(const Facts& facts, v1::ClusterFacts* out) {
  out->set_kubernetes_version(MakeUtf8(facts.kubernetes_version));
  out->set_nodes(facts.nodes);
  out->set_nodes_ready(facts.nodes_ready);
  for (const auto& [version, count] : facts.node_versions)
    (*out->mutable_node_versions())[MakeUtf8(version)] = count;
  out->set_cpu_millis(facts.cpu_millis);
  out->set_memory_bytes(facts.memory_bytes);
  for (const Condition& condition : facts.conditions) ToProto(condition, out->add_conditions());
}

void WriteClusterStatus(const ClusterStatus& status, v1::ClusterStatus* out) {
  out->set_phase(PhaseToProto(status.phase));
  out->set_reason(MakeUtf8(status.reason));
  out->set_message(MakeUtf8(status.message));
  SetTime(status.phase_since, out, &v1::ClusterStatus::mutable_phase_since,
          &v1::ClusterStatus::clear_phase_since);
  out->set_health(static_cast<v1::Health>(ToProtoNumber(status.health)));
  for (const Condition& condition : status.conditions) ToProto(condition, out->add_conditions());
  out->set_connected(status.connected);
  SetTime(status.last_seen, out, &v1::ClusterStatus::mutable_last_seen,
          &v1::ClusterStatus::clear_last_seen);
  SetTime(status.connected_since, out, &v1::ClusterStatus::mutable_connected_since,
          &v1::ClusterStatus::clear_connected_since);
  out->set_agent_version(MakeUtf8(status.agent_version));
  out->set_agent_address(MakeUtf8(status.agent_address));
  out->set_epoch(status.epoch);
  WriteFacts(status.facts, out->mutable_facts());
  out->set_bundles(status.bundles);
  out->set_bundles_ready(status.bundles_ready);
  out->set_admission(AdmissionToProto(status.admission));
  out->set_revoked(status.revoked);
  out->set_removing(status.removing);
  out->set_locked(status.locked);
  out->set_certificate_generation(status.certificate_generation);
  SetTime(status.certificate_not_after, out, &v1::ClusterStatus::mutable_certificate_not_after,
          &v1::ClusterStatus::clear_certificate_not_after);
  out->set_kube_system_uid(MakeUtf8(status.kube_system_uid));
}

v1::Role RoleToProto(Role role) {
  switch (role) {
    case Role::kViewer:
      return v1::ROLE_VIEWER;
    case Role::kEditor:
      return v1::ROLE_EDITOR;
    case Role::kAdmin:
      return v1::ROLE_ADMIN;
  }
  return v1::ROLE_UNSPECIFIED;
}

}  // namespace

std::string ComputeEtag(const ObjectMeta& meta, absl::string_view decided) {
  Sha256Builder builder;
  builder.Add(meta.uid.View());
  builder.Add(absl::StrCat(meta.generation, ";", meta.deleting() ? 1 : 0, ";", decided, ";",
                           meta.labels.size(), ";"));
  for (const StringMap* map : {&meta.labels, &meta.annotations}) {
    for (const auto& [key, value] : *map)
      builder.Add(absl::StrCat(key.size(), ":", key, value.size(), ":", value));
  }
  Digest digest = builder.Finish();
  return absl::StrCat("\"", digest.Hex().substr(0, 16), "\"");
}

std::string EtagOf(const Project& project) { return ComputeEtag(project.meta); }
std::string EtagOf(const ClusterSet& cluster_set) { return ComputeEtag(cluster_set.meta); }
std::string EtagOf(const RoleBinding& binding) { return ComputeEtag(binding.meta); }
std::string EtagOf(const JoinToken& token) {
  return ComputeEtag(token.meta, absl::StrCat(token.voided, token.spent_by_key.IsNone()));
}
std::string EtagOf(const Bundle& bundle) { return ComputeEtag(bundle.meta); }
std::string EtagOf(const Cluster& cluster) {
  const ClusterStatus& status = cluster.status;
  return ComputeEtag(cluster.meta,
                     absl::StrCat(static_cast<int>(status.admission), status.revoked,
                                  status.removing, status.remove_confirmed, status.locked));
}

void ToProto(const ObjectMeta& meta, v1::ObjectMeta* out) {
  if (!meta.uid.IsNone()) out->set_uid(meta.uid.ToString());
  WriteMap(meta.labels, out->mutable_labels());
  WriteMap(meta.annotations, out->mutable_annotations());
  out->set_generation(meta.generation);
  if (meta.resource_version != 0) out->set_resource_version(absl::StrCat(meta.resource_version));
  SetTime(meta.create_time, out, &v1::ObjectMeta::mutable_create_time,
          &v1::ObjectMeta::clear_create_time);
  SetTime(meta.update_time, out, &v1::ObjectMeta::mutable_update_time,
          &v1::ObjectMeta::clear_update_time);
  SetTime(meta.delete_time, out, &v1::ObjectMeta::mutable_delete_time,
          &v1::ObjectMeta::clear_delete_time);
}

void ToProto(const Condition& condition, v1::Condition* out) {
  out->set_type(MakeUtf8(condition.type));
  out->set_status(condition.status == ConditionStatus::kTrue    ? v1::CONDITION_STATUS_TRUE
                  : condition.status == ConditionStatus::kFalse ? v1::CONDITION_STATUS_FALSE
                                                                : v1::CONDITION_STATUS_UNKNOWN);
  out->set_reason(MakeUtf8(condition.reason));
  out->set_message(MakeUtf8(condition.message));
  SetTime(condition.since, out, &v1::Condition::mutable_last_transition_time,
          &v1::Condition::clear_last_transition_time);
  out->set_observed_generation(condition.observed_generation);
}

int ToProtoNumber(Health health) {
  switch (health) {
    case Health::kHealthy:
      return v1::HEALTH_HEALTHY;
    case Health::kSuspended:
      return v1::HEALTH_SUSPENDED;
    case Health::kProgressing:
      return v1::HEALTH_PROGRESSING;
    case Health::kTerminating:
      return v1::HEALTH_TERMINATING;
    case Health::kUnknown:
      return v1::HEALTH_UNKNOWN;
    case Health::kMissing:
      return v1::HEALTH_MISSING;
    case Health::kDegraded:
      return v1::HEALTH_DEGRADED;
  }
  return v1::HEALTH_UNSPECIFIED;
}

void ToProto(const Project& project, v1::Project* out) {
  out->set_name(ProjectName(project.id));
  ToProto(project.meta, out->mutable_metadata());
  for (const std::string& set : project.cluster_sets) out->mutable_spec()->add_cluster_sets(set);
  out->mutable_status()->set_bundles(project.bundles);
  out->set_etag(EtagOf(project));
}

absl::Status FromProto(const v1::Project& proto, Project* out) {
  RETURN_IF_ERROR(ReadName("projects", proto.name(), &out->id));
  ReadMeta(proto.metadata(), &out->meta);
  out->cluster_sets.assign(proto.spec().cluster_sets().begin(), proto.spec().cluster_sets().end());
  return absl::OkStatus();
}

void ToProto(const ClusterSet& cluster_set, v1::ClusterSet* out) {
  out->set_name(ClusterSetName(cluster_set.id));
  ToProto(cluster_set.meta, out->mutable_metadata());
  out->mutable_spec()->set_description(cluster_set.description);
  out->mutable_status()->set_clusters(cluster_set.clusters);
  out->set_etag(EtagOf(cluster_set));
}

absl::Status FromProto(const v1::ClusterSet& proto, ClusterSet* out) {
  RETURN_IF_ERROR(ReadName("clusterSets", proto.name(), &out->id));
  ReadMeta(proto.metadata(), &out->meta);
  out->description = proto.spec().description();
  return absl::OkStatus();
}

void ToProto(const Cluster& cluster, v1::Cluster* out) {
  out->set_name(ClusterName(cluster.id));
  ToProto(cluster.meta, out->mutable_metadata());
  v1::ClusterSpec* spec = out->mutable_spec();
  spec->set_cluster_set(cluster.spec.cluster_set);
  for (const Taint& taint : cluster.spec.taints) {
    v1::Taint* added = spec->add_taints();
    added->set_key(taint.key);
    added->set_value(taint.value);
    added->set_effect(EffectToProto(taint.effect));
    SetTime(taint.since, added, &v1::Taint::mutable_since, &v1::Taint::clear_since);
  }
  spec->set_cordoned(cluster.spec.cordoned);
  WriteClusterStatus(cluster.status, out->mutable_status());
  out->set_etag(EtagOf(cluster));
}

absl::Status FromProto(const v1::Cluster& proto, Cluster* out) {
  RETURN_IF_ERROR(ReadName("clusters", proto.name(), &out->id));
  ReadMeta(proto.metadata(), &out->meta);
  out->spec = ClusterSpec{};
  if (!proto.spec().cluster_set().empty()) out->spec.cluster_set = proto.spec().cluster_set();
  for (int i = 0; i < proto.spec().taints_size(); ++i) {
    RETURN_IF_ERROR(ReadTaint(absl::StrCat("spec.taints[", i, "]"), proto.spec().taints(i),
                              &out->spec.taints.emplace_back()));
  }
  out->spec.cordoned = proto.spec().cordoned();
  return absl::OkStatus();
}

void ToProto(const RoleBinding& binding, v1::RoleBinding* out) {
  out->set_name(RoleBindingName(binding.id));
  ToProto(binding.meta, out->mutable_metadata());
  v1::RoleBindingSpec* spec = out->mutable_spec();
  for (const std::string& subject : binding.subjects) spec->add_subjects(subject);
  spec->set_role(RoleToProto(binding.role));
  spec->set_project(binding.project);
  spec->set_cluster_set(binding.cluster_set);
  out->set_etag(EtagOf(binding));
}

absl::Status FromProto(const v1::RoleBinding& proto, RoleBinding* out) {
  RETURN_IF_ERROR(ReadName("roleBindings", proto.name(), &out->id));
  ReadMeta(proto.metadata(), &out->meta);
  const v1::RoleBindingSpec& spec = proto.spec();
  out->subjects.assign(spec.subjects().begin(), spec.subjects().end());
  out->project = spec.project();
  out->cluster_set = spec.cluster_set();
  switch (spec.role()) {
    case v1::ROLE_VIEWER:
      out->role = Role::kViewer;
      return absl::OkStatus();
    case v1::ROLE_EDITOR:
      out->role = Role::kEditor;
      return absl::OkStatus();
    case v1::ROLE_ADMIN:
      out->role = Role::kAdmin;
      return absl::OkStatus();
    case v1::ROLE_UNSPECIFIED:
      return FieldError("spec.role", "must be one of viewer, editor and admin");
    default:
      return UnknownEnum("spec.role", spec.role());
  }
}

void ToProto(const JoinToken& token, absl::Time now, v1::JoinToken* out) {
  out->set_name(JoinTokenName(token.id));
  ToProto(token.meta, out->mutable_metadata());
  v1::JoinTokenSpec* spec = out->mutable_spec();
  spec->set_cluster(token.cluster);
  DurationToProto(token.ttl, spec->mutable_ttl());
  spec->set_rejoin(token.rejoin);
  spec->set_auto_accept(token.auto_accept);
  WriteMap(token.labels, spec->mutable_labels());
  spec->set_cluster_set(token.cluster_set);
  v1::JoinTokenStatus* status = out->mutable_status();
  SetTime(token.expire_time, status, &v1::JoinTokenStatus::mutable_expire_time,
          &v1::JoinTokenStatus::clear_expire_time);
  status->set_state(token.voided                   ? v1::JOIN_TOKEN_STATE_VOIDED
                    : !token.spent_by_key.IsNone() ? v1::JOIN_TOKEN_STATE_SPENT
                    : now >= token.expire_time     ? v1::JOIN_TOKEN_STATE_EXPIRED
                                                   : v1::JOIN_TOKEN_STATE_UNUSED);
  if (!token.spent_for_cluster.IsNone())
    status->set_cluster_uid(token.spent_for_cluster.ToString());
  out->set_etag(EtagOf(token));
}

absl::Status FromProto(const v1::JoinToken& proto, JoinToken* out) {
  RETURN_IF_ERROR(ReadName("joinTokens", proto.name(), &out->id));
  ReadMeta(proto.metadata(), &out->meta);
  const v1::JoinTokenSpec& spec = proto.spec();
  const JoinToken defaults;
  out->cluster = spec.cluster();
  out->ttl = defaults.ttl;
  if (spec.has_ttl()) {
    auto ttl = DurationFromProto(spec.ttl());
    if (!ttl.has_value()) return FieldError("spec.ttl", "must be a duration");
    out->ttl = *ttl;
  }
  out->rejoin = spec.rejoin();
  out->auto_accept = spec.auto_accept();
  out->labels = ReadMap(spec.labels());
  out->cluster_set = spec.cluster_set().empty() ? defaults.cluster_set : spec.cluster_set();
  return absl::OkStatus();
}

void ToProto(const Event& event, v1::Event* out) {
  out->set_name(EventName(event.project, event.id));
  ToProto(event.meta, out->mutable_metadata());
  v1::EventSpec* spec = out->mutable_spec();
  spec->set_about(event.about);
  spec->set_cluster(event.cluster);
  spec->set_type(event.warning ? v1::EVENT_TYPE_WARNING : v1::EVENT_TYPE_NORMAL);
  spec->set_reason(event.reason);
  spec->set_message(MakeUtf8(event.message));
  out->mutable_status()->set_count(event.count);
  SetTime(event.last_time, out->mutable_status(), &v1::EventStatus::mutable_last_time,
          &v1::EventStatus::clear_last_time);
  out->set_etag(ComputeEtag(event.meta));
}

}  // namespace nave
