#include "hub/rpc/cluster_handlers.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/model/names.h"
#include "hub/controllers/actions.h"
#include "hub/rpc/adopt.h"
#include "hub/rpc/record_handlers.h"

namespace nave {

template <>
void WriteHooks<Cluster>::Carry(const Cluster& before, absl::Time now, Cluster* after) {
  if (!before.id.empty()) after->id = before.id;
  after->status = before.status;
  for (Taint& taint : after->spec.taints) {
    taint.since = now;
    for (const Taint& old : before.spec.taints) {
      if (old.key == taint.key && old.value == taint.value && old.effect == taint.effect)
        taint.since = old.since;
    }
  }
}
template <>
bool WriteHooks<Cluster>::SameSpec(const Cluster& a, const Cluster& b) {
  return a.spec == b.spec;
}
template <>
void WriteHooks<Cluster>::OnCreate(const Cluster& record, ControlTxn* txn) {
  txn->Put(ByUidKey(UidKind::kCluster, record.meta.uid), EncodeText(record.id));
}

namespace {

constexpr size_t kNamesShownMax = 200;

absl::Status Conflict(const Cluster& cluster, absl::string_view rule) {
  return MakeError(Reason::kClusterStateConflict,
                   absl::StrCat("cluster \"", cluster.id, "\": ", rule),
                   {{"resource", ClusterName(cluster.id)}});
}

absl::Status CheckConfirm(const std::string& given, const std::string& want,
                          const std::string& resource) {
  if (given == want) return absl::OkStatus();
  return MakeError(Reason::kConfirmMismatch,
                   absl::StrCat("confirm: must be \"", want, "\", got \"", given, "\""),
                   {{"resource", resource}});
}

Event MakeClusterEvent(const ApiCall& call, const Cluster& cluster, absl::string_view reason,
                       std::string message) {
  Event event;
  event.about = absl::StrCat("clusters/", cluster.id);
  event.cluster = cluster.id;
  event.reason = std::string(reason);
  event.message = std::move(message);
  event.meta.create_time = call.now();
  event.last_time = call.now();
  return event;
}

// What a verb needs and does.
struct Verb {
  Role role = Role::kAdmin;
  // For the refusal: "accept clusters".
  absl::string_view action;
  // Changes the record, or says why it may not. A record that stays as it is is not written.
  std::function<absl::Status(Cluster*)> change;
  // Reason word of the event; empty: none.
  absl::string_view event;
  std::string message;
};

template <typename Request>
absl::StatusOr<WritePlan> PlanVerb(const ApiCall& call, const RecordRef& ref,
                                   const Request& request, const Verb& verb,
                                   v1::Cluster* response) {
  ASSIGN_OR_RETURN(auto present, FindRecord<Cluster>(call, ref));
  if (!present.has_value()) return NotFound<Cluster>(ref);
  const Cluster& before = present->value;
  RETURN_IF_ERROR(
      call.rights().Check(verb.role, Scope::OfClusterSet(before.spec.cluster_set), verb.action));
  RETURN_IF_ERROR(CheckEtag(request.etag(), EtagOf(before), ClusterName(ref.id)));
  Cluster after = before;
  RETURN_IF_ERROR(verb.change(&after));
  WritePlan plan;
  if (!(after == before)) {
    if (!(after.spec == before.spec)) ++after.meta.generation;
    after.meta.update_time = call.now();
    plan.txns.push_back(PutTxn(after, present->mod_revision));
    if (!verb.event.empty()) {
      plan.txns.back().events.push_back(MakeClusterEvent(call, after, verb.event, verb.message));
    }
  }
  RETURN_IF_ERROR(ToApi<Cluster>(call, {after, present->mod_revision}, response));
  return plan;
}

template <typename Request>
absl::Status RunVerb(ApiCall* call, const Request& request, const Verb& verb,
                     v1::Cluster* response) {
  ASSIGN_OR_RETURN(RecordRef ref, ParseRecordName(KeyKind::kCluster, "name", request.name()));
  return RunWrite(call, WriteOf<Cluster>(request, ref), response,
                  [&] { return PlanVerb(*call, ref, request, verb, response); });
}

// The agent that calls with a certificate of ours and without a record: by uid, or the only one of
// that name.
absl::StatusOr<UnknownCluster> FindUnknown(const ApiCall& call, const RecordRef& ref,
                                           const std::string& uid) {
  std::optional<Uuid> wanted;
  if (!uid.empty()) {
    wanted = Uuid::Parse(uid);
    if (!wanted.has_value()) return FieldError("unknown_uid", "must be a UUID");
  }
  std::vector<UnknownCluster> found;
  for (const UnknownCluster& unknown : call.backend().live()->Unknown()) {
    if (wanted.has_value() ? unknown.uid == *wanted : unknown.id == ref.id)
      found.push_back(unknown);
  }
  if (found.empty()) return NotFound<Cluster>(ref);
  if (found.size() > 1)
    return FieldError("unknown_uid", absl::StrCat("must say which of ", found.size(), " agents"));
  return found[0];
}

absl::StatusOr<WritePlan> PlanAcceptNew(const ApiCall& call, const RecordRef& ref,
                                        const v1::AcceptClusterRequest& request,
                                        v1::Cluster* response) {
  std::string set = request.cluster_set().empty() ? "default" : request.cluster_set();
  RETURN_IF_ERROR(call.rights().Check(Role::kAdmin, Scope::OfClusterSet(set), "accept clusters"));
  if (call.snapshot().cluster_sets.count(set) == 0) {
    return FieldError("cluster_set",
                      absl::StrCat("must name a cluster set that exists, there is no '", set, "'"));
  }
  ASSIGN_OR_RETURN(UnknownCluster unknown, FindUnknown(call, ref, request.unknown_uid()));
  WritePlan plan;
  ASSIGN_OR_RETURN(ControlTxn txn,
                   PlanAcceptUnknown(call.snapshot(), unknown, ref.id, set, call.now()));
  ASSIGN_OR_RETURN(Cluster record, RecordIn<Cluster>(txn, ClusterKey(ref.id)));
  txn.events.push_back(
      MakeClusterEvent(call, record, Camel(Reason::kAccepted), "the record was made anew"));
  plan.txns.push_back(std::move(txn));
  plan.detail = absl::StrCat("unknown cluster ", unknown.uid.ToString());
  RETURN_IF_ERROR(ToApi<Cluster>(call, {record, 0}, response));
  return plan;
}

}  // namespace

absl::Status GetCluster(ApiCall* call, const v1::GetClusterRequest& request,
                        v1::Cluster* response) {
  return GetRecord<Cluster>(call, request, response);
}
absl::Status ListClusters(ApiCall* call, const v1::ListClustersRequest& request,
                          v1::ListClustersResponse* response) {
  return ListRecords<Cluster>(call, request, "", nullptr, response->mutable_clusters(), response);
}
absl::Status CreateCluster(ApiCall* call, const v1::CreateClusterRequest& request,
                           v1::Cluster* response) {
  return CreateRecord<Cluster>(call, request, request.cluster_id(), "cluster_id", request.cluster(),
                               response);
}
absl::Status UpdateCluster(ApiCall* call, const v1::UpdateClusterRequest& request,
                           v1::Cluster* response) {
  return UpdateRecord<Cluster>(call, request, request.cluster(), response);
}

absl::Status AcceptCluster(ApiCall* call, const v1::AcceptClusterRequest& request,
                           v1::Cluster* response) {
  ASSIGN_OR_RETURN(RecordRef ref, ParseRecordName(KeyKind::kCluster, "name", request.name()));
  Verb verb{Role::kAdmin, "accept clusters",
            [](Cluster* cluster) {
              if (cluster->status.removing) return Conflict(*cluster, "is being removed");
              cluster->status.admission = Admission::kAccepted;
              return absl::OkStatus();
            },
            Camel(Reason::kAccepted), "its agent may connect"};
  return RunWrite(
      call, WriteOf<Cluster>(request, ref), response, [&]() -> absl::StatusOr<WritePlan> {
        ASSIGN_OR_RETURN(auto present, FindRecord<Cluster>(*call, ref));
        if (!present.has_value()) return PlanAcceptNew(*call, ref, request, response);
        if (!request.unknown_uid().empty())
          return Conflict(present->value, "exists; take another name for the unknown one");
        if (!request.cluster_set().empty()) {
          return FieldError("cluster_set", "must be empty for a cluster that has a record");
        }
        return PlanVerb(*call, ref, request, verb, response);
      });
}

absl::Status RejectCluster(ApiCall* call, const v1::RejectClusterRequest& request,
                           v1::Cluster* response) {
  auto change = [](Cluster* cluster) {
    if (cluster->status.admission == Admission::kAccepted)
      return Conflict(*cluster, "is accepted; revoke or remove it");
    cluster->status.admission = Admission::kRejected;
    return absl::OkStatus();
  };
  Verb verb{Role::kAdmin, "reject clusters", change, Camel(Reason::kRejected),
            "its agent is refused"};
  return RunVerb(call, request, verb, response);
}

absl::Status CordonCluster(ApiCall* call, const v1::CordonClusterRequest& request,
                           v1::Cluster* response) {
  auto change = [](Cluster* cluster) {
    cluster->spec.cordoned = true;
    return absl::OkStatus();
  };
  return RunVerb(call, request, {Role::kEditor, "cordon clusters", change, "", ""}, response);
}

absl::Status UncordonCluster(ApiCall* call, const v1::UncordonClusterRequest& request,
                             v1::Cluster* response) {
  auto change = [](Cluster* cluster) {
    cluster->spec.cordoned = false;
    return absl::OkStatus();
  };
  return RunVerb(call, request, {Role::kEditor, "uncordon clusters", change, "", ""}, response);
}

absl::Status RevokeCluster(ApiCall* call, const v1::RevokeClusterRequest& request,
                           v1::Cluster* response) {
  auto change = [](Cluster* cluster) {
    ClusterStatus& status = cluster->status;
    if (status.admission != Admission::kAccepted)
      return Conflict(*cluster, "is not accepted, so nothing is to be revoked");
    if (status.revoked) return absl::OkStatus();
    status.revoked = true;
    // Everything that was issued or seen so far is of a lower one.
    status.certificate_generation =
        std::max(status.certificate_generation, status.certificate_generation_seen) + 1;
    return absl::OkStatus();
  };
  Verb verb{Role::kAdmin, "revoke clusters", change, Camel(Reason::kRevoked),
            "all its certificates are refused"};
  return RunVerb(call, request, verb, response);
}

absl::Status RemoveCluster(ApiCall* call, const v1::RemoveClusterRequest& request,
                           v1::Cluster* response) {
  ASSIGN_OR_RETURN(RecordRef ref, ParseRecordName(KeyKind::kCluster, "name", request.name()));
  if (!request.confirm().empty())
    RETURN_IF_ERROR(CheckConfirm(request.confirm(), ref.id, request.name()));
  bool confirmed = !request.confirm().empty();
  auto change = [confirmed](Cluster* cluster) {
    cluster->status.removing = true;
    cluster->status.remove_confirmed = cluster->status.remove_confirmed || confirmed;
    return absl::OkStatus();
  };
  Verb verb{Role::kAdmin, "remove clusters", change, Camel(Reason::kRemoving),
            "what the bundles put there is removed"};
  return RunVerb(call, request, verb, response);
}

absl::Status UnlockCluster(ApiCall* call, const v1::UnlockClusterRequest& request,
                           v1::Cluster* response) {
  auto change = [](Cluster* cluster) {
    if (!cluster->status.locked) return Conflict(*cluster, "is not locked");
    cluster->status.locked = false;
    return absl::OkStatus();
  };
  Verb verb{Role::kAdmin, "unlock clusters", change, Camel(Reason::kUnlocked),
            "agents may connect again"};
  return RunVerb(call, request, verb, response);
}

absl::Status ForgetCluster(ApiCall* call, const v1::ForgetClusterRequest& request,
                           v1::ForgetClusterResponse* response) {
  ASSIGN_OR_RETURN(RecordRef ref, ParseRecordName(KeyKind::kCluster, "name", request.name()));
  RETURN_IF_ERROR(CheckConfirm(request.confirm(), ref.id, request.name()));
  return RunWrite(
      call, WriteOf<Cluster>(request, ref), response, [&]() -> absl::StatusOr<WritePlan> {
        ASSIGN_OR_RETURN(auto present, FindRecord<Cluster>(*call, ref));
        if (!present.has_value()) return NotFound<Cluster>(ref);
        const Cluster& record = present->value;
        RETURN_IF_ERROR(call->rights().Check(
            Role::kAdmin, Scope::OfClusterSet(record.spec.cluster_set), "forget clusters"));
        RETURN_IF_ERROR(CheckEtag(request.etag(), EtagOf(record), ClusterName(ref.id)));
        std::vector<std::string> left;
        ASSIGN_OR_RETURN(ControlTxn txn, PlanForget(call->snapshot(), call->live(), record.meta.uid,
                                                    call->now(), &left));
        WritePlan plan;
        plan.txns.push_back(std::move(txn));
        plan.detail = absl::StrCat("left behind: ", left.size());
        response->set_left_behind_total(static_cast<uint32_t>(left.size()));
        left.resize(std::min(left.size(), kNamesShownMax));
        for (std::string& name : left) response->add_left_behind(std::move(name));
        return plan;
      });
}

absl::Status AdoptCluster(ApiCall* call, const v1::AdoptClusterRequest& request,
                          v1::AdoptClusterResponse* response) {
  ASSIGN_OR_RETURN(RecordRef ref, ParseRecordName(KeyKind::kCluster, "name", request.name()));
  if (!request.confirm().empty())
    RETURN_IF_ERROR(CheckConfirm(request.confirm(), ref.id, request.name()));
  return RunWrite(
      call, WriteOf<Cluster>(request, ref), response, [&]() -> absl::StatusOr<WritePlan> {
        ASSIGN_OR_RETURN(auto present, FindRecord<Cluster>(*call, ref));
        if (!present.has_value()) return NotFound<Cluster>(ref);
        const Cluster& record = present->value;
        RETURN_IF_ERROR(call->rights().Check(
            Role::kAdmin, Scope::OfClusterSet(record.spec.cluster_set), "adopt clusters"));
        RETURN_IF_ERROR(CheckEtag(request.etag(), EtagOf(record), ClusterName(ref.id)));
        WritePlan plan;
        const Uuid& uid = record.meta.uid;
        if (request.remove_unclaimed()) {
          plan.txns = PlanRemoveUnclaimed(call->snapshot(), call->live(), uid,
                                          !request.confirm().empty(), call->now());
        }
        ASSIGN_OR_RETURN(ControlTxn adopt, PlanAdoptAnew(*call, {uid}));
        plan.txns.push_back(std::move(adopt));
        std::vector<AssignmentView> unclaimed = UnclaimedKeys(call->snapshot(), call->live(), uid);
        response->set_not_desired_total(static_cast<uint32_t>(unclaimed.size()));
        unclaimed.resize(std::min(unclaimed.size(), kNamesShownMax));
        for (const AssignmentView& view : unclaimed) {
          response->add_not_desired(view.name.empty() ? view.bundle.ToString() : view.name);
        }
        RETURN_IF_ERROR(ToApi<Cluster>(*call, *present, response->mutable_cluster()));
        return plan;
      });
}

}  // namespace nave
