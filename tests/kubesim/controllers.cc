#include "tests/kubesim/controllers.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/kubesim/admission.h"
#include "tests/kubesim/workloads.h"

namespace nave::kubesim {
namespace {

constexpr char kPvcFinalizer[] = "kubernetes.io/pvc-protection";
constexpr char kCrds[] = "customresourcedefinitions.apiextensions.k8s.io";
constexpr char kCrdFinalizer[] = "customresourcecleanup.apiextensions.k8s.io";
constexpr char kManager[] = "kube-controller-manager";

bool HasItems(const Value& object, const char* name) {
  const Value* list = object.Find("metadata", name);
  return list != nullptr && list->array() != nullptr && !list->array()->empty();
}

bool HasFinalizer(const Value& object, absl::string_view name) {
  const Value* list = object.Find("metadata", "finalizers");
  if (list == nullptr || list->array() == nullptr) return false;
  return std::count(list->array()->begin(), list->array()->end(), Value(name)) > 0;
}

bool Terminating(const Value& object) {
  return object.Find("metadata", "deletionTimestamp") != nullptr;
}

}  // namespace

Controllers::Controllers(KubeSim* sim) : sim_(sim), workloads_(std::make_unique<Workloads>(this)) {}

Controllers::~Controllers() = default;

const KindInfo& Controllers::Kind(absl::string_view resource) const {
  const KindInfo* kind = sim_->FindResource(resource);
  if (kind != nullptr) return *kind;
  // Objects of a CRD that is not served any more.
  static const KindInfo* const none = new KindInfo();
  return *none;
}

void Controllers::OnChange(const StoreEvent& event) {
  Place place{event.resource, event.name};
  const Value& object = event.after != nullptr ? *event.after : *event.before;
  if (event.after == nullptr) {
    places_.erase(object.StringAt("metadata", "uid"));
    dependents_.erase(place);
    terminating_.erase(place);
    garbage_dirty_ = true;
    // A namespace or a CRD may wait for this.
    namespaces_dirty_ = true;
    crds_dirty_ = true;
  } else {
    if (event.before == nullptr) places_[object.StringAt("metadata", "uid")] = place;
    if (HasItems(object, "ownerReferences")) {
      garbage_dirty_ |= dependents_.insert(place).second || event.before == nullptr ||
                        !(*event.before->Find("metadata") == *object.Find("metadata"));
    } else {
      dependents_.erase(place);
    }
    if (Terminating(object)) {
      terminating_.insert(place);
      garbage_dirty_ = true;
    }
  }
  if (event.resource == kCrds) crds_dirty_ = true;
  if (event.resource == "namespaces") namespaces_dirty_ = true;
  workloads_->OnChange(event);
}

absl::Time Controllers::NextStep() const {
  if (crds_dirty_ || namespaces_dirty_ || garbage_dirty_) return absl::InfinitePast();
  return std::min(next_crd_, workloads_->NextStep());
}

void Controllers::Step(absl::Time now) {
  // Each round lets the controllers see what the others did; a fixed bound, so that a fight of two
  // cannot hang a test.
  for (int round = 0; round < 100 && NextStep() <= now; ++round) {
    if (crds_dirty_ || next_crd_ <= now) StepCrds(now);
    if (namespaces_dirty_) StepNamespaces(now);
    workloads_->Step(now);
    if (garbage_dirty_) StepGarbage(now);
  }
}

bool Controllers::CreateObject(const KindInfo& kind, absl::string_view ns, Value object,
                               absl::Time now) {
  SimRequest request;
  request.verb = SimRequest::Verb::kCreate;
  request.field_manager = kManager;
  request.group = kind.group;
  request.version = kind.version;
  request.plural = kind.plural;
  request.ns = std::string(ns);
  request.object = std::move(object);
  return sim_->HandleInternal(request, now).ok();
}

bool Controllers::ReplaceObject(const KindInfo& kind, Value object, absl::string_view subresource,
                                absl::Time now) {
  SimRequest request;
  request.verb = SimRequest::Verb::kUpdate;
  request.field_manager = kManager;
  request.group = kind.group;
  request.version = kind.version;
  request.plural = kind.plural;
  request.subresource = std::string(subresource);
  request.ns = object.StringAt("metadata", "namespace");
  request.name = object.StringAt("metadata", "name");
  if (kind.custom()) object["apiVersion"] = Value(kind.ApiVersion());
  request.object = std::move(object);
  return sim_->HandleInternal(request, now).ok();
}

bool Controllers::DeleteObject(const KindInfo& kind, const ObjectName& name, absl::Time now) {
  SimRequest request;
  request.verb = SimRequest::Verb::kDelete;
  request.group = kind.group;
  request.version = kind.version;
  request.plural = kind.plural;
  request.ns = name.first;
  request.name = name.second;
  request.propagation = "Background";
  return sim_->HandleInternal(request, now).ok();
}

void Controllers::StepCrds(absl::Time now) {
  crds_dirty_ = false;
  next_crd_ = absl::InfiniteFuture();
  ObjectMap crds = sim_->store().All(kCrds);
  for (const auto& [name, crd] : crds) {
    if (Terminating(*crd)) {
      CleanUpCrd(*crd, now);
      continue;
    }
    auto due = crd_due_.emplace(crd->StringAt("metadata", "uid"), now + sim_->options().crd_delay);
    const Value* conditions = crd->Find("status", "conditions");
    bool established =
        conditions != nullptr && conditions->array() != nullptr && conditions->array()->size() >= 2;
    if (due.first->second > now) {
      if (!established) next_crd_ = std::min(next_crd_, due.first->second);
      continue;
    }
    Value updated = *crd;
    SetCondition(&updated, "NamesAccepted", true, "NoConflicts", "no conflicts found", now);
    SetCondition(&updated, "Established", true, "InitialNamesAccepted",
                 "the initial names have been accepted", now);
    updated["status"]["acceptedNames"] = *crd->Find("spec", "names");
    Array stored;
    for (const Value& version : *crd->Find("spec", "versions")->array()) {
      const Value* storage = version.Find("storage");
      if (storage != nullptr && storage->BoolOr(false))
        stored.push_back(Value(version.StringAt("name")));
    }
    updated["status"]["storedVersions"] = Value(std::move(stored));
    if (!(updated == *crd)) ReplaceObject(Kind(kCrds), std::move(updated), "status", now);
  }
}

void Controllers::CleanUpCrd(const Value& crd, absl::Time now) {
  if (!HasFinalizer(crd, kCrdFinalizer)) return;
  std::string resource = crd.StringAt("metadata", "name");
  const KindInfo kind = Kind(resource);
  ObjectMap left = sim_->store().All(resource);
  for (const auto& [name, object] : left) {
    if (!Terminating(*object) && !kind.plural.empty()) DeleteObject(kind, name, now);
  }
  if (!sim_->store().All(resource).empty()) return;
  DropFinalizer({kCrds, {"", resource}}, kCrdFinalizer, now);
}

void Controllers::StepNamespaces(absl::Time now) {
  namespaces_dirty_ = false;
  ObjectMap namespaces = sim_->store().All("namespaces");
  for (const auto& [key, object] : namespaces) {
    const std::string& name = key.second;
    if (Terminating(*object)) {
      EmptyNamespace(name, now);
      continue;
    }
    if (sim_->Find("configmaps", name, "kube-root-ca.crt") == nullptr) {
      CreateObject(Kind("configmaps"), name,
                   Value(Object{{"metadata", Value(Object{{"name", Value("kube-root-ca.crt")}})},
                                {"data", Value(Object{{"ca.crt", Value("kubesim")}})}}),
                   now);
    }
    if (sim_->Find("serviceaccounts", name, "default") == nullptr) {
      CreateObject(Kind("serviceaccounts"), name,
                   Value(Object{{"metadata", Value(Object{{"name", Value("default")}})}}), now);
    }
  }
}

void Controllers::EmptyNamespace(const std::string& name, absl::Time now) {
  size_t left = 0;
  std::string holding;
  std::vector<KindInfo> kinds;
  for (const KindInfo* kind : sim_->Kinds()) {
    if (kind->namespaced) kinds.push_back(*kind);
  }
  for (const KindInfo& kind : kinds) {
    std::vector<ObjectName> names;
    const ObjectMap& all = sim_->store().All(kind.Resource());
    for (auto it = all.lower_bound({name, ""}); it != all.end() && it->first.first == name; ++it) {
      names.push_back(it->first);
    }
    for (const ObjectName& object : names) {
      ObjectPtr live = sim_->store().Find(kind.Resource(), object);
      if (live != nullptr && !Terminating(*live)) DeleteObject(kind, object, now);
      if (sim_->store().Find(kind.Resource(), object) == nullptr) continue;
      ++left;
      holding = kind.Resource();
    }
  }
  ObjectPtr live = sim_->Find("namespaces", "", name);
  if (live == nullptr) return;
  Value updated = *live;
  if (left == 0) {
    updated["spec"].mutable_object()->erase("finalizers");
    ReplaceObject(Kind("namespaces"), std::move(updated), "finalize", now);
    return;
  }
  std::string message =
      absl::StrCat("Some resources are remaining: ", holding, " has ", left, " resource instances");
  SetCondition(&updated, "NamespaceContentRemaining", true, "SomeResourcesRemain", message, now);
  SetCondition(&updated, "NamespaceFinalizersRemaining", true, "SomeFinalizersRemain",
               "Some content in the namespace has finalizers remaining", now);
  if (!(updated == *live)) ReplaceObject(Kind("namespaces"), std::move(updated), "status", now);
}

bool Controllers::OwnerExists(const Value& reference, const std::string& ns) const {
  auto place = places_.find(reference.StringAt("uid"));
  if (place == places_.end()) return false;
  // A namespaced owner counts in its own namespace only.
  const std::string& owner_ns = place->second.second.first;
  return owner_ns.empty() || owner_ns == ns;
}

void Controllers::StepGarbage(absl::Time now) {
  garbage_dirty_ = false;
  CollectDependents(now);
  FinishOwners(now);
}

void Controllers::CollectDependents(absl::Time now) {
  std::vector<Place> dependents(dependents_.begin(), dependents_.end());
  for (const Place& place : dependents) {
    ObjectPtr object = sim_->store().Find(place.first, place.second);
    if (object == nullptr || Terminating(*object)) continue;
    bool owned = false;
    bool foreground = false;
    for (const Value& reference : *object->Find("metadata", "ownerReferences")->array()) {
      if (!OwnerExists(reference, place.second.first)) continue;
      const Place& owner = places_.find(reference.StringAt("uid"))->second;
      ObjectPtr live = sim_->store().Find(owner.first, owner.second);
      if (live != nullptr && Terminating(*live) && HasFinalizer(*live, "foregroundDeletion")) {
        foreground = true;
      } else {
        owned = true;
      }
    }
    if (owned) continue;
    const KindInfo kind = Kind(place.first);
    if (kind.plural.empty()) continue;
    SimRequest request;
    request.verb = SimRequest::Verb::kDelete;
    request.group = kind.group;
    request.version = kind.version;
    request.plural = kind.plural;
    request.ns = place.second.first;
    request.name = place.second.second;
    request.propagation = foreground ? "Foreground" : "Background";
    sim_->HandleInternal(request, now);
  }
}

void Controllers::FinishOwners(absl::Time now) {
  std::vector<Place> owners(terminating_.begin(), terminating_.end());
  for (const Place& place : owners) {
    ObjectPtr owner = sim_->store().Find(place.first, place.second);
    if (owner == nullptr) continue;
    // No pod here really uses a volume.
    if (HasFinalizer(*owner, kPvcFinalizer)) DropFinalizer(place, kPvcFinalizer, now);
    bool orphan = HasFinalizer(*owner, "orphan");
    bool foreground = HasFinalizer(*owner, "foregroundDeletion");
    if (!orphan && !foreground) continue;
    std::string uid = owner->StringAt("metadata", "uid");
    bool blocked = false;
    std::vector<Place> dependents(dependents_.begin(), dependents_.end());
    for (const Place& dependent : dependents) {
      ObjectPtr object = sim_->store().Find(dependent.first, dependent.second);
      if (object == nullptr) continue;
      Value released = *object;
      Array kept;
      bool owned = false;
      for (const Value& reference : *object->Find("metadata", "ownerReferences")->array()) {
        if (reference.StringAt("uid") != uid) {
          kept.push_back(reference);
          continue;
        }
        owned = true;
        const Value* block = reference.Find("blockOwnerDeletion");
        blocked |= block != nullptr && block->BoolOr(false);
      }
      if (!owned || !orphan) continue;
      released["metadata"]["ownerReferences"] = Value(std::move(kept));
      ReplaceObject(Kind(dependent.first), std::move(released), "", now);
    }
    if (orphan) DropFinalizer(place, "orphan", now);
    if (foreground && !blocked) DropFinalizer(place, "foregroundDeletion", now);
  }
}

void Controllers::DropFinalizer(const Place& place, absl::string_view finalizer, absl::Time now) {
  ObjectPtr live = sim_->store().Find(place.first, place.second);
  if (live == nullptr) return;
  Value updated = *live;
  Array* list = updated["metadata"]["finalizers"].mutable_array();
  if (list == nullptr) return;
  list->erase(std::remove(list->begin(), list->end(), Value(finalizer)), list->end());
  const KindInfo kind = Kind(place.first);
  if (!kind.plural.empty()) ReplaceObject(kind, std::move(updated), "", now);
}

}  // namespace nave::kubesim
