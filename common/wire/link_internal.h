// Pieces that frames of both directions share. For the .cc files of this folder only.
#ifndef NAVE_COMMON_WIRE_LINK_INTERNAL_H_
#define NAVE_COMMON_WIRE_LINK_INTERNAL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/error.h"
#include "common/model/stream.h"
#include "common/wire/scalars.h"
#include "nave/agent/v1/link.pb.h"

namespace nave::link {

namespace pb = ::nave::agent::v1;

// Longest ids, names and versions. Free texts have kMessageBytesMax.
inline constexpr size_t kWordBytesMax = 512;

inline std::string Word(absl::string_view text) { return CutUtf8(MakeUtf8(text), kWordBytesMax); }
inline std::string Text(absl::string_view text) {
  return CutUtf8(MakeUtf8(text), kMessageBytesMax);
}

inline absl::Status ProtocolError(absl::string_view what) {
  return MakeError(Reason::kProtocolError, what);
}

// 16 and 32 bytes exactly.
absl::Status ReadUuid(absl::string_view field, absl::string_view bytes, Uuid* out);
absl::Status ReadDigest(absl::string_view field, absl::string_view bytes, Digest* out);
inline void WriteUuid(const Uuid& uuid, std::string* out) {
  out->assign(uuid.View().data(), uuid.View().size());
}
inline void WriteDigest(const Digest& digest, std::string* out) {
  out->assign(digest.View().data(), digest.View().size());
}

void WriteAt(const At& at, pb::At* out);
// term 0 is "none"; with a term the nonce must be 16 bytes.
absl::Status ReadAt(absl::string_view field, const pb::At& at, At* out);

}  // namespace nave::link

#endif  // NAVE_COMMON_WIRE_LINK_INTERNAL_H_
