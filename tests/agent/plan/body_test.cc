// Goal: what is sent for a manifest. Method: manifests in, bodies out, compared as JSON.
#include "agent/plan/body.h"

#include <string>

#include "agent/plan/compare.h"
#include "common/value/codec.h"
#include "gtest/gtest.h"

namespace nave {
namespace {

const Uuid kBundle = *Uuid::Parse("11111111-2222-3333-4444-555555555555");

Value Json(absl::string_view text) {
  auto value = ParseJson(text);
  EXPECT_TRUE(value.ok()) << value.status() << " " << std::string(text);
  return *value;
}

Value Build(absl::string_view manifest, absl::string_view ns) {
  Value object = Json(manifest);
  ObjectKey key = KeyOf(object);
  key.ns = std::string(ns);
  return BuildBody(object, {.who = {"hub-1", "cluster-1"}, .bundle = kBundle, .key = key});
}

TEST(BuildBodyTest, SetsNamespaceAndMarksButNeverInATemplate) {
  Value body = Build(R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},
      "spec":{"template":{"metadata":{"labels":{"app":"web"}}}}})",
                     "shop");
  EXPECT_EQ(body.StringAt("metadata", "namespace"), "shop");
  EXPECT_EQ(body.StringAt("metadata", "annotations", kOwnerAnnotation),
            "v1;hub-1;cluster-1;11111111-2222-3333-4444-555555555555;apps/Deployment;shop/web");
  EXPECT_EQ(*body.Find("spec", "template", "metadata"), Json(R"({"labels":{"app":"web"}})"));
}

TEST(BuildBodyTest, ClusterScopedLosesItsNamespace) {
  Value body = Build(
      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a","namespace":"b"}})", "");
  EXPECT_EQ(body.Find("metadata", "namespace"), nullptr);
}

TEST(BuildBodyTest, A11_StringDataBecomesData) {
  Value body = Build(R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},
      "data":{"a":"eA=="},"stringData":{"b":"hello","a":"y"}})",
                     "shop");
  EXPECT_EQ(body.Find("stringData"), nullptr);
  EXPECT_EQ(*body.Find("data"), Json(R"({"a":"eQ==","b":"aGVsbG8="})"));
}

TEST(BuildBodyTest, DropsWhatWouldDifferForEver) {
  Value body = Build(R"({"apiVersion":"v1","kind":"ConfigMap",
      "metadata":{"name":"c","creationTimestamp":null,"annotations":{"x":null}}})",
                     "shop");
  EXPECT_EQ(body.Find("metadata", "creationTimestamp"), nullptr);
  EXPECT_EQ(body.Find("metadata", "annotations", "x"), nullptr);
  Value role = Build(R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole",
      "metadata":{"name":"r"},"aggregationRule":{},"rules":[]})",
                     "");
  EXPECT_EQ(role.Find("rules"), nullptr);
  Value plain = Build(R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole",
      "metadata":{"name":"r"},"rules":[]})",
                      "");
  EXPECT_NE(plain.Find("rules"), nullptr);
  Value hook = Build(R"({"apiVersion":"admissionregistration.k8s.io/v1",
      "kind":"ValidatingWebhookConfiguration","metadata":{"name":"w"},
      "webhooks":[{"name":"a","clientConfig":{"caBundle":"Cg=="}},
                  {"name":"b","clientConfig":{"caBundle":"LS0tLS1CRUdJTiBDRVJU"}}]})",
                     "");
  const Array& webhooks = *hook.Find("webhooks")->array();
  EXPECT_EQ(webhooks[0].Find("clientConfig", "caBundle"), nullptr);
  EXPECT_NE(webhooks[1].Find("clientConfig", "caBundle"), nullptr);
}

TEST(BuildBodyTest, K26_OddShapesDoNoHarm) {
  for (
      const char* manifest :
      {R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":7})",
       R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"s","labels":[1]}})",
       R"({"apiVersion":"v1","kind":"ConfigMap","metadata":7})",
       R"({"apiVersion":"v1","kind":"CustomResourceDefinition","metadata":{"name":"s"},"spec":[]})",
       R"({"apiVersion":"v1","kind":"W","metadata":{"name":"s"},"webhooks":[1,{"clientConfig":2}]})"}) {
    SCOPED_TRACE(manifest);
    Value body = Build(manifest, "shop");
    EXPECT_EQ(body.StringAt("metadata", "labels", kAssignmentLabel), kBundle.ToString());
  }
}

TEST(BuildBodyTest, DigestIgnoresPreconditions) {
  Value body = Build(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}})", "shop");
  EXPECT_EQ(BodyDigest(body), Sha256(FormatBody(body, "", "")));
  Value sent = Json(FormatBody(body, "u", "1"));
  EXPECT_EQ(sent.StringAt("metadata", "uid"), "u");
  EXPECT_EQ(sent.StringAt("metadata", "resourceVersion"), "1");
}

TEST(IsBareNamespaceTest, NothingButAName) {
  EXPECT_TRUE(
      IsBareNamespace(Json(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}})")));
  EXPECT_FALSE(IsBareNamespace(Json(
      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a","labels":{"x":"y"}}})")));
  EXPECT_FALSE(
      IsBareNamespace(Json(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}})")));
}

TEST(CompareTest, EqualButMarks) {
  Value live = Json(R"({"kind":"ConfigMap","metadata":{"name":"c","resourceVersion":"5",
      "managedFields":[1]},"data":{"a":"b"}})");
  Value same = Json(R"({"kind":"ConfigMap","metadata":{"name":"c","resourceVersion":"6",
      "labels":{"nave.dev/assignment":"x"},"annotations":{"nave.dev/owner":"y"}},"data":{"a":"b"}})");
  EXPECT_TRUE(EqualButMarks(same, live));
  Value other_label = same;
  other_label["metadata"]["labels"]["app"] = "x";
  EXPECT_FALSE(EqualButMarks(other_label, live));
  Value other_data = same;
  other_data["data"]["a"] = "c";
  EXPECT_FALSE(EqualButMarks(other_data, live));
}

TEST(CompareTest, IsWithin) {
  Value live = Json(R"({"metadata":{"labels":{"a":"1","b":"2"},"uid":"u"},
      "spec":{"replicas":2,"list":[{"x":1,"y":2}]},"status":{}})");
  EXPECT_TRUE(IsWithin(
      Json(R"({"metadata":{"labels":{"a":"1"},"name":"n"},"spec":{"list":[{"x":1}]}})"), live));
  EXPECT_FALSE(IsWithin(Json(R"({"metadata":{"labels":{"a":"2"}}})"), live));
  EXPECT_FALSE(IsWithin(Json(R"({"metadata":{},"spec":{"list":[{"x":1},{"x":2}]}})"), live));
  EXPECT_FALSE(IsWithin(Json(R"({"metadata":{},"spec":{"replicas":"2"}})"), live));
  EXPECT_FALSE(IsWithin(Json(R"({"metadata":{},"data":{}})"), live));
}

}  // namespace
}  // namespace nave
