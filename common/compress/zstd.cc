#include "common/compress/zstd.h"

#include <zstd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"

namespace nave {
namespace {

struct FreeDecompressor {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};
struct FreeCompressor {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

absl::Status TooLarge(size_t bytes_max) {
  return MakeError(Reason::kLimitExceeded,
                   absl::StrCat("compressed content: at most ", bytes_max, " bytes, got more"));
}

}  // namespace

std::string ZstdCompress(absl::string_view data) {
  // A context per call: kept ones would hold their tables, which an agent at rest must not pay for.
  std::unique_ptr<ZSTD_CCtx, FreeCompressor> context(ZSTD_createCCtx());
  std::string out(ZSTD_compressBound(data.size()), '\0');
  size_t size = ZSTD_compressCCtx(context.get(), out.data(), out.size(), data.data(), data.size(),
                                  ZSTD_CLEVEL_DEFAULT);
  // Fails only when the output is smaller than the bound, or without memory.
  if (ZSTD_isError(size)) std::abort();
  out.resize(size);
  out.shrink_to_fit();
  return out;
}

absl::StatusOr<std::string> ZstdDecompress(absl::string_view compressed, size_t bytes_max) {
  std::unique_ptr<ZSTD_DCtx, FreeDecompressor> context(ZSTD_createDCtx());
  const unsigned long long told =  // NOLINT: the library's type.
      ZSTD_getFrameContentSize(compressed.data(), compressed.size());
  if (told == ZSTD_CONTENTSIZE_ERROR) {
    return MakeError(Reason::kContentInvalid, "compressed content: not a zstd frame");
  }
  const bool known = told != ZSTD_CONTENTSIZE_UNKNOWN;
  if (known && told > bytes_max) return TooLarge(bytes_max);

  // The size that a frame tells is a claim: the output grows with what really comes out.
  std::string out;
  ZSTD_inBuffer in{compressed.data(), compressed.size(), 0};
  const size_t step = ZSTD_DStreamOutSize();
  size_t filled = 0;
  while (true) {
    size_t room = known ? std::min<size_t>(told, bytes_max) : filled + step;
    if (room <= filled) room = filled + step;
    out.resize(std::min(room, bytes_max + 1));
    ZSTD_outBuffer output{out.data(), out.size(), filled};
    const size_t left = ZSTD_decompressStream(context.get(), &output, &in);
    if (ZSTD_isError(left)) {
      return MakeError(Reason::kContentInvalid,
                       absl::StrCat("compressed content: ", ZSTD_getErrorName(left)));
    }
    const bool progressed = output.pos > filled;
    filled = output.pos;
    if (filled > bytes_max) return TooLarge(bytes_max);
    if (left == 0) break;
    if (in.pos == in.size && !progressed) {
      return MakeError(Reason::kContentInvalid, "compressed content: cut off");
    }
  }
  if (in.pos != in.size) {
    return MakeError(Reason::kContentInvalid, "compressed content: bytes after the end");
  }
  out.resize(filled);
  out.shrink_to_fit();
  return out;
}

}  // namespace nave
