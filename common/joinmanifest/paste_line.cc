// gzip and base64, with nothing in them that depends on the time or the machine.
#include <zlib.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/joinmanifest/join_manifest.h"

namespace nave {
namespace {

constexpr int kGzipFormat = 16;  // Added to the window's size: a gzip header, with time 0.

std::string Gzip(absl::string_view text) {
  z_stream stream{};
  // Fails only for want of memory.
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzipFormat, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    abort();
  }
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) abort();  // The bound was wrong.
  return out;
}

}  // namespace

std::string FormatPasteLine(absl::string_view manifest) {
  return absl::StrCat("echo ", absl::Base64Escape(Gzip(manifest)),
                      " | base64 -d | gunzip | kubectl apply -f -");
}

}  // namespace nave
