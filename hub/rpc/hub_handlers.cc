#include "hub/rpc/hub_handlers.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/model/names.h"
#include "common/wire/scalars.h"
#include "hub/controllers/actions.h"
#include "hub/decide/rollup.h"
#include "hub/rpc/adopt.h"
#include "hub/rpc/record_handlers.h"

namespace nave {
namespace {

constexpr size_t kNamesShownMax = 200;

void CountClusters(const ApiCall& call, v1::Hub* response) {
  call.snapshot().clusters.ForEach([&](const Uuid& uid, const Versioned<Cluster>& cluster) {
    auto live = call.live().Find(uid);
    if (live != nullptr && live->connected) response->set_sessions(response->sessions() + 1);
    if (!MayReadRecord(call, cluster.value)) return;
    ClusterStatus status =
        DeriveClusterStatus(call.snapshot(), cluster.value, live.get(), call.now());
    ++(*response->mutable_clusters_by_phase())[std::string(FormatClusterPhase(status.phase))];
    response->set_clusters(response->clusters() + 1);
  });
}

void CountBundles(const ApiCall& call, v1::Hub* response) {
  call.snapshot().bundles.ForEach([&](const Uuid&, const Versioned<Bundle>& bundle) {
    if (!MayReadRecord(call, bundle.value)) return;
    response->set_bundles(response->bundles() + 1);
    BundleStatus status =
        DeriveBundleStatus(call.snapshot(), bundle.value, call.live(), call.now());
    const Condition* ready = FindCondition(status.conditions, "Ready");
    if (ready != nullptr && ready->status == ConditionStatus::kTrue) {
      response->set_bundles_ready(response->bundles_ready() + 1);
    }
  });
}

void AddUnknown(const ApiCall& call, v1::Hub* response) {
  std::vector<UnknownCluster> unknown = call.backend().live()->Unknown();
  response->set_unknown_clusters_total(static_cast<uint32_t>(unknown.size()));
  unknown.resize(std::min(unknown.size(), kNamesShownMax));
  for (const UnknownCluster& cluster : unknown) {
    v1::UnknownCluster* item = response->add_unknown_clusters();
    item->set_uid(cluster.uid.ToString());
    item->set_certificate_name(cluster.id);
    item->set_certificate_generation(cluster.generation);
    item->set_address(cluster.address);
    if (!TimeToProto(cluster.last_seen, item->mutable_last_seen())) item->clear_last_seen();
  }
}

std::string ScopeName(const Scope& scope) {
  switch (scope.kind) {
    case Scope::Kind::kHub:
      return "hub";
    case Scope::Kind::kProject:
      return ProjectName(scope.id);
    case Scope::Kind::kClusterSet:
      return ClusterSetName(scope.id);
  }
  return "";
}

// Builds the transactions of AdoptHub.
class HubAdoption {
 public:
  HubAdoption(const ApiCall& call, const v1::AdoptHubRequest& request,
              v1::AdoptHubResponse* response)
      : call_(call), request_(request), response_(response) {}

  absl::StatusOr<WritePlan> Plan() {
    if (request_.accept_unknown()) RETURN_IF_ERROR(AcceptUnknown());
    WalkClusters();
    RETURN_IF_ERROR(VoidTokens());
    // Last: what was voided and removed is in force before an agent follows.
    ASSIGN_OR_RETURN(ControlTxn adopt, PlanAdoptAnew(call_, {}));
    plan_.txns.push_back(std::move(adopt));
    plan_.detail = absl::StrCat("adopted ", response_->adopted_total(), ", accepted ",
                                response_->accepted_total());
    return std::move(plan_);
  }

 private:
  absl::Status AcceptUnknown() {
    std::set<std::string> taken;
    for (const UnknownCluster& unknown : call_.backend().live()->Unknown()) {
      std::string id = unknown.id;
      // Two certificates of one name: the second record gets a name of its own.
      bool free =
          IsId(id) && call_.snapshot().names->clusters.count(id) == 0 && taken.count(id) == 0;
      if (!free) id = absl::StrCat("cluster-", unknown.uid.ToString().substr(0, 8));
      ASSIGN_OR_RETURN(ControlTxn txn,
                       PlanAcceptUnknown(call_.snapshot(), unknown, id, "default", call_.now()));
      taken.insert(id);
      plan_.txns.push_back(std::move(txn));
      response_->set_accepted_total(response_->accepted_total() + 1);
      if (static_cast<size_t>(response_->accepted_size()) < kNamesShownMax)
        response_->add_accepted(id);
    }
    return absl::OkStatus();
  }

