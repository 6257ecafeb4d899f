#include "hub/rpc/bundle_read.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/model/names.h"
#include "hub/decide/rollup.h"
#include "hub/rpc/assignments.h"
#include "hub/rpc/bundle_content.h"
#include "hub/rpc/record_handlers.h"

namespace nave {
namespace {

// Viewers do not see the values of Secrets.
bool IsMasked(const ApiCall& call, const std::string& project) {
  return !call.rights().May(Role::kEditor, Scope::OfProject(project));
}

// An object of the listing as the cluster's status leaves it to be seen. `view`'s listed objects
// that are not right come by key.
ObjectStatus StateOf(const Listing::Entry& entry, const AssignmentView& view,
                     const std::map<ObjectKey, const ObjectStatus*>& not_ok) {
  ObjectStatus state;
  state.group = entry.key.group;
  state.kind = entry.key.kind;
  state.ns = entry.key.ns;
  state.name = entry.key.name;
  auto known = not_ok.find(entry.key);
  if (known != not_ok.end()) return *known->second;
  // The rest of a status that lists all that is not right is right.
  bool told = view.reported == view.desired && view.not_ok.size() >= view.not_ok_total &&
              view.current && view.phase != Phase::kPending && view.phase != Phase::kRejected;
  if (told && view.phase != Phase::kApplying) {
    state.health = Health::kHealthy;
    state.applied = true;
    state.since = view.since;
    return state;
  }
  state.health = Health::kUnknown;
  state.reason = view.reason;
  state.message = view.message;
  return state;
}

// Agents name objects after namespace defaulting, listings before it.
std::map<ObjectKey, const ObjectStatus*> NotOkOf(const AssignmentView& view,
                                                 const Listing& listing) {
  std::set<ObjectKey> listed;
  for (const Listing::Entry& entry : listing.objects) listed.insert(entry.key);
  std::map<ObjectKey, const ObjectStatus*> found;
  for (const ObjectStatus& object : view.not_ok) {
    ObjectKey key{object.group, object.kind, object.ns, object.name};
    if (listed.count(key) == 0 && key.ns == listing.options.default_namespace) key.ns.clear();
    found[std::move(key)] = &object;
  }
  return found;
}

// Collects the pages of ListBundleObjects.
class ObjectLister {
 public:
  ObjectLister(const ApiCall& call, const Bundle& bundle) : call_(call), bundle_(bundle) {}

  // Key of an object on a page: cluster and place in its listing.
  static std::string Key(const AssignmentView& view, size_t index) {
    return absl::StrCat(view.cluster_id, "/", index);
  }

  absl::StatusOr<const Listing*> ListingOf(const AssignmentView& view) {
    auto revisions = call_.snapshot().revisions.Find(bundle_.meta.uid);
    if (revisions == nullptr) return nullptr;
    auto revision = revisions->find(view.revision);
    if (revision == revisions->end()) return nullptr;
    auto [it, is_new] = listings_.try_emplace(revision->second.listing);
    if (is_new) {
      ASSIGN_OR_RETURN(it->second, ReadListing(call_, revision->second.listing));
    }
    return &it->second;
  }

