#include "hub/records/codec.h"
#include "hub/records/codec_parts.h"

namespace nave {
namespace codec {
namespace {

constexpr EnumPair<Propagation, pb::Propagation> kPropagations[] = {
    {Propagation::kDelete, pb::PROPAGATION_DELETE},
    {Propagation::kOrphan, pb::PROPAGATION_ORPHAN},
};

constexpr EnumPair<Health, pb::Health> kHealths[] = {
    {Health::kHealthy, pb::HEALTH_HEALTHY},         {Health::kSuspended, pb::HEALTH_SUSPENDED},
    {Health::kProgressing, pb::HEALTH_PROGRESSING}, {Health::kTerminating, pb::HEALTH_TERMINATING},
    {Health::kUnknown, pb::HEALTH_UNKNOWN},         {Health::kMissing, pb::HEALTH_MISSING},
    {Health::kDegraded, pb::HEALTH_DEGRADED},
};

constexpr EnumPair<Phase, pb::AssignmentPhase> kPhases[] = {
    {Phase::kPending, pb::ASSIGNMENT_PHASE_PENDING},
    {Phase::kApplying, pb::ASSIGNMENT_PHASE_APPLYING},
    {Phase::kApplied, pb::ASSIGNMENT_PHASE_APPLIED},
    {Phase::kFailed, pb::ASSIGNMENT_PHASE_FAILED},
    {Phase::kPruneWaiting, pb::ASSIGNMENT_PHASE_PRUNE_WAITING},
    {Phase::kRemovalHeld, pb::ASSIGNMENT_PHASE_REMOVAL_HELD},
    {Phase::kRemoving, pb::ASSIGNMENT_PHASE_REMOVING},
    {Phase::kRemoved, pb::ASSIGNMENT_PHASE_REMOVED},
    {Phase::kNotDesired, pb::ASSIGNMENT_PHASE_NOT_DESIRED},
    {Phase::kRejected, pb::ASSIGNMENT_PHASE_REJECTED},
};

void ToMessage(const DecisionEntry& entry, pb::DecisionEntry* message) {
  message->set_cluster(ToBytes(entry.cluster));
  message->set_cluster_id(entry.cluster_id);
  message->set_revision(entry.revision);
  message->set_confirmed_digest(ToBytes(entry.confirmed_digest));
  message->set_confirmed_revision(entry.confirmed_revision);
  message->set_reason(entry.reason);
}

DecisionEntry FromMessage(const pb::DecisionEntry& message, Reader* reader) {
  DecisionEntry entry;
  entry.cluster = reader->ReadUuid(message.cluster(), "cluster");
  entry.cluster_id = message.cluster_id();
  entry.revision = message.revision();
  entry.confirmed_digest = reader->ReadDigest(message.confirmed_digest(), "confirmed_digest");
  entry.confirmed_revision = message.confirmed_revision();
  entry.reason = message.reason();
  return entry;
}

void ToMessage(const StatusSummary::Assignment& assignment, pb::AssignmentSummary* message) {
  message->set_bundle(ToBytes(assignment.bundle));
  message->set_name(assignment.name);
  message->set_revision(assignment.revision);
  message->set_digest(ToBytes(assignment.digest));
  message->set_phase(ToStored(kPhases, assignment.phase));
  message->set_health(ToStored(kHealths, assignment.health));
  message->set_objects_total(assignment.counts.total);
  message->set_objects_applied(assignment.counts.applied);
  message->set_objects_healthy(assignment.counts.healthy);
  message->set_objects_not_ok(assignment.counts.not_ok);
  message->set_reason(assignment.reason);
  NAVE_SET_TIME(message, since, assignment.since);
}

StatusSummary::Assignment FromMessage(const pb::AssignmentSummary& message, Reader* reader) {
  StatusSummary::Assignment assignment;
  assignment.bundle = reader->ReadUuid(message.bundle(), "bundle");
  assignment.name = message.name();
  assignment.revision = message.revision();
  assignment.digest = reader->ReadDigest(message.digest(), "digest");
  assignment.phase = FromStored(kPhases, message.phase(), "phase", reader);
  assignment.health = FromStored(kHealths, message.health(), "health", reader);
  assignment.counts = {message.objects_total(), message.objects_applied(),
                       message.objects_healthy(), message.objects_not_ok()};
  assignment.reason = message.reason();
  assignment.since = NAVE_GET_TIME(message, since);
  return assignment;
}

}  // namespace
}  // namespace codec

using namespace codec;  // NOLINT: the parts of this one codec.

std::string EncodeRecord(const SchemaRecord& record) {
  pb::SchemaRecord message;
  message.set_format(record.format);
  message.set_written_by(record.written_by);
  return Wrap(message);
}

absl::Status DecodeRecord(absl::string_view value, SchemaRecord* record) {
  pb::SchemaRecord message;
  RETURN_IF_ERROR(Unwrap(value, &message));
  *record = {message.format(), message.written_by()};
  return absl::OkStatus();
}

std::string EncodeRecord(const TermRecord& record) {
  pb::TermRecord message;
  message.set_number(record.number);
  message.set_nonce(ToBytes(record.nonce));
  message.set_after(record.after);
  NAVE_SET_TIME(&message, start_time, record.start_time);
  return Wrap(message);
}

absl::Status DecodeRecord(absl::string_view value, TermRecord* record) {
  pb::TermRecord message;
  RETURN_IF_ERROR(Unwrap(value, &message));
  Reader reader;
  *record = {};
  record->number = message.number();
  record->nonce = reader.ReadUuid(message.nonce(), "nonce");
  record->after = message.after();
  record->start_time = NAVE_GET_TIME(message, start_time);
  return reader.status();
}

std::string EncodeRecord(const HeadRecord& record) {
  pb::HeadRecord message;
  message.set_term(record.term);
  message.set_nonce(ToBytes(record.nonce));
  message.set_sequence(record.sequence);
  return Wrap(message);
}

absl::Status DecodeRecord(absl::string_view value, HeadRecord* record) {
  pb::HeadRecord message;
  RETURN_IF_ERROR(Unwrap(value, &message));
  Reader reader;
  *record = {};
  record->term = message.term();
  record->nonce = reader.ReadUuid(message.nonce(), "nonce");
  record->sequence = message.sequence();
  return reader.status();
}

std::string EncodeRecord(const AdoptRecord& record) {
  pb::AdoptRecord message;
  message.set_term(record.term);
  message.set_nonce(ToBytes(record.nonce));
  message.set_all(record.all);
  for (const Uuid& cluster : record.clusters) message.add_clusters(ToBytes(cluster));
  return Wrap(message);
}

absl::Status DecodeRecord(absl::string_view value, AdoptRecord* record) {
  pb::AdoptRecord message;
  RETURN_IF_ERROR(Unwrap(value, &message));
  Reader reader;
  *record = {};
  record->term = message.term();
  record->nonce = reader.ReadUuid(message.nonce(), "nonce");
  record->all = message.all();
  for (const std::string& cluster : message.clusters()) {
    record->clusters.push_back(reader.ReadUuid(cluster, "clusters"));
  }
  return reader.status();
}

std::string EncodeRecord(const SessionRecord& record) {
  pb::SessionRecord message;
  message.set_cluster(ToBytes(record.cluster));
  message.set_lease(record.lease);
  message.set_epoch(record.epoch);
  message.set_instance_id(ToBytes(record.instance_id));
  message.set_attempt(record.attempt);
  return Wrap(message);
}

absl::Status DecodeRecord(absl::string_view value, SessionRecord* record) {
  pb::SessionRecord message;
  RETURN_IF_ERROR(Unwrap(value, &message));
  Reader reader;
  *record = {};
  record->cluster = reader.ReadUuid(message.cluster(), "cluster");
  record->lease = message.lease();
  record->epoch = message.epoch();
  record->instance_id = reader.ReadUuid(message.instance_id(), "instance_id");
  record->attempt = message.attempt();
  return reader.status();
}

std::string EncodeRecord(const TombstoneRecord& record) {
  pb::TombstoneRecord message;
  message.set_cluster(ToBytes(record.cluster));
  message.set_bundle(ToBytes(record.bundle));
  message.set_name(record.name);
  message.set_reason(record.reason);
  message.set_propagation(ToStored(kPropagations, record.propagation));
  message.set_confirmed(record.confirmed);
  message.set_head(record.head);
  NAVE_SET_TIME(&message, create_time, record.create_time);
  return Wrap(message);
}

absl::Status DecodeRecord(absl::string_view value, TombstoneRecord* record) {
  pb::TombstoneRecord message;
  RETURN_IF_ERROR(Unwrap(value, &message));
  Reader reader;
  *record = {};
  record->cluster = reader.ReadUuid(message.cluster(), "cluster");
  record->bundle = reader.ReadUuid(message.bundle(), "bundle");
  record->name = message.name();
  record->reason = message.reason();
  record->propagation = FromStored(kPropagations, message.propagation(), "propagation", &reader);
  record->confirmed = message.confirmed();
  record->head = message.head();
  record->create_time = NAVE_GET_TIME(message, create_time);
  return reader.status();
}

std::string EncodeRecord(const DecisionHead& record) {
  pb::DecisionHead message;
  message.set_bundle(ToBytes(record.bundle));
  message.set_number(record.number);
  message.set_pages(record.pages);
  message.set_clusters(record.clusters);
  message.set_names_hash(ToBytes(record.names_hash));
  NAVE_SET_TIME(&message, decide_time, record.decide_time);
  return Wrap(message);
}

absl::Status DecodeRecord(absl::string_view value, DecisionHead* record) {
  pb::DecisionHead message;
  RETURN_IF_ERROR(Unwrap(value, &message));
  Reader reader;
  *record = {};
  record->bundle = reader.ReadUuid(message.bundle(), "bundle");
  record->number = message.number();
  record->pages = message.pages();
  record->clusters = message.clusters();
  record->names_hash = reader.ReadDigest(message.names_hash(), "names_hash");
  record->decide_time = NAVE_GET_TIME(message, decide_time);
  return reader.status();
}

std::string EncodeRecord(const DecisionPage& record) {
  pb::DecisionPage message;
  for (const auto& part : record.entries) ToMessage(part, message.add_entries());
  return Wrap(message);
}

absl::Status DecodeRecord(absl::string_view value, DecisionPage* record) {
  pb::DecisionPage message;
  RETURN_IF_ERROR(Unwrap(value, &message));
  Reader reader;
  *record = {};
  for (const auto& part : message.entries()) record->entries.push_back(FromMessage(part, &reader));
  return reader.status();
}

std::string EncodeRecord(const StatusSummary& record) {
  pb::StatusSummary message;
  message.set_cluster(ToBytes(record.cluster));
  message.set_hold_reason(record.hold_reason);
  message.set_agent_version(record.agent_version);
  NAVE_SET_TIME(&message, last_seen, record.last_seen);
  ToMessage(record.facts, message.mutable_facts());
  for (const auto& part : record.assignments) ToMessage(part, message.add_assignments());
  return Wrap(message);
}

absl::Status DecodeRecord(absl::string_view value, StatusSummary* record) {
  pb::StatusSummary message;
  RETURN_IF_ERROR(Unwrap(value, &message));
  Reader reader;
  *record = {};
  record->cluster = reader.ReadUuid(message.cluster(), "cluster");
  record->hold_reason = message.hold_reason();
  record->agent_version = message.agent_version();
  record->last_seen = NAVE_GET_TIME(message, last_seen);
  record->facts = FromMessage(message.facts(), &reader);
  for (const auto& part : message.assignments())
    record->assignments.push_back(FromMessage(part, &reader));
  return reader.status();
}

std::string EncodeRecord(const RetiredRecord& record) {
  pb::RetiredRecord message;
  message.set_cluster(ToBytes(record.cluster));
  message.set_id(record.id);
  message.set_certificate_generation(record.certificate_generation);
  message.set_removed(record.removed);
  NAVE_SET_TIME(&message, until, record.until);
  return Wrap(message);
}

absl::Status DecodeRecord(absl::string_view value, RetiredRecord* record) {
  pb::RetiredRecord message;
  RETURN_IF_ERROR(Unwrap(value, &message));
  Reader reader;
  *record = {};
  record->cluster = reader.ReadUuid(message.cluster(), "cluster");
  record->id = message.id();
  record->certificate_generation = message.certificate_generation();
  record->removed = message.removed();
  record->until = NAVE_GET_TIME(message, until);
  return reader.status();
}

std::string EncodeRecord(const AuditRecord& record) {
  pb::AuditRecord message;
  NAVE_SET_TIME(&message, time, record.time);
  message.set_user(record.user);
  message.set_from(record.from);
  message.set_method(record.method);
  message.set_resource(record.resource);
  message.set_result(record.result);
  message.set_detail(record.detail);
  message.set_count(record.count);
  return Wrap(message);
}

absl::Status DecodeRecord(absl::string_view value, AuditRecord* record) {
  pb::AuditRecord message;
  RETURN_IF_ERROR(Unwrap(value, &message));
  *record = {NAVE_GET_TIME(message, time), message.user(),   message.from(),   message.method(),
             message.resource(),           message.result(), message.detail(), message.count()};
  return absl::OkStatus();
}

std::string EncodeRecord(const RequestRecord& record) {
  pb::RequestRecord message;
  message.set_request(ToBytes(record.request));
  message.set_response(record.response);
  return Wrap(message);
}

absl::Status DecodeRecord(absl::string_view value, RequestRecord* record) {
  pb::RequestRecord message;
  RETURN_IF_ERROR(Unwrap(value, &message));
  Reader reader;
  *record = {};
  record->request = reader.ReadDigest(message.request(), "request");
  record->response = message.response();
  return reader.status();
}

}  // namespace nave
