#include "tests/kubesim/custom_schema.h"

#include <algorithm>
#include <regex>

#include "absl/strings/str_cat.h"
#include "common/value/codec.h"

namespace nave::kubesim {
namespace {

double NumberAt(const Value& open_api, absl::string_view key, double otherwise) {
  const Value* found = open_api.Find(key);
  return found == nullptr ? otherwise : found->DoubleOr(static_cast<double>(found->IntOr(0)));
}

double NumberOf(const Value& value) {
  return value.is_int() ? static_cast<double>(value.IntOr(0)) : value.DoubleOr(0);
}

void Fail(const char* reason, const std::string& path, const std::string& message,
          std::vector<StatusCause>* causes) {
  causes->push_back({reason, message, path});
}

void CheckScalar(const Value& value, const Value& open_api, const std::string& path,
                 std::vector<StatusCause>* causes) {
  std::string shown = FormatJson(value);
  if (const Value* allowed = open_api.Find("enum")) {
    const Array* list = allowed->array();
    if (list != nullptr && std::find(list->begin(), list->end(), value) == list->end()) {
      Fail("FieldValueNotSupported", path, absl::StrCat("Unsupported value: ", shown), causes);
    }
  }
  if (value.is_number()) {
    double number = NumberOf(value);
    if (number < NumberAt(open_api, "minimum", number)) {
      Fail("FieldValueInvalid", path,
           absl::StrCat("Invalid value: ", shown, ": ", path,
                        " in body should be greater than or equal to ",
                        NumberAt(open_api, "minimum", 0)),
           causes);
    }
    if (number > NumberAt(open_api, "maximum", number)) {
      Fail("FieldValueInvalid", path,
           absl::StrCat("Invalid value: ", shown, ": ", path,
                        " in body should be less than or equal to ",
                        NumberAt(open_api, "maximum", 0)),
           causes);
    }
  }
  const std::string* text = value.string();
  if (text == nullptr) return;
  double size = static_cast<double>(text->size());
  if (size < NumberAt(open_api, "minLength", 0)) {
    Fail("FieldValueInvalid", path, absl::StrCat("Invalid value: ", shown, ": too short"), causes);
  }
  if (size > NumberAt(open_api, "maxLength", size)) {
    Fail("FieldValueTooLong", path, "Too long", causes);
  }
  std::string pattern = open_api.StringAt("pattern");
  if (!pattern.empty() && !std::regex_search(*text, std::regex(pattern))) {
    Fail("FieldValueInvalid", path,
         absl::StrCat("Invalid value: ", shown, ": should match '", pattern, "'"), causes);
  }
}

std::string Below(const std::string& path, const std::string& name) {
  return path.empty() ? name : absl::StrCat(path, ".", name);
}

void CheckObject(const Value& value, const Value& open_api, const std::string& path,
                 std::vector<StatusCause>* causes) {
  const Value* required = open_api.Find("required");
  if (required != nullptr && required->array() != nullptr) {
    for (const Value& name : *required->array()) {
      if (value.Find(name.StringOr("")) != nullptr) continue;
      Fail("FieldValueRequired", Below(path, name.StringOr("")), "Required value", causes);
    }
  }
  const Value* properties = open_api.Find("properties");
  const Value* additional = open_api.Find("additionalProperties");
  for (const auto& [name, member] : *value.object()) {
    // The server's own fields are checked elsewhere.
    if (path.empty() && (name == "metadata" || name == "apiVersion" || name == "kind")) continue;
    const Value* known = properties == nullptr ? nullptr : properties->Find(name);
    if (known == nullptr && additional != nullptr && additional->is_object()) known = additional;
    if (known != nullptr) CheckOpenApi(member, *known, Below(path, name), causes);
  }
}

}  // namespace

void DefaultFromSchema(const Schema& schema, Value* value) {
  if (Object* members = value->mutable_object()) {
    if (schema.kind == Schema::Kind::kStruct) {
      for (const auto& [name, field] : schema.fields) {
        if (!field->default_value.is_null()) members->emplace(name, field->default_value);
      }
    }
    for (auto& [name, member] : *members) {
      if (const Schema* field = FieldSchema(schema, name)) DefaultFromSchema(*field, &member);
    }
  } else if (Array* items = value->mutable_array()) {
    for (Value& item : *items) DefaultFromSchema(ItemSchema(schema), &item);
  }
}

void CheckOpenApi(const Value& value, const Value& open_api, const std::string& path,
                  std::vector<StatusCause>* causes) {
  if (value.is_object()) return CheckObject(value, open_api, path, causes);
  const Array* items = value.array();
  if (items == nullptr) return CheckScalar(value, open_api, path, causes);
  double size = static_cast<double>(items->size());
  if (size < NumberAt(open_api, "minItems", 0)) {
    Fail("FieldValueInvalid", path, "Invalid value: too few items", causes);
  }
  if (size > NumberAt(open_api, "maxItems", size)) {
    Fail("FieldValueTooMany", path, "Too many", causes);
  }
  const Value* of_items = open_api.Find("items");
  for (size_t i = 0; of_items != nullptr && i < items->size(); ++i) {
    CheckOpenApi((*items)[i], *of_items, absl::StrCat(path, "[", i, "]"), causes);
  }
}

}  // namespace nave::kubesim
