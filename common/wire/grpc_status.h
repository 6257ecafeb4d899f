// absl::Status (with reason and metadata, common/base/error.h) to and from grpc::Status with
// google.rpc details: exactly one ErrorInfo {reason, domain "nave.dev", metadata}; each other type
// at most once. Pure and thread-safe.
//
// What metadata becomes on the wire, and back:
//   "field:PATH" = rule     BadRequest.field_violations
//   "resource" = name       ResourceInfo, and the subject of PreconditionFailure for
//   FAILED_PRECONDITION "retry_after" = 1.5s    RetryInfo "help" = next step      Help.links
//   (several); the reason's own next step always comes first "request_id"            RequestInfo
//   anything else           ErrorInfo.metadata
// "resource" is in ErrorInfo.metadata too, and "field" there is the first violation's path: every
// dynamic part of the text is in metadata.
#ifndef NAVE_COMMON_WIRE_GRPC_STATUS_H_
#define NAVE_COMMON_WIRE_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace nave {

inline constexpr absl::string_view kErrorDomain = "nave.dev";
inline constexpr absl::string_view kErrorDocsUrl = "https://nave.dev/errors/";

// Texts and lists are cut so that the trailers stay under gRPC's default limit of 8 KiB.
grpc::Status ToGrpcStatus(const absl::Status& status, absl::string_view request_id = "");

// An error without our details (gRPC's own, a proxy's) gets a reason by its code: UNAVAILABLE is
// HUB_UNREACHABLE, UNAUTHENTICATED and PERMISSION_DENIED their namesakes, CANCELLED CANCELLED,
// DEADLINE_EXCEEDED TIMEOUT, the rest INTERNAL.
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace nave

#endif  // NAVE_COMMON_WIRE_GRPC_STATUS_H_
