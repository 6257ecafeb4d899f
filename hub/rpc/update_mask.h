// Update masks: which of a record's fields an update replaces. Pure.
#ifndef NAVE_HUB_RPC_UPDATE_MASK_H_
#define NAVE_HUB_RPC_UPDATE_MASK_H_

#include "absl/status/status.h"

namespace google::protobuf {
class FieldMask;
class Message;
}  // namespace google::protobuf

namespace nave {

// Copies what `mask` names from `wanted` to `record`, both of one resource type; an empty mask
// names spec, metadata.labels and metadata.annotations. A path leads through messages to a field (a
// repeated or map field as a whole); a named field that is not set in `wanted` is cleared.
// UNKNOWN_FIELD with the nearest name; INVALID_FIELD for what is output only.
absl::Status ApplyUpdate(const google::protobuf::FieldMask& mask,
                         const google::protobuf::Message& wanted,
                         google::protobuf::Message* record);

}  // namespace nave

#endif  // NAVE_HUB_RPC_UPDATE_MASK_H_
