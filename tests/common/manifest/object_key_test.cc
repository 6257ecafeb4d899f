// Identity of objects: order, text form, and keys of odd objects.
#include "common/manifest/object_key.h"

#include <gtest/gtest.h>

namespace nave {
namespace {

TEST(ObjectKeyTest, TextForm) {
  EXPECT_EQ((ObjectKey{"apps", "Deployment", "shop", "web"}.ToString()),
            "apps/Deployment shop/web");
  EXPECT_EQ((ObjectKey{"", "Namespace", "", "shop"}.ToString()), "Namespace shop");
}

TEST(ObjectKeyTest, OrderIsGroupKindNamespaceName) {
  EXPECT_LT((ObjectKey{"", "Z", "z", "z"}), (ObjectKey{"apps", "A", "a", "a"}));
  EXPECT_LT((ObjectKey{"apps", "A", "z", "z"}), (ObjectKey{"apps", "B", "a", "a"}));
  EXPECT_LT((ObjectKey{"apps", "A", "a", "z"}), (ObjectKey{"apps", "A", "b", "a"}));
}

TEST(ObjectKeyTest, ApiVersions) {
  EXPECT_EQ(ParseApiVersion("v1").group, "");
  EXPECT_EQ(ParseApiVersion("v1").version, "v1");
  EXPECT_EQ(ParseApiVersion("apps/v1").group, "apps");
  EXPECT_EQ(ParseApiVersion("apps/v1").version, "v1");
  EXPECT_EQ(FormatApiVersion("", "v1"), "v1");
  EXPECT_EQ(FormatApiVersion("apps", "v1"), "apps/v1");
}

TEST(ObjectKeyTest, KeysOfMalformedObjectsAreEmpty) {
  EXPECT_EQ(KeyOf(Value()), ObjectKey());
  EXPECT_EQ(KeyOf(Value(Object{{"metadata", 5}, {"kind", Array{}}})), ObjectKey());
}

}  // namespace
}  // namespace nave
