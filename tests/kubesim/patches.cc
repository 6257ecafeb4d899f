#include "tests/kubesim/patches.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/kubesim/typed.h"

namespace nave::kubesim {
namespace {

std::vector<std::string> ParsePointer(absl::string_view pointer) {
  std::vector<std::string> out;
  if (pointer.empty()) return out;
  for (absl::string_view part : absl::StrSplit(pointer.substr(1), '/')) {
    out.push_back(absl::StrReplaceAll(absl::StrReplaceAll(part, {{"~1", "/"}}), {{"~0", "~"}}));
  }
  return out;
}

Value* Step(Value* at, const std::string& key) {
  if (Object* object = at->mutable_object()) {
    auto it = object->find(key);
    return it == object->end() ? nullptr : &it->second;
  }
  if (Array* array = at->mutable_array()) {
    size_t index = 0;
    if (!absl::SimpleAtoi(key, &index) || index >= array->size()) return nullptr;
    return &(*array)[index];
  }
  return nullptr;
}

Value* Walk(Value* root, const std::vector<std::string>& path, size_t length) {
  Value* at = root;
  for (size_t i = 0; i < length && at != nullptr; ++i) at = Step(at, path[i]);
  return at;
}

bool Add(Value* root, const std::vector<std::string>& path, Value value) {
  if (path.empty()) {
    *root = std::move(value);
    return true;
  }
  Value* parent = Walk(root, path, path.size() - 1);
  if (parent == nullptr) return false;
  if (Object* object = parent->mutable_object()) {
    (*object)[path.back()] = std::move(value);
    return true;
  }
  Array* array = parent->mutable_array();
  if (array == nullptr) return false;
  size_t index = array->size();
  if (path.back() != "-" && (!absl::SimpleAtoi(path.back(), &index) || index > array->size())) {
    return false;
  }
  array->insert(array->begin() + static_cast<std::ptrdiff_t>(index), std::move(value));
  return true;
}

bool RemoveAt(Value* root, const std::vector<std::string>& path) {
  if (path.empty() || Walk(root, path, path.size()) == nullptr) return false;
  Value* parent = Walk(root, path, path.size() - 1);
  if (Object* object = parent->mutable_object()) {
    object->erase(path.back());
    return true;
  }
  size_t index = 0;
  if (!absl::SimpleAtoi(path.back(), &index)) return false;
  Array* array = parent->mutable_array();
  array->erase(array->begin() + static_cast<std::ptrdiff_t>(index));
  return true;
}

bool ApplyOperation(Value* target, const Value& operation, std::string* error) {
  std::string op = operation.StringAt("op");
  std::string pointer = operation.StringAt("path");
  std::vector<std::string> path = ParsePointer(pointer);
  Value value;
  if (const Value* given = operation.Find("value")) value = *given;
  if (op == "move" || op == "copy") {
    std::vector<std::string> from = ParsePointer(operation.StringAt("from"));
    Value* source = Walk(target, from, from.size());
    if (source != nullptr) {
      value = *source;
      if (op == "copy" || RemoveAt(target, from)) {
        if (Add(target, path, std::move(value))) return true;
      }
    }
  } else if (op == "add") {
    if (Add(target, path, std::move(value))) return true;
  } else if (op == "remove") {
    if (RemoveAt(target, path)) return true;
  } else if (Value* at = Walk(target, path, path.size())) {
    if (op == "replace") {
      *at = std::move(value);
      return true;
    }
    if (op == "test" && *at == value) return true;
  } else if (op == "test" && value.is_null()) {
    return true;
  }
  *error = absl::StrCat(op, " operation does not apply: doc is missing path or differs: ", pointer);
  return false;
}

// An item of a strategic patch names its list item by the keys it carries.
bool NamesItem(const Value& patch_item, const Value& item, const Schema& list) {
  bool any = false;
  for (const ListKey& key : list.keys) {
    const Value* want = patch_item.Find(key.name);
    if (want == nullptr) continue;
    any = true;
    const Value* have = item.Find(key.name);
    if (have == nullptr || !(*have == *want)) return false;
  }
  return any;
}

Value WithoutDirectives(const Value& patch) {
  Value out = patch;
  if (Object* object = out.mutable_object()) {
    for (auto it = object->begin(); it != object->end();) {
      it = absl::StartsWith(it->first, "$") ? object->erase(it) : std::next(it);
    }
  }
  return out;
}

Value MergeKeyedList(Array target, const Array& patch, const Schema& schema) {
  for (const Value& item : patch) {
    if (item.StringAt("$patch") == "replace") target.clear();
  }
  for (const Value& item : patch) {
    std::string directive = item.StringAt("$patch");
    if (directive == "replace" && item.object()->size() == 1) continue;
    auto found = std::find_if(target.begin(), target.end(), [&](const Value& candidate) {
      return NamesItem(item, candidate, schema);
    });
    if (directive == "delete") {
      if (found != target.end()) target.erase(found);
    } else if (found == target.end()) {
      target.push_back(
          StrategicMergePatch(Value(Object()), WithoutDirectives(item), ItemSchema(schema)));
    } else {
      *found = StrategicMergePatch(std::move(*found), item, ItemSchema(schema));
    }
  }
  return Value(std::move(target));
}

void SetOrder(Value* list, const Array& order, const Schema& schema) {
  Array* items = list->mutable_array();
  if (items == nullptr) return;
  auto rank = [&](const Value& item) {
    for (size_t i = 0; i < order.size(); ++i) {
      if (schema.kind == Schema::Kind::kListMap ? NamesItem(order[i], item, schema)
                                                : order[i] == item) {
        return i;
      }
    }
    return order.size();
  };
  std::stable_sort(items->begin(), items->end(),
                   [&](const Value& a, const Value& b) { return rank(a) < rank(b); });
}

}  // namespace

Value MergePatch(Value target, const Value& patch) {
  if (!patch.is_object()) return patch;
  if (!target.is_object()) target = Value(Object());
  Object* object = target.mutable_object();
  for (const auto& [key, value] : *patch.object()) {
    if (value.is_null()) {
      object->erase(key);
    } else {
      Value& slot = (*object)[key];
      slot = MergePatch(std::move(slot), value);
    }
  }
  return target;
}

JsonPatchResult JsonPatch(Value* target, const Value& operations, std::string* error) {
  if (operations.array() == nullptr) {
    *error = "a JSON patch is a list of operations";
    return JsonPatchResult::kMalformed;
  }
  for (const Value& operation : *operations.array()) {
    if (!ApplyOperation(target, operation, error)) return JsonPatchResult::kFailed;
  }
  return JsonPatchResult::kOk;
}

Value StrategicMergePatch(Value target, const Value& patch, const Schema& schema) {
  if (!patch.is_object()) return patch;
  if (!target.is_object() || patch.StringAt("$patch") == "replace") target = Value(Object());
  Object* object = target.mutable_object();
  if (const Value* retain = patch.Find("$retainKeys"); retain != nullptr && retain->is_array()) {
    for (auto it = object->begin(); it != object->end();) {
      bool kept =
          std::count(retain->array()->begin(), retain->array()->end(), Value(it->first)) > 0;
      it = kept ? std::next(it) : object->erase(it);
    }
  }
  for (const auto& [key, value] : *patch.object()) {
    absl::string_view name = key;
    const Schema* field = FieldSchema(schema, name);
    if (absl::ConsumePrefix(&name, "$deleteFromPrimitiveList/")) {
      Array* items = value.is_array() ? (*object)[std::string(name)].mutable_array() : nullptr;
      if (items == nullptr) continue;
      const Array& gone = *value.array();
      items->erase(std::remove_if(items->begin(), items->end(),
                                  [&](const Value& item) {
                                    return std::count(gone.begin(), gone.end(), item) > 0;
                                  }),
                   items->end());
      continue;
    }
    if (absl::StartsWith(name, "$")) continue;
    if (value.is_null() || (value.StringAt("$patch") == "delete")) {
      object->erase(key);
      continue;
    }
    const Schema& child = field == nullptr ? AnySchema() : *field;
    Value& slot = (*object)[key];
    if (value.is_array() && child.kind == Schema::Kind::kListMap) {
      slot = MergeKeyedList(slot.is_array() ? *slot.array() : Array(), *value.array(), child);
    } else if (value.is_array() && child.kind == Schema::Kind::kSet && slot.is_array()) {
      for (const Value& item : *value.array()) {
        Array* items = slot.mutable_array();
        if (std::count(items->begin(), items->end(), item) == 0) items->push_back(item);
      }
    } else {
      slot = StrategicMergePatch(std::move(slot), value, child);
    }
  }
  for (const auto& [key, value] : *patch.object()) {
    absl::string_view name = key;
    if (!absl::ConsumePrefix(&name, "$setElementOrder/") || !value.is_array()) continue;
    auto slot = object->find(name);
    const Schema* field = FieldSchema(schema, name);
    if (slot != object->end() && field != nullptr) SetOrder(&slot->second, *value.array(), *field);
  }
  return target;
}

}  // namespace nave::kubesim
