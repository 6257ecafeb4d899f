// Messages to files.
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/message.h>
#include <google/protobuf/timestamp.pb.h>

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/wire/file_form.h"
#include "common/wire/file_form_internal.h"
#include "common/wire/kinds.h"
#include "common/wire/scalars.h"

namespace nave {
namespace file_form {

std::string CamelCase(absl::string_view upper_snake) {
  std::string word;
  bool first = true;
  for (char c : upper_snake) {
    if (c == '_') {
      first = true;
      continue;
    }
    word += first ? absl::ascii_toupper(c) : absl::ascii_tolower(c);
    first = false;
  }
  return word;
}

std::string WordOf(const google::protobuf::EnumValueDescriptor& value) {
  return EnumWord(value.type()->full_name(), value.type()->name(), value.name());
}

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

Value WriteMessage(const Message& message, bool with_defaults);

Value WriteBytes(const std::string& bytes) {
  if (IsUtf8(bytes)) return Value(bytes);
  return Value(Object{{std::string(kBase64Member), Value(absl::Base64Escape(bytes))}});
}

Value WriteSpecial(const Message& message) {
  std::string serialized = message.SerializeAsString();
  if (IsTimestamp(*message.GetDescriptor())) {
    google::protobuf::Timestamp stamp;
    stamp.ParseFromString(serialized);
    return Value(
        absl::FormatTime("%Y-%m-%d%ET%H:%M:%E*SZ", TimeFromProto(stamp), absl::UTCTimeZone()));
  }
  google::protobuf::Duration duration;
  duration.ParseFromString(serialized);
  return Value(absl::FormatDuration(DurationFromProto(duration).value_or(absl::ZeroDuration())));
}

// One element of a repeated field when `index` >= 0, else the singular field.
Value WriteField(const Message& message, const FieldDescriptor& field, int index,
                 bool with_defaults) {
  const Reflection& r = *message.GetReflection();
  bool one = index < 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return Value(one ? r.GetBool(message, &field) : r.GetRepeatedBool(message, &field, index));
    case FieldDescriptor::CPPTYPE_INT32:
      return Value(
          int64_t{one ? r.GetInt32(message, &field) : r.GetRepeatedInt32(message, &field, index)});
    case FieldDescriptor::CPPTYPE_UINT32:
      return Value(int64_t{one ? r.GetUInt32(message, &field)
                               : r.GetRepeatedUInt32(message, &field, index)});
    case FieldDescriptor::CPPTYPE_INT64:
      return Value(
          int64_t{one ? r.GetInt64(message, &field) : r.GetRepeatedInt64(message, &field, index)});
    case FieldDescriptor::CPPTYPE_UINT64:
      return Value(static_cast<int64_t>(one ? r.GetUInt64(message, &field)
                                            : r.GetRepeatedUInt64(message, &field, index)));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return Value(one ? r.GetDouble(message, &field)
                       : r.GetRepeatedDouble(message, &field, index));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return Value(
          double{one ? r.GetFloat(message, &field) : r.GetRepeatedFloat(message, &field, index)});
    case FieldDescriptor::CPPTYPE_ENUM: {
      int number =
          one ? r.GetEnumValue(message, &field) : r.GetRepeatedEnumValue(message, &field, index);
      const auto* value = field.enum_type()->FindValueByNumber(number);
      return value == nullptr ? Value(int64_t{number}) : Value(WordOf(*value));
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string scratch;
      const std::string& text =
          one ? r.GetStringReference(message, &field, &scratch)
              : r.GetRepeatedStringReference(message, &field, index, &scratch);
      return field.type() == FieldDescriptor::TYPE_BYTES ? WriteBytes(text) : Value(text);
    }
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      const Message& child =
          one ? r.GetMessage(message, &field) : r.GetRepeatedMessage(message, &field, index);
      const auto& type = *child.GetDescriptor();
      if (IsTimestamp(type) || IsDuration(type)) return WriteSpecial(child);
      return WriteMessage(child, with_defaults);
    }
  }
  return Value();
}

