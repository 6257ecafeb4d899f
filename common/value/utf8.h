// UTF-8 as the codecs need it.
#ifndef NAVE_COMMON_VALUE_UTF8_H_
#define NAVE_COMMON_VALUE_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace nave {

// Size in bytes of the well-formed character at `at` (Unicode table 3-7: no surrogates, no overlong
// forms, at most U+10FFFF); 0 when there is none. `at` < text.size().
size_t Utf8CharacterSize(absl::string_view text, size_t at);

// The character of `size` bytes at `at`; `size` as Utf8CharacterSize gave it.
uint32_t Utf8Decode(absl::string_view text, size_t at, size_t size);

// Appends a character; a surrogate or a number over U+10FFFF becomes U+FFFD.
void Utf8Append(std::string* out, uint32_t character);

}  // namespace nave

#endif  // NAVE_COMMON_VALUE_UTF8_H_
