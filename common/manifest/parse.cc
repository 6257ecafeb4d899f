#include "common/manifest/parse.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/manifest/duplicates.h"
#include "common/manifest/normalize.h"
#include "common/value/codec.h"

namespace nave {
namespace {

// Only a nameless kind that ends in "List" is one: a custom resource may have `items` of its own.
bool IsList(const Value& value) {
  if (!absl::EndsWith(value.StringAt("kind"), "List")) return false;
  if (!value.StringAt("metadata", "name").empty()) return false;
  const Value* items = value.Find("items");
  if (items == nullptr) return value.StringAt("kind") == "List";
  return items->is_array() || items->is_null();
}

// Items of a typed list may leave out what the list says: a PodList holds Pods.
void InheritType(const Value& list, Value* item) {
  std::string kind = list.StringAt("kind");
  if (kind == "List" || !item->is_object()) return;
  if (item->Find("kind") == nullptr) (*item)["kind"] = kind.substr(0, kind.size() - 4);
  if (item->Find("apiVersion") == nullptr) (*item)["apiVersion"] = list.StringAt("apiVersion");
}

struct FileReader {
  std::vector<ManifestObject> objects;
  std::vector<std::string>* warnings;

  absl::Status Add(Value value, const std::string& origin) {
    if (IsList(value)) return AddList(std::move(value), origin);
    RETURN_IF_ERROR(Prepend(CheckObject(value), origin));
    std::vector<std::string> found;
    RETURN_IF_ERROR(Prepend(NormalizeObject(&value, &found), Name(value, origin)));
    RETURN_IF_ERROR(Prepend(CheckLimits(value), Name(value, origin)));
    if (warnings != nullptr) {
      for (const std::string& text : found) {
        warnings->push_back(absl::StrCat(Name(value, origin), ": ", text));
      }
    }
    ManifestObject object;
    object.key = KeyOf(value);
    object.version = ParseApiVersion(value.StringAt("apiVersion")).version;
    object.object = std::move(value);
    object.origin = origin;
    objects.push_back(std::move(object));
    return absl::OkStatus();
  }

  absl::Status AddList(Value list, const std::string& origin) {
    Array items;
    if (Object* members = list.mutable_object(); members->count("items") > 0) {
      if (Array* present = members->find("items")->second.mutable_array())
        items = std::move(*present);
    }
    for (size_t i = 0; i < items.size(); ++i) {
      InheritType(list, &items[i]);
      RETURN_IF_ERROR(Add(std::move(items[i]), absl::StrCat(origin, " item ", i + 1)));
    }
    return absl::OkStatus();
  }

  static std::string Name(const Value& object, const std::string& origin) {
    return absl::StrCat(origin, ": ", KeyOf(object).ToString());
  }
};

}  // namespace

absl::StatusOr<std::vector<ManifestObject>> ParseManifestFile(absl::string_view path,
                                                              absl::string_view content,
                                                              std::vector<std::string>* warnings) {
  std::vector<std::string> found;
  absl::StatusOr<std::vector<YamlDocument>> documents = ParseYamlStream(content, &found);
  if (!documents.ok()) return Prepend(documents.status(), path);
  FileReader reader{{}, warnings};
  if (warnings != nullptr) {
    for (const std::string& text : found) warnings->push_back(absl::StrCat(path, ": ", text));
  }
  int number = 0;
  for (YamlDocument& document : *documents) {
    std::string origin = absl::StrCat(path, " document ", ++number, " (line ", document.line, ")");
    RETURN_IF_ERROR(reader.Add(std::move(document.value), origin));
  }
  RETURN_IF_ERROR(CheckDuplicates(reader.objects, /*default_namespace=*/""));
  return std::move(reader.objects);
}

}  // namespace nave
