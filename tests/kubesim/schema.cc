#include "tests/kubesim/schema.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace nave::kubesim {
namespace {

[[noreturn]] void DieMalformed(absl::string_view what) {
  std::fprintf(stderr, "kubesim: malformed schema table at: %s\n", std::string(what).c_str());
  std::abort();
}

}  // namespace

const Schema& AnySchema() {
  static const Schema* const any = new Schema();
  return *any;
}

const Schema* FieldSchema(const Schema& schema, absl::string_view key) {
  switch (schema.kind) {
    case Schema::Kind::kStruct: {
      auto it = schema.fields.find(key);
      if (it != schema.fields.end()) return it->second;
      return schema.open ? &AnySchema() : nullptr;
    }
    case Schema::Kind::kMap:
      return schema.element;
    default:
      return &AnySchema();
  }
}

const Schema& ItemSchema(const Schema& schema) {
  return schema.element == nullptr ? AnySchema() : *schema.element;
}

Schema* Schemas::Make() {
  nodes_.push_back(std::make_unique<Schema>());
  return nodes_.back().get();
}

Schema* Schemas::Named(absl::string_view name) {
  auto it = names_.find(name);
  if (it != names_.end()) return it->second;
  Schema* node = Make();
  names_.emplace(std::string(name), node);
  return node;
}

const Schema* Schemas::Find(absl::string_view name) const {
  auto it = names_.find(name);
  return it == names_.end() ? nullptr : it->second;
}

const Schema* Schemas::ParseType(absl::string_view type) {
  static const auto* const scalars = new std::map<std::string, Schema::Kind, std::less<>>{
      {"any", Schema::Kind::kAny},           {"str", Schema::Kind::kString},
      {"int", Schema::Kind::kInt},           {"num", Schema::Kind::kNumber},
      {"bool", Schema::Kind::kBool},         {"quantity", Schema::Kind::kQuantity},
      {"intstr", Schema::Kind::kIntOrString}};
  bool atomic = absl::ConsumePrefix(&type, "!");
  auto scalar = scalars->find(type);
  if (scalar != scalars->end()) {
    Schema* node = Make();
    node->kind = scalar->second;
    node->atomic = atomic;
    return node;
  }
  size_t open = type.find('(');
  if (open == absl::string_view::npos) {
    Schema* named = Named(type);
    if (!atomic) return named;
    // The same fields under one owner: copied when the table is complete, see Declare.
    Schema* node = Make();
    node->atomic = true;
    node->element = named;
    return node;
  }
  if (!absl::EndsWith(type, ")")) DieMalformed(type);
  absl::string_view form = type.substr(0, open);
  std::vector<absl::string_view> arguments =
      absl::StrSplit(type.substr(open + 1, type.size() - open - 2), absl::MaxSplits(';', 1));
  Schema* node = Make();
  node->atomic = atomic;
  node->element = ParseType(arguments[0]);
  if (form == "map") {
    node->kind = Schema::Kind::kMap;
  } else if (form == "list") {
    node->kind = Schema::Kind::kList;
  } else if (form == "set") {
    node->kind = Schema::Kind::kSet;
  } else if (form == "keyed" && arguments.size() == 2) {
    node->kind = Schema::Kind::kListMap;
    for (absl::string_view key : absl::StrSplit(arguments[1], ',')) {
      std::pair<absl::string_view, absl::string_view> parts =
          absl::StrSplit(key, absl::MaxSplits('~', 1));
      ListKey entry{std::string(parts.first), Value()};
      if (!parts.second.empty()) entry.default_value = Value(parts.second);
      node->keys.push_back(std::move(entry));
    }
  } else {
    DieMalformed(type);
  }
  return node;
}

void Schemas::Declare(absl::string_view table) {
  std::string joined;
  for (absl::string_view line : absl::StrSplit(table, '\n')) {
    if (line.empty()) continue;
    if (line[0] == ' ') {
      // A list of names may go on in the next line.
      if (absl::EndsWith(joined, ",")) line.remove_prefix(1);
      joined.append(line.data(), line.size());
    } else {
      joined.append("\n");
      joined.append(line.data(), line.size());
    }
  }
  for (absl::string_view line : absl::StrSplit(joined, '\n', absl::SkipEmpty())) {
    std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    Schema* node = Named(parts.first);
    node->kind = Schema::Kind::kStruct;
    for (absl::string_view field : absl::StrSplit(parts.second, ' ', absl::SkipEmpty())) {
      if (field == "...") {
        node->open = true;
        continue;
      }
      std::pair<absl::string_view, absl::string_view> pair =
          absl::StrSplit(field, absl::MaxSplits('=', 1));
      if (pair.second.empty()) DieMalformed(field);
      for (absl::string_view name : absl::StrSplit(pair.first, ',')) {
        node->fields.emplace(std::string(name), ParseType(pair.second));
      }
    }
  }
  for (const auto& [name, node] : names_) {
    if (node->kind != Schema::Kind::kStruct) DieMalformed(name);
  }
  for (const std::unique_ptr<Schema>& node : nodes_) {
    // An atomic reference: give it the fields of what it names, so that it is validated alike.
    if (node->atomic && node->kind == Schema::Kind::kAny && node->element != nullptr) {
      const Schema* named = node->element;
      *node = *named;
      node->atomic = true;
    }
  }
}

