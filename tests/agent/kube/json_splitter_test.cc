// A stream of objects is cut right, wherever its pieces end.
#include "agent/kube/json_splitter.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nave {
namespace {

using ::testing::ElementsAre;

TEST(JsonSplitter, AnyPieces) {
  const std::string stream =
      "{\"a\":\"}{\\\"\"}\n{\"b\":[{\"c\":{}}, \"\\\\\"]}{}  \r\n{\"d\":\"\\\\\\\"{\"}";
  for (size_t piece = 1; piece <= stream.size(); ++piece) {
    JsonSplitter splitter(1000);
    std::vector<std::string> objects;
    for (size_t i = 0; i < stream.size(); i += piece) {
      ASSERT_TRUE(splitter
                      .Feed(absl::string_view(stream).substr(i, piece),
                            [&](absl::string_view object) {
                              objects.emplace_back(object);
                              return true;
                            })
                      .ok());
    }
    EXPECT_THAT(objects, ElementsAre("{\"a\":\"}{\\\"\"}", "{\"b\":[{\"c\":{}}, \"\\\\\"]}", "{}",
                                     "{\"d\":\"\\\\\\\"{\"}"))
        << piece;
    EXPECT_FALSE(splitter.IsInside());
  }
}

TEST(JsonSplitter, Errors) {
  const auto any = [](absl::string_view) { return true; };
  JsonSplitter splitter(10);
  EXPECT_TRUE(splitter.Feed("{\"a\":", any).ok());
  EXPECT_TRUE(splitter.IsInside());
  EXPECT_FALSE(splitter.Feed("1111111111", any).ok());
  for (const char* bad : {"[]", "<html>", "x", "\"{}\"", "}"}) {
    JsonSplitter other(10);
    EXPECT_FALSE(other.Feed(bad, any).ok()) << bad;
  }
}

TEST(JsonSplitter, StopsWhenTold) {
  JsonSplitter splitter(10);
  int count = 0;
  EXPECT_TRUE(splitter.Feed("{}{}{}", [&](absl::string_view) { return ++count < 2; }).ok());
  EXPECT_EQ(count, 2);
}

}  // namespace
}  // namespace nave
