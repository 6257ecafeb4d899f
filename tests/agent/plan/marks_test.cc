// Goal: marks prove ownership only on the object that they name. Method: tables of annotations and
// what they are read as.
#include "agent/plan/marks.h"

#include <string>

#include "common/value/codec.h"
#include "gtest/gtest.h"

namespace nave {
namespace {

const SpokeIdentity kWho{"hub-1", "cluster-1"};
const Uuid kBundle = *Uuid::Parse("11111111-2222-3333-4444-555555555555");

Value Json(absl::string_view text) {
  auto value = ParseJson(text);
  EXPECT_TRUE(value.ok()) << value.status();
  return *value;
}

TEST(FieldManagerNameTest, HasTheFirstEightHexDigitsOfTheHub) {
  EXPECT_EQ(FieldManagerName("3F2504e0-4f89-11d3-9a0c-0305e82c3301"), "nave-agent-3f2504e0");
  EXPECT_EQ(FieldManagerName("3f25-04e0-4f89"), "nave-agent-3f2504e0");
}

TEST(OwnerMarkTest, SurvivesARoundTripForEveryShapeOfName) {
  // A8: a name with the characters that separate ids elsewhere.
  const ObjectKey keys[] = {{"apps", "Deployment", "shop", "web"},
                            {"", "Namespace", "", "shop"},
                            {"rbac.authorization.k8s.io", "ClusterRole", "", "system:a_b;c"},
                            {"", "ConfigMap", "a", "x.y_z"}};
  for (const ObjectKey& key : keys) {
    SCOPED_TRACE(key.ToString());
    Value object;
    object["apiVersion"] = FormatApiVersion(key.group, "v1");
    object["kind"] = key.kind;
    object["metadata"]["name"] = key.name;
    if (!key.ns.empty()) object["metadata"]["namespace"] = key.ns;
    EXPECT_EQ(ReadOwner(object), std::nullopt);
    SetMarks(kWho, kBundle, key, object);
    auto mark = ReadOwner(object);
    ASSERT_TRUE(mark.has_value());
    EXPECT_EQ(ClassifyOwner(mark, kWho, kBundle), Ownership::kOurs);
    EXPECT_EQ(object.StringAt("metadata", "labels", kAssignmentLabel), kBundle.ToString());
  }
}

TEST(OwnerMarkTest, A20_CopiedMarkProvesNothing) {
  Value deployment = Json(R"({"apiVersion":"apps/v1","kind":"Deployment",
      "metadata":{"name":"web","namespace":"shop"}})");
  SetMarks(kWho, kBundle, KeyOf(deployment), deployment);
  Value replica_set = deployment;
  replica_set["kind"] = "ReplicaSet";
  EXPECT_EQ(ReadOwner(replica_set), std::nullopt);
  Value other_namespace = deployment;
  other_namespace["metadata"]["namespace"] = "shop2";
  EXPECT_EQ(ReadOwner(other_namespace), std::nullopt);
}

TEST(OwnerMarkTest, Classifies) {
  const Uuid other = *Uuid::Parse("99999999-2222-3333-4444-555555555555");
  struct Case {
    OwnerMark mark;
    Ownership want;
  };
  const Case cases[] = {
      {{"hub-1", "cluster-1", kBundle.ToString()}, Ownership::kOurs},
      {{"hub-1", "cluster-1", other.ToString()}, Ownership::kOtherBundle},
      {{"hub-2", "cluster-1", kBundle.ToString()}, Ownership::kForeign},
      {{"hub-1", "cluster-2", kBundle.ToString()}, Ownership::kForeign},
  };
  for (const Case& c : cases) EXPECT_EQ(ClassifyOwner(c.mark, kWho, kBundle), c.want);
  EXPECT_EQ(ClassifyOwner(std::nullopt, kWho, kBundle), Ownership::kNone);
}

TEST(OwnerMarkTest, MalformedTextIsNoMark) {
  for (const char* text :
       {"", "v1", "v2;h;c;b;/ConfigMap;a/x", "v1;h;c;b;/ConfigMap", "v1;h;c;b;ConfigMap;a/x"}) {
    Value object = Json(R"({"apiVersion":"v1","kind":"ConfigMap",
        "metadata":{"name":"x","namespace":"a"}})");
    object["metadata"]["annotations"][kOwnerAnnotation] = text;
    EXPECT_EQ(ReadOwner(object), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace nave
