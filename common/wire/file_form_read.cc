// Files to messages.
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/message.h>
#include <google/protobuf/timestamp.pb.h>

#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/base/error.h"
#include "common/base/nearest_word.h"
#include "common/base/status_macros.h"
#include "common/model/violations.h"
#include "common/wire/file_form.h"
#include "common/wire/file_form_internal.h"
#include "common/wire/kinds.h"
#include "common/wire/reserved.h"
#include "common/wire/scalars.h"
#include "nave/v1/meta.pb.h"

namespace nave {
namespace file_form {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

absl::string_view TypeWord(const Value& value) {
  if (value.is_null()) return "nothing";
  if (value.is_bool()) return "a boolean";
  if (value.is_number()) return "a number";
  if (value.is_string()) return "a string";
  return value.is_array() ? "a list" : "a mapping";
}

absl::Status WrongType(absl::string_view path, absl::string_view want, const Value& got) {
  std::string hint =
      want == "a string" && (got.is_number() || got.is_bool()) ? "; put it in quotes" : "";
  return FieldError(path, absl::StrCat("must be ", want, ", got ", TypeWord(got), hint));
}

absl::Status UnknownField(absl::string_view path, const std::string& name,
                          const std::vector<std::string>& known) {
  std::string nearest = NearestWord(name, known);
  std::string text = nearest.empty()
                         ? absl::StrCat("must be one of ", absl::StrJoin(known, ", "))
                         : absl::StrCat("is not a field; did you mean '", nearest, "'?");
  return FieldError(path, text, Reason::kUnknownField);
}

absl::Status ReadMessage(absl::string_view path, const Value& value, Message* out);

// Lower case without '_': the form in which enum words are compared.
std::string Plain(absl::string_view word) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(word), {{"_", ""}});
}

absl::StatusOr<int> ReadEnum(absl::string_view path, const Value& value,
                             const google::protobuf::EnumDescriptor& type) {
  if (!value.is_string()) return WrongType(path, "a string", value);
  std::vector<std::string> words;
  std::string plain = Plain(*value.string());
  for (int i = 0; i < type.value_count(); ++i) {
    const auto& candidate = *type.value(i);
    if (candidate.number() == 0) continue;
    words.push_back(WordOf(candidate));
    if (plain == Plain(words.back()) || plain == Plain(candidate.name())) return candidate.number();
  }
  return FieldError(path, absl::StrCat("must be one of ", absl::StrJoin(words, ", "), "; got '",
                                       *value.string(), "'"));
}

absl::StatusOr<int64_t> ReadInteger(absl::string_view path, const Value& value, int64_t min,
                                    int64_t max) {
  if (!value.is_int()) return WrongType(path, "an integer", value);
  int64_t number = value.IntOr(0);
  if (number < min || number > max) {
    return FieldError(path, absl::StrCat("must be from ", min, " to ", max, ", got ", number));
  }
  return number;
}

absl::StatusOr<std::string> ReadBytes(absl::string_view path, const Value& value) {
  if (value.is_string()) return *value.string();
  const Value* encoded = value.Find(kBase64Member);
  std::string bytes;
  if (encoded == nullptr || !encoded->is_string() || value.object()->size() != 1 ||
      !absl::Base64Unescape(*encoded->string(), &bytes)) {
    return WrongType(path, "a string, or a mapping with the member 'base64'", value);
  }
  return bytes;
}

