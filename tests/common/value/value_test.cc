// The accessors of Value: defaults for wrong types, lookup along a path.
#include "common/value/value.h"

#include <gtest/gtest.h>

#include <limits>

namespace nave {
namespace {

TEST(ValueTest, AccessorsGiveTheDefaultForAnotherType) {
  EXPECT_EQ(Value("3").IntOr(7), 7);
  EXPECT_EQ(Value(3).IntOr(7), 3);
  EXPECT_EQ(Value(3.0).IntOr(7), 3);
  EXPECT_EQ(Value(3.5).IntOr(7), 7);
  EXPECT_EQ(Value(9223372036854775808.0).IntOr(7), 7);
  EXPECT_EQ(Value(-9223372036854775808.0).IntOr(7), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(Value(std::numeric_limits<double>::quiet_NaN()).IntOr(7), 7);
  EXPECT_EQ(Value(3).DoubleOr(7), 3.0);
  EXPECT_TRUE(Value(true).BoolOr(false));
  EXPECT_FALSE(Value("true").BoolOr(false));
  EXPECT_EQ(Value(1).StringOr("x"), "x");
  EXPECT_EQ(Value("y").StringOr("x"), "y");
}

TEST(ValueTest, FindFollowsAPathAndStopsAtWhatIsNoObject) {
  Value value;
  value["spec"]["replicas"] = 3;
  value["spec"]["name"] = "web";
  ASSERT_NE(value.Find("spec", "replicas"), nullptr);
  EXPECT_EQ(value.Find("spec", "replicas")->IntOr(0), 3);
  EXPECT_EQ(value.Find("spec", "replicas", "more"), nullptr);
  EXPECT_EQ(value.Find("status", "replicas"), nullptr);
  EXPECT_EQ(value.StringAt("spec", "name"), "web");
  EXPECT_EQ(value.StringAt("spec", "replicas"), "");
  EXPECT_EQ(Value(Array{1}).Find("0"), nullptr);
}

TEST(ValueTest, SubscriptMakesAnObjectOfAnything) {
  Value value(Array{1, 2});
  value["a"]["b"] = true;
  ASSERT_TRUE(value.is_object());
  EXPECT_EQ(value.object()->size(), 1u);
  EXPECT_TRUE(value.Find("a", "b")->BoolOr(false));
}

TEST(ValueTest, IntegersAndDoublesDiffer) {
  EXPECT_FALSE(Value(1) == Value(1.0));
  EXPECT_TRUE(Value(Object{{"a", 1}}) == Value(Object{{"a", 1}}));
}

}  // namespace
}  // namespace nave
