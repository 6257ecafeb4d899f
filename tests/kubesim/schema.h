// The shape of API objects as far as field ownership needs it: which lists are maps, sets or
// atomic, which fields a type has, and of what scalar type they are.
#ifndef NAVE_TESTS_KUBESIM_SCHEMA_H_
#define NAVE_TESTS_KUBESIM_SCHEMA_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/value/value.h"

namespace nave::kubesim {

struct ListKey {
  std::string name;
  Value default_value;  // Null: an item must carry the key.
};

// One node; children are borrowed from the Schemas that own all nodes.
struct Schema {
  enum class Kind {
    kAny,  // Unknown: objects are granular, lists atomic.
    kString,
    kInt,
    kNumber,
    kBool,
    kQuantity,  // String or number.
    kIntOrString,
    kStruct,
    kMap,
    kList,  // Atomic.
    kSet,
    kListMap,
  };
  Kind kind = Kind::kAny;
  // One owner for the whole value, whatever is below.
  bool atomic = false;
  // kStruct: fields that are not listed are allowed and unknown.
  bool open = false;
  // kStruct: where unlisted fields are dropped on create and update instead of refused (custom
  // resources).
  std::map<std::string, const Schema*, std::less<>> fields;
  // Of kMap and lists.
  const Schema* element = nullptr;
  // Of kListMap.
  std::vector<ListKey> keys;
  // Custom resources: value put where the field is absent; null: none.
  Value default_value;
};

// What lies below `key` of a value of `schema`; nullptr when the type has no such field.
const Schema* FieldSchema(const Schema& schema, absl::string_view key);
// Of a list's items.
const Schema& ItemSchema(const Schema& schema);
const Schema& AnySchema();

// Owns nodes and the names they were declared under.
class Schemas {
 public:
  Schemas() = default;
  Schemas(const Schemas&) = delete;
  Schemas& operator=(const Schemas&) = delete;

  // Lines "Name: field=type field=type"; see schema_table.cc for the notation. Names may be used
  // before they are declared. Dies on a malformed table, which is part of this program.
  void Declare(absl::string_view table);
  // nullptr when unknown.
  const Schema* Find(absl::string_view name) const;
  Schema* Make();

 private:
  Schema* Named(absl::string_view name);
  const Schema* ParseType(absl::string_view type);

  std::vector<std::unique_ptr<Schema>> nodes_;
  std::map<std::string, Schema*, std::less<>> names_;
};

// The built-in kinds, by "Kind". Never destroyed.
const Schemas& BuiltinSchemas();
// The text that BuiltinSchemas is made of.
absl::string_view BuiltinSchemaTable();

// The schema of a custom resource from openAPIV3Schema of one version; metadata is added. `schemas`
// owns it.
const Schema* SchemaFromOpenApi(const Value& open_api, Schemas* schemas);

}  // namespace nave::kubesim

#endif  // NAVE_TESTS_KUBESIM_SCHEMA_H_
