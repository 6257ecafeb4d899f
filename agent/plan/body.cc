#include "agent/plan/body.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "common/value/codec.h"

namespace nave {
namespace {

void EraseIfEmpty(Object& parent, absl::string_view name) {
  auto it = parent.find(name);
  if (it == parent.end()) return;
  const Value& v = it->second;
  const bool empty = v.is_null() || (v.object() != nullptr && v.object()->empty());
  if (empty) parent.erase(it);
}

// Labels and annotations that are null or empty, and members of them that are null, would be a
// difference for ever.
void CleanMetadata(Value& object) {
  auto* metadata = object["metadata"].mutable_object();
  for (absl::string_view name : {"labels", "annotations"}) {
    auto it = metadata->find(name);
    if (it == metadata->end()) continue;
    if (Object* members = it->second.mutable_object(); members != nullptr) {
      std::erase_if(*members, [](const auto& member) { return member.second.is_null(); });
    }
    EraseIfEmpty(*metadata, name);
  }
  metadata->erase("creationTimestamp");
}

// Server-side apply never removes a data key that was born from stringData, so it is written as
// data.
void MoveStringData(Object& secret) {
  auto it = secret.find("stringData");
  if (it == secret.end()) return;
  if (const Object* entries = it->second.object(); entries != nullptr && !entries->empty()) {
    auto& data = secret["data"];
    for (const auto& [name, text] : *entries) {
      if (text.is_string()) data[name] = absl::Base64Escape(*text.string());
    }
  }
  secret.erase("stringData");
}

// The CA injectors write into these; an empty or placeholder text of ours would fight with them.
bool IsPlaceholderCa(const Value& ca) {
  if (ca.is_null()) return true;
  if (!ca.is_string()) return false;
  std::string decoded;
  if (!absl::Base64Unescape(*ca.string(), &decoded)) return false;
  return decoded.find("-----BEGIN") == std::string::npos;
}

void DropPlaceholderCa(Value* holder) {
  if (holder == nullptr || holder->mutable_object() == nullptr) return;
  auto it = holder->mutable_object()->find("caBundle");
  if (it != holder->mutable_object()->end() && IsPlaceholderCa(it->second)) {
    holder->mutable_object()->erase(it);
  }
}

Value* Descend(Value& from, std::initializer_list<absl::string_view> path) {
  Value* at = &from;
  for (absl::string_view step : path) {
    if (at->mutable_object() == nullptr) return nullptr;
    auto it = at->mutable_object()->find(step);
    if (it == at->mutable_object()->end()) return nullptr;
    at = &it->second;
  }
  return at;
}

void CleanByKind(const ObjectKey& key, Value& object) {
  Object& members = *object.mutable_object();
  if (key.group.empty() && key.kind == "Secret") MoveStringData(members);
  if (key.group == "rbac.authorization.k8s.io" && key.kind == "ClusterRole" &&
      object.Find("aggregationRule") != nullptr) {
    // The controller fills the rules of an aggregated role.
    const Value* rules = object.Find("rules");
    if (rules != nullptr && (rules->is_null() || (rules->array() && rules->array()->empty()))) {
      members.erase("rules");
    }
  }
  if (key.kind == "APIService") DropPlaceholderCa(Descend(object, {"spec"}));
  if (key.kind == "CustomResourceDefinition") {
    DropPlaceholderCa(Descend(object, {"spec", "conversion", "webhook", "clientConfig"}));
  }
  Value* webhooks = Descend(object, {"webhooks"});
  if (webhooks != nullptr && webhooks->mutable_array() != nullptr) {
    for (Value& webhook : *webhooks->mutable_array()) {
      DropPlaceholderCa(Descend(webhook, {"clientConfig"}));
    }
  }
}

}  // namespace

Value BuildBody(Value object, const BodyTarget& target) {
  if (!object.is_object()) object = Object{};
  if (!object["metadata"].is_object()) object["metadata"] = Object{};
  CleanMetadata(object);
  CleanByKind(target.key, object);
  if (target.key.ns.empty()) {
    object["metadata"].mutable_object()->erase("namespace");
  } else {
    object["metadata"]["namespace"] = target.key.ns;
  }
  SetMarks(target.who, target.bundle, target.key, object);
  return object;
}

Digest BodyDigest(const Value& body) { return Sha256(FormatJson(body)); }

std::string FormatBody(const Value& body, absl::string_view uid,
                       absl::string_view resource_version) {
  if (uid.empty() && resource_version.empty()) return FormatJson(body);
  Value sent = body;
  if (!uid.empty()) sent["metadata"]["uid"] = uid;
  if (!resource_version.empty()) sent["metadata"]["resourceVersion"] = resource_version;
  return FormatJson(sent);
}

bool IsBareNamespace(const Value& object) {
  const ObjectKey key = KeyOf(object);
  if (!key.group.empty() || key.kind != "Namespace") return false;
  for (const auto& [name, unused] : *object.object()) {
    if (name != "apiVersion" && name != "kind" && name != "metadata") return false;
  }
  const Value* metadata = object.Find("metadata");
  return metadata != nullptr && metadata->object() != nullptr && metadata->object()->size() == 1 &&
         metadata->Find("name") != nullptr;
}

}  // namespace nave
