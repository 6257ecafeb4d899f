// zstd in one piece, with a bound on what comes out. Pure and thread-safe.
#ifndef NAVE_COMMON_COMPRESS_ZSTD_H_
#define NAVE_COMMON_COMPRESS_ZSTD_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace nave {

// One frame that names the size of its content. Deterministic for one version of the library.
std::string ZstdCompress(absl::string_view data);

// The content of exactly one frame. CONTENT_INVALID: not zstd, cut off, or followed by something.
// LIMIT_EXCEEDED: the content is larger than `bytes_max`, which is found out without making it.
absl::StatusOr<std::string> ZstdDecompress(absl::string_view compressed, size_t bytes_max);

}  // namespace nave

#endif  // NAVE_COMMON_COMPRESS_ZSTD_H_