  void WalkClusters() {
    bool confirmed = !request_.confirm().empty();
    for (const auto& [id, uid] : call_.snapshot().names->clusters) {
      auto live = call_.live().Find(uid);
      if (live != nullptr && !live->hold_reason.empty()) {
        response_->set_adopted_total(response_->adopted_total() + 1);
        if (static_cast<size_t>(response_->adopted_size()) < kNamesShownMax)
          response_->add_adopted(id);
      }
      size_t unclaimed = UnclaimedKeys(call_.snapshot(), call_.live(), uid).size();
      response_->set_not_desired_total(response_->not_desired_total() +
                                       static_cast<uint32_t>(unclaimed));
      if (!request_.remove_unclaimed() || unclaimed == 0) continue;
      auto txns = PlanRemoveUnclaimed(call_.snapshot(), call_.live(), uid, confirmed, call_.now());
      for (ControlTxn& txn : txns) plan_.txns.push_back(std::move(txn));
    }
  }

  absl::Status VoidTokens() {
    ControlTxn txn;
    RETURN_IF_ERROR(VisitRecords<JoinToken>(call_, "", "", [&](const Versioned<JoinToken>& token) {
      if (token.value.voided) return true;
      JoinToken voided = token.value;
      voided.voided = true;
      txn.Compare(JoinTokenKey(voided.id), token.mod_revision);
      txn.Put(JoinTokenKey(voided.id), EncodeRecord(voided));
      if (txn.writes() >= kControlWritesMax) plan_.txns.push_back(std::exchange(txn, ControlTxn{}));
      return true;
    }));
    if (txn.writes() > 0) plan_.txns.push_back(std::move(txn));
    return absl::OkStatus();
  }

  const ApiCall& call_;
  const v1::AdoptHubRequest& request_;
  v1::AdoptHubResponse* const response_;
  WritePlan plan_;
};

}  // namespace

absl::Status GetHub(ApiCall* call, const v1::GetHubRequest&, v1::Hub* response) {
  HubFacts facts = call->backend().Facts();
  response->set_name("hub");
  response->set_version(facts.version);
  response->set_hub_id(facts.hub_id);
  response->set_feature_level(facts.feature_level);
  response->set_revision(call->snapshot().revision);
  CountClusters(*call, response);
  CountBundles(*call, response);
  if (!call->rights().May(Role::kViewer, Scope::Hub())) {
    response->clear_sessions();
    return absl::OkStatus();
  }
  if (!call->snapshot().terms->empty()) {
    const TermRecord& term = call->snapshot().terms->back();
    response->set_term(term.number);
    if (!TimeToProto(term.start_time, response->mutable_term_start_time()))
      response->clear_term_start_time();
  }
  for (const Condition& condition : facts.conditions)
    ToProto(condition, response->add_conditions());
  AddUnknown(*call, response);
  return absl::OkStatus();
}

absl::Status AdoptHub(ApiCall* call, const v1::AdoptHubRequest& request,
                      v1::AdoptHubResponse* response) {
  RETURN_IF_ERROR(call->rights().Check(Role::kAdmin, Scope::Hub(), "adopt the hub"));
  if (!request.confirm().empty() && request.confirm() != "hub") {
    return MakeError(Reason::kConfirmMismatch,
                     absl::StrCat("confirm: must be \"hub\", got \"", request.confirm(), "\""),
                     {{"resource", "hub"}});
  }
  WriteRequest write{&request, request.validate_only(), request.request_id(), "hub", false};
  return RunWrite(call, write, response,
                  [&] { return HubAdoption(*call, request, response).Plan(); });
}

absl::Status WhoAmI(ApiCall* call, const v1::WhoAmIRequest&, v1::WhoAmIResponse* response) {
  const Caller& caller = call->caller();
  response->set_user(caller.user);
  for (const std::string& group : caller.groups) response->add_groups(group);
  response->set_authenticated_by(caller.via == Caller::Via::kToken ? "token" : "certificate");
  for (const Grant& grant : call->rights().grants()) {
    v1::WhoAmIResponse::Right* right = response->add_rights();
    right->set_role_binding(grant.binding.empty() ? "built in" : RoleBindingName(grant.binding));
    right->set_role(std::string(FormatRole(grant.role)));
    right->set_scope(ScopeName(grant.scope));
  }
  return absl::OkStatus();
}

}  // namespace nave
