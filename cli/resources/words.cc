#include "cli/resources/words.h"

#include "absl/strings/str_cat.h"
#include "common/wire/file_form.h"
#include "common/wire/scalars.h"

namespace nave::cli {

const v1::Condition* FindCondition(
    const google::protobuf::RepeatedPtrField<v1::Condition>& conditions, absl::string_view type) {
  for (const v1::Condition& condition : conditions) {
    if (condition.type() == std::string(type)) return &condition;
  }
  return nullptr;
}

std::string EnumValueWord(const google::protobuf::EnumDescriptor* type, int number) {
  const auto* value = type->FindValueByNumber(number);
  if (value == nullptr) return absl::StrCat(number);
  if (number == 0) return "-";
  return EnumWord(type->full_name(), type->name(), value->name());
}

absl::Time TimeOf(bool present, const google::protobuf::Timestamp& time) {
  return present ? TimeFromProto(time) : absl::InfinitePast();
}

Tone ToneOf(v1::Health health) {
  switch (health) {
    case v1::HEALTH_HEALTHY:
      return Tone::kGood;
    case v1::HEALTH_DEGRADED:
    case v1::HEALTH_MISSING:
      return Tone::kBad;
    case v1::HEALTH_UNSPECIFIED:
      return Tone::kPlain;
    default:
      return Tone::kBusy;
  }
}

StateWord StateOf(const v1::Cluster& cluster) {
  const v1::ClusterStatus& status = cluster.status();
  StateWord state;
  state.word = WordOf(status.phase());
  state.reason = status.reason();
  state.message = status.message();
  state.since = TimeOf(status.has_phase_since(), status.phase_since());
  switch (status.phase()) {
    case v1::CLUSTER_PHASE_READY:
      state.tone = Tone::kGood;
      break;
    case v1::CLUSTER_PHASE_SYNCING:
    case v1::CLUSTER_PHASE_PENDING:
    case v1::CLUSTER_PHASE_REMOVING:
      state.tone = Tone::kBusy;
      break;
    default:
      state.tone = Tone::kBad;
      break;
  }
  return state;
}

StateWord StateOf(const v1::Bundle& bundle) {
  const v1::BundleStatus& status = bundle.status();
  StateWord state;
  const v1::Condition* ready = FindCondition(status.conditions(), "Ready");
  if (ready != nullptr) {
    state.reason = ready->reason();
    state.message = ready->message();
    state.since = TimeOf(ready->has_last_transition_time(), ready->last_transition_time());
  }
  if (bundle.metadata().has_delete_time()) {
    state.word = "Deleting";
    state.tone = Tone::kBusy;
    state.since = TimeOf(true, bundle.metadata().delete_time());
  } else if (!status.held_hash().empty()) {
    state.word = "RemovalHeld";
    state.tone = Tone::kBad;
  } else if (ready != nullptr && ready->status() == v1::CONDITION_STATUS_TRUE) {
    state.word = "Ready";
    state.tone = Tone::kGood;
  } else {
    // A bundle that nothing is wrong with but that is not Ready either is on its way.
    bool says = status.health() != v1::HEALTH_UNSPECIFIED && status.health() != v1::HEALTH_HEALTHY;
    state.word = says ? WordOf(status.health()) : ready != nullptr ? "NotReady" : "Unknown";
    state.tone = says ? ToneOf(status.health()) : Tone::kBusy;
  }
  return state;
}

StateWord StateOf(const v1::Assignment& assignment) {
  StateWord state;
  state.word = WordOf(assignment.phase());
  state.reason = assignment.reason();
  state.message = assignment.message();
  state.since = TimeOf(assignment.has_since(), assignment.since());
  bool old = !assignment.desired_digest().empty() &&
             assignment.reported_digest() != assignment.desired_digest();
  switch (assignment.phase()) {
    case v1::ASSIGNMENT_PHASE_APPLIED:
      state.tone = ToneOf(assignment.health());
      break;
    case v1::ASSIGNMENT_PHASE_FAILED:
    case v1::ASSIGNMENT_PHASE_REJECTED:
    case v1::ASSIGNMENT_PHASE_REMOVAL_HELD:
    case v1::ASSIGNMENT_PHASE_NOT_DESIRED:
      state.tone = Tone::kBad;
      break;
    default:
      state.tone = Tone::kBusy;
      break;
  }
  if (old && state.tone == Tone::kGood) state.tone = Tone::kBusy;
  return state;
}

}  // namespace nave::cli
