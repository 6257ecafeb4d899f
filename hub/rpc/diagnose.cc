#include "hub/rpc/diagnose.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/model/names.h"
#include "common/wire/scalars.h"
#include "hub/controllers/actions.h"
#include "hub/controllers/bundle_controller.h"
#include "hub/decide/placement.h"
#include "hub/decide/rollup.h"
#include "hub/rpc/assignments.h"
#include "hub/rpc/record_handlers.h"

namespace nave {
namespace {

constexpr size_t kWorstMax = 5;
constexpr size_t kObjectsMax = 3;

void AddEvidence(absl::string_view source, absl::string_view text, absl::Time time,
                 v1::Diagnosis* out) {
  v1::Diagnosis::Evidence* evidence = out->add_evidence();
  evidence->set_source(std::string(source));
  evidence->set_text(MakeUtf8(text));
  if (!TimeToProto(time, evidence->mutable_time())) evidence->clear_time();
}

void AddStep(absl::string_view command, absl::string_view text, v1::Diagnosis* out) {
  for (const auto& step : out->next_steps()) {
    if (step.command() == command && step.text() == text) return;
  }
  v1::Diagnosis::NextStep* step = out->add_next_steps();
  step->set_command(std::string(command));
  step->set_text(std::string(text));
}

// The registry's advice for the reason.
void AddAdvice(absl::string_view reason, v1::Diagnosis* out) {
  const ReasonInfo* info = FindReason(reason);
  if (info != nullptr && info->code != absl::StatusCode::kOk) AddStep("", info->next, out);
}

void SetCause(absl::string_view state, const Condition& ready, v1::Diagnosis* out) {
  out->set_state(std::string(state));
  out->set_reason(ready.reason);
  const ReasonInfo* info = FindReason(ready.reason);
  std::string meaning = info == nullptr ? "" : std::string(info->summary);
  out->set_cause(MakeUtf8(ready.message.empty() ? meaning : ready.message));
  if (!TimeToProto(ready.since, out->mutable_since())) out->clear_since();
}

Condition ReadyOf(const std::vector<Condition>& conditions) {
  const Condition* ready = FindCondition(conditions, "Ready");
  return ready == nullptr ? Condition{} : *ready;
}

std::string Describe(const AssignmentView& view, absl::string_view subject) {
  std::string text =
      absl::StrCat(subject, ": ", FormatPhase(view.phase), ", ", FormatHealth(view.health));
  if (!view.reason.empty()) absl::StrAppend(&text, ", ", view.reason);
  if (!view.message.empty()) absl::StrAppend(&text, ": ", view.message);
  return text;
}

void AddObjects(const AssignmentView& view, v1::Diagnosis* out) {
  for (size_t i = 0; i < std::min(view.not_ok.size(), kObjectsMax); ++i) {
    const ObjectStatus& object = view.not_ok[i];
    AddEvidence("object",
                absl::StrCat(view.cluster_id, " ", object.kind, " ", object.ns,
                             object.ns.empty() ? "" : "/", object.name, ": ",
                             object.applied ? "applied" : "not applied", ", ",
                             FormatHealth(object.health), object.reason.empty() ? "" : ", ",
                             object.reason, object.message.empty() ? "" : ": ", object.message),
                object.since, out);
  }
}

// What is not ready, worst first.
std::vector<AssignmentView> Worst(std::vector<AssignmentView> views) {
  views.erase(std::remove_if(views.begin(), views.end(),
                             [](const AssignmentView& view) { return view.ready(); }),
              views.end());
  std::stable_sort(
      views.begin(), views.end(),
      [](const AssignmentView& a, const AssignmentView& b) { return a.health > b.health; });
  return views;
}

std::string StateOfBundle(const Bundle& bundle, const BundleStatus& status) {
  if (bundle.meta.deleting()) return "Deleting";
  Condition ready = ReadyOf(status.conditions);
  if (ready.status == ConditionStatus::kTrue) return "Ready";
  const Condition* placed = FindCondition(status.conditions, "Placed");
  if (placed != nullptr && placed->status == ConditionStatus::kFalse) return placed->reason;
  return std::string(FormatHealth(status.health));
}

void AddPlacement(const ApiCall& call, const Bundle& bundle, v1::Diagnosis* out) {
  PlacementResult placement = DecidePlacement(MakePlacementInput(call.snapshot(), bundle));
  for (const PlacementStep& step : placement.steps) {
    std::string dropped = step.example.empty() ? "" : absl::StrCat(", e.g. ", step.example);
    AddEvidence("placement",
                absl::StrCat(step.name, ": ", step.in, " in, ", step.out, " out", dropped),
                absl::InfinitePast(), out);
  }
  if (!placement.message.empty())
    AddEvidence("placement", placement.message, absl::InfinitePast(), out);
}

void AddBundleSteps(const ApiCall& call, const Bundle& bundle,
                    const std::vector<AssignmentView>& worst, v1::Diagnosis* out) {
  std::string name = absl::StrCat(
      bundle.id, bundle.project == "default" ? "" : absl::StrCat(" -p ", bundle.project));
  if (!bundle.status.held_clusters.empty()) {
    AddStep(absl::StrCat("navectl confirm ", name),
            "lets the bundle leave the clusters that are held", out);
  }
  for (const AssignmentView& view : worst) {
    if (!ConfirmDigest(view).empty()) {
      AddStep(absl::StrCat("navectl confirm ", name, " --cluster ", view.cluster_id),
              "lets the removals happen that its agent holds", out);
    }
    if (!IsConnected(call.live(), view.cluster)) {
      AddStep(absl::StrCat("navectl cluster why ", view.cluster_id), "says why the cluster is away",
              out);
    }
    if (out->next_steps_size() >= 5) break;
  }
}

void AddSession(const Cluster& record, const ClusterLive* live, v1::Diagnosis* out) {
  if (live == nullptr) {
    AddEvidence("session",
                "no agent connected since this hub process began, and none left a status",
                absl::InfinitePast(), out);
    return;
  }
  if (live->connected) {
    AddEvidence("session",
                absl::StrCat("connected from ", live->address, ", agent ", live->agent_version,
                             ", epoch ", live->epoch),
                live->since, out);
  } else {
    AddEvidence("session",
                absl::StrCat("no session",
                             live->disconnect_reason.empty() ? "" : ", the last one ended with ",
                             live->disconnect_reason),
                live->since, out);
    AddEvidence("session", "heard of the agent last", live->last_seen(), out);
  }
  if (!live->hold_reason.empty())
    AddEvidence("agent", absl::StrCat("holds: ", live->hold_reason), live->since, out);
  if (live->certificate_not_after != absl::InfinitePast()) {
    AddEvidence("certificate",
                absl::StrCat("of generation ", record.status.certificate_generation_seen, ", ends"),
                live->certificate_not_after, out);
  }
}

void AddClusterSteps(const Cluster& record, const ClusterStatus& status, v1::Diagnosis* out) {
  const std::string& id = record.id;
  switch (status.phase) {
    case ClusterPhase::kPending:
      if (record.status.certificate_generation == 0) {
        AddStep(absl::StrCat("navectl token create --cluster ", id),
                "makes a token for its agent to join with", out);
      } else {
        AddStep(absl::StrCat("navectl cluster accept ", id), "lets its agent connect", out);
      }
      return;
    case ClusterPhase::kRejected:
      return AddStep(absl::StrCat("navectl cluster accept ", id), "if it was a mistake", out);
    case ClusterPhase::kRevoked:
      return AddStep(absl::StrCat("navectl token create --cluster ", id, " --rejoin"),
                     "gives it a new identity", out);
    case ClusterPhase::kOnHold:
      return AddStep(absl::StrCat("navectl cluster adopt ", id),
                     "has the agent follow the hub's present state", out);
    case ClusterPhase::kRemoving:
      if (!status.connected) {
        AddStep(absl::StrCat("navectl cluster forget ", id, " --confirm ", id),
                "ends the removal without the agent; its objects stay", out);
      }
      return;
    case ClusterPhase::kDisconnected:
      if (status.locked)
        AddStep(absl::StrCat("navectl cluster unlock ", id), "when only one agent is left", out);
      return;
    default:
      return;
  }
}

}  // namespace

absl::Status DiagnoseBundle(ApiCall* call, const v1::DiagnoseBundleRequest& request,
                            v1::Diagnosis* response) {
  ASSIGN_OR_RETURN(Versioned<Bundle> bundle, ReadRecord<Bundle>(*call, request.name()));
  const Bundle& record = bundle.value;
  BundleStatus status = DeriveBundleStatus(call->snapshot(), record, call->live(), call->now());
  response->set_subject(request.name());
  SetCause(StateOfBundle(record, status), ReadyOf(status.conditions), response);
  AddEvidence("record",
              absl::StrCat("generation ", record.meta.generation, ", revision ", status.revision,
                           record.meta.deleting() ? ", being deleted" : ""),
              record.meta.update_time, response);
  AddPlacement(*call, record, response);
  AddEvidence("decision",
              absl::StrCat(status.counts.clusters, " clusters: ", status.counts.ready, " ready, ",
                           status.counts.pending, " pending, ", status.counts.failed, " failed, ",
                           status.counts.disconnected, " disconnected; ", status.counts.removing,
                           " more are being left"),
              absl::InfinitePast(), response);
  if (!status.held_clusters.empty()) {
    AddEvidence("decision", absl::StrCat("held: ", absl::StrJoin(status.held_clusters, ", ")),
                absl::InfinitePast(), response);
  }
  auto worst = Worst(AssignmentsOfBundle(call->snapshot(), record.meta.uid, call->live()));
  for (size_t i = 0; i < std::min(worst.size(), kWorstMax); ++i) {
    AddEvidence("agent", Describe(worst[i], worst[i].cluster_id), worst[i].since, response);
    AddObjects(worst[i], response);
  }
  AddBundleSteps(*call, record, worst, response);
  AddAdvice(response->reason(), response);
  return absl::OkStatus();
}

absl::Status DiagnoseCluster(ApiCall* call, const v1::DiagnoseClusterRequest& request,
                             v1::Diagnosis* response) {
  ASSIGN_OR_RETURN(Versioned<Cluster> cluster, ReadRecord<Cluster>(*call, request.name()));
  const Cluster& record = cluster.value;
  auto live = call->live().Find(record.meta.uid);
  ClusterStatus status = DeriveClusterStatus(call->snapshot(), record, live.get(), call->now());
  response->set_subject(request.name());
  SetCause(FormatClusterPhase(status.phase), ReadyOf(status.conditions), response);
  AddEvidence(
      "record",
      absl::StrCat("set ", record.spec.cluster_set, ", certificate generation ",
                   record.status.certificate_generation, record.spec.cordoned ? ", cordoned" : "",
                   record.status.locked ? ", locked" : ""),
      record.meta.update_time, response);
  AddSession(record, live.get(), response);
  for (const Condition& condition : status.conditions) {
    if (condition.type == "Ready") continue;
    AddEvidence("condition", absl::StrCat(condition.type, ": ", condition.message), condition.since,
                response);
  }
  auto worst = Worst(AssignmentsOfCluster(call->snapshot(), record.meta.uid, live.get()));
  AddEvidence("decision",
              absl::StrCat(status.bundles_ready, " of ", status.bundles, " bundles are ready"),
              absl::InfinitePast(), response);
  for (size_t i = 0; i < std::min(worst.size(), kWorstMax); ++i) {
    auto ref = ParseBundleName("name", worst[i].name);
    if (ref.ok() && !call->rights().May(Role::kViewer, Scope::OfProject(ref->project))) continue;
    AddEvidence("agent", Describe(worst[i], worst[i].name), worst[i].since, response);
    AddObjects(worst[i], response);
  }
  AddClusterSteps(record, status, response);
  AddAdvice(response->reason(), response);
  return absl::OkStatus();
}

}  // namespace nave
