#include "hub/rpc/assignments.h"

#include <string>

#include "common/model/names.h"
#include "common/wire/scalars.h"
#include "hub/controllers/actions.h"
#include "hub/rpc/record_handlers.h"

namespace nave {
namespace {

// Keys without a known name are shown to whoever may see the cluster.
bool MayReadAssignment(const ApiCall& call, const AssignmentView& view) {
  auto bundle = ParseBundleName("name", view.name);
  return !bundle.ok() || call.rights().May(Role::kViewer, Scope::OfProject(bundle->project));
}

// Names need not be there and need not be unique; sorts as the rollup does.
std::string PageKey(const AssignmentView& view) {
  return absl::StrCat(view.name, "\n", view.bundle.ToString());
}

}  // namespace

bool IsConnected(const LiveTable::Map& live, const Uuid& cluster) {
  auto at = live.Find(cluster);
  return at != nullptr && at->connected;
}

void ToProto(const AssignmentView& view, bool connected, bool full, v1::Assignment* out) {
  out->set_bundle(MakeUtf8(view.name.empty() ? view.bundle.ToString() : view.name));
  out->set_cluster(view.cluster_id);
  out->set_revision(view.decided ? view.revision : 0);
  if (!view.desired.IsNone()) out->set_desired_digest(view.desired.Hex());
  if (!view.reported.IsNone()) out->set_reported_digest(view.reported.Hex());
  out->set_phase(static_cast<v1::AssignmentPhase>(ToProtoNumber(view.phase)));
  out->set_health(static_cast<v1::Health>(ToProtoNumber(view.health)));
  ToProto(view.counts, out->mutable_counts());
  if (full) {
    for (const ObjectStatus& object : view.not_ok)
      ToProto(object, view.cluster_id, out->add_not_ok());
  }
  out->set_not_ok_total(view.not_ok_total);
  out->set_reason(MakeUtf8(view.reason));
  out->set_message(MakeUtf8(view.message));
  if (!TimeToProto(view.since, out->mutable_since())) out->clear_since();
  out->set_connected(connected);
  if (!TimeToProto(view.as_of, out->mutable_status_time())) out->clear_status_time();
  out->set_confirm_digest(ConfirmDigest(view));
}

absl::Status ListClusterAssignments(ApiCall* call, const v1::ListClusterAssignmentsRequest& request,
                                    v1::ListClusterAssignmentsResponse* response) {
  ASSIGN_OR_RETURN(Versioned<Cluster> cluster, ReadRecord<Cluster>(*call, request.name()));
  ASSIGN_OR_RETURN(auto pager, Pager<v1::ListClusterAssignmentsRequest>::Begin(*call, request));
  bool full = request.view() == v1::VIEW_FULL;
  const Uuid& uid = cluster.value.meta.uid;
  auto live = call->live().Find(uid);
  std::vector<AssignmentView> views = AssignmentsOfCluster(call->snapshot(), uid, live.get());
  std::sort(views.begin(), views.end(), [](const AssignmentView& a, const AssignmentView& b) {
    return PageKey(a) < PageKey(b);
  });
  for (const AssignmentView& view : views) {
    std::string key = PageKey(view);
    if (key <= pager.after() || !MayReadAssignment(*call, view)) continue;
    if (!pager.Fits()) {
      response->set_next_page_token(pager.NextToken());
      break;
    }
    v1::Assignment* item = response->add_assignments();
    ToProto(view, live != nullptr && live->connected, full, item);
    pager.Took(std::move(key), item->ByteSizeLong());
  }
  return absl::OkStatus();
}

}  // namespace nave