 private:
  const ApiCall& call_;
  const Bundle& bundle_;
  std::map<Digest, Listing> listings_;
};

// Splits "cluster/index"; an empty key begins at the first.
std::pair<std::string, size_t> ReadObjectKey(absl::string_view key) {
  size_t slash = key.rfind('/');
  size_t index = 0;
  if (slash == absl::string_view::npos || !absl::SimpleAtoi(key.substr(slash + 1), &index))
    return {"", 0};
  return {std::string(key.substr(0, slash)), index + 1};
}

}  // namespace

absl::Status CheckParent(const ApiCall& call, const std::string& project) {
  if (project == kAnyProject) return absl::OkStatus();
  RETURN_IF_ERROR(call.rights().Check(Role::kViewer, Scope::OfProject(project), "read it"));
  if (call.snapshot().projects.count(project) > 0) return absl::OkStatus();
  return NotFound<Project>({"", project});
}

absl::Status GetBundle(ApiCall* call, const v1::GetBundleRequest& request, v1::Bundle* response) {
  ASSIGN_OR_RETURN(Versioned<Bundle> bundle, ReadRecord<Bundle>(*call, request.name()));
  RETURN_IF_ERROR(FillManifests(*call, &bundle.value));
  if (request.view() == v1::VIEW_FULL) {
    RETURN_IF_ERROR(
        FillContents(*call, IsMasked(*call, bundle.value.project), &bundle.value.spec.manifests));
  }
  return ToApi(*call, bundle, response);
}

absl::Status ListBundles(ApiCall* call, const v1::ListBundlesRequest& request,
                         v1::ListBundlesResponse* response) {
  ASSIGN_OR_RETURN(std::string project, ParseProjectParent("parent", request.parent()));
  RETURN_IF_ERROR(CheckParent(*call, project));
  return ListRecords<Bundle>(call, request, project, nullptr, response->mutable_bundles(),
                             response);
}

absl::Status GetBundleRevision(ApiCall* call, const v1::GetBundleRevisionRequest& request,
                               v1::BundleRevision* response) {
  ASSIGN_OR_RETURN(RevisionRef ref, ParseRevisionName("name", request.name()));
  RETURN_IF_ERROR(call->rights().Check(Role::kViewer, Scope::OfProject(ref.project), "read it"));
  auto bundle = call->snapshot().BundleById(ref.project, ref.bundle);
  if (bundle == nullptr) return NotFound<Bundle>({ref.project, ref.bundle});
  auto revisions = call->snapshot().revisions.Find(bundle->value.meta.uid);
  if (revisions == nullptr || revisions->count(ref.number) == 0) {
    return MakeError(Reason::kNotFound, absl::StrCat("revision ", ref.number, ": is not kept"),
                     {{"resource", request.name()}});
  }
  BundleRevision revision = revisions->at(ref.number);
  RETURN_IF_ERROR(FillManifests(*call, &revision));
  if (request.view() == v1::VIEW_FULL) {
    RETURN_IF_ERROR(FillContents(*call, IsMasked(*call, ref.project), &revision.manifests));
  }
  ToProto(revision, response);
  return absl::OkStatus();
}

absl::Status ListBundleRevisions(ApiCall* call, const v1::ListBundleRevisionsRequest& request,
                                 v1::ListBundleRevisionsResponse* response) {
  ASSIGN_OR_RETURN(Versioned<Bundle> bundle, ReadRecord<Bundle>(*call, request.parent()));
  ASSIGN_OR_RETURN(auto pager, Pager<v1::ListBundleRevisionsRequest>::Begin(*call, request));
  auto revisions = call->snapshot().revisions.Find(bundle.value.meta.uid);
  if (revisions == nullptr) return absl::OkStatus();
  uint64_t after = 0;
  bool has_after = absl::SimpleAtoi(pager.after(), &after);
  for (auto it = revisions->rbegin(); it != revisions->rend(); ++it) {
    if (has_after && it->first >= after) continue;
    if (!pager.Fits()) {
      response->set_next_page_token(pager.NextToken());
      break;
    }
    BundleRevision revision = it->second;
    RETURN_IF_ERROR(FillManifests(*call, &revision));
    v1::BundleRevision* item = response->add_bundle_revisions();
    ToProto(revision, item);
    pager.Took(absl::StrCat(it->first), item->ByteSizeLong());
  }
  return absl::OkStatus();
}

absl::Status ListBundleAssignments(ApiCall* call, const v1::ListBundleAssignmentsRequest& request,
                                   v1::ListBundleAssignmentsResponse* response) {
  ASSIGN_OR_RETURN(Versioned<Bundle> bundle, ReadRecord<Bundle>(*call, request.name()));
  ASSIGN_OR_RETURN(auto pager, Pager<v1::ListBundleAssignmentsRequest>::Begin(*call, request));
  bool full = request.view() == v1::VIEW_FULL;
  for (const AssignmentView& view :
       AssignmentsOfBundle(call->snapshot(), bundle.value.meta.uid, call->live())) {
    if (!pager.after().empty() && view.cluster_id <= pager.after()) continue;
    if (!pager.Fits()) {
      response->set_next_page_token(pager.NextToken());
      break;
    }
    v1::Assignment* item = response->add_assignments();
    ToProto(view, IsConnected(call->live(), view.cluster), full, item);
    pager.Took(view.cluster_id, item->ByteSizeLong());
  }
  return absl::OkStatus();
}

absl::Status ListBundleObjects(ApiCall* call, const v1::ListBundleObjectsRequest& request,
                               v1::ListBundleObjectsResponse* response) {
  ASSIGN_OR_RETURN(Versioned<Bundle> bundle, ReadRecord<Bundle>(*call, request.name()));
  ASSIGN_OR_RETURN(auto pager, Pager<v1::ListBundleObjectsRequest>::Begin(*call, request));
  if (!request.cluster().empty() && call->snapshot().ClusterById(request.cluster()) == nullptr) {
    return NotFound<Cluster>({"", request.cluster()});
  }
  auto [first_cluster, first_index] = ReadObjectKey(pager.after());
  ObjectLister lister(*call, bundle.value);
  for (const AssignmentView& view :
       AssignmentsOfBundle(call->snapshot(), bundle.value.meta.uid, call->live())) {
    if (view.cluster_id < first_cluster) continue;
    if (!request.cluster().empty() && view.cluster_id != request.cluster()) continue;
    if (!IsConnected(call->live(), view.cluster)) response->add_unreachable(view.cluster_id);
    ASSIGN_OR_RETURN(const Listing* listing, lister.ListingOf(view));
    if (listing == nullptr) continue;
    auto not_ok = NotOkOf(view, *listing);
    for (size_t i = view.cluster_id == first_cluster ? first_index : 0; i < listing->objects.size();
         ++i) {
      if (!pager.Fits()) {
        response->set_next_page_token(pager.NextToken());
        return absl::OkStatus();
      }
      v1::ObjectState* item = response->add_objects();
      ToProto(StateOf(listing->objects[i], view, not_ok), view.cluster_id, item);
      pager.Took(ObjectLister::Key(view, i), item->ByteSizeLong());
    }
  }
  return absl::OkStatus();
}

}  // namespace nave