const Schemas& BuiltinSchemas() {
  static const Schemas* const schemas = [] {
    auto* made = new Schemas();
    made->Declare(BuiltinSchemaTable());
    return made;
  }();
  return *schemas;
}

namespace {

const Schema* FromOpenApi(const Value& spec, Schemas* schemas);

void FillList(const Value& spec, Schema* node, Schemas* schemas) {
  node->kind = Schema::Kind::kList;
  if (const Value* items = spec.Find("items")) node->element = FromOpenApi(*items, schemas);
  std::string list_type = spec.StringAt("x-kubernetes-list-type");
  if (list_type == "set") node->kind = Schema::Kind::kSet;
  if (list_type != "map") return;
  node->kind = Schema::Kind::kListMap;
  const Value* keys = spec.Find("x-kubernetes-list-map-keys");
  if (keys == nullptr || keys->array() == nullptr) return;
  for (const Value& key : *keys->array()) {
    std::string name = key.StringOr("");
    ListKey entry{name, Value()};
    if (const Value* value = spec.Find("items", "properties", name, "default")) {
      entry.default_value = *value;
    }
    node->keys.push_back(std::move(entry));
  }
}

void FillObject(const Value& spec, Schema* node, Schemas* schemas) {
  const Value* preserve = spec.Find("x-kubernetes-preserve-unknown-fields");
  bool open = preserve != nullptr && preserve->BoolOr(false);
  node->atomic = spec.StringAt("x-kubernetes-map-type") == "atomic";
  const Value* properties = spec.Find("properties");
  const Value* additional = spec.Find("additionalProperties");
  if (properties == nullptr && additional != nullptr && !additional->is_bool()) {
    node->kind = Schema::Kind::kMap;
    node->element = FromOpenApi(*additional, schemas);
    return;
  }
  if (properties == nullptr && (open || additional != nullptr)) return;  // kAny.
  node->kind = Schema::Kind::kStruct;
  node->open = open;
  if (properties == nullptr || properties->object() == nullptr) return;
  for (const auto& [name, child] : *properties->object()) {
    node->fields.emplace(name, FromOpenApi(child, schemas));
  }
}

const Schema* FromOpenApi(const Value& spec, Schemas* schemas) {
  Schema* node = schemas->Make();
  if (const Value* value = spec.Find("default")) node->default_value = *value;
  const Value* int_or_string = spec.Find("x-kubernetes-int-or-string");
  std::string type = spec.StringAt("type");
  if (int_or_string != nullptr && int_or_string->BoolOr(false)) {
    node->kind = Schema::Kind::kIntOrString;
  } else if (type == "string") {
    node->kind = Schema::Kind::kString;
  } else if (type == "integer") {
    node->kind = Schema::Kind::kInt;
  } else if (type == "number") {
    node->kind = Schema::Kind::kNumber;
  } else if (type == "boolean") {
    node->kind = Schema::Kind::kBool;
  } else if (type == "array") {
    FillList(spec, node, schemas);
  } else if (type == "object") {
    FillObject(spec, node, schemas);
  }
  return node;
}

}  // namespace

const Schema* SchemaFromOpenApi(const Value& open_api, Schemas* schemas) {
  Schema* root = schemas->Make();
  FillObject(open_api, root, schemas);
  if (root->kind == Schema::Kind::kAny) {
    root->kind = Schema::Kind::kStruct;
    root->open = true;
  }
  const Schemas& builtin = BuiltinSchemas();
  const Schema* config_map = builtin.Find("ConfigMap");
  for (const char* name : {"apiVersion", "kind", "metadata"}) {
    root->fields[name] = config_map->fields.find(absl::string_view(name))->second;
  }
  return root;
}

}  // namespace nave::kubesim
