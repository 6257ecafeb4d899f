#include "tests/kubesim/kubesim.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/digest.h"
#include "tests/kubesim/controllers.h"
#include "tests/kubesim/watch.h"

namespace nave::kubesim {
namespace {

constexpr size_t kAuditLimit = 200000;
constexpr char kCrdResource[] = "customresourcedefinitions.apiextensions.k8s.io";

bool Established(const Value& crd) {
  const Value* conditions = crd.Find("status", "conditions");
  if (conditions == nullptr || conditions->array() == nullptr) return false;
  for (const Value& condition : *conditions->array()) {
    if (condition.StringAt("type") == "Established") return condition.StringAt("status") == "True";
  }
  return false;
}

std::vector<std::string> Strings(const Value* list) {
  std::vector<std::string> out;
  if (list == nullptr || list->array() == nullptr) return out;
  for (const Value& item : *list->array()) out.push_back(item.StringOr(""));
  return out;
}

KindInfo CustomKind(const Value& crd, const Value& version) {
  KindInfo kind;
  kind.crd = crd.StringAt("metadata", "name");
  kind.group = crd.StringAt("spec", "group");
  kind.version = version.StringAt("name");
  kind.kind = crd.StringAt("spec", "names", "kind");
  kind.plural = crd.StringAt("spec", "names", "plural");
  kind.singular = crd.StringAt("spec", "names", "singular");
  kind.namespaced = crd.StringAt("spec", "scope") == "Namespaced";
  kind.status = version.Find("subresources", "status") != nullptr;
  kind.generation = true;
  kind.short_names = Strings(crd.Find("spec", "names", "shortNames"));
  kind.categories = Strings(crd.Find("spec", "names", "categories"));
  auto schemas = std::make_shared<Schemas>();
  const Value* open_api = version.Find("schema", "openAPIV3Schema");
  kind.open_api = std::make_shared<const Value>(open_api == nullptr ? Value(Object()) : *open_api);
  kind.schema = SchemaFromOpenApi(*kind.open_api, schemas.get());
  kind.schemas = std::move(schemas);
  return kind;
}

}  // namespace

KubeSim::KubeSim(KubeSimOptions options, absl::Time now)
    : options_(std::move(options)),
      store_(std::make_unique<ObjectStore>(options_.history)),
      controllers_(std::make_unique<Controllers>(this)) {
  store_->on_change = [this](const StoreEvent& event) {
    if (event.resource == kCrdResource) RefreshCustomKinds();
    controllers_->OnChange(event);
    Deliver(event);
    if (on_work) on_work();
  };
  Bootstrap(now);
}

KubeSim::~KubeSim() = default;

void KubeSim::Bootstrap(absl::Time now) {
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
    SimRequest request;
    request.verb = SimRequest::Verb::kCreate;
    request.user = "system:apiserver";
    request.field_manager = "kube-apiserver";
    request.version = "v1";
    request.plural = "namespaces";
    request.object = Value(Object{{"apiVersion", Value("v1")},
                                  {"kind", Value("Namespace")},
                                  {"metadata", Value(Object{{"name", Value(name)}})}});
    HandleInternal(request, now);
  }
  if (options_.workloads) {
    // One node, so that DaemonSets have something to do.
    SimRequest request;
    request.verb = SimRequest::Verb::kCreate;
    request.field_manager = "kubelet";
    request.version = "v1";
    request.plural = "nodes";
    request.object = Value(Object{{"metadata", Value(Object{{"name", Value("kubesim-node")}})}});
    HandleInternal(request, now);
  }
  Step(now);
}

std::string KubeSim::NewUid() {
  std::string hex = Sha256(absl::StrCat("kubesim uid ", options_.seed, " ", next_uid_++)).Hex();
  return absl::StrCat(hex.substr(0, 8), "-", hex.substr(8, 4), "-4", hex.substr(13, 3), "-a",
                      hex.substr(17, 3), "-", hex.substr(20, 12));
}

SimResponse KubeSim::Handle(const SimRequest& request, absl::Time now) {
  SimResponse response;
  std::optional<std::string> denied;
  if (deny) denied = deny(request);
  if (denied.has_value()) {
    const KindInfo* kind = FindKind(request.group, request.version, request.plural);
    if (kind == nullptr) return UnknownPath();
    response = Forbidden(*kind, request.name, *denied);
  } else {
    response = Dispatch(request, now);
  }
  if (request.IsWrite() && audit_.size() < kAuditLimit) {
    AuditRecord record;
    record.user = request.user;
    record.verb = VerbName(request.verb);
    record.resource =
        request.group.empty() ? request.plural : absl::StrCat(request.plural, ".", request.group);
    if (!request.subresource.empty()) absl::StrAppend(&record.resource, "/", request.subresource);
    record.ns = request.plural == "namespaces" ? request.name : request.ns;
    record.name = request.name.empty() ? response.body.StringAt("metadata", "name") : request.name;
    record.dry_run = request.dry_run;
    record.code = response.code;
    record.time = now;
    audit_.push_back(std::move(record));
  }
  return response;
}

SimResponse KubeSim::HandleInternal(const SimRequest& request, absl::Time now) {
  return Dispatch(request, now);
}