absl::Status ReadSpecial(absl::string_view path, const Value& value, Message* out) {
  if (!value.is_string()) return WrongType(path, "a string", value);
  std::string serialized;
  if (IsTimestamp(*out->GetDescriptor())) {
    absl::Time time;
    std::string error;
    google::protobuf::Timestamp stamp;
    if (!absl::ParseTime(absl::RFC3339_full, *value.string(), &time, &error) ||
        !TimeToProto(time, &stamp)) {
      return FieldError(path, absl::StrCat("must be a time like 2026-01-31T08:00:00Z, got '",
                                           *value.string(), "'"));
    }
    serialized = stamp.SerializeAsString();
  } else {
    absl::Duration span;
    google::protobuf::Duration duration;
    if (!absl::ParseDuration(*value.string(), &span) || span == absl::InfiniteDuration() ||
        span == -absl::InfiniteDuration()) {
      return FieldError(
          path, absl::StrCat("must be a duration like 30m or 1h15m, got '", *value.string(), "'"));
    }
    DurationToProto(span, &duration);
    serialized = duration.SerializeAsString();
  }
  out->ParseFromString(serialized);
  return absl::OkStatus();
}

absl::Status ReadChild(absl::string_view path, const Value& value, Message* child) {
  const auto& type = *child->GetDescriptor();
  if (IsTimestamp(type) || IsDuration(type)) return ReadSpecial(path, value, child);
  return ReadMessage(path, value, child);
}

