#include "common/value/utf8.h"

namespace nave {
namespace {

uint32_t ByteAt(absl::string_view text, size_t at) { return static_cast<unsigned char>(text[at]); }

}  // namespace

size_t Utf8CharacterSize(absl::string_view text, size_t at) {
  uint32_t first = ByteAt(text, at);
  if (first < 0x80) return 1;
  size_t size = first >= 0xc2 && first <= 0xdf   ? 2
                : first >= 0xe0 && first <= 0xef ? 3
                : first >= 0xf0 && first <= 0xf4 ? 4
                                                 : 0;
  if (size == 0 || text.size() - at < size) return 0;
  // Only the second byte has limits that depend on the first.
  uint32_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  uint32_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  uint32_t second = ByteAt(text, at + 1);
  if (second < low || second > high) return 0;
  for (size_t i = 2; i < size; ++i) {
    if ((ByteAt(text, at + i) & 0xc0) != 0x80) return 0;
  }
  return size;
}

uint32_t Utf8Decode(absl::string_view text, size_t at, size_t size) {
  uint32_t first = ByteAt(text, at);
  if (size == 1) return first;
  uint32_t character = first & (0x7f >> size);
  for (size_t i = 1; i < size; ++i) character = (character << 6) | (ByteAt(text, at + i) & 0x3f);
  return character;
}

void Utf8Append(std::string* out, uint32_t character) {
  if (character > 0x10ffff || (character >= 0xd800 && character <= 0xdfff)) character = 0xfffd;
  auto put = [&](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (character < 0x80) {
    put(character);
  } else if (character < 0x800) {
    put(0xc0 | (character >> 6));
    put(0x80 | (character & 0x3f));
  } else if (character < 0x10000) {
    put(0xe0 | (character >> 12));
    put(0x80 | ((character >> 6) & 0x3f));
    put(0x80 | (character & 0x3f));
  } else {
    put(0xf0 | (character >> 18));
    put(0x80 | ((character >> 12) & 0x3f));
    put(0x80 | ((character >> 6) & 0x3f));
    put(0x80 | (character & 0x3f));
  }
}

}  // namespace nave
