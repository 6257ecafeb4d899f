// What both directions of the file form share. For the .cc files of this folder only.
#ifndef NAVE_COMMON_WIRE_FILE_FORM_INTERNAL_H_
#define NAVE_COMMON_WIRE_FILE_FORM_INTERNAL_H_

#include <google/protobuf/descriptor.h>

#include <string>

#include "absl/strings/string_view.h"

namespace nave::file_form {

// CLUSTER_SET -> ClusterSet.
std::string CamelCase(absl::string_view upper_snake);
std::string WordOf(const google::protobuf::EnumValueDescriptor& value);

inline bool IsTimestamp(const google::protobuf::Descriptor& type) {
  return type.full_name() == "google.protobuf.Timestamp";
}
inline bool IsDuration(const google::protobuf::Descriptor& type) {
  return type.full_name() == "google.protobuf.Duration";
}

// Member that holds bytes which are not UTF-8, in place of a text.
inline constexpr absl::string_view kBase64Member = "base64";

}  // namespace nave::file_form

#endif  // NAVE_COMMON_WIRE_FILE_FORM_INTERNAL_H_
