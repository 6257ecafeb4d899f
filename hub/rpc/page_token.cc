#include "hub/rpc/page_token.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/error.h"
#include "common/model/violations.h"

namespace nave {
namespace {

constexpr size_t kTagBytes = 12;

std::string Tag(absl::string_view secret, absl::string_view arguments, absl::string_view last) {
  Sha256Builder builder;
  for (absl::string_view part : {secret, arguments, last})
    builder.Add(absl::StrCat(part.size(), ":", part));
  return std::string(builder.Finish().View().substr(0, kTagBytes));
}

// Hides the name from the eye, so that nobody builds tokens by hand; it is no secret.
std::string Mask(absl::string_view secret, absl::string_view tag, absl::string_view text) {
  std::string masked(text);
  for (size_t block = 0; block * 32 < masked.size(); ++block) {
    Digest stream = Sha256(absl::StrCat("page", secret.size(), secret, tag, block));
    for (size_t i = block * 32; i < std::min(masked.size(), block * 32 + 32); ++i) {
      masked[i] = static_cast<char>(masked[i] ^ stream.bytes[i % 32]);
    }
  }
  return masked;
}

}  // namespace

absl::StatusOr<size_t> PageSize(int32_t requested) {
  if (requested < 0)
    return FieldError("page_size", absl::StrCat("must not be negative, got ", requested));
  if (requested == 0) return kPageSizeDefault;
  return std::min(requested, kPageSizeMax);
}

std::string MakePageToken(absl::string_view secret, absl::string_view arguments,
                          absl::string_view last) {
  std::string tag = Tag(secret, arguments, last);
  return absl::WebSafeBase64Escape(absl::StrCat(tag, Mask(secret, tag, last)));
}

absl::StatusOr<std::string> ReadPageToken(absl::string_view secret, absl::string_view arguments,
                                          absl::string_view token) {
  if (token.empty()) return std::string();
  std::string bytes;
  if (absl::WebSafeBase64Unescape(token, &bytes) && bytes.size() > kTagBytes) {
    absl::string_view tag = absl::string_view(bytes).substr(0, kTagBytes);
    std::string last = Mask(secret, tag, absl::string_view(bytes).substr(kTagBytes));
    if (Tag(secret, arguments, last) == tag) return last;
  }
  return MakeError(Reason::kInvalidPageToken,
                   "page_token: was not made by this list with these arguments");
}

}  // namespace nave
