// What writes, applies and single deletions answer.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/value/codec.h"
#include "tests/kubesim/kubesim_fixture.h"

namespace nave::kubesim {
namespace {

TEST_F(KubeSimTest, StartsWithTheNamespacesOfARealCluster) {
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
    ObjectPtr found = sim_.Find("namespaces", "", name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(found->StringAt("status", "phase"), "Active");
    EXPECT_FALSE(found->StringAt("metadata", "uid").empty());
    EXPECT_NE(sim_.Find("configmaps", name, "kube-root-ca.crt"), nullptr);
    EXPECT_NE(sim_.Find("serviceaccounts", name, "default"), nullptr);
  }
}

TEST_F(KubeSimTest, ApplyCreatesThenChangesNothing) {
  SimResponse created = ApplyMap(R"({"k":"v"})");
  EXPECT_EQ(created.code, 201);
  now_ += absl::Seconds(5);
  SimResponse again = ApplyMap(R"({"k":"v"})");
  EXPECT_EQ(again.code, 200);
  EXPECT_EQ(again.body, created.body);
}

TEST_F(KubeSimTest, DeploymentAtRestAppliesToNothing) {
  EXPECT_EQ(Apply("deployments.apps", "a", "web", kDeployment).code, 201);
  Wait(absl::Seconds(10));
  std::string before = Version("deployments.apps", "a", "web");
  EXPECT_EQ(Apply("deployments.apps", "a", "web", kDeployment).code, 200);
  EXPECT_EQ(Version("deployments.apps", "a", "web"), before);
}

TEST_F(KubeSimTest, ResourceVersionOneMeansMustNotExist) {
  EXPECT_EQ(ApplyMap("{}", "m", false, R"(,"resourceVersion":"1")").code, 201);
  SimResponse again = ApplyMap("{}", "m", true, R"(,"resourceVersion":"1")");
  EXPECT_EQ(again.code, 409);
  EXPECT_EQ(again.body.StringAt("reason"), "Conflict");
}

TEST_F(KubeSimTest, ConflictNamesManagersAndPaths) {
  ApplyMap(R"({"k":"v","l":"w"})", "one");
  SimResponse conflict = ApplyMap(R"({"k":"other","l":"w"})", "two");
  EXPECT_EQ(conflict.code, 409);
  EXPECT_EQ(conflict.body.StringAt("message"),
            "Apply failed with 1 conflict: conflict with \"one\": .data.k");
  const Array& causes = *conflict.body.Find("details", "causes")->array();
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].StringAt("reason"), "FieldManagerConflict");
  EXPECT_EQ(causes[0].StringAt("field"), ".data.k");
  EXPECT_EQ(ApplyMap(R"({"k":"other","l":"w"})", "two", true).code, 200);
  ObjectPtr live = sim_.Find("configmaps", "a", "x");
  EXPECT_EQ(live->StringAt("data", "k"), "other");
}

TEST_F(KubeSimTest, UpdateOwnersAreNamedWithTheirVersion) {
  ApplyMap(R"({"k":"v"})", "one");
  SimRequest patch = For("configmaps", "a", "x", SimRequest::Verb::kPatch);
  patch.patch = SimRequest::Patch::kMerge;
  patch.field_manager = "kubectl-edit";
  patch.body = R"({"data":{"k":"drift"}})";
  EXPECT_EQ(Do(patch).code, 200);
  SimResponse conflict = ApplyMap(R"({"k":"v"})", "one");
  EXPECT_EQ(conflict.code, 409);
  EXPECT_EQ(conflict.body.StringAt("message"),
            "Apply failed with 1 conflict: conflict with \"kubectl-edit\" using v1: .data.k");
}

TEST_F(KubeSimTest, WhatIsNoLongerAppliedGoesUnlessAnotherOwnsIt) {
  ApplyMap(R"({"mine":"1","shared":"2"})", "one");
  ApplyMap(R"({"shared":"2","theirs":"3"})", "two");
  EXPECT_EQ(ApplyMap(R"({})", "one").code, 200);
  ObjectPtr live = sim_.Find("configmaps", "a", "x");
  EXPECT_EQ(FormatJson(*live->Find("data")), R"({"shared":"2","theirs":"3"})");
}

TEST_F(KubeSimTest, ListItemsAreOwnedByTheirKeys) {
  Apply("deployments.apps", "a", "web", kDeployment, "one");
  constexpr char kSidecar[] =
      R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},
    "spec":{"template":{"spec":{"containers":[{"name":"side","image":"busybox:1"}]}}}})";
  EXPECT_EQ(Apply("deployments.apps", "a", "web", kSidecar, "two").code, 200);
  auto images = [&] {
    std::string out;
    ObjectPtr live = sim_.Find("deployments.apps", "a", "web");
    for (const Value& container : *live->Find("spec", "template", "spec", "containers")->array()) {
      absl::StrAppend(&out, container.StringAt("name"), "=", container.StringAt("image"), " ");
    }
    return out;
  };
  EXPECT_EQ(images(), "c=nginx:1 side=busybox:1 ");
  // The key's default is part of the key.
  EXPECT_EQ(Apply("deployments.apps", "a", "web", kDeployment, "one").code, 200);
  EXPECT_EQ(images(), "c=nginx:1 side=busybox:1 ");
  EXPECT_EQ(
      Apply("deployments.apps", "a", "web",
            R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"}})", "two")
          .code,
      200);
  EXPECT_EQ(images(), "c=nginx:1 ");
}

