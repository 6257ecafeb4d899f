// Goal: what goes in comes out, and nothing that is not exactly one bounded frame does. Method:
// round trips by size, then damaged and oversized input.
#include "common/compress/zstd.h"

#include <gtest/gtest.h>

#include <string>

#include "common/base/backoff.h"
#include "common/base/error.h"

namespace nave {
namespace {

std::string Noise(size_t size) {
  SplitMix random(size + 1);
  std::string out;
  for (size_t i = 0; i < size; ++i) out.push_back(static_cast<char>(random.Next() & 0xff));
  return out;
}

TEST(Zstd, RoundTrips) {
  for (size_t size : {0u, 1u, 100u, 131071u, 131072u, 131073u, 1000000u}) {
    for (const std::string& data : {Noise(size), std::string(size, 'x')}) {
      SCOPED_TRACE(size);
      absl::StatusOr<std::string> back = ZstdDecompress(ZstdCompress(data), size);
      ASSERT_TRUE(back.ok()) << back.status();
      EXPECT_EQ(*back, data);
    }
  }
}

TEST(Zstd, BoundsWhatComesOut) {
  const std::string bomb = ZstdCompress(std::string(50 << 20, '\0'));
  EXPECT_EQ(ErrorReason(ZstdDecompress(bomb, 1 << 20).status()), "LIMIT_EXCEEDED");
  EXPECT_EQ(ErrorReason(ZstdDecompress(ZstdCompress("ab"), 1).status()), "LIMIT_EXCEEDED");
}

TEST(Zstd, RefusesWhatIsNotOneFrame) {
  const std::string good = ZstdCompress(Noise(1000));
  EXPECT_EQ(ErrorReason(ZstdDecompress("", 10).status()), "CONTENT_INVALID");
  EXPECT_EQ(ErrorReason(ZstdDecompress("no frame", 10).status()), "CONTENT_INVALID");
  EXPECT_EQ(ErrorReason(ZstdDecompress(good.substr(0, good.size() - 1), 2000).status()),
            "CONTENT_INVALID");
  EXPECT_EQ(ErrorReason(ZstdDecompress(good + "x", 2000).status()), "CONTENT_INVALID");
}

}  // namespace
}  // namespace nave
