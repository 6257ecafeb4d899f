#include "hub/rpc/update_mask.h"

#include <google/protobuf/field_mask.pb.h>
#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/nearest_word.h"
#include "common/base/status_macros.h"
#include "common/model/violations.h"

namespace nave {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

bool IsWritable(const std::vector<std::string>& path) {
  if (path[0] == "spec") return true;
  return path.size() == 2 && path[0] == "metadata" &&
         (path[1] == "labels" || path[1] == "annotations");
}

const FieldDescriptor* FindField(const google::protobuf::Descriptor& type,
                                 const std::string& name) {
  if (const FieldDescriptor* field = type.FindFieldByName(name)) return field;
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->json_name() == name) return type.field(i);
  }
  return nullptr;
}

absl::Status UnknownPath(const std::string& path, const google::protobuf::Descriptor& type,
                         const std::string& name) {
  std::vector<std::string> known;
  for (int i = 0; i < type.field_count(); ++i) known.push_back(type.field(i)->name());
  std::string nearest = NearestWord(name, known);
  return FieldError(
      "update_mask",
      nearest.empty() ? absl::StrCat("'", path, "' must name one of ", absl::StrJoin(known, ", "))
                      : absl::StrCat("'", path, "' is not a field; did you mean '", nearest, "'?"),
      Reason::kUnknownField);
}

// Replaces one field of `to` by that of `from`. Same type, so swapping through a copy is the
// shortest way.
void CopyField(const Message& from, const FieldDescriptor& field, Message* to) {
  std::unique_ptr<Message> copy(from.New());
  copy->CopyFrom(from);
  const Reflection& r = *to->GetReflection();
  const auto* oneof = field.real_containing_oneof();
  if (oneof != nullptr && r.HasOneof(*to, oneof)) r.ClearOneof(to, oneof);
  r.SwapFields(to, copy.get(), {&field});
}

absl::Status ApplyPath(const std::string& path, const Message& wanted, Message* record) {
  std::vector<std::string> words = absl::StrSplit(path, '.');
  const Message* from = &wanted;
  Message* to = record;
  std::vector<std::string> names;
  for (size_t i = 0; i < words.size(); ++i) {
    const FieldDescriptor* field = FindField(*to->GetDescriptor(), words[i]);
    if (field == nullptr) return UnknownPath(path, *to->GetDescriptor(), words[i]);
    names.push_back(field->name());
    if (i + 1 == words.size()) {
      if (!IsWritable(names)) {
        return FieldError("update_mask",
                          absl::StrCat("must name spec, metadata.labels or metadata.annotations, '",
                                       path, "' is output only"));
      }
      CopyField(*from, *field, to);
      return absl::OkStatus();
    }
    if (field->is_repeated() || field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      return FieldError(
          "update_mask",
          absl::StrCat("'", path, "' must not go into '", words[i], "': it is replaced as a whole"),
          Reason::kUnknownField);
    }
    from = &from->GetReflection()->GetMessage(*from, field);
    to = to->GetReflection()->MutableMessage(to, field);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ApplyUpdate(const google::protobuf::FieldMask& mask, const Message& wanted,
                         Message* record) {
  if (mask.paths().empty()) {
    for (const char* path : {"spec", "metadata.labels", "metadata.annotations"}) {
      RETURN_IF_ERROR(ApplyPath(path, wanted, record));
    }
    return absl::OkStatus();
  }
  for (const std::string& path : mask.paths()) RETURN_IF_ERROR(ApplyPath(path, wanted, record));
  return absl::OkStatus();
}

}  // namespace nave
