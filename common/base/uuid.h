// UUIDs: uids of records, bundles, hubs and agent instances.
#ifndef NAVE_COMMON_BASE_UUID_H_
#define NAVE_COMMON_BASE_UUID_H_

#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace nave {

// 16 bytes. All zero means "none".
struct Uuid {
  std::array<uint8_t, 16> bytes{};

  bool operator==(const Uuid&) const = default;
  // By bytes, two words at once: maps by Uuid are everywhere.
  std::strong_ordering operator<=>(const Uuid& other) const {
    const std::strong_ordering high = Word(0) <=> other.Word(0);
    return high != std::strong_ordering::equal ? high : Word(8) <=> other.Word(8);
  }
  bool IsNone() const { return *this == Uuid{}; }
  absl::string_view View() const {
    return absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  // 8-4-4-4-12 lower-case hexadecimal digits.
  std::string ToString() const;

  static std::optional<Uuid> Parse(absl::string_view text);
  static std::optional<Uuid> FromBytes(absl::string_view raw);
  // Version 4 from the operating system's generator. Thread-safe. Pure code takes uids as arguments
  // instead.
  static Uuid Random();

  template <typename H>
  friend H AbslHashValue(H h, const Uuid& u) {
    return H::combine_contiguous(std::move(h), u.bytes.data(), u.bytes.size());
  }

 private:
  uint64_t Word(size_t at) const {
    uint64_t word;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    return std::endian::native == std::endian::little ? __builtin_bswap64(word) : word;
  }
};

// `size` bytes from the operating system's generator. Thread-safe.
std::string RandomBytes(size_t size);

}  // namespace nave

#endif  // NAVE_COMMON_BASE_UUID_H_
