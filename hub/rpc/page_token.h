// Paging: opaque tokens that are bound to the arguments of their list call. Pure.
#ifndef NAVE_HUB_RPC_PAGE_TOKEN_H_
#define NAVE_HUB_RPC_PAGE_TOKEN_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace nave {

inline constexpr int32_t kPageSizeDefault = 100;
inline constexpr int32_t kPageSizeMax = 1000;

// 0: the default; too many: the maximum; negative: INVALID_FIELD.
absl::StatusOr<size_t> PageSize(int32_t requested);

// URL-safe text that says "after `last`". `arguments`: all else that the call was given; `secret`:
// anything that stays the same over restarts.
std::string MakePageToken(absl::string_view secret, absl::string_view arguments,
                          absl::string_view last);
// `last`; empty for an empty token. INVALID_PAGE_TOKEN for other arguments and for anything that
// MakePageToken did not make.
absl::StatusOr<std::string> ReadPageToken(absl::string_view secret, absl::string_view arguments,
                                          absl::string_view token);

}  // namespace nave

#endif  // NAVE_HUB_RPC_PAGE_TOKEN_H_
