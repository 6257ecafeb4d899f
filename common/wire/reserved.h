// Fields that exist so that their numbers and names are fixed, but whose release has not come.
#ifndef NAVE_COMMON_WIRE_RESERVED_H_
#define NAVE_COMMON_WIRE_RESERVED_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace google::protobuf {
class Message;
}

namespace nave {

// Whether the field of that full name (nave.v1.BundleSpec.overrides) is reserved.
bool IsReservedField(absl::string_view full_name);

// Whether `name` (either spelling) will be a field of message `full_name` in a later release.
bool IsLaterField(absl::string_view message_full_name, absl::string_view name);

// NOT_SUPPORTED_YET when a reserved field is set anywhere under `path` in `message`, or when it has
// a field that this version does not know: to ignore it would do less than the caller asked for.
absl::Status CheckSupported(absl::string_view path, const google::protobuf::Message& message);

}  // namespace nave

#endif  // NAVE_COMMON_WIRE_RESERVED_H_
