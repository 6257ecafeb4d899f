#include "common/manifest/normalize.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/manifest/object_key.h"

namespace nave {
namespace {

constexpr absl::string_view kAssignmentLabel = "nave.dev/assignment";
constexpr absl::string_view kOwnerAnnotation = "nave.dev/owner";

void Erase(Value* object, absl::string_view key) {
  Object* members = object->mutable_object();
  auto it = members->find(key);
  if (it != members->end()) members->erase(it);
}

Value* FindMutable(Value* object, absl::string_view key) {
  if (object == nullptr || !object->is_object()) return nullptr;
  auto it = object->mutable_object()->find(key);
  return it == object->mutable_object()->end() ? nullptr : &it->second;
}

template <typename... Keys>
Value* FindMutable(Value* object, absl::string_view key, Keys... rest) {
  return FindMutable(FindMutable(object, key), rest...);
}

// Null values go, and the map itself when nothing is left: for the API server all of these are the
// absent map.
void DropEmptyStrings(Value* metadata, absl::string_view field) {
  Value* map = FindMutable(metadata, field);
  if (map == nullptr) return;
  if (Object* members = map->mutable_object()) {
    std::erase_if(*members, [](const auto& member) { return member.second.is_null(); });
    if (!members->empty()) return;
  } else if (!map->is_null()) {
    return;
  }
  Erase(metadata, field);
}

void NormalizeMetadata(Value* metadata) {
  for (absl::string_view field :
       {"resourceVersion", "uid", "selfLink", "generation", "managedFields", "creationTimestamp",
        "deletionTimestamp", "deletionGracePeriodSeconds", "generateName"}) {
    Erase(metadata, field);
  }
  Value* ns = FindMutable(metadata, "namespace");
  if (ns != nullptr && ns->StringOr("").empty()) Erase(metadata, "namespace");
  if (Value* labels = FindMutable(metadata, "labels"); labels != nullptr && labels->is_object()) {
    Erase(labels, kAssignmentLabel);
  }
  if (Value* annotations = FindMutable(metadata, "annotations");
      annotations != nullptr && annotations->is_object()) {
    Erase(annotations, kOwnerAnnotation);
  }
  DropEmptyStrings(metadata, "labels");
  DropEmptyStrings(metadata, "annotations");
}

// Generators write `creationTimestamp: null` wherever metadata is embedded; the API server answers
// it with writes that nobody asked for.
void DropNullTimestamps(Value* value) {
  if (Object* members = value->mutable_object()) {
    for (auto& [key, member] : *members) {
      const Value* timestamp = key == "metadata" ? member.Find("creationTimestamp") : nullptr;
      if (timestamp != nullptr && timestamp->is_null()) Erase(&member, "creationTimestamp");
      DropNullTimestamps(&member);
    }
  } else if (Array* items = value->mutable_array()) {
    for (Value& item : *items) DropNullTimestamps(&item);
  }
}

bool IsWorkloadGroup(absl::string_view group) {
  return group.empty() || group == "apps" || group == "batch" || group == "extensions";
}

void NormalizeTemplate(Value* metadata) {
  if (metadata == nullptr || !metadata->is_object()) return;
  DropEmptyStrings(metadata, "labels");
  DropEmptyStrings(metadata, "annotations");
}

void NormalizeTemplates(Value* object) {
  NormalizeTemplate(FindMutable(object, "spec", "template", "metadata"));
  NormalizeTemplate(FindMutable(object, "spec", "jobTemplate", "metadata"));
  NormalizeTemplate(FindMutable(object, "spec", "jobTemplate", "spec", "template", "metadata"));
  Value* claims = FindMutable(object, "spec", "volumeClaimTemplates");
  if (claims == nullptr || !claims->is_array()) return;
  for (Value& claim : *claims->mutable_array()) NormalizeTemplate(FindMutable(&claim, "metadata"));
}

// The controller writes the rules of an aggregated role: an empty list would be a fight.
void NormalizeClusterRole(Value* object) {
  const Value* aggregation = object->Find("aggregationRule");
  Value* rules = FindMutable(object, "rules");
  if (aggregation == nullptr || aggregation->is_null() || rules == nullptr) return;
  if (rules->is_null() || (rules->is_array() && rules->array()->empty())) Erase(object, "rules");
}

// Something else (cert-manager and its like) fills in the bundle: a placeholder would take it away
// again and again.
void DropPlaceholderCa(Value* holder, absl::string_view path, std::vector<std::string>* warnings) {
  const Value* bundle = holder != nullptr ? std::as_const(*holder).Find("caBundle") : nullptr;
  if (bundle == nullptr) return;
  std::string decoded;
  std::string text = bundle->StringOr("");
  if (absl::Base64Unescape(text, &decoded) &&
      absl::StrContains(decoded, "-----BEGIN CERTIFICATE-----")) {
    return;
  }
  if (!text.empty() && warnings != nullptr) {
    warnings->push_back(
        absl::StrCat(path, ".caBundle holds no certificate and is left to whoever fills it in"));
  }
  Erase(holder, "caBundle");
}

void NormalizeCaBundles(Value* object, const ObjectKey& key, std::vector<std::string>* warnings) {
  if (key.group == "admissionregistration.k8s.io") {
    Value* webhooks = FindMutable(object, "webhooks");
    if (webhooks == nullptr || !webhooks->is_array()) return;
    int index = 0;
    for (Value& webhook : *webhooks->mutable_array()) {
      DropPlaceholderCa(FindMutable(&webhook, "clientConfig"),
                        absl::StrCat("webhooks[", index++, "].clientConfig"), warnings);
    }
  } else if (key.group == "apiregistration.k8s.io") {
    DropPlaceholderCa(FindMutable(object, "spec"), "spec", warnings);
  } else if (key.group == "apiextensions.k8s.io") {
    DropPlaceholderCa(FindMutable(object, "spec", "conversion", "webhook", "clientConfig"),
                      "spec.conversion.webhook.clientConfig", warnings);
  }
}

// Values of ConfigMap and Secret maps are text; the server answers anything else with an internal
// error.
absl::Status CheckPayload(const Value& object, absl::string_view field) {
  const Value* map = object.Find(field);
  if (map == nullptr || map->is_null()) return absl::OkStatus();
  if (!map->is_object()) {
    return MakeError(Reason::kManifestInvalid, absl::StrCat(field, ": want a mapping of strings"));
  }
  for (const auto& [name, value] : *map->object()) {
    if (value.is_string() || value.is_null()) continue;
    return MakeError(Reason::kManifestInvalid,
                     absl::StrCat(field, "[", name, "]: want a string; quote it"));
  }
  return absl::OkStatus();
}

// A key that came by stringData would stay in data for ever: apply does not see that it is gone.
absl::Status NormalizeSecret(Value* object) {
  RETURN_IF_ERROR(CheckPayload(*object, "data"));
  RETURN_IF_ERROR(CheckPayload(*object, "stringData"));
  const Value* strings = std::as_const(*object).Find("stringData");
  if (strings == nullptr) return absl::OkStatus();
  if (const Object* members = strings->object()) {
    Object encoded;
    for (const auto& [name, value] : *members)
      encoded[name] = absl::Base64Escape(value.StringOr(""));
    for (auto& [name, value] : encoded) (*object)["data"][name] = std::move(value);
  }
  Erase(object, "stringData");
  return absl::OkStatus();
}

}  // namespace

absl::Status NormalizeObject(Value* object, std::vector<std::string>* warnings) {
  ObjectKey key = KeyOf(*object);
  Erase(object, "status");
  NormalizeMetadata(FindMutable(object, "metadata"));
  DropNullTimestamps(object);
  if (IsWorkloadGroup(key.group)) NormalizeTemplates(object);
  if (key.group == "rbac.authorization.k8s.io" && key.kind == "ClusterRole")
    NormalizeClusterRole(object);
  NormalizeCaBundles(object, key, warnings);
  if (!key.group.empty()) return absl::OkStatus();
  if (key.kind == "Secret") return NormalizeSecret(object);
  if (key.kind != "ConfigMap") return absl::OkStatus();
  RETURN_IF_ERROR(CheckPayload(*object, "data"));
  return CheckPayload(*object, "binaryData");
}

}  // namespace nave
