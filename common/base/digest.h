// SHA-256 digests: the names of listings, objects and key sets.
#ifndef NAVE_COMMON_BASE_DIGEST_H_
#define NAVE_COMMON_BASE_DIGEST_H_

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace nave {

// 32 bytes. All zero means "none" (no content has that digest).
struct Digest {
  std::array<uint8_t, 32> bytes{};

  auto operator<=>(const Digest&) const = default;
  bool IsNone() const { return *this == Digest{}; }
  // The 32 bytes as a view; valid as long as this object is.
  absl::string_view View() const {
    return absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  // 64 lower-case hexadecimal digits.
  std::string Hex() const;

  static std::optional<Digest> FromBytes(absl::string_view raw);
  static std::optional<Digest> FromHex(absl::string_view hex);

  template <typename H>
  friend H AbslHashValue(H h, const Digest& d) {
    return H::combine_contiguous(std::move(h), d.bytes.data(), d.bytes.size());
  }
};

// SHA-256 of `data`.
Digest Sha256(absl::string_view data);

// SHA-256 of what is added piece by piece. Not thread-safe.
class Sha256Builder {
 public:
  Sha256Builder();
  ~Sha256Builder();
  Sha256Builder(const Sha256Builder&) = delete;
  Sha256Builder& operator=(const Sha256Builder&) = delete;
  void Add(absl::string_view data);
  // May be called once.
  Digest Finish();

 private:
  void* context_;  // EVP_MD_CTX, owned.
};

}  // namespace nave

#endif  // NAVE_COMMON_BASE_DIGEST_H_
