#include "agent/plan/compare.h"

#include <initializer_list>

#include "agent/plan/marks.h"

namespace nave {
namespace {

void EraseMember(Object& metadata, absl::string_view map, absl::string_view name) {
  auto it = metadata.find(map);
  if (it == metadata.end() || it->second.mutable_object() == nullptr) return;
  Object& members = *it->second.mutable_object();
  auto member = members.find(name);
  if (member != members.end()) members.erase(member);
  if (members.empty()) metadata.erase(it);
}

Value Comparable(Value object) {
  if (object.mutable_object() == nullptr) return object;
  auto it = object.mutable_object()->find("metadata");
  if (it == object.mutable_object()->end() || it->second.mutable_object() == nullptr) return object;
  Object& metadata = *it->second.mutable_object();
  for (absl::string_view name : {"managedFields", "resourceVersion", "generation"}) {
    auto member = metadata.find(name);
    if (member != metadata.end()) metadata.erase(member);
  }
  EraseMember(metadata, "labels", kAssignmentLabel);
  EraseMember(metadata, "annotations", kOwnerAnnotation);
  return object;
}

bool Within(const Value& want, const Value& have) {
  if (want.is_object()) {
    if (!have.is_object()) return false;
    for (const auto& [name, value] : *want.object()) {
      const Value* child = have.Find(name);
      if (child == nullptr || !Within(value, *child)) return false;
    }
    return true;
  }
  if (want.is_array()) {
    if (!have.is_array() || want.array()->size() != have.array()->size()) return false;
    for (size_t i = 0; i < want.array()->size(); ++i) {
      if (!Within((*want.array())[i], (*have.array())[i])) return false;
    }
    return true;
  }
  return want == have;
}

}  // namespace

bool EqualButMarks(const Value& dry_run, const Value& live) {
  return Comparable(dry_run) == Comparable(live);
}

bool MetadataIsWithin(const Value& body, const Value& live) {
  for (absl::string_view name : {"labels", "annotations"}) {
    const Value* want = body.Find("metadata", name);
    if (want == nullptr) continue;
    const Value* have = live.Find("metadata", name);
    if (have == nullptr || !Within(*want, *have)) return false;
  }
  return true;
}

bool IsWithin(const Value& body, const Value& live) {
  if (body.object() == nullptr || !MetadataIsWithin(body, live)) return false;
  for (const auto& [name, value] : *body.object()) {
    if (name == "metadata") continue;
    const Value* have = live.Find(name);
    if (have == nullptr || !Within(value, *have)) return false;
  }
  return true;
}

}  // namespace nave
