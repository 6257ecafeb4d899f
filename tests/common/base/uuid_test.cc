// Goal: Uuids are ordered by their bytes. Method: against memcmp, with all places of a difference.
#include "common/base/uuid.h"

#include <gtest/gtest.h>

#include <cstring>

namespace nave {
namespace {

int Sign(int value) { return value < 0 ? -1 : value > 0 ? 1 : 0; }

int Compare(const Uuid& a, const Uuid& b) { return a < b ? -1 : b < a ? 1 : 0; }

TEST(UuidTest, OrderIsThatOfTheBytes) {
  for (size_t first = 0; first < 16; ++first) {
    for (size_t second = 0; second < 16; ++second) {
      for (uint8_t value : {0x01, 0x7f, 0x80, 0xff}) {
        Uuid a, b;
        a.bytes[first] = value;
        b.bytes[second] = 0x7f;
        const int want = Sign(std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()));
        EXPECT_EQ(Compare(a, b), want) << first << " " << second << " " << int{value};
        EXPECT_EQ(a == b, want == 0);
      }
    }
  }
}

TEST(UuidTest, TextComesBack) {
  Uuid made = Uuid::Random();
  EXPECT_EQ(Uuid::Parse(made.ToString()), made);
  EXPECT_FALSE(Uuid::Parse("").has_value());
  EXPECT_FALSE(Uuid::Parse(made.ToString() + "0").has_value());
}

}  // namespace
}  // namespace nave
