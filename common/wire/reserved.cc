#include "common/wire/reserved.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/status_macros.h"
#include "common/model/violations.h"

namespace nave {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr absl::string_view kReserved[] = {
    "nave.v1.BundleSpec.placement_ref", "nave.v1.BundleSpec.suspend",
    "nave.v1.BundleSpec.substitute",    "nave.v1.BundleSpec.options",
    "nave.v1.BundleSpec.overrides",     "nave.v1.BundleSpec.replica_scheduling",
    "nave.v1.BundleSpec.strategy",      "nave.v1.BundleSpec.depends_on",
};

// Names without numbers yet; lower case without '_'.
constexpr absl::string_view kLaterPlacement[] = {
    "affinityterms",     "count",         "customscores",  "failover",
    "failback",          "failbackafter", "fieldselector", "groups",
    "decisiongroups",    "prioritizers",  "requiredapis",  "spread",
    "spreadconstraints", "tolerations",
};

absl::Status NotYet(absl::string_view path) {
  return FieldError(path, "must not be set: it comes in a later release", Reason::kNotSupportedYet);
}

std::string Join(absl::string_view path, absl::string_view name) {
  return path.empty() ? std::string(name) : absl::StrCat(path, ".", name);
}

}  // namespace

bool IsReservedField(absl::string_view full_name) {
  return std::find(std::begin(kReserved), std::end(kReserved), full_name) != std::end(kReserved);
}

bool IsLaterField(absl::string_view message_full_name, absl::string_view name) {
  if (message_full_name != "nave.v1.PlacementSpec") return false;
  std::string plain = absl::StrReplaceAll(absl::AsciiStrToLower(name), {{"_", ""}});
  return std::find(std::begin(kLaterPlacement), std::end(kLaterPlacement), plain) !=
         std::end(kLaterPlacement);
}

absl::Status CheckSupported(absl::string_view path, const Message& message) {
  const google::protobuf::Reflection* reflection = message.GetReflection();
  const google::protobuf::UnknownFieldSet& unknown = reflection->GetUnknownFields(message);
  if (!unknown.empty()) {
    return FieldError(
        Join(path, absl::StrCat("#", unknown.field(0).number())),
        "must not be set: this hub does not know the field, it may come in a later release",
        Reason::kNotSupportedYet);
  }
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    std::string child = Join(path, field->json_name());
    if (IsReservedField(field->full_name())) return NotYet(child);
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field->is_map()) continue;
    if (!field->is_repeated()) {
      RETURN_IF_ERROR(CheckSupported(child, reflection->GetMessage(message, field)));
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      RETURN_IF_ERROR(CheckSupported(absl::StrCat(child, "[", i, "]"),
                                     reflection->GetRepeatedMessage(message, field, i)));
    }
  }
  return absl::OkStatus();
}

}  // namespace nave
