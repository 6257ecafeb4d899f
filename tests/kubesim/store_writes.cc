// The second half of every write: server fields, defaults, validation, ownership, storage. And
// tokens and scale.
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/value/codec.h"
#include "tests/kubesim/admission.h"
#include "tests/kubesim/kubesim.h"
#include "tests/kubesim/patches.h"
#include "tests/kubesim/typed.h"

namespace nave::kubesim {
namespace {

// etcd's limit on one request; the object is stored with some overhead.
constexpr size_t kEtcdLimit = 1500000;

bool TooLargeForEtcd(const SimRequest& request, const Value& object) {
  // Only a large request can make a large object; formatting each would cost too much.
  return request.body.size() > kEtcdLimit / 4 && FormatJson(object).size() > kEtcdLimit;
}

FieldWriter WriterOf(const KindInfo& kind, const SimRequest& request, absl::Time now) {
  FieldWriter writer;
  writer.manager = request.field_manager.empty() ? "unknown" : request.field_manager;
  writer.api_version = kind.ApiVersion();
  writer.subresource = request.subresource;
  writer.now = now;
  if (request.subresource == "status") {
    writer.reset.Insert({"f:spec"});
  } else if (kind.status) {
    writer.reset.Insert({"f:status"});
  }
  // The server's own addition to what was created.
  if (kind.Resource() == "namespaces") writer.reset.Insert({"f:spec", "f:finalizers"});
  return writer;
}

void DropEmptyMetadata(Value* object) {
  Object* metadata = (*object)["metadata"].mutable_object();
  if (metadata == nullptr) return;
  for (const char* name : {"labels", "annotations", "finalizers", "ownerReferences"}) {
    auto it = metadata->find(name);
    if (it == metadata->end()) continue;
    const Object* map = it->second.object();
    const Array* list = it->second.array();
    if ((map != nullptr && map->empty()) || (list != nullptr && list->empty())) metadata->erase(it);
  }
}

void TakeMetadata(const Value& live, absl::string_view name, Value* object) {
  Object* metadata = (*object)["metadata"].mutable_object();
  if (const Value* value = live.Find("metadata", name)) {
    (*metadata)[std::string(name)] = *value;
  } else {
    auto it = metadata->find(name);
    if (it != metadata->end()) metadata->erase(it);
  }
}

// What generation counts.
Value Content(const Value& object) {
  Value out = object;
  for (const char* name : {"metadata", "status", "apiVersion"}) out.mutable_object()->erase(name);
  return out;
}

bool HasFinalizers(const KindInfo& kind, const Value& object) {
  const Value* finalizers = object.Find("metadata", "finalizers");
  if (finalizers != nullptr && finalizers->array() != nullptr && !finalizers->array()->empty()) {
    return true;
  }
  if (kind.Resource() != "namespaces") return false;
  finalizers = object.Find("spec", "finalizers");
  return finalizers != nullptr && finalizers->array() != nullptr && !finalizers->array()->empty();
}

}  // namespace

SimResponse KubeSim::StoreCreated(const Write& write, Value object, bool plain,
                                  std::vector<std::string> warnings) {
  const KindInfo& kind = write.kind;
  Value& metadata = object["metadata"];
  for (const char* name : {"resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds",
                           "selfLink", "generation"}) {
    metadata.mutable_object()->erase(name);
  }
  metadata["uid"] = Value(NewUid());
  metadata["creationTimestamp"] = Value(FormatRfc3339(write.now));
  if (kind.generation) metadata["generation"] = Value(1);
  if (kind.status) object.mutable_object()->erase("status");
  NullsToEmpty(&object, *kind.schema);
  StripNulls(&object);
  DropEmptyMetadata(&object);
  SetDefaults(kind, nullptr, next_address_, &object);
  if (kind.Resource() == "services") ++next_address_;
  std::vector<StatusCause> causes = Validate(kind, nullptr, object);
  if (!causes.empty()) return Invalid(kind, write.name.second, std::move(causes));
  if (TooLargeForEtcd(write.request, object)) return Structural("etcdserver: request is too large");
  if (plain) {
    object = UpdateFields(Value(), std::move(object), *kind.schema,
                          WriterOf(kind, write.request, write.now));
  }
  SimResponse out;
  out.code = 201;
  out.warnings = std::move(warnings);
  if (write.request.dry_run) {
    out.body = std::move(object);
    return out;
  }
  KindInfo copy = kind;  // Storing a CRD replaces the kinds.
  ObjectPtr stored = Commit(kind, write.name, std::move(object));
  out.body = Presented(copy, *stored, write.request.metadata_only);
  return out;
}

SimResponse KubeSim::StoreUpdated(const Write& write, Value object, bool plain,
                                  std::vector<std::string> warnings) {
  const KindInfo& kind = write.kind;
  Value live = Presented(kind, *write.live, false);
  for (const char* name : {"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
                           "selfLink", "generation"}) {
    TakeMetadata(live, name, &object);
  }
  if (object.StringAt("metadata", "uid").empty()) TakeMetadata(live, "uid", &object);
  NullsToEmpty(&object, *kind.schema);
  StripNulls(&object);
  DropEmptyMetadata(&object);
  SetDefaults(kind, &live, 0, &object);
  if (write.request.subresource.empty()) {
    std::vector<StatusCause> causes = Validate(kind, &live, object);
    if (!causes.empty()) return Invalid(kind, write.name.second, std::move(causes));
  }
  if (TooLargeForEtcd(write.request, object)) return Structural("etcdserver: request is too large");
  if (kind.generation && !(Content(live) == Content(object))) {
    int64_t generation = live.Find("metadata", "generation") == nullptr
                             ? 0
                             : live.Find("metadata", "generation")->IntOr(0);
    object["metadata"]["generation"] = Value(generation + 1);
  }
  if (plain) {
    object = UpdateFields(live, std::move(object), *kind.schema,
                          WriterOf(kind, write.request, write.now));
  }
  SimResponse out;
  out.warnings = std::move(warnings);
  bool gone = live.Find("metadata", "deletionTimestamp") != nullptr && !HasFinalizers(kind, object);
  if (SameButTimes(live, object) && !gone) {
    out.body = Presented(kind, live, write.request.metadata_only);
    return out;
  }
  TakeMetadata(live, "resourceVersion", &object);
  if (write.request.dry_run) {
    out.body = std::move(object);
    return out;
  }
  KindInfo copy = kind;
  if (gone) {
    out.body = Presented(copy, object, write.request.metadata_only);
    Remove(kind, write.name);
    return out;
  }
  ObjectPtr stored = Commit(kind, write.name, std::move(object));
  out.body = Presented(copy, *stored, write.request.metadata_only);
  return out;
}

SimResponse KubeSim::IssueToken(const KindInfo& kind, const SimRequest& request) {
  if (kind.Resource() != "serviceaccounts" || request.verb != SimRequest::Verb::kCreate) {
    return UnknownPath();
  }
  if (store_->Find("serviceaccounts", {request.ns, request.name}) == nullptr) {
    return NotFound(kind, request.name);
  }
  std::string token = absl::StrCat("kubesim-", NewUid());
  tokens_[token] = absl::StrCat("system:serviceaccount:", request.ns, ":", request.name);
  SimResponse out;
  out.code = 201;
  out.body = Value(Object{
      {"apiVersion", Value("authentication.k8s.io/v1")},
      {"kind", Value("TokenRequest")},
      {"metadata", Value(Object{{"name", Value(request.name)}, {"namespace", Value(request.ns)}})},
      {"status", Value(Object{{"token", Value(token)},
                              {"expirationTimestamp", Value("2100-01-01T00:00:00Z")}})}});
  return out;
}

SimResponse KubeSim::Scale(const KindInfo& kind, const SimRequest& request, absl::Time now) {
  if (kind.group != "apps" || kind.kind == "DaemonSet") return UnknownPath();
  ObjectPtr live = store_->Find(kind.Resource(), {request.ns, request.name});
  if (live == nullptr) return NotFound(kind, request.name);
  auto scale_of = [](const Value& object) {
    Value out(Object{{"apiVersion", Value("autoscaling/v1")}, {"kind", Value("Scale")}});
    for (const char* name : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
      if (const Value* value = object.Find("metadata", name)) out["metadata"][name] = *value;
    }
    const Value* replicas = object.Find("spec", "replicas");
    out["spec"]["replicas"] = replicas == nullptr ? Value(0) : *replicas;
    const Value* ready = object.Find("status", "replicas");
    out["status"]["replicas"] = ready == nullptr ? Value(0) : *ready;
    return out;
  };
  SimResponse out;
  out.body = scale_of(*live);
  if (request.verb == SimRequest::Verb::kGet) return out;
  Value wanted = out.body;
  if (request.object.has_value()) {
    wanted = MergePatch(std::move(wanted), *request.object);
  } else {
    absl::StatusOr<Value> body = ParseJsonLenient(request.body);
    if (!body.ok()) return BadRequest("the body is no scale");
    wanted = MergePatch(std::move(wanted), *body);
  }
  if (wanted.StringAt("metadata", "resourceVersion") !=
      live->StringAt("metadata", "resourceVersion")) {
    return Modified(kind, request.name);
  }
  const Value* replicas = wanted.Find("spec", "replicas");
  SimRequest change = request;
  change.subresource = "";
  change.verb = SimRequest::Verb::kPatch;
  change.patch = SimRequest::Patch::kMerge;
  change.object = Value(Object());
  (*change.object)["spec"]["replicas"] = replicas == nullptr ? Value(0) : *replicas;
  SimResponse changed = Dispatch(change, now);
  if (changed.ok()) changed.body = scale_of(changed.body);
  return changed;
}

}  // namespace nave::kubesim
