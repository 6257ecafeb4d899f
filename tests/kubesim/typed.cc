#include "tests/kubesim/typed.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/value/codec.h"

namespace nave::kubesim {
namespace {

using Kind = Schema::Kind;

bool IsKeyedList(const Schema& schema) {
  return !schema.atomic && (schema.kind == Kind::kSet || schema.kind == Kind::kListMap);
}

// Whether ownership goes below this value.
bool IsGranular(const Value& value, const Schema& schema) {
  if (schema.atomic) return false;
  if (value.is_object()) return true;
  return value.is_array() && IsKeyedList(schema);
}

const Schema& ChildSchema(const Schema& schema, absl::string_view key) {
  const Schema* child = FieldSchema(schema, key);
  return child == nullptr ? AnySchema() : *child;
}

const char* TypeName(const Value& value) {
  if (value.is_null()) return "nil";
  if (value.is_bool()) return "bool";
  if (value.is_int()) return "int64";
  if (value.is_double()) return "float64";
  if (value.is_string()) return "string";
  return value.is_array() ? "list" : "map";
}

class Checker {
 public:
  void Check(const Value& value, const Schema& schema) {
    if (value.is_null()) return;
    switch (schema.kind) {
      case Kind::kAny:
        return;
      case Kind::kString:
        return Expect(value.is_string(), "expected string", value);
      case Kind::kInt:
        return Expect(value.is_int(), "expected numeric (int or float)", value);
      case Kind::kNumber:
        return Expect(value.is_number(), "expected numeric (int or float)", value);
      case Kind::kBool:
        return Expect(value.is_bool(), "expected boolean", value);
      case Kind::kQuantity:
      case Kind::kIntOrString:
        return Expect(value.is_string() || value.is_number(), "expected string or number", value);
      case Kind::kStruct:
      case Kind::kMap:
        return CheckMap(value, schema);
      case Kind::kList:
      case Kind::kSet:
      case Kind::kListMap:
        return CheckList(value, schema);
    }
  }
  std::vector<std::string> errors;

