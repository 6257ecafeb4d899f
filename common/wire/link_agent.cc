// Frames that the agent says.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/wire/link.h"
#include "common/wire/link_internal.h"

namespace nave {
namespace link {
namespace {

constexpr size_t kNodeVersionsMax = 100;
constexpr size_t kConditionsMax = 100;

// --- words ---

pb::KeyState ToProto(KeyState state) {
  switch (state) {
    case KeyState::kPresent:
      return pb::KEY_STATE_PRESENT;
    case KeyState::kRemoving:
      return pb::KEY_STATE_REMOVING;
    case KeyState::kNotDesired:
      return pb::KEY_STATE_NOT_DESIRED;
  }
  return pb::KEY_STATE_UNSPECIFIED;
}

absl::Status FromProto(pb::KeyState state, KeyState* out) {
  switch (state) {
    case pb::KEY_STATE_PRESENT:
      *out = KeyState::kPresent;
      return absl::OkStatus();
    case pb::KEY_STATE_REMOVING:
      *out = KeyState::kRemoving;
      return absl::OkStatus();
    case pb::KEY_STATE_NOT_DESIRED:
      *out = KeyState::kNotDesired;
      return absl::OkStatus();
    default:
      return ProtocolError(
          absl::StrCat("key_set.keys.state: unknown value ", static_cast<int>(state)));
  }
}

pb::Phase ToProto(Phase phase) {
  switch (phase) {
    case Phase::kPending:
      return pb::PHASE_PENDING;
    case Phase::kApplying:
      return pb::PHASE_APPLYING;
    case Phase::kApplied:
      return pb::PHASE_APPLIED;
    case Phase::kFailed:
      return pb::PHASE_FAILED;
    case Phase::kPruneWaiting:
      return pb::PHASE_PRUNE_WAITING;
    case Phase::kRemovalHeld:
      return pb::PHASE_REMOVAL_HELD;
    case Phase::kRemoving:
      return pb::PHASE_REMOVING;
    case Phase::kRemoved:
      return pb::PHASE_REMOVED;
    case Phase::kNotDesired:
      return pb::PHASE_NOT_DESIRED;
    case Phase::kRejected:
      return pb::PHASE_REJECTED;
  }
  return pb::PHASE_UNSPECIFIED;
}

Phase FromProto(pb::Phase phase) {
  switch (phase) {
    case pb::PHASE_APPLYING:
      return Phase::kApplying;
    case pb::PHASE_APPLIED:
      return Phase::kApplied;
    case pb::PHASE_FAILED:
      return Phase::kFailed;
    case pb::PHASE_PRUNE_WAITING:
      return Phase::kPruneWaiting;
    case pb::PHASE_REMOVAL_HELD:
      return Phase::kRemovalHeld;
    case pb::PHASE_REMOVING:
      return Phase::kRemoving;
    case pb::PHASE_REMOVED:
      return Phase::kRemoved;
    case pb::PHASE_NOT_DESIRED:
      return Phase::kNotDesired;
    case pb::PHASE_REJECTED:
      return Phase::kRejected;
    default:
      return Phase::kPending;
  }
}

pb::Health ToProto(Health health) {
  switch (health) {
    case Health::kHealthy:
      return pb::HEALTH_HEALTHY;
    case Health::kSuspended:
      return pb::HEALTH_SUSPENDED;
    case Health::kProgressing:
      return pb::HEALTH_PROGRESSING;
    case Health::kTerminating:
      return pb::HEALTH_TERMINATING;
    case Health::kUnknown:
      return pb::HEALTH_UNKNOWN;
    case Health::kMissing:
      return pb::HEALTH_MISSING;
    case Health::kDegraded:
      return pb::HEALTH_DEGRADED;
  }
  return pb::HEALTH_UNSPECIFIED;
}

Health FromProto(pb::Health health) {
  switch (health) {
    case pb::HEALTH_HEALTHY:
      return Health::kHealthy;
    case pb::HEALTH_SUSPENDED:
      return Health::kSuspended;
    case pb::HEALTH_PROGRESSING:
      return Health::kProgressing;
    case pb::HEALTH_TERMINATING:
      return Health::kTerminating;
    case pb::HEALTH_MISSING:
      return Health::kMissing;
    case pb::HEALTH_DEGRADED:
      return Health::kDegraded;
    default:
      return Health::kUnknown;
  }
}

// --- facts and hello ---

void ToProto(const Facts& facts, pb::Facts* out) {
  out->set_kubernetes_version(Word(facts.kubernetes_version));
  out->set_nodes(facts.nodes);
  out->set_nodes_ready(facts.nodes_ready);
  for (const auto& [version, count] : facts.node_versions) {
    if (out->node_versions().size() >= kNodeVersionsMax) break;
    (*out->mutable_node_versions())[Word(version)] = count;
  }
  out->set_cpu_millis(facts.cpu_millis);
  out->set_memory_bytes(facts.memory_bytes);
  for (const Condition& condition : facts.conditions) {
    if (static_cast<size_t>(out->conditions_size()) >= kConditionsMax) break;
    pb::Condition* added = out->add_conditions();
    added->set_type(Word(condition.type));
    added->set_status(condition.status == ConditionStatus::kTrue    ? "True"
                      : condition.status == ConditionStatus::kFalse ? "False"
                                                                    : "Unknown");
    added->set_reason(Word(condition.reason));
    added->set_message(Text(condition.message));
    if (!TimeToProto(condition.since, added->mutable_since())) added->clear_since();
  }
}

Facts FromProto(const pb::Facts& facts) {
  Facts out;
  out.kubernetes_version = Word(facts.kubernetes_version());
  out.nodes = facts.nodes();
  out.nodes_ready = facts.nodes_ready();
  // The wire's map has no order: sorted first, so that what is cut does not depend on it.
  for (const auto& [version, count] : facts.node_versions())
    out.node_versions[Word(version)] = count;
  while (out.node_versions.size() > kNodeVersionsMax)
    out.node_versions.erase(std::prev(out.node_versions.end()));
  out.cpu_millis = facts.cpu_millis();
  out.memory_bytes = facts.memory_bytes();
  for (const pb::Condition& condition : facts.conditions()) {
    if (out.conditions.size() >= kConditionsMax) break;
    Condition& added = out.conditions.emplace_back();
    added.type = Word(condition.type());
    added.status = condition.status() == "True"    ? ConditionStatus::kTrue
                   : condition.status() == "False" ? ConditionStatus::kFalse
                                                   : ConditionStatus::kUnknown;
    added.reason = Word(condition.reason());
    added.message = Text(condition.message());
    added.since = condition.has_since() ? TimeFromProto(condition.since()) : absl::InfinitePast();
  }
  return out;
}

void ToProto(const Hello& hello, pb::Hello* out) {
  out->set_protocol_min(hello.protocol_min);
  out->set_protocol_max(hello.protocol_max);
  out->set_agent_version(Word(hello.agent_version));
  WriteUuid(hello.instance_id, out->mutable_instance_id());
  out->set_attempt(hello.attempt);
  out->set_kube_system_uid(Word(hello.kube_system_uid));
  out->set_hub_id(Word(hello.hub_id));
  if (!hello.committed.IsNone()) WriteAt(hello.committed, out->mutable_committed());
  WriteDigest(hello.root, out->mutable_root());
  out->set_state_lost(hello.state_lost);
  if (!TimeToProto(hello.agent_time, out->mutable_agent_time())) out->clear_agent_time();
  ToProto(hello.facts, out->mutable_facts());
}

absl::Status FromProto(const pb::Hello& hello, Hello* out) {
  out->protocol_min = hello.protocol_min();
  out->protocol_max = hello.protocol_max();
  if (out->protocol_min == 0 || out->protocol_min > out->protocol_max) {
    return ProtocolError(absl::StrCat("hello: protocol range ", out->protocol_min, " to ",
                                      out->protocol_max, " is empty"));
  }
  out->agent_version = Word(hello.agent_version());
  RETURN_IF_ERROR(ReadUuid("hello.instance_id", hello.instance_id(), &out->instance_id));
  out->attempt = hello.attempt();
  out->kube_system_uid = Word(hello.kube_system_uid());
  out->hub_id = Word(hello.hub_id());
  if (hello.has_committed())
    RETURN_IF_ERROR(ReadAt("hello.committed", hello.committed(), &out->committed));
  RETURN_IF_ERROR(ReadDigest("hello.root", hello.root(), &out->root));
  out->state_lost = hello.state_lost();
  out->agent_time =
      hello.has_agent_time() ? TimeFromProto(hello.agent_time()) : absl::InfinitePast();
  out->facts = FromProto(hello.facts());
  return absl::OkStatus();
}

// --- key set and acks ---

void ToProto(const KeySet& set, pb::KeySet* out) {
  for (const KeySetEntry& entry : set.keys) {
    pb::KeySet::Key* added = out->add_keys();
    WriteUuid(entry.key, added->mutable_key());
    WriteDigest(entry.digest, added->mutable_digest());
    added->set_confirmed(entry.confirmed);
    added->set_state(ToProto(entry.state));
  }
  out->set_last(set.last);
}

absl::Status FromProto(const pb::KeySet& set, KeySet* out) {
  out->keys.reserve(set.keys_size());
  for (const pb::KeySet::Key& key : set.keys()) {
    KeySetEntry entry;
    RETURN_IF_ERROR(ReadUuid("key_set.keys.key", key.key(), &entry.key));
    RETURN_IF_ERROR(ReadDigest("key_set.keys.digest", key.digest(), &entry.digest));
    entry.confirmed = key.confirmed();
    RETURN_IF_ERROR(FromProto(key.state(), &entry.state));
    if (!out->keys.empty() && !(out->keys.back().key < entry.key)) {
      return ProtocolError("key_set.keys: not sorted by key, or one key twice");
    }
    out->keys.push_back(entry);
  }
  out->last = set.last();
  return absl::OkStatus();
}

void ToProto(const DesiredAck& ack, pb::DesiredAck* out) {
  out->set_revision(ack.revision);
  for (const Rejection& rejection : ack.rejected) {
    if (static_cast<uint32_t>(out->rejected_size()) >= kStatusObjectsMax) break;
    pb::DesiredAck::Rejection* added = out->add_rejected();
    WriteUuid(rejection.key, added->mutable_key());
    WriteDigest(rejection.digest, added->mutable_digest());
    added->set_code(Word(rejection.code));
    added->set_message(Text(rejection.message));
  }
  out->set_rejected_total(std::max<uint32_t>(ack.rejected_total, ack.rejected.size()));
}

absl::Status FromProto(const pb::DesiredAck& ack, DesiredAck* out) {
  out->revision = ack.revision();
  for (const pb::DesiredAck::Rejection& rejection : ack.rejected()) {
    if (out->rejected.size() >= kStatusObjectsMax) break;
    Rejection& added = out->rejected.emplace_back();
    RETURN_IF_ERROR(ReadUuid("desired_ack.rejected.key", rejection.key(), &added.key));
    RETURN_IF_ERROR(ReadDigest("desired_ack.rejected.digest", rejection.digest(), &added.digest));
    added.code = Word(rejection.code());
    added.message = Text(rejection.message());
  }
  out->rejected_total = std::max<uint32_t>(ack.rejected_total(), ack.rejected_size());
  return absl::OkStatus();
}

// --- status ---

void ToProto(const ObjectStatus& status, pb::ObjectStatus* out) {
  out->set_group(Word(status.group));
  out->set_version(Word(status.version));
  out->set_kind(Word(status.kind));
  out->set_namespace_(Word(status.ns));
  out->set_name(Word(status.name));
  out->set_health(ToProto(status.health));
  out->set_applied(status.applied);
  out->set_reason(Word(status.reason));
  out->set_message(Text(status.message));
  if (!TimeToProto(status.since, out->mutable_since())) out->clear_since();
}

ObjectStatus FromProto(const pb::ObjectStatus& status) {
  ObjectStatus out;
  out.group = Word(status.group());
  out.version = Word(status.version());
  out.kind = Word(status.kind());
  out.ns = Word(status.namespace_());
  out.name = Word(status.name());
  out.health = FromProto(status.health());
  out.applied = status.applied();
  out.reason = Word(status.reason());
  out.message = Text(status.message());
  if (status.has_since()) out.since = TimeFromProto(status.since());
  return out;
}

void ToProto(const AssignmentStatus& status, pb::AssignmentStatus* out) {
  WriteUuid(status.key, out->mutable_key());
  out->set_revision(status.revision);
  WriteDigest(status.digest, out->mutable_digest());
  out->set_phase(ToProto(status.phase));
  out->set_health(ToProto(status.health));
  pb::Counts* counts = out->mutable_counts();
  counts->set_total(status.counts.total);
  counts->set_applied(status.counts.applied);
  counts->set_healthy(status.counts.healthy);
  counts->set_not_ok(status.counts.not_ok);
  for (const ObjectStatus& object : status.not_ok) {
    if (static_cast<uint32_t>(out->not_ok_size()) >= kStatusObjectsMax) break;
    ToProto(object, out->add_not_ok());
  }
  out->set_not_ok_total(std::max<uint32_t>(status.not_ok_total, status.not_ok.size()));
  out->set_reason(Word(status.reason));
  out->set_message(Text(status.message));
  if (!TimeToProto(status.since, out->mutable_since())) out->clear_since();
  out->set_name(Word(status.name));
}

absl::Status FromProto(const pb::AssignmentStatus& status, AssignmentStatus* out) {
  RETURN_IF_ERROR(ReadUuid("status_batch.changed.key", status.key(), &out->key));
  out->revision = status.revision();
  RETURN_IF_ERROR(ReadDigest("status_batch.changed.digest", status.digest(), &out->digest));
  out->phase = FromProto(status.phase());
  out->health = FromProto(status.health());
  const pb::Counts& counts = status.counts();
  out->counts = {counts.total(), counts.applied(), counts.healthy(), counts.not_ok()};
  for (const pb::ObjectStatus& object : status.not_ok()) {
    if (out->not_ok.size() >= kStatusObjectsMax) break;
    out->not_ok.push_back(FromProto(object));
  }
  out->not_ok_total = std::max<uint32_t>(status.not_ok_total(), status.not_ok_size());
  out->reason = Word(status.reason());
  out->message = Text(status.message());
  if (status.has_since()) out->since = TimeFromProto(status.since());
  out->name = Word(status.name());
  return absl::OkStatus();
}

void ToProto(const StatusBatch& batch, pb::StatusBatch* out) {
  out->set_seq(batch.seq);
  out->set_full(batch.full);
  out->set_last(batch.last);
  for (const AssignmentStatus& status : batch.changed) ToProto(status, out->add_changed());
  for (const Uuid& key : batch.gone) WriteUuid(key, out->add_gone());
  out->set_hold_reason(Word(batch.hold_reason));
}

absl::Status FromProto(const pb::StatusBatch& batch, StatusBatch* out) {
  out->seq = batch.seq();
  out->full = batch.full();
  out->last = batch.last();
  out->changed.reserve(batch.changed_size());
  for (const pb::AssignmentStatus& status : batch.changed()) {
    RETURN_IF_ERROR(FromProto(status, &out->changed.emplace_back()));
  }
  for (const std::string& key : batch.gone()) {
    RETURN_IF_ERROR(ReadUuid("status_batch.gone", key, &out->gone.emplace_back()));
  }
  out->hold_reason = Word(batch.hold_reason());
  return absl::OkStatus();
}

template <typename Model, typename Proto>
absl::StatusOr<AgentFrame> Read(const Proto& proto) {
  Model model;
  RETURN_IF_ERROR(FromProto(proto, &model));
  return AgentFrame(std::move(model));
}

struct AgentBodyWriter {
  pb::AgentFrame* out;
  void operator()(const Hello& body) const { ToProto(body, out->mutable_hello()); }
  void operator()(const KeySet& body) const { ToProto(body, out->mutable_key_set()); }
  void operator()(const DesiredAck& body) const { ToProto(body, out->mutable_desired_ack()); }
  void operator()(const StatusBatch& body) const { ToProto(body, out->mutable_status_batch()); }
  void operator()(const Facts& body) const { ToProto(body, out->mutable_facts()); }
  void operator()(const Ping&) const { out->mutable_ping(); }
};

}  // namespace
}  // namespace link

std::string SerializeAgentFrame(const AgentFrame& frame) {
  link::pb::AgentFrame proto;
  std::visit(link::AgentBodyWriter{&proto}, frame);
  return proto.SerializeAsString();
}

absl::StatusOr<AgentFrame> ParseAgentFrame(absl::string_view bytes) {
  if (bytes.size() > kFrameBytesMax) {
    return link::ProtocolError(
        absl::StrCat("frame: at most ", kFrameBytesMax, " bytes, got ", bytes.size()));
  }
  link::pb::AgentFrame proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return link::ProtocolError("frame: the bytes are not an AgentFrame");
  }
  switch (proto.body_case()) {
    case link::pb::AgentFrame::kHello:
      return link::Read<Hello>(proto.hello());
    case link::pb::AgentFrame::kKeySet:
      return link::Read<KeySet>(proto.key_set());
    case link::pb::AgentFrame::kDesiredAck:
      return link::Read<DesiredAck>(proto.desired_ack());
    case link::pb::AgentFrame::kStatusBatch:
      return link::Read<StatusBatch>(proto.status_batch());
    case link::pb::AgentFrame::kFacts:
      return AgentFrame(link::FromProto(proto.facts()));
    case link::pb::AgentFrame::kPing:
      return AgentFrame(Ping{});
    case link::pb::AgentFrame::BODY_NOT_SET:
      break;
  }
  return link::ProtocolError("frame: has no body that this version knows");
}

}  // namespace nave