TEST_F(KubeSimTest, ObjectsWithoutManagedFieldsGetBeforeFirstApply) {
  ApplyMap(R"({"k":"v"})", "one");
  SimRequest patch = For("configmaps", "a", "x", SimRequest::Verb::kPatch);
  patch.patch = SimRequest::Patch::kMerge;
  patch.body = R"({"metadata":{"managedFields":[{}]}})";
  ASSERT_EQ(Do(patch).code, 200);
  ASSERT_EQ(sim_.Find("configmaps", "a", "x")->Find("metadata", "managedFields"), nullptr);
  SimResponse conflict = ApplyMap(R"({"k":"other"})", "two");
  EXPECT_TRUE(
      absl::StrContains(conflict.body.StringAt("message"), "\"before-first-apply\" using v1"));
}

TEST_F(KubeSimTest, StructuralErrorsAre500WithoutReason) {
  const std::string cases[] = {
      R"({"containers":[{"name":"c","image":"x"},{"name":"c","image":"y"}]})",
      R"({"containers":[{"name":"c","image":"x","imag":"typo"}]})",
      R"({"containers":[{"name":"c","image":7}]})",
  };
  for (const std::string& spec : cases) {
    SimResponse answer = Apply(
        "deployments.apps", "a", "web",
        absl::StrCat(
            R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"template":)",
            R"({"spec":)", spec, "}}}"));
    EXPECT_EQ(answer.code, 500) << spec;
    EXPECT_EQ(answer.body.Find("reason"), nullptr);
    EXPECT_TRUE(
        absl::StartsWith(answer.body.StringAt("message"), "failed to create typed patch object"));
  }
}

TEST_F(KubeSimTest, RefusesMalformedRequests) {
  struct Case {
    const char* name;
    const char* body;
    int code;
  };
  const Case cases[] = {
      {"wrong version", R"({"apiVersion":"v2","kind":"ConfigMap","metadata":{"name":"x"}})", 400},
      {"wrong kind", R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}})", 400},
      {"wrong name", R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"y"}})", 400},
      {"wrong namespace",
       R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"b"}})", 400},
      {"managed fields",
       R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","managedFields":[]}})", 400},
      {"uid of an absent object",
       R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","uid":"u"}})", 409},
      {"duplicate key",
       R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"1","a":"2"}})",
       400},
      {"bad data key",
       R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a/b":"1"}})", 422},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Apply("configmaps", "a", "x", c.body).code, c.code) << c.name;
    EXPECT_EQ(sim_.Find("configmaps", "a", "x"), nullptr) << c.name;
  }
  EXPECT_EQ(Do(ApplyOf("configmaps", "a", "x", "{}", "")).code, 422);
  SimRequest unknown;
  unknown.group = "none";
  unknown.version = "v1";
  unknown.plural = "things";
  EXPECT_EQ(Do(unknown).code, 404);
  EXPECT_EQ(Do(unknown).text, "404 page not found\n");
}

TEST_F(KubeSimTest, DryRunWritesNothing) {
  SimRequest request = ApplyOf("configmaps", "a", "x",
                               R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}})");
  request.dry_run = true;
  int64_t before = sim_.store().revision();
  SimResponse answer = Do(request);
  EXPECT_EQ(answer.code, 201);
  EXPECT_EQ(answer.body.Find("metadata", "resourceVersion"), nullptr);
  EXPECT_EQ(sim_.store().revision(), before);
  EXPECT_EQ(sim_.CountWrites("admin"), 1u);  // The namespace.
}

TEST_F(KubeSimTest, ABodyOnDeleteHidesTheQuery) {
  ApplyMap("{}");
  SimRequest request = For("configmaps", "a", "x", SimRequest::Verb::kDelete);
  request.dry_run = true;
  EXPECT_EQ(Do(request).code, 200);
  EXPECT_NE(sim_.Find("configmaps", "a", "x"), nullptr);
  request.body = R"({"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"})";
  EXPECT_EQ(Do(request).code, 200);
  EXPECT_EQ(sim_.Find("configmaps", "a", "x"), nullptr);
}

TEST_F(KubeSimTest, DeletePreconditions) {
  ApplyMap("{}");
  EXPECT_EQ(Delete("configmaps", "a", "x", R"({"preconditions":{"uid":"other"}})").code, 409);
  EXPECT_EQ(Delete("configmaps", "a", "x", R"({"preconditions":{"resourceVersion":"1"}})").code,
            409);
  std::string uid = sim_.Find("configmaps", "a", "x")->StringAt("metadata", "uid");
  EXPECT_EQ(
      Delete("configmaps", "a", "x", absl::StrCat(R"({"preconditions":{"uid":")", uid, R"("}})"))
          .code,
      200);
  EXPECT_EQ(Delete("configmaps", "a", "x").code, 404);
}

}  // namespace
}  // namespace nave::kubesim