 private:
  void Fail(absl::string_view text) {
    errors.push_back(absl::StrCat(path_.empty() ? "." : FormatPath(path_), ": ", text));
  }
  void Expect(bool met, absl::string_view text, const Value& value) {
    if (!met) Fail(absl::StrCat(text, ", got ", TypeName(value)));
  }
  void Descend(std::string element, const Value& value, const Schema& schema) {
    path_.push_back(std::move(element));
    Check(value, schema);
    path_.pop_back();
  }
  void CheckMap(const Value& value, const Schema& schema) {
    if (!value.is_object()) return Expect(false, "expected map", value);
    for (const auto& [key, child] : *value.object()) {
      const Schema* field = FieldSchema(schema, key);
      if (field == nullptr) {
        path_.push_back(FieldElement(key));
        Fail("field not declared in schema");
        path_.pop_back();
      } else {
        Descend(FieldElement(key), child, *field);
      }
    }
  }
  void CheckList(const Value& value, const Schema& schema) {
    if (!value.is_array()) return Expect(false, "expected list", value);
    std::set<std::string> seen;
    int64_t index = 0;
    for (const Value& item : *value.array()) {
      std::string element = absl::StrCat("i:", index++);
      if (schema.kind != Kind::kList) {
        std::string key = ItemKey(item, schema);
        if (key.empty()) {
          Fail(absl::StrCat("element ", index - 1,
                            ": associative list with keys has an element that omits key field"));
          continue;
        }
        if (!seen.insert(key).second) {
          Fail(absl::StrCat("duplicate entries for key ", FormatPath({key})));
        }
        element = key;
      }
      Descend(element, item, ItemSchema(schema));
    }
  }
  FieldPath path_;
};

// Adds the paths of `value`. `containers`: also the maps and lists on the way, as an update owns
// them.
void Collect(const Value& value, const Schema& schema, bool containers, FieldSet* out) {
  if (!IsGranular(value, schema)) {
    out->member = true;
    return;
  }
  if (const Object* object = value.object()) {
    if (object->empty() || (containers && schema.kind != Kind::kStruct)) out->member = true;
    for (const auto& [key, child] : *object) {
      const Schema& child_schema = ChildSchema(schema, key);
      FieldSet& node = out->children[FieldElement(key)];
      Collect(child, child_schema, containers, &node);
      if (schema.kind != Kind::kStruct) node.member = true;
    }
    return;
  }
  if (value.array()->empty() || containers) out->member = true;
  for (const Value& item : *value.array()) {
    std::string key = ItemKey(item, schema);
    if (key.empty()) continue;
    FieldSet& node = out->children[key];
    if (schema.kind == Kind::kListMap) Collect(item, ItemSchema(schema), containers, &node);
    node.member = true;
  }
}

std::map<std::string, const Value*> IndexItems(const Array& items, const Schema& schema) {
  std::map<std::string, const Value*> index;
  for (const Value& item : items) index.emplace(ItemKey(item, schema), &item);
  return index;
}

// Live-only items come first as far as they stand in front of a shared one, then the items of
// `config` in its order.
Value MergeLists(const Array& live, const Array& config, const Schema& schema) {
  std::map<std::string, const Value*> live_index = IndexItems(live, schema);
  std::map<std::string, const Value*> config_index = IndexItems(config, schema);
  std::set<std::string> emitted;
  Array out;
  size_t next = 0;
  auto take_live_only = [&] {
    for (; next < live.size(); ++next) {
      std::string key = ItemKey(live[next], schema);
      if (config_index.count(key) == 0) {
        out.push_back(live[next]);
      } else if (emitted.count(key) == 0) {
        return;
      }
    }
  };
  for (const Value& item : config) {
    take_live_only();
    std::string key = ItemKey(item, schema);
    auto found = live_index.find(key);
    out.push_back(found != live_index.end() && schema.kind == Kind::kListMap
                      ? MergeTyped(*found->second, item, ItemSchema(schema))
                      : item);
    emitted.insert(std::move(key));
  }
  take_live_only();
  return Value(std::move(out));
}

void CompareInto(const Value& before, const Value& after, const Schema& schema, Comparison* out,
                 FieldPath* path);

void InsertTree(const Value& value, const Schema& schema, const FieldPath& path, FieldSet* out) {
  FieldSet* node = out;
  for (const std::string& element : path) node = &node->children[element];
  Collect(value, schema, true, node);
}

void CompareChild(const Value* before, const Value* after, const Schema& schema,
                  std::string element, bool is_item, Comparison* out, FieldPath* path) {
  path->push_back(std::move(element));
  if (before == nullptr) {
    InsertTree(*after, schema, *path, &out->added);
    if (is_item) out->added.Insert(*path);
  } else if (after == nullptr) {
    InsertTree(*before, schema, *path, &out->removed);
    out->removed.Insert(*path);
  } else {
    CompareInto(*before, *after, schema, out, path);
  }
  path->pop_back();
}

void CompareObjects(const Object& before, const Object& after, const Schema& schema,
                    Comparison* out, FieldPath* path) {
  bool item = schema.kind != Kind::kStruct;
  for (const auto& [key, child] : before) {
    auto other = after.find(key);
    CompareChild(&child, other == after.end() ? nullptr : &other->second, ChildSchema(schema, key),
                 FieldElement(key), item, out, path);
  }
  for (const auto& [key, child] : after) {
    if (before.count(key) > 0) continue;
    CompareChild(nullptr, &child, ChildSchema(schema, key), FieldElement(key), item, out, path);
  }
}

void CompareLists(const Array& before, const Array& after, const Schema& schema, Comparison* out,
                  FieldPath* path) {
  std::map<std::string, const Value*> old_items = IndexItems(before, schema);
  std::map<std::string, const Value*> new_items = IndexItems(after, schema);
  for (const auto& [key, item] : old_items) {
    auto other = new_items.find(key);
    CompareChild(item, other == new_items.end() ? nullptr : other->second, ItemSchema(schema), key,
                 true, out, path);
  }
  for (const auto& [key, item] : new_items) {
    if (old_items.count(key) > 0) continue;
    CompareChild(nullptr, item, ItemSchema(schema), key, true, out, path);
  }
}

void CompareInto(const Value& before, const Value& after, const Schema& schema, Comparison* out,
                 FieldPath* path) {
  if (before == after) return;
  bool granular = IsGranular(before, schema) && IsGranular(after, schema);
  if (granular && before.is_object() && after.is_object()) {
    CompareObjects(*before.object(), *after.object(), schema, out, path);
  } else if (granular && before.is_array() && after.is_array()) {
    CompareLists(*before.array(), *after.array(), schema, out, path);
  } else {
    out->modified.Insert(*path);
  }
}

std::optional<Value> Cut(const Value& value, const FieldSet& paths, const Schema& schema) {
  if (paths.member) return std::nullopt;
  if (paths.children.empty() || !IsGranular(value, schema)) return value;
  if (const Object* object = value.object()) {
    Object out;
    for (const auto& [key, child] : *object) {
      const FieldSet* below = paths.Child(FieldElement(key));
      std::optional<Value> kept =
          below == nullptr ? child : Cut(child, *below, ChildSchema(schema, key));
      if (kept.has_value()) out.emplace(key, *std::move(kept));
    }
    if (out.empty() && !object->empty()) return std::nullopt;
    return Value(std::move(out));
  }
  Array out;
  for (const Value& item : *value.array()) {
    const FieldSet* below = paths.Child(ItemKey(item, schema));
    std::optional<Value> kept = below == nullptr ? item : Cut(item, *below, ItemSchema(schema));
    if (kept.has_value()) out.push_back(*std::move(kept));
  }
  if (out.empty() && !value.array()->empty()) return std::nullopt;
  return Value(std::move(out));
}

void AddParents(FieldSet* set, const Schema& schema) {
  for (auto& [element, child] : set->children) {
    absl::string_view name = element;
    if (absl::ConsumePrefix(&name, "f:")) {
      const Schema& field = ChildSchema(schema, name);
      AddParents(&child, field);
      if (schema.kind == Kind::kStruct && schema.fields.count(name) > 0) child.member = true;
    } else {
      AddParents(&child, ItemSchema(schema));
    }
  }
}

void DropUnknownBelow(Value* value, const Schema& schema, const std::string& path,
                      std::vector<std::string>* removed) {
  if (Object* object = value->mutable_object()) {
    for (auto it = object->begin(); it != object->end();) {
      const Schema* field = FieldSchema(schema, it->first);
      std::string child_path = path.empty() ? it->first : absl::StrCat(path, ".", it->first);
      if (field == nullptr) {
        removed->push_back(child_path);
        it = object->erase(it);
        continue;
      }
      DropUnknownBelow(&it->second, *field, child_path, removed);
      ++it;
    }
  } else if (Array* array = value->mutable_array()) {
    for (size_t i = 0; i < array->size(); ++i) {
      DropUnknownBelow(&(*array)[i], ItemSchema(schema), absl::StrCat(path, "[", i, "]"), removed);
    }
  }
}

}  // namespace

std::string ItemKey(const Value& item, const Schema& schema) {
  if (schema.kind == Kind::kSet) return absl::StrCat("v:", FormatJson(item));
  Object keys;
  for (const ListKey& key : schema.keys) {
    const Value* found = item.Find(key.name);
    if (found == nullptr || found->is_null()) found = &key.default_value;
    if (!found->is_null()) keys.emplace(key.name, *found);
  }
  if (keys.empty()) return "";
  return absl::StrCat("k:", FormatJson(Value(std::move(keys))));
}

std::vector<std::string> CheckTyped(const Value& value, const Schema& schema) {
  Checker checker;
  checker.Check(value, schema);
  return std::move(checker.errors);
}

FieldSet FieldsOf(const Value& value, const Schema& schema) {
  FieldSet out;
  Collect(value, schema, false, &out);
  out.member = false;
  return out;
}

Value MergeTyped(const Value& live, const Value& config, const Schema& schema) {
  if (!IsGranular(live, schema) || !IsGranular(config, schema)) return config;
  if (live.is_array() != config.is_array()) return config;
  if (live.is_array()) return MergeLists(*live.array(), *config.array(), schema);
  Object out = *live.object();
  for (const auto& [key, child] : *config.object()) {
    auto found = out.find(key);
    if (found == out.end()) {
      out.emplace(key, child);
    } else {
      found->second = MergeTyped(found->second, child, ChildSchema(schema, key));
    }
  }
  return Value(std::move(out));
}

Comparison CompareTyped(const Value& before, const Value& after, const Schema& schema) {
  Comparison out;
  FieldPath path;
  CompareInto(before, after, schema, &out, &path);
  return out;
}

Value RemoveFields(const Value& value, const FieldSet& paths, const Schema& schema) {
  FieldSet below = paths;
  below.member = false;
  return Cut(value, below, schema).value_or(Value());
}

FieldSet WithNamedParents(const FieldSet& set, const Schema& schema) {
  FieldSet out = set;
  AddParents(&out, schema);
  return out;
}

void DropUnknown(Value* value, const Schema& schema, std::vector<std::string>* removed) {
  DropUnknownBelow(value, schema, "", removed);
}

void NullsToEmpty(Value* value, const Schema& schema) {
  Object* object = value->mutable_object();
  if (object == nullptr) return;
  bool texts = schema.kind == Kind::kMap && schema.element != nullptr &&
               schema.element->kind == Kind::kString;
  for (auto& [key, child] : *object) {
    if (texts && child.is_null()) {
      child = Value("");
    } else if (const Schema* field = FieldSchema(schema, key)) {
      NullsToEmpty(&child, *field);
    }
  }
}

void StripNulls(Value* value) {
  if (Object* object = value->mutable_object()) {
    for (auto it = object->begin(); it != object->end();) {
      if (it->second.is_null()) {
        it = object->erase(it);
      } else {
        StripNulls(&it->second);
        ++it;
      }
    }
  } else if (Array* array = value->mutable_array()) {
    for (Value& item : *array) StripNulls(&item);
  }
}

}  // namespace nave::kubesim
