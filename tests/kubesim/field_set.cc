#include "tests/kubesim/field_set.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/value/codec.h"

namespace nave::kubesim {
namespace {

void CollectPaths(const FieldSet& set, FieldPath* prefix, std::vector<FieldPath>* out) {
  if (set.member) out->push_back(*prefix);
  for (const auto& [element, child] : set.children) {
    prefix->push_back(element);
    CollectPaths(child, prefix, out);
    prefix->pop_back();
  }
}

}  // namespace

void FieldSet::Insert(const FieldPath& path) {
  FieldSet* node = this;
  for (const std::string& element : path) node = &node->children[element];
  node->member = true;
}

bool FieldSet::Has(const FieldPath& path) const {
  const FieldSet* node = this;
  for (const std::string& element : path) {
    node = node->Child(element);
    if (node == nullptr) return false;
  }
  return node->member;
}

const FieldSet* FieldSet::Child(absl::string_view element) const {
  auto it = children.find(element);
  return it == children.end() ? nullptr : &it->second;
}

std::vector<FieldPath> FieldSet::Paths() const {
  std::vector<FieldPath> out;
  FieldPath prefix;
  CollectPaths(*this, &prefix, &out);
  return out;
}

FieldSet Union(const FieldSet& a, const FieldSet& b) {
  FieldSet out = a;
  out.member = a.member || b.member;
  for (const auto& [element, child] : b.children) {
    FieldSet& mine = out.children[element];
    mine = mine.Empty() ? child : Union(mine, child);
  }
  return out;
}

FieldSet Intersection(const FieldSet& a, const FieldSet& b) {
  FieldSet out;
  out.member = a.member && b.member;
  for (const auto& [element, child] : a.children) {
    const FieldSet* other = b.Child(element);
    if (other == nullptr) continue;
    FieldSet both = Intersection(child, *other);
    if (!both.Empty()) out.children.emplace(element, std::move(both));
  }
  return out;
}

FieldSet Difference(const FieldSet& a, const FieldSet& b) {
  FieldSet out;
  out.member = a.member && !b.member;
  for (const auto& [element, child] : a.children) {
    const FieldSet* other = b.Child(element);
    FieldSet rest = other == nullptr ? child : Difference(child, *other);
    if (!rest.Empty()) out.children.emplace(element, std::move(rest));
  }
  return out;
}

FieldSet RecursiveDifference(const FieldSet& a, const FieldSet& b) {
  if (b.member) return {};
  FieldSet out;
  out.member = a.member;
  for (const auto& [element, child] : a.children) {
    const FieldSet* other = b.Child(element);
    FieldSet rest = other == nullptr ? child : RecursiveDifference(child, *other);
    if (!rest.Empty()) out.children.emplace(element, std::move(rest));
  }
  return out;
}

Value FormatFieldsV1(const FieldSet& set) {
  Object out;
  if (set.member && !set.children.empty()) out.emplace(".", Object());
  for (const auto& [element, child] : set.children) out.emplace(element, FormatFieldsV1(child));
  return Value(std::move(out));
}

namespace {

FieldSet ParseNode(const Value& fields, bool root) {
  FieldSet out;
  const Object* object = fields.object();
  if (object == nullptr) return out;
  out.member = !root && (object->empty() || object->count(".") > 0);
  for (const auto& [element, child] : *object) {
    if (element == "." || element.size() < 2 || element[1] != ':') continue;
    FieldSet parsed = ParseNode(child, false);
    if (!parsed.Empty()) out.children.emplace(element, std::move(parsed));
  }
  return out;
}

std::string FormatElement(absl::string_view element) {
  if (absl::StartsWith(element, "f:")) return absl::StrCat(".", element.substr(2));
  if (absl::StartsWith(element, "v:")) return absl::StrCat("[=", element.substr(2), "]");
  if (absl::StartsWith(element, "i:")) return absl::StrCat("[", element.substr(2), "]");
  absl::StatusOr<Value> keys = ParseJsonLenient(element.substr(2));
  if (!keys.ok() || keys->object() == nullptr) return absl::StrCat("[", element.substr(2), "]");
  return absl::StrCat("[",
                      absl::StrJoin(*keys->object(), ",",
                                    [](std::string* out, const auto& key) {
                                      absl::StrAppend(out, key.first, "=", FormatJson(key.second));
                                    }),
                      "]");
}

}  // namespace

FieldSet ParseFieldsV1(const Value& fields) { return ParseNode(fields, true); }

std::string FormatPath(const FieldPath& path) {
  std::string out;
  for (const std::string& element : path) out += FormatElement(element);
  return out;
}

std::string FieldElement(absl::string_view name) { return absl::StrCat("f:", name); }

}  // namespace nave::kubesim