// Sets the singular field, or adds an element to the repeated one.
absl::Status ReadField(absl::string_view path, const Value& value, const FieldDescriptor& field,
                       Message* out) {
  const Reflection& r = *out->GetReflection();
  bool many = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL: {
      if (!value.is_bool()) return WrongType(path, "true or false", value);
      many ? r.AddBool(out, &field, value.BoolOr(false))
           : r.SetBool(out, &field, value.BoolOr(false));
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_INT32: {
      ASSIGN_OR_RETURN(int64_t number, ReadInteger(path, value, std::numeric_limits<int32_t>::min(),
                                                   std::numeric_limits<int32_t>::max()));
      many ? r.AddInt32(out, &field, number) : r.SetInt32(out, &field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_UINT32: {
      ASSIGN_OR_RETURN(int64_t number,
                       ReadInteger(path, value, 0, std::numeric_limits<uint32_t>::max()));
      many ? r.AddUInt32(out, &field, number) : r.SetUInt32(out, &field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      ASSIGN_OR_RETURN(int64_t number, ReadInteger(path, value, std::numeric_limits<int64_t>::min(),
                                                   std::numeric_limits<int64_t>::max()));
      many ? r.AddInt64(out, &field, number) : r.SetInt64(out, &field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      ASSIGN_OR_RETURN(int64_t number,
                       ReadInteger(path, value, 0, std::numeric_limits<int64_t>::max()));
      many ? r.AddUInt64(out, &field, number) : r.SetUInt64(out, &field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT: {
      if (!value.is_number()) return WrongType(path, "a number", value);
      bool wide = field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
      double number = value.DoubleOr(0);
      if (wide) {
        many ? r.AddDouble(out, &field, number) : r.SetDouble(out, &field, number);
      } else {
        many ? r.AddFloat(out, &field, number) : r.SetFloat(out, &field, number);
      }
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_ENUM: {
      ASSIGN_OR_RETURN(int number, ReadEnum(path, value, *field.enum_type()));
      many ? r.AddEnumValue(out, &field, number) : r.SetEnumValue(out, &field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string text;
      if (field.type() == FieldDescriptor::TYPE_BYTES) {
        ASSIGN_OR_RETURN(text, ReadBytes(path, value));
      } else {
        if (!value.is_string()) return WrongType(path, "a string", value);
        text = *value.string();
      }
      many ? r.AddString(out, &field, std::move(text)) : r.SetString(out, &field, std::move(text));
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ReadChild(path, value,
                       many ? r.AddMessage(out, &field) : r.MutableMessage(out, &field));
  }
  return absl::OkStatus();
}

absl::Status ReadMap(absl::string_view path, const Value& value, const FieldDescriptor& field,
                     Message* out) {
  if (!value.is_object()) return WrongType(path, "a mapping", value);
  for (const auto& [key, item] : *value.object()) {
    Message* entry = out->GetReflection()->AddMessage(out, &field);
    const auto* type = entry->GetDescriptor();
    std::string child = absl::StrCat(path, "[", key, "]");
    RETURN_IF_ERROR(ReadField(child, Value(key), *type->map_key(), entry));
    RETURN_IF_ERROR(ReadField(child, item, *type->map_value(), entry));
  }
  return absl::OkStatus();
}

// By camelCase or snake_case name.
const FieldDescriptor* FindField(const google::protobuf::Descriptor& type,
                                 const std::string& name) {
  if (const FieldDescriptor* field = type.FindFieldByName(name)) return field;
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->json_name() == name) return type.field(i);
  }
  return nullptr;
}

absl::Status ReadMember(absl::string_view path, const Value& value, const FieldDescriptor& field,
                        Message* out) {
  if (IsReservedField(field.full_name())) {
    // What an older file says by way of default asks for nothing.
    if (value.is_bool() && !value.BoolOr(false)) return absl::OkStatus();
    return FieldError(path, "must not be set: it comes in a later release",
                      Reason::kNotSupportedYet);
  }
  const Reflection& r = *out->GetReflection();
  bool set = field.is_repeated() ? r.FieldSize(*out, &field) > 0 : r.HasField(*out, &field);
  if (set) return FieldError(path, "must be set once, it is there in both spellings");
  const auto* oneof = field.real_containing_oneof();
  if (oneof != nullptr && r.HasOneof(*out, oneof)) {
    return FieldError(path, absl::StrCat("must not be set beside '",
                                         r.GetOneofFieldDescriptor(*out, oneof)->json_name(), "'"));
  }
  if (field.is_map()) return ReadMap(path, value, field, out);
  if (!field.is_repeated()) return ReadField(path, value, field, out);
  if (!value.is_array()) return WrongType(path, "a list", value);
  for (size_t i = 0; i < value.array()->size(); ++i) {
    RETURN_IF_ERROR(ReadField(absl::StrCat(path, "[", i, "]"), (*value.array())[i], field, out));
  }
  return absl::OkStatus();
}

absl::Status ReadMessage(absl::string_view path, const Value& value, Message* out) {
  if (!value.is_object()) return WrongType(path, "a mapping", value);
  const auto& type = *out->GetDescriptor();
  for (const auto& [name, member] : *value.object()) {
    std::string child = path.empty() ? name : absl::StrCat(path, ".", name);
    const FieldDescriptor* field = FindField(type, name);
    if (field == nullptr) {
      if (IsLaterField(type.full_name(), name)) {
        return FieldError(child, "must not be set: it comes in a later release",
                          Reason::kNotSupportedYet);
      }
      std::vector<std::string> known;
      for (int i = 0; i < type.field_count(); ++i) {
        if (!IsReservedField(type.field(i)->full_name()))
          known.push_back(type.field(i)->json_name());
      }
      return UnknownField(child, name, known);
    }
    if (member.is_null()) continue;
    RETURN_IF_ERROR(ReadMember(child, member, *field, out));
  }
  return absl::OkStatus();
}

// metadata of the file, taken apart.
struct FileMetadata {
  std::string name;
  std::string project;
  std::string bundle;
  std::string etag;
  Value rest = Value(Object{});
};

absl::Status CheckMetadataField(const KindInfo& kind, const std::string& key) {
  const auto& type = *v1::ObjectMeta::descriptor();
  if (FindField(type, key) != nullptr) return absl::OkStatus();
  std::vector<std::string> known{"name"};
  if (kind.in_project) known.push_back("project");
  for (int i = 0; i < type.field_count(); ++i) known.push_back(type.field(i)->json_name());
  return UnknownField(absl::StrCat("metadata.", key), key, known);
}

absl::StatusOr<FileMetadata> ReadMetadata(const KindInfo& kind, const Value& file) {
  const Value* metadata = file.Find("metadata");
  if (metadata == nullptr || metadata->is_null()) return FieldError("metadata", "must be set");
  if (!metadata->is_object()) return WrongType("metadata", "a mapping", *metadata);
  FileMetadata read;
  for (const auto& [key, value] : *metadata->object()) {
    std::string* text = key == "name"                                       ? &read.name
                        : key == "etag"                                     ? &read.etag
                        : key == "project" && kind.in_project               ? &read.project
                        : key == "bundle" && kind.collection == "revisions" ? &read.bundle
                                                                            : nullptr;
    if (text == nullptr) {
      RETURN_IF_ERROR(CheckMetadataField(kind, key));
      read.rest[key] = value;
      continue;
    }
    if (value.is_null()) continue;
    if (!value.is_string()) return WrongType(absl::StrCat("metadata.", key), "a string", value);
    *text = *value.string();
  }
  return read;
}

std::string MakeName(const KindInfo& kind, const FileMetadata& metadata,
                     absl::string_view default_project) {
  std::string name = absl::StrCat(kind.collection, "/", metadata.name);
  if (kind.collection == "revisions") name = absl::StrCat("bundles/", metadata.bundle, "/", name);
  std::string project = metadata.project.empty() ? std::string(default_project) : metadata.project;
  // Events of clusters and the hub have no project.
  bool in_project = kind.in_project && !(kind.collection == "events" && metadata.project.empty());
  return in_project ? absl::StrCat("projects/", project, "/", name) : name;
}

absl::Status CheckTop(const Value& file) {
  static const auto* kTop =
      new std::vector<std::string>{"apiVersion", "kind", "metadata", "spec", "status"};
  for (const auto& [key, value] : *file.object()) {
    bool known = false;
    for (const std::string& top : *kTop) known = known || top == key || (key == "api_version");
    if (!known) return UnknownField(key, key, *kTop);
  }
  return absl::OkStatus();
}

absl::StatusOr<const KindInfo*> ReadKind(const Value& file) {
  std::string version = file.StringAt("apiVersion");
  if (version.empty()) version = file.StringAt("api_version");
  if (version != kApiVersion) {
    return FieldError("apiVersion",
                      absl::StrCat("must be '", kApiVersion, "', got '", version, "'"));
  }
  std::vector<std::string> words;
  for (const KindInfo& kind : Kinds()) {
    words.emplace_back(kind.kind);
    if (kind.kind == file.StringAt("kind")) return &kind;
  }
  std::string nearest = NearestWord(file.StringAt("kind"), words);
  std::string hint = nearest.empty() ? "" : absl::StrCat("; did you mean '", nearest, "'?");
  return FieldError("kind", absl::StrCat("must be one of ", absl::StrJoin(words, ", "), "; got '",
                                         file.StringAt("kind"), "'", hint));
}

}  // namespace
}  // namespace file_form

absl::StatusOr<std::unique_ptr<google::protobuf::Message>> FromFile(
    const Value& file, absl::string_view default_project) {
  if (!file.is_object()) return file_form::WrongType("file", "a mapping", file);
  ASSIGN_OR_RETURN(const KindInfo* kind, file_form::ReadKind(file));
  RETURN_IF_ERROR(file_form::CheckTop(file));
  ASSIGN_OR_RETURN(file_form::FileMetadata metadata, file_form::ReadMetadata(*kind, file));
  if (metadata.name.empty()) return FieldError("metadata.name", "must be set");
  std::unique_ptr<google::protobuf::Message> out(kind->make());
  const auto& type = *out->GetDescriptor();
  const auto& r = *out->GetReflection();
  r.SetString(out.get(), type.FindFieldByName("name"),
              file_form::MakeName(*kind, metadata, default_project));
  r.SetString(out.get(), type.FindFieldByName("etag"), metadata.etag);
  RETURN_IF_ERROR(file_form::ReadMessage(
      "metadata", metadata.rest, r.MutableMessage(out.get(), type.FindFieldByName("metadata"))));
  const Value* spec = file.Find("spec");
  if (spec != nullptr && !spec->is_null()) {
    RETURN_IF_ERROR(file_form::ReadMessage(
        "spec", *spec, r.MutableMessage(out.get(), type.FindFieldByName("spec"))));
  }
  return out;
}

}  // namespace nave
