#include "agent/apply/emptiness_check.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/plan/order.h"

namespace nave {
namespace {

constexpr int kConcurrency = 4;
constexpr size_t kPageSize = 500;
constexpr size_t kNamesMax = 5;

// Kinds that Kubernetes itself puts into every namespace.
bool IsBackground(const ResourceType& type) {
  return type.kind == "Event" || (type.group.empty() && type.kind == "Endpoints") ||
         (type.group == "discovery.k8s.io" && type.kind == "EndpointSlice");
}

bool IsBackground(const ObjectKey& key) {
  if (!key.group.empty()) return false;
  return (key.kind == "ConfigMap" && key.name == "kube-root-ca.crt") ||
         (key.kind == "ServiceAccount" && key.name == "default");
}

}  // namespace

std::string EmptinessResult::Describe() const {
  std::string text = absl::StrJoin(names, ", ");
  if (total > names.size()) absl::StrAppend(&text, " and ", total - names.size(), " more");
  return text;
}

std::shared_ptr<EmptinessCheck> EmptinessCheck::Start(KubeClient& kube, const Catalog& catalog,
                                                      const Value& live, IsLeaving is_leaving,
                                                      Done done) {
  std::shared_ptr<EmptinessCheck> check(
      new EmptinessCheck(kube, catalog, std::move(is_leaving), std::move(done)));
  if (IsNamespace(KeyOf(live))) {
    check->PlanNamespace(live);
  } else {
    check->PlanCrd(live);
  }
  check->Pump();
  return check;
}

EmptinessCheck::EmptinessCheck(KubeClient& kube, const Catalog& catalog, IsLeaving is_leaving,
                               Done done)
    : kube_(kube), catalog_(catalog), is_leaving_(std::move(is_leaving)), done_(std::move(done)) {}

void EmptinessCheck::PlanNamespace(const Value& live) {
  of_namespace_ = true;
  if (!catalog_.failed_groups().empty()) {
    result_.names = {
        absl::StrCat("the API group ", catalog_.failed_groups().front(), " does not answer")};
    return;
  }
  for (const ResourceType* type : catalog_.Preferred()) {
    // What cannot be deleted is computed, not stored (metrics).
    if (!type->namespaced || !type->Can("list") || !type->Can("delete")) continue;
    if (IsBackground(*type)) continue;
    ListRequest request;
    request.type = *type;
    request.ns = live.StringAt("metadata", "name");
    request.limit = kPageSize;
    request.metadata_only = true;
    waiting_.push_back(std::move(request));
  }
}

void EmptinessCheck::PlanCrd(const Value& live) {
  const std::string group = live.StringAt("spec", "group");
  const std::string kind = live.StringAt("spec", "names", "kind");
  const ResourceType* type = catalog_.FindAny(group, kind);
  if (catalog_.IsUncertain(group) || type == nullptr) {
    // Stored objects of a kind that is not served cannot be seen.
    result_.names = {absl::StrCat("objects of ", kind, ".", group, " cannot be listed")};
    return;
  }
  ListRequest request;
  request.type = *type;
  request.limit = kPageSize;
  request.metadata_only = true;
  waiting_.push_back(std::move(request));
}

void EmptinessCheck::Pump() {
  if (waiting_.empty() && running_ == 0 && !result_.names.empty() && result_.total == 0 &&
      leaving_ == 0) {
    Finish(EmptinessResult::Kind::kUnknown);
    return;
  }
  while (done_ && !waiting_.empty() && running_ < kConcurrency) {
    ListRequest request = std::move(waiting_.front());
    waiting_.pop_front();
    ++running_;
    ListRequest sent = request;
    kube_.List(std::move(sent),
               [self = shared_from_this(), request = std::move(request)](ListPage page) mutable {
                 if (self->done_) self->OnPage(std::move(request), std::move(page));
               });
  }
  if (!done_ || !waiting_.empty() || running_ > 0) return;
  if (result_.total > 0) {
    Finish(EmptinessResult::Kind::kHeld);
  } else {
    Finish(leaving_ > 0 ? EmptinessResult::Kind::kLeaving : EmptinessResult::Kind::kEmpty);
  }
}

void EmptinessCheck::OnPage(ListRequest request, ListPage page) {
  --running_;
  if (!page.error.ok()) {
    result_ = {};
    result_.names = {
        absl::StrCat("listing ", request.type.plural, " failed: ", page.error.message)};
    Finish(EmptinessResult::Kind::kUnknown);
    return;
  }
  for (const Value& item : page.items) Look(item);
  if (!page.continue_token.empty()) {
    request.continue_token = page.continue_token;
    waiting_.push_back(std::move(request));
  }
  Pump();
}

void EmptinessCheck::Look(const Value& item) {
  const ObjectKey key = KeyOf(item);
  if (of_namespace_ && IsBackground(key)) return;
  if (of_namespace_) {
    // Its owner in the same namespace answers for it. Owners without a namespace do not count.
    const Value* owners = item.Find("metadata", "ownerReferences");
    if (owners != nullptr && owners->array() != nullptr) {
      for (const Value& owner : *owners->array()) {
        const Value* controller = owner.Find("controller");
        if (controller == nullptr || !controller->BoolOr(false)) continue;
        const GroupVersion gv = ParseApiVersion(owner.StringAt("apiVersion"));
        const ResourceType* type = catalog_.FindAny(gv.group, owner.StringAt("kind"));
        if (type != nullptr && type->namespaced) return;
      }
    }
  }
  if (item.Find("metadata", "deletionTimestamp") != nullptr || is_leaving_(key)) {
    ++leaving_;
    if (result_.total == 0 && result_.names.size() < kNamesMax) {
      // Kept only until something that really holds it is found.
      result_.names.push_back(key.ToString());
    }
    return;
  }
  if (result_.total++ == 0) result_.names.clear();
  if (result_.names.size() < kNamesMax) result_.names.push_back(key.ToString());
}

void EmptinessCheck::Finish(EmptinessResult::Kind kind) {
  result_.kind = kind;
  if (Done done = std::exchange(done_, nullptr); done) std::move(done)(std::move(result_));
}

}  // namespace nave
