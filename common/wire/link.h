// Frames of the agent stream (proto/nave/agent/v1/link.proto) to and from bytes. Total: any bytes
// give a frame or an error, never a crash; bounded: no list or text grows past its limit. Pure and
// thread-safe.
//
// What is written: texts are made valid UTF-8 (an API server may send anything, and one bad byte
// would make the whole frame unreadable) and cut at their limits; lists are cut at theirs. What is
// read: an error is PROTOCOL_ERROR and ends the session: wrong sizes of keys and digests, keys out
// of order, a state or an order (propagation) of unknown meaning. Over-long texts and lists are
// cut, unknown phases count as Pending, unknown health as Unknown, absent durations get their
// defaults.
#ifndef NAVE_COMMON_WIRE_LINK_H_
#define NAVE_COMMON_WIRE_LINK_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/model/stream.h"

namespace nave {

std::string SerializeAgentFrame(const AgentFrame& frame);
// A frame over kFrameBytesMax or without a body is an error.
absl::StatusOr<AgentFrame> ParseAgentFrame(absl::string_view bytes);

// A frame is the concatenation of two parts: the blobs, one buffer shared by all clusters that get
// them, and the rest.
std::string SerializeBlobs(const std::vector<BlobPtr>& blobs);
std::string SerializeHubFrameRest(const HubFrame& frame);
inline std::string SerializeHubFrame(const HubFrame& frame) {
  return SerializeBlobs(frame.blobs) + SerializeHubFrameRest(frame);
}
// Bytes that SerializeBlobs needs for one blob of this compressed size: to plan frames under
// kFrameBytesMax.
size_t SerializedBlobBytes(size_t compressed_bytes);

// Blobs come with digest "none": it is known when the content is decompressed. A frame with several
// bodies is an error; one with none (blobs only, or a body of a later version) has std::monostate.
absl::StatusOr<HubFrame> ParseHubFrame(absl::string_view bytes);

}  // namespace nave

#endif  // NAVE_COMMON_WIRE_LINK_H_
