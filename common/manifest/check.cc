#include <cstddef>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/manifest/normalize.h"
#include "common/manifest/object_key.h"
#include "common/model/assignment.h"
#include "common/value/codec.h"

namespace nave {
namespace {

// Limits of the API server (validation of apimachinery and core/v1).
constexpr size_t kNameBytesMax = 253;
constexpr size_t kPayloadBytesMax = 1 << 20;
constexpr size_t kAnnotationsBytesMax = 256 << 10;
// Its YAML parser fails on quoted keys of more than 1,023 bytes.
constexpr size_t kKeyBytesMax = 1000;

absl::Status Invalid(absl::string_view what) { return MakeError(Reason::kManifestInvalid, what); }

absl::string_view TypeName(const Value& value) {
  if (value.is_null()) return "null";
  if (value.is_bool()) return "a boolean";
  if (value.is_number()) return "a number";
  if (value.is_string()) return "a string";
  return value.is_array() ? "a list" : "a mapping";
}

// A member that must be a string with something in it.
absl::Status CheckText(const Value& object, absl::string_view key, absl::string_view path) {
  const Value* value = object.Find(key);
  if (value == nullptr || value->is_null()) {
    for (const auto& [other, unused] : *object.object()) {
      if (absl::EqualsIgnoreCase(other, key) && other != key) {
        return Invalid(
            absl::StrCat(path, " is missing; did you mean ", key, " instead of ", other, "?"));
      }
    }
    return Invalid(absl::StrCat(path, " is missing"));
  }
  if (!value->is_string()) {
    return Invalid(absl::StrCat(path, ": want a string, got ", TypeName(*value),
                                value->is_number() || value->is_bool() ? "; quote it" : ""));
  }
  if (value->string()->empty()) return Invalid(absl::StrCat(path, " is empty"));
  return absl::OkStatus();
}

absl::Status CheckApiVersion(absl::string_view api_version) {
  GroupVersion parsed = ParseApiVersion(api_version);
  bool has_slash = absl::StrContains(api_version, "/");
  bool bad = parsed.version.empty() || (has_slash && parsed.group.empty());
  for (char c : absl::StrCat(parsed.group, parsed.version)) {
    bad = bad || !(absl::ascii_isalnum(c) || c == '.' || c == '-');
  }
  if (!bad) return absl::OkStatus();
  return Invalid(
      absl::StrCat("apiVersion: want GROUP/VERSION or VERSION, got \"", api_version, "\""));
}

// Names go into URLs as they are.
absl::Status CheckName(absl::string_view name) {
  if (name.size() > kNameBytesMax) {
    return Invalid(
        absl::StrCat("metadata.name: want at most ", kNameBytesMax, " bytes, got ", name.size()));
  }
  bool bad = name == "." || name == "..";
  for (char c : name) bad = bad || !absl::ascii_isprint(c) || c == '/' || c == '%' || c == ' ';
  if (bad) return Invalid("metadata.name: want printable ASCII without '/', '%' and spaces");
  return absl::OkStatus();
}

absl::Status CheckStrings(const Value* map, absl::string_view path) {
  if (map == nullptr || map->is_null()) return absl::OkStatus();
  if (!map->is_object()) {
    return Invalid(absl::StrCat(path, ": want a mapping of strings, got ", TypeName(*map)));
  }
  for (const auto& [key, value] : *map->object()) {
    if (value.is_string() || value.is_null()) continue;
    return Invalid(absl::StrCat(path, "[", key, "]: want a string, got ", TypeName(value),
                                value.is_number() || value.is_bool() ? "; quote it" : ""));
  }
  return absl::OkStatus();
}

absl::Status CheckMetadata(const Value& metadata) {
  const Value* name = metadata.Find("name");
  bool no_name = name == nullptr || name->is_null() || name->StringOr("-").empty();
  if (no_name && metadata.Find("generateName") != nullptr) {
    return Invalid("metadata.generateName: server-side apply needs a fixed metadata.name");
  }
  RETURN_IF_ERROR(CheckText(metadata, "name", "metadata.name"));
  RETURN_IF_ERROR(CheckName(*metadata.Find("name")->string()));
  const Value* ns = metadata.Find("namespace");
  if (ns != nullptr && !ns->is_null()) {
    if (!ns->is_string()) {
      return Invalid(
          absl::StrCat("metadata.namespace: want a string, got ", TypeName(*ns), "; quote it"));
    }
    if (!ns->string()->empty() && !IsNamespaceName(*ns->string())) {
      return Invalid(
          absl::StrCat("metadata.namespace: want an RFC 1123 label, got \"", *ns->string(), "\""));
    }
  }
  RETURN_IF_ERROR(CheckStrings(metadata.Find("labels"), "metadata.labels"));
  return CheckStrings(metadata.Find("annotations"), "metadata.annotations");
}

absl::Status CheckKeys(const Value& value) {
  if (const Object* members = value.object()) {
    for (const auto& [key, member] : *members) {
      if (key.size() > kKeyBytesMax) {
        return Invalid(absl::StrCat("the key ", key.substr(0, 40), "... has ", key.size(),
                                    " bytes, more than the ", kKeyBytesMax,
                                    " that an API server reads"));
      }
      RETURN_IF_ERROR(CheckKeys(member));
    }
  } else if (const Array* items = value.array()) {
    for (const Value& item : *items) RETURN_IF_ERROR(CheckKeys(item));
  }
  return absl::OkStatus();
}

// Bytes of what base64 text stands for.
size_t DecodedSize(absl::string_view base64) {
  size_t characters = 0;
  for (char c : base64) characters += c != '=' && !absl::ascii_isspace(c) ? 1 : 0;
  return characters * 3 / 4;
}

size_t PayloadBytes(const Value& object, absl::string_view field, bool base64) {
  const Value* map = object.Find(field);
  if (map == nullptr || !map->is_object()) return 0;
  size_t bytes = 0;
  for (const auto& [key, value] : *map->object()) {
    if (const std::string* text = value.string())
      bytes += base64 ? DecodedSize(*text) : text->size();
  }
  return bytes;
}

absl::Status TooLarge(absl::string_view what, size_t actual, size_t limit) {
  return MakeError(Reason::kObjectTooLarge,
                   absl::StrCat(what, ": want at most ", limit, " bytes, got ", actual));
}

}  // namespace

bool IsNamespaceName(absl::string_view name) {
  if (name.empty() || name.size() > 63 || name.front() == '-' || name.back() == '-') return false;
  for (char c : name) {
    if (!absl::ascii_islower(c) && !absl::ascii_isdigit(c) && c != '-') return false;
  }
  return true;
}

absl::Status CheckObject(const Value& object) {
  if (!object.is_object()) {
    return Invalid(absl::StrCat("want an object (a mapping with apiVersion and kind), got ",
                                TypeName(object)));
  }
  RETURN_IF_ERROR(CheckText(object, "kind", "kind"));
  RETURN_IF_ERROR(CheckText(object, "apiVersion", "apiVersion"));
  RETURN_IF_ERROR(CheckApiVersion(*object.Find("apiVersion")->string()));
  const std::string& kind = *object.Find("kind")->string();
  for (char c : kind) {
    if (!absl::ascii_isalnum(c) && c != '-') {
      return Invalid(absl::StrCat("kind: want letters, digits and '-', got \"", kind, "\""));
    }
  }
  const Value* metadata = object.Find("metadata");
  if (metadata == nullptr || metadata->is_null()) return Invalid("metadata.name is missing");
  if (!metadata->is_object()) {
    return Invalid(absl::StrCat("metadata: want a mapping, got ", TypeName(*metadata)));
  }
  return CheckMetadata(*metadata);
}

absl::Status CheckLimits(const Value& object) {
  RETURN_IF_ERROR(CheckKeys(object));
  bool is_core = object.StringAt("apiVersion") == "v1";
  std::string kind = object.StringAt("kind");
  size_t payload = 0;
  if (is_core && kind == "ConfigMap") {
    payload = PayloadBytes(object, "data", false) + PayloadBytes(object, "binaryData", true);
  } else if (is_core && kind == "Secret") {
    payload = PayloadBytes(object, "data", true);
  }
  if (payload > kPayloadBytesMax)
    return TooLarge(absl::StrCat(kind, " payload"), payload, kPayloadBytesMax);
  size_t annotations = 0;
  if (const Value* map = object.Find("metadata", "annotations");
      map != nullptr && map->is_object()) {
    for (const auto& [key, value] : *map->object())
      annotations += key.size() + value.StringOr("").size();
  }
  if (annotations > kAnnotationsBytesMax) {
    return TooLarge("metadata.annotations", annotations, kAnnotationsBytesMax);
  }
  size_t bytes = FormatJson(object).size();
  return bytes > kObjectBytesMax ? TooLarge("object as JSON", bytes, kObjectBytesMax)
                                 : absl::OkStatus();
}

}  // namespace nave
