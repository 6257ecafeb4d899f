// The file form of resources: {apiVersion: nave.dev/v1, kind, metadata: {project, name, …}, spec,
// status}. One function pair maps it to and from the messages of nave.v1, by their descriptors, so
// that every field of every kind is mapped the same way and a file that was read from the hub says
// the same when it is applied again. Pure.
//
// Out: camelCase; enums as words without prefix (IfNoDiff; roles in lower case); times as RFC 3339,
// durations as 30m, bytes as text; what is unset is left out, but in status numbers and booleans
// are always there. The etag is left out, for a file should outlive the next change. In: camelCase
// and snake_case; enums in any case, with or without prefix; unknown fields are refused with the
// nearest name (UNKNOWN_FIELD), fields of a later release with NOT_SUPPORTED_YET, the rest with
// INVALID_FIELD; every error names the path. Null counts as absent. What is output only (status,
// uid, times, …) is accepted and ignored; `metadata.etag` is taken over.
#ifndef NAVE_COMMON_WIRE_FILE_FORM_H_
#define NAVE_COMMON_WIRE_FILE_FORM_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/value/value.h"

namespace google::protobuf {
class Message;
}

namespace nave {

inline constexpr absl::string_view kApiVersion = "nave.dev/v1";

// `resource` must be a message of one of the Kinds().
Value ToFile(const google::protobuf::Message& resource);

// A resource of the kind that the file names. `default_project` stands in when metadata.project is
// absent.
absl::StatusOr<std::unique_ptr<google::protobuf::Message>> FromFile(
    const Value& file, absl::string_view default_project);

// Any message in the same notation, with numbers and booleans always there: answers that are no
// resources, for -o json.
Value ToValue(const google::protobuf::Message& message);

// The word of an enum value in files: "IfNoDiff" for ADOPTION_IF_NO_DIFF.
std::string EnumWord(absl::string_view enum_full_name, absl::string_view enum_name,
                     absl::string_view value_name);

}  // namespace nave

#endif  // NAVE_COMMON_WIRE_FILE_FORM_H_