Value WriteMap(const Message& message, const FieldDescriptor& field) {
  const Reflection& r = *message.GetReflection();
  Object map;
  for (int i = 0; i < r.FieldSize(message, &field); ++i) {
    const Message& entry = r.GetRepeatedMessage(message, &field, i);
    const auto* type = entry.GetDescriptor();
    Value key = WriteField(entry, *type->map_key(), -1, false);
    map[key.StringOr("")] = WriteField(entry, *type->map_value(), -1, false);
  }
  return Value(std::move(map));
}

// Numbers and booleans of answers are there even when they are 0 or false. An unset enum says
// nothing.
bool ShowsDefault(const FieldDescriptor& field) {
  if (field.is_repeated() || field.has_presence()) return false;
  return field.cpp_type() != FieldDescriptor::CPPTYPE_STRING &&
         field.cpp_type() != FieldDescriptor::CPPTYPE_ENUM;
}

Value WriteMessage(const Message& message, bool with_defaults) {
  const Reflection& r = *message.GetReflection();
  const auto& type = *message.GetDescriptor();
  Object object;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.is_map()) {
      if (r.FieldSize(message, &field) > 0) object[field.json_name()] = WriteMap(message, field);
    } else if (field.is_repeated()) {
      Array items;
      for (int at = 0; at < r.FieldSize(message, &field); ++at) {
        items.push_back(WriteField(message, field, at, with_defaults));
      }
      if (!items.empty()) object[field.json_name()] = Value(std::move(items));
    } else if (r.HasField(message, &field) || (with_defaults && ShowsDefault(field))) {
      object[field.json_name()] = WriteField(message, field, -1, with_defaults);
    }
  }
  return Value(std::move(object));
}

// projects/p/bundles/b/revisions/3 -> project: p, bundle: b, name: "3".
void WriteName(absl::string_view name, Value* metadata) {
  std::vector<absl::string_view> parts = absl::StrSplit(name, '/');
  (*metadata)["name"] = Value(parts.back());
  for (size_t i = 0; i + 3 < parts.size(); i += 2) {
    absl::string_view collection = parts[i];
    absl::ConsumeSuffix(&collection, "s");
    (*metadata)[collection] = Value(parts[i + 1]);
  }
}

}  // namespace
}  // namespace file_form

std::string EnumWord(absl::string_view enum_full_name, absl::string_view enum_name,
                     absl::string_view value_name) {
  // Enum values are prefixed with their enum's name in UPPER_SNAKE.
  size_t prefix = 0;
  for (size_t i = 0; i < enum_name.size(); ++i)
    prefix += i > 0 && absl::ascii_isupper(enum_name[i]) ? 2 : 1;
  std::string word =
      file_form::CamelCase(value_name.substr(prefix < value_name.size() ? prefix + 1 : 0));
  return enum_full_name == "nave.v1.Role" ? absl::AsciiStrToLower(word) : word;
}

Value ToValue(const google::protobuf::Message& message) {
  if (KindOf(message) != nullptr) return ToFile(message);
  return file_form::WriteMessage(message, true);
}

Value ToFile(const google::protobuf::Message& resource) {
  const auto& type = *resource.GetDescriptor();
  const auto& r = *resource.GetReflection();
  Value file;
  file["apiVersion"] = Value(kApiVersion);
  file["kind"] = Value(type.name());
  Value& metadata = file["metadata"];
  const auto* metadata_field = type.FindFieldByName("metadata");
  metadata = file_form::WriteMessage(r.GetMessage(resource, metadata_field), false);
  file_form::WriteName(r.GetString(resource, type.FindFieldByName("name")), &metadata);
  for (const char* part : {"spec", "status"}) {
    const auto* field = type.FindFieldByName(part);
    bool status = part[1] == 't';
    if (!r.HasField(resource, field)) continue;
    Value value = file_form::WriteMessage(r.GetMessage(resource, field), status);
    if (!status || !value.object()->empty()) file[part] = std::move(value);
  }
  return file;
}

}  // namespace nave