const KindInfo* KubeSim::Resolve(const SimRequest& request, SimResponse* error) const {
  const KindInfo* kind = FindKind(request.group, request.version, request.plural);
  if (kind == nullptr) {
    *error = UnknownPath();
    for (const KindInfo* other : Kinds()) {
      if (other->group != request.group) continue;
      *error = MakeStatus(404, "NotFound", "the server could not find the requested resource");
    }
    return nullptr;
  }
  if (!kind->namespaced && !request.ns.empty() && request.plural != "namespaces") {
    *error = UnknownPath();
    return nullptr;
  }
  return kind;
}

SimResponse KubeSim::Dispatch(const SimRequest& request, absl::Time now) {
  SimResponse error;
  const KindInfo* kind = Resolve(request, &error);
  if (kind == nullptr) return error;
  if (request.subresource == "token") return IssueToken(*kind, request);
  if (request.subresource == "scale") return Scale(*kind, request, now);
  bool known = request.subresource.empty() || (request.subresource == "status" && kind->status) ||
               (request.subresource == "finalize" && kind->plural == "namespaces");
  if (!known) return UnknownPath();
  if (kind->namespaced && request.ns.empty() && request.verb != SimRequest::Verb::kList) {
    return MethodNotAllowed(*kind, VerbName(request.verb));
  }
  switch (request.verb) {
    case SimRequest::Verb::kGet:
      return Get(*kind, request);
    case SimRequest::Verb::kList:
      return List(*kind, request);
    case SimRequest::Verb::kCreate:
      return Create(*kind, request, now);
    case SimRequest::Verb::kUpdate:
      return Update(*kind, request, now);
    case SimRequest::Verb::kPatch:
      return PatchObject(*kind, request, now);
    case SimRequest::Verb::kDelete:
      return Delete(*kind, request, now);
    case SimRequest::Verb::kDeleteCollection:
      return DeleteAll(*kind, request, now);
  }
  return UnknownPath();
}

std::vector<const KindInfo*> KubeSim::Kinds() const {
  std::vector<const KindInfo*> out;
  for (const KindInfo& kind : BuiltinKinds()) out.push_back(&kind);
  for (const KindInfo& kind : custom_kinds_) out.push_back(&kind);
  return out;
}

const KindInfo* KubeSim::FindKind(absl::string_view group, absl::string_view version,
                                  absl::string_view plural) const {
  for (const std::vector<KindInfo>* kinds : {&BuiltinKinds(), &custom_kinds_}) {
    for (const KindInfo& kind : *kinds) {
      if (kind.plural == plural && kind.group == group && kind.version == version) return &kind;
    }
  }
  return nullptr;
}

const KindInfo* KubeSim::FindResource(absl::string_view resource) const {
  std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(resource, absl::MaxSplits('.', 1));
  for (const std::vector<KindInfo>* kinds : {&BuiltinKinds(), &custom_kinds_}) {
    for (const KindInfo& kind : *kinds) {
      if (kind.plural == parts.first && kind.group == parts.second) return &kind;
    }
  }
  return nullptr;
}

void KubeSim::RefreshCustomKinds() {
  custom_kinds_.clear();
  for (const auto& [name, crd] : store_->All(kCrdResource)) {
    if (!Established(*crd)) continue;
    const Value* versions = crd->Find("spec", "versions");
    if (versions == nullptr || versions->array() == nullptr) continue;
    for (const Value& version : *versions->array()) {
      const Value* served = version.Find("served");
      if (served != nullptr && served->BoolOr(false)) {
        custom_kinds_.push_back(CustomKind(*crd, version));
      }
    }
  }
  // Watches of what is not served any more end.
  for (auto it = watches_.begin(); it != watches_.end();) {
    const KindInfo& kind = it->second->kind;
    if (!kind.custom() || FindKind(kind.group, kind.version, kind.plural) != nullptr) {
      ++it;
      continue;
    }
    WatchSink sink = std::move(it->second->sink);
    it = watches_.erase(it);
    sink({"", Value()});
  }
}

ObjectPtr KubeSim::Find(absl::string_view resource, absl::string_view ns,
                        absl::string_view name) const {
  return store_->Find(resource, {std::string(ns), std::string(name)});
}

ObjectPtr KubeSim::Commit(const KindInfo& kind, const ObjectName& name, Value object) {
  // The kind may be a custom one that this very change replaces.
  std::string resource = kind.Resource();
  return store_->Put(resource, name, std::move(object));
}

void KubeSim::Remove(const KindInfo& kind, const ObjectName& name) {
  std::string resource = kind.Resource();
  store_->Erase(resource, name);
}

void KubeSim::Compact(int64_t revision) {
  store_->Compact(revision == 0 ? store_->revision() : revision);
}

size_t KubeSim::CountWrites(absl::string_view user, absl::string_view except_namespace) const {
  size_t count = 0;
  for (const AuditRecord& record : audit_) {
    if (record.user != user || record.dry_run) continue;
    if (!except_namespace.empty() && record.ns == except_namespace) continue;
    ++count;
  }
  return count;
}

std::string KubeSim::UserOfToken(absl::string_view token) const {
  auto it = tokens_.find(token);
  return it == tokens_.end() ? "" : it->second;
}

void KubeSim::Step(absl::Time now) {
  controllers_->Step(now);
  StepWatches(now);
}

absl::Time KubeSim::NextStep() const {
  absl::Time next = controllers_->NextStep();
  for (const auto& [id, watch] : watches_) {
    next = std::min({next, watch->deadline, watch->next_bookmark});
  }
  return next;
}

}  // namespace nave::kubesim
