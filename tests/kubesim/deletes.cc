// Deletion: preconditions, propagation, finalizers.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/value/codec.h"
#include "tests/kubesim/kubesim.h"
#include "tests/kubesim/selectors.h"

namespace nave::kubesim {
namespace {

struct DeleteOptions {
  std::string uid;
  std::string resource_version;
  std::string propagation;
  bool dry_run = false;
};

// A body hides all query options.
std::optional<DeleteOptions> ReadOptions(const SimRequest& request) {
  DeleteOptions out;
  if (request.body.empty() && !request.object.has_value()) {
    out.propagation = request.propagation;
    out.dry_run = request.dry_run;
    return out;
  }
  Value body;
  if (request.object.has_value()) {
    body = *request.object;
  } else {
    absl::StatusOr<Value> parsed = ParseJsonLenient(request.body);
    if (!parsed.ok() || !parsed->is_object()) return std::nullopt;
    body = *std::move(parsed);
  }
  out.uid = body.StringAt("preconditions", "uid");
  out.resource_version = body.StringAt("preconditions", "resourceVersion");
  out.propagation = body.StringAt("propagationPolicy");
  const Value* dry_run = body.Find("dryRun");
  out.dry_run = dry_run != nullptr && dry_run->array() != nullptr && !dry_run->array()->empty();
  return out;
}

void SetFinalizer(Value* object, const char* name, bool present) {
  Value& list = (*object)["metadata"]["finalizers"];
  if (!list.is_array()) list = Value(Array());
  Array* items = list.mutable_array();
  items->erase(std::remove(items->begin(), items->end(), Value(name)), items->end());
  if (present) items->push_back(Value(name));
  if (items->empty()) (*object)["metadata"].mutable_object()->erase("finalizers");
}

bool HasItems(const Value* list) {
  return list != nullptr && list->array() != nullptr && !list->array()->empty();
}

}  // namespace

SimResponse KubeSim::Delete(const KindInfo& kind, const SimRequest& request, absl::Time now) {
  ObjectName key{request.ns, request.name};
  ObjectPtr live = store_->Find(kind.Resource(), key);
  if (live == nullptr) return NotFound(kind, request.name);
  std::optional<DeleteOptions> options = ReadOptions(request);
  if (!options.has_value()) return BadRequest("the body is no DeleteOptions");
  std::string uid = live->StringAt("metadata", "uid");
  if (!options->uid.empty() && options->uid != uid) {
    return Conflict(kind, request.name,
                    absl::StrCat("the UID in the precondition (", options->uid,
                                 ") does not match the UID in record (", uid,
                                 "). The object might have been deleted and then recreated"));
  }
  std::string version = live->StringAt("metadata", "resourceVersion");
  if (!options->resource_version.empty() && options->resource_version != version) {
    return Conflict(
        kind, request.name,
        absl::StrCat("the ResourceVersion in the precondition (", options->resource_version,
                     ") does not match the ResourceVersion in record (", version,
                     "). The object might have been modified"));
  }
  Value object = *live;
  bool terminating = live->Find("metadata", "deletionTimestamp") != nullptr;
  if (!terminating) {
    // Jobs leave their pods unless told otherwise.
    std::string propagation = options->propagation;
    if (propagation.empty() && kind.kind == "Job") propagation = "Orphan";
    if (!propagation.empty()) {
      SetFinalizer(&object, "foregroundDeletion", propagation == "Foreground");
      SetFinalizer(&object, "orphan", propagation == "Orphan");
    }
    if (kind.kind == "CustomResourceDefinition") {
      SetFinalizer(&object, "customresourcecleanup.apiextensions.k8s.io", true);
    }
  }
  bool kept = HasItems(object.Find("metadata", "finalizers")) ||
              (kind.Resource() == "namespaces" && HasItems(object.Find("spec", "finalizers")));
  SimResponse out;
  if (!kept) {
    if (!options->dry_run) Remove(kind, key);
    return Deleted(kind, *live);
  }
  if (terminating) {
    out.body = Presented(kind, *live, request.metadata_only);
    return out;
  }
  object["metadata"]["deletionTimestamp"] = Value(FormatRfc3339(now));
  bool definition = kind.kind == "CustomResourceDefinition";
  if (kind.Resource() == "namespaces") {
    object["status"]["phase"] = Value("Terminating");
  } else if (!definition) {
    object["metadata"]["deletionGracePeriodSeconds"] = Value(0);
  }
  const Value* generation = object.Find("metadata", "generation");
  if (generation != nullptr && !definition) {
    object["metadata"]["generation"] = Value(generation->IntOr(0) + 1);
  }
  if (options->dry_run) {
    out.body = Presented(kind, object, request.metadata_only);
    return out;
  }
  KindInfo copy = kind;
  ObjectPtr stored = Commit(kind, key, std::move(object));
  out.body = Presented(copy, *stored, request.metadata_only);
  return out;
}

SimResponse KubeSim::DeleteAll(const KindInfo& kind, const SimRequest& request, absl::Time now) {
  SimRequest list = request;
  list.verb = SimRequest::Verb::kList;
  list.limit = 0;
  KindInfo copy = kind;
  SimResponse found = List(copy, list);
  if (!found.ok() || found.body.Find("items") == nullptr) return found;
  const Array* items = found.body.Find("items")->array();
  for (size_t i = 0; items != nullptr && i < items->size(); ++i) {
    SimRequest one = request;
    one.verb = SimRequest::Verb::kDelete;
    one.ns = (*items)[i].StringAt("metadata", "namespace");
    one.name = (*items)[i].StringAt("metadata", "name");
    Dispatch(one, now);
  }
  return found;
}

}  // namespace nave::kubesim
