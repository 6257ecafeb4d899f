#include "hub/records/codec.h"
#include "hub/records/codec_parts.h"

namespace nave {
namespace codec {
namespace {

constexpr EnumPair<TaintEffect, pb::TaintEffect> kTaintEffects[] = {
    {TaintEffect::kNoSchedule, pb::TAINT_EFFECT_NO_SCHEDULE},
    {TaintEffect::kPreferNoSchedule, pb::TAINT_EFFECT_PREFER_NO_SCHEDULE},
    {TaintEffect::kNoExecute, pb::TAINT_EFFECT_NO_EXECUTE},
};

constexpr EnumPair<Admission, pb::Admission> kAdmissions[] = {
    {Admission::kPending, pb::ADMISSION_PENDING},
    {Admission::kAccepted, pb::ADMISSION_ACCEPTED},
    {Admission::kRejected, pb::ADMISSION_REJECTED},
};

constexpr EnumPair<Role, pb::Role> kRoles[] = {
    {Role::kViewer, pb::ROLE_VIEWER},
    {Role::kEditor, pb::ROLE_EDITOR},
    {Role::kAdmin, pb::ROLE_ADMIN},
};

constexpr EnumPair<Adoption, pb::Adoption> kAdoptions[] = {
    {Adoption::kIfNoDiff, pb::ADOPTION_IF_NO_DIFF},
    {Adoption::kAlways, pb::ADOPTION_ALWAYS},
    {Adoption::kNever, pb::ADOPTION_NEVER},
};

void ToMessage(const Taint& taint, pb::Taint* message) {
  message->set_key(taint.key);
  message->set_value(taint.value);
  message->set_effect(ToStored(kTaintEffects, taint.effect));
  NAVE_SET_TIME(message, since, taint.since);
}

Taint FromMessage(const pb::Taint& message, Reader* reader) {
  Taint taint;
  taint.key = message.key();
  taint.value = message.value();
  taint.effect = FromStored(kTaintEffects, message.effect(), "taint effect", reader);
  taint.since = NAVE_GET_TIME(message, since);
  return taint;
}

void ToMessage(const Manifest& manifest, pb::Manifest* message) {
  message->set_path(manifest.path);
  message->set_digest(ToBytes(manifest.digest));
  message->set_size(manifest.size);
}

Manifest FromMessage(const pb::Manifest& message, Reader* reader) {
  Manifest manifest;
  manifest.path = message.path();
  manifest.digest = reader->ReadDigest(message.digest(), "manifest");
  manifest.size = message.size();
  return manifest;
}

void ToMessage(const PlacementSpec& placement, pb::Placement* message) {
  ToStrings(placement.cluster_sets, message->mutable_cluster_sets());
  ToStrings(placement.names, message->mutable_names());
  if (placement.selector.has_value()) message->set_selector(*placement.selector);
  ToStrings(placement.exclude, message->mutable_exclude());
}

PlacementSpec FromMessage(const pb::Placement& message) {
  PlacementSpec placement;
  placement.cluster_sets = FromStrings(message.cluster_sets());
  placement.names = FromStrings(message.names());
  if (message.has_selector()) placement.selector = message.selector();
  placement.exclude = FromStrings(message.exclude());
  return placement;
}

std::string ListDigest(const std::vector<Manifest>& manifests, const Digest& manifest_list) {
  return ToBytes(manifests.empty() ? manifest_list : Sha256(EncodeManifestList(manifests)));
}

void FromMessage(const pb::BundleRecord& message, BundleStatus* status, Reader* reader) {
  status->observed_generation = message.observed_generation();
  status->revision = message.revision();
  for (const auto& part : message.conditions())
    status->conditions.push_back(FromMessage(part, reader));
  status->held_hash = reader->ReadDigest(message.held_hash(), "held_hash");
  status->held_clusters = FromStrings(message.held_clusters());
  status->confirmed_hash = reader->ReadDigest(message.confirmed_hash(), "confirmed_hash");
  status->orphan = message.orphan();
  status->delete_confirmed = message.delete_confirmed();
}

void FromMessage(const pb::ClusterRecord& message, ClusterStatus* status, Reader* reader) {
  status->admission = FromStored(kAdmissions, message.admission(), "admission", reader);
  status->revoked = message.revoked();
  status->removing = message.removing();
  status->remove_confirmed = message.remove_confirmed();
  status->certificate_generation = message.certificate_generation();
  status->certificate_generation_seen = message.certificate_generation_seen();
  status->certificate_not_after = NAVE_GET_TIME(message, certificate_not_after);
  status->kube_system_uid = message.kube_system_uid();
  status->locked = message.locked();
  for (const auto& part : message.conditions())
    status->conditions.push_back(FromMessage(part, reader));
}

}  // namespace
}  // namespace codec

using namespace codec;  // NOLINT: the parts of this one codec.

std::string EncodeRecord(const Project& record) {
  pb::ProjectRecord message;
  message.set_id(record.id);
  ToMessage(record.meta, message.mutable_meta());
  ToStrings(record.cluster_sets, message.mutable_cluster_sets());
  return Wrap(message);
}

absl::Status DecodeRecord(absl::string_view value, Project* record) {
  pb::ProjectRecord message;
  RETURN_IF_ERROR(Unwrap(value, &message));
  Reader reader;
  *record = {};
  record->id = message.id();
  record->meta = FromMessage(message.meta(), &reader);
  record->cluster_sets = FromStrings(message.cluster_sets());
  return reader.status();
}

std::string EncodeRecord(const Cluster& record) {
  pb::ClusterRecord message;
  message.set_id(record.id);
  ToMessage(record.meta, message.mutable_meta());
  message.set_cluster_set(record.spec.cluster_set);
  for (const auto& part : record.spec.taints) ToMessage(part, message.add_taints());
  message.set_cordoned(record.spec.cordoned);
  message.set_admission(ToStored(kAdmissions, record.status.admission));
  message.set_revoked(record.status.revoked);
  message.set_removing(record.status.removing);
  message.set_remove_confirmed(record.status.remove_confirmed);
  message.set_certificate_generation(record.status.certificate_generation);
  message.set_certificate_generation_seen(record.status.certificate_generation_seen);
  NAVE_SET_TIME(&message, certificate_not_after, record.status.certificate_not_after);
  message.set_kube_system_uid(record.status.kube_system_uid);
  message.set_locked(record.status.locked);
  for (const auto& part : record.status.conditions) ToMessage(part, message.add_conditions());
  return Wrap(message);
}

absl::Status DecodeRecord(absl::string_view value, Cluster* record) {
  pb::ClusterRecord message;
  RETURN_IF_ERROR(Unwrap(value, &message));
  Reader reader;
  *record = {};
  record->id = message.id();
  record->meta = FromMessage(message.meta(), &reader);
  record->spec.cluster_set = message.cluster_set();
  for (const auto& part : message.taints())
    record->spec.taints.push_back(FromMessage(part, &reader));
  record->spec.cordoned = message.cordoned();
  FromMessage(message, &record->status, &reader);
  return reader.status();
}

std::string EncodeRecord(const ClusterSet& record) {
  pb::ClusterSetRecord message;
  message.set_id(record.id);
  ToMessage(record.meta, message.mutable_meta());
  message.set_description(record.description);
  return Wrap(message);
}

absl::Status DecodeRecord(absl::string_view value, ClusterSet* record) {
  pb::ClusterSetRecord message;
  RETURN_IF_ERROR(Unwrap(value, &message));
  Reader reader;
  *record = {};
  record->id = message.id();
  record->meta = FromMessage(message.meta(), &reader);
  record->description = message.description();
  return reader.status();
}

std::string EncodeRecord(const RoleBinding& record) {
  pb::RoleBindingRecord message;
  message.set_id(record.id);
  ToMessage(record.meta, message.mutable_meta());
  ToStrings(record.subjects, message.mutable_subjects());
  message.set_role(ToStored(kRoles, record.role));
  message.set_project(record.project);
  message.set_cluster_set(record.cluster_set);
  return Wrap(message);
}

absl::Status DecodeRecord(absl::string_view value, RoleBinding* record) {
  pb::RoleBindingRecord message;
  RETURN_IF_ERROR(Unwrap(value, &message));
  Reader reader;
  *record = {};
  record->id = message.id();
  record->meta = FromMessage(message.meta(), &reader);
  record->subjects = FromStrings(message.subjects());
  record->role = FromStored(kRoles, message.role(), "role", &reader);
  record->project = message.project();
  record->cluster_set = message.cluster_set();
  return reader.status();
}

std::string EncodeRecord(const JoinToken& record) {
  pb::JoinTokenRecord message;
  message.set_id(record.id);
  ToMessage(record.meta, message.mutable_meta());
  message.set_cluster(record.cluster);
  message.set_ttl_ns(absl::ToInt64Nanoseconds(record.ttl));
  message.set_rejoin(record.rejoin);
  message.set_auto_accept(record.auto_accept);
  message.mutable_labels()->insert(record.labels.begin(), record.labels.end());
  message.set_cluster_set(record.cluster_set);
  message.set_secret_hash(ToBytes(record.secret_hash));
  NAVE_SET_TIME(&message, expire_time, record.expire_time);
  message.set_spent_by_key(ToBytes(record.spent_by_key));
  message.set_spent_for_cluster(ToBytes(record.spent_for_cluster));
  message.set_spent_generation(record.spent_generation);
  message.set_voided(record.voided);
  return Wrap(message);
}

absl::Status DecodeRecord(absl::string_view value, JoinToken* record) {
  pb::JoinTokenRecord message;
  RETURN_IF_ERROR(Unwrap(value, &message));
  Reader reader;
  *record = {};
  record->id = message.id();
  record->meta = FromMessage(message.meta(), &reader);
  record->cluster = message.cluster();
  record->ttl = absl::Nanoseconds(message.ttl_ns());
  record->rejoin = message.rejoin();
  record->auto_accept = message.auto_accept();
  record->labels.insert(message.labels().begin(), message.labels().end());
  record->cluster_set = message.cluster_set();
  record->secret_hash = reader.ReadDigest(message.secret_hash(), "secret_hash");
  record->expire_time = NAVE_GET_TIME(message, expire_time);
  record->spent_by_key = reader.ReadDigest(message.spent_by_key(), "spent_by_key");
  record->spent_for_cluster = reader.ReadUuid(message.spent_for_cluster(), "spent_for_cluster");
  record->spent_generation = message.spent_generation();
  record->voided = message.voided();
  return reader.status();
}

std::string EncodeRecord(const Bundle& record) {
  pb::BundleRecord message;
  message.set_project(record.project);
  message.set_id(record.id);
  ToMessage(record.meta, message.mutable_meta());
  message.set_manifest_list(ListDigest(record.spec.manifests, record.spec.manifest_list));
  message.set_default_namespace(record.spec.default_namespace);
  message.set_create_namespace(record.spec.create_namespace);
  if (record.spec.placement.has_value()) {
    ToMessage(*record.spec.placement, message.mutable_placement());
  }
  message.set_adoption(ToStored(kAdoptions, record.spec.adoption));
  message.set_allow_empty(record.spec.allow_empty);
  message.set_observed_generation(record.status.observed_generation);
  message.set_revision(record.status.revision);
  for (const auto& part : record.status.conditions) ToMessage(part, message.add_conditions());
  message.set_held_hash(ToBytes(record.status.held_hash));
  ToStrings(record.status.held_clusters, message.mutable_held_clusters());
  message.set_confirmed_hash(ToBytes(record.status.confirmed_hash));
  message.set_orphan(record.status.orphan);
  message.set_delete_confirmed(record.status.delete_confirmed);
  return Wrap(message);
}

absl::Status DecodeRecord(absl::string_view value, Bundle* record) {
  pb::BundleRecord message;
  RETURN_IF_ERROR(Unwrap(value, &message));
  Reader reader;
  *record = {};
  record->project = message.project();
  record->id = message.id();
  record->meta = FromMessage(message.meta(), &reader);
  record->spec.manifest_list = reader.ReadDigest(message.manifest_list(), "manifest_list");
  record->spec.default_namespace = message.default_namespace();
  record->spec.create_namespace = message.create_namespace();
  if (message.has_placement()) record->spec.placement = FromMessage(message.placement());
  record->spec.adoption = FromStored(kAdoptions, message.adoption(), "adoption", &reader);
  record->spec.allow_empty = message.allow_empty();
  FromMessage(message, &record->status, &reader);
  return reader.status();
}

std::string EncodeRecord(const BundleRevision& record) {
  pb::BundleRevisionRecord message;
  message.set_project(record.project);
  message.set_bundle(record.bundle);
  message.set_bundle_uid(ToBytes(record.bundle_uid));
  message.set_number(record.number);
  ToMessage(record.meta, message.mutable_meta());
  message.set_listing(ToBytes(record.listing));
  message.set_manifest_list(ListDigest(record.manifests, record.manifest_list));
  message.set_default_namespace(record.default_namespace);
  message.set_create_namespace(record.create_namespace);
  message.set_adoption(ToStored(kAdoptions, record.adoption));
  message.set_objects(record.objects);
  message.set_bytes(record.bytes);
  return Wrap(message);
}

absl::Status DecodeRecord(absl::string_view value, BundleRevision* record) {
  pb::BundleRevisionRecord message;
  RETURN_IF_ERROR(Unwrap(value, &message));
  Reader reader;
  *record = {};
  record->project = message.project();
  record->bundle = message.bundle();
  record->bundle_uid = reader.ReadUuid(message.bundle_uid(), "bundle_uid");
  record->number = message.number();
  record->meta = FromMessage(message.meta(), &reader);
  record->listing = reader.ReadDigest(message.listing(), "listing");
  record->manifest_list = reader.ReadDigest(message.manifest_list(), "manifest_list");
  record->default_namespace = message.default_namespace();
  record->create_namespace = message.create_namespace();
  record->adoption = FromStored(kAdoptions, message.adoption(), "adoption", &reader);
  record->objects = message.objects();
  record->bytes = message.bytes();
  return reader.status();
}

std::string EncodeRecord(const Event& record) {
  pb::EventRecord message;
  message.set_id(record.id);
  ToMessage(record.meta, message.mutable_meta());
  message.set_project(record.project);
  message.set_about(record.about);
  message.set_cluster(record.cluster);
  message.set_warning(record.warning);
  message.set_reason(record.reason);
  message.set_message(record.message);
  message.set_count(record.count);
  NAVE_SET_TIME(&message, last_time, record.last_time);
  return Wrap(message);
}

absl::Status DecodeRecord(absl::string_view value, Event* record) {
  pb::EventRecord message;
  RETURN_IF_ERROR(Unwrap(value, &message));
  Reader reader;
  *record = {};
  record->id = message.id();
  record->meta = FromMessage(message.meta(), &reader);
  record->project = message.project();
  record->about = message.about();
  record->cluster = message.cluster();
  record->warning = message.warning();
  record->reason = message.reason();
  record->message = message.message();
  record->count = message.count();
  record->last_time = NAVE_GET_TIME(message, last_time);
  return reader.status();
}

std::string EncodeManifestList(const std::vector<Manifest>& manifests) {
  pb::ManifestList message;
  for (const auto& part : manifests) ToMessage(part, message.add_manifests());
  return Serialize(message);
}

absl::StatusOr<std::vector<Manifest>> DecodeManifestList(absl::string_view content) {
  pb::ManifestList message;
  Reader reader;
  std::vector<Manifest> manifests;
  bool parsed = message.ParseFromArray(content.data(), static_cast<int>(content.size()));
  if (parsed)
    for (const auto& part : message.manifests()) manifests.push_back(FromMessage(part, &reader));
  if (!parsed || !reader.status().ok()) {
    return MakeError(Reason::kContentInvalid, "list of manifests: cannot be read");
  }
  return manifests;
}

}  // namespace nave
