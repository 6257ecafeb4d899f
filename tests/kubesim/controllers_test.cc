// Finalizers, namespaces, garbage, workloads and custom resources; lists and watches.
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

TEST_F(KubeSimTest, FinalizersHoldADeletion) {
  ApplyMap("{}", "m", false, R"(,"finalizers":["example.com/hold"])");
  SimResponse deleted = Delete("configmaps", "a", "x");
  EXPECT_EQ(deleted.code, 200);
  EXPECT_NE(deleted.body.Find("metadata", "deletionTimestamp"), nullptr);
  EXPECT_EQ(
      ApplyMap("{}", "m", false, R"(,"finalizers":["example.com/hold","example.com/new"])").code,
      422);
  EXPECT_EQ(ApplyMap("{}", "m").code, 200);
  EXPECT_EQ(sim_.Find("configmaps", "a", "x"), nullptr);
}

TEST_F(KubeSimTest, NamespacesTerminate) {
  ApplyMap("{}", "m", false, R"(,"finalizers":["example.com/hold"])");
  EXPECT_EQ(Delete("namespaces", "", "a").code, 200);
  Settle();
  EXPECT_EQ(sim_.Find("namespaces", "", "a")->StringAt("status", "phase"), "Terminating");
  SimResponse refused = Create("configmaps", "a", R"({"metadata":{"name":"late"}})");
  EXPECT_EQ(refused.code, 403);
  EXPECT_EQ((*refused.body.Find("details", "causes")->array())[0].StringAt("reason"),
            "NamespaceTerminating");
  EXPECT_EQ(Delete("namespaces", "", "a").code, 200);
  ApplyMap("{}", "m");
  Settle();
  EXPECT_EQ(sim_.Find("namespaces", "", "a"), nullptr);
  SimResponse missing = Create("configmaps", "a", R"({"metadata":{"name":"late"}})");
  EXPECT_EQ(missing.code, 404);
  EXPECT_EQ(missing.body.StringAt("details", "kind"), "namespaces");
}

TEST_F(KubeSimTest, DeploymentBecomesAvailableAndItsPodsGoWithIt) {
  Apply("deployments.apps", "a", "web", kDeployment);
  Settle();
  ObjectPtr live = sim_.Find("deployments.apps", "a", "web");
  EXPECT_EQ(live->Find("status", "availableReplicas"), nullptr);
  Wait(absl::Seconds(2));
  live = sim_.Find("deployments.apps", "a", "web");
  EXPECT_EQ(live->Find("status", "availableReplicas")->IntOr(0), 2);
  EXPECT_EQ(sim_.store().All("pods").size(), 2u);
  // A new template replaces the pods.
  std::string next(kDeployment);
  next.replace(next.find("nginx:1"), 7, "nginx:2");
  EXPECT_EQ(Apply("deployments.apps", "a", "web", next).code, 200);
  Wait(absl::Seconds(5));
  EXPECT_EQ(sim_.store().All("pods").size(), 2u);
  EXPECT_EQ(sim_.store().All("replicasets.apps").size(), 2u);
  Delete("deployments.apps", "a", "web", R"({"propagationPolicy":"Background"})");
  Wait(absl::Seconds(1));
  EXPECT_EQ(sim_.store().All("pods").size(), 0u);
  EXPECT_EQ(sim_.store().All("replicasets.apps").size(), 0u);
}

TEST_F(KubeSimTest, OrphanAndForegroundDeletion) {
  Apply("deployments.apps", "a", "web", kDeployment);
  Wait(absl::Seconds(2));
  Delete("deployments.apps", "a", "web", R"({"propagationPolicy":"Orphan"})");
  Wait(absl::Seconds(1));
  EXPECT_EQ(sim_.Find("deployments.apps", "a", "web"), nullptr);
  ASSERT_EQ(sim_.store().All("replicasets.apps").size(), 1u);
  std::string name = sim_.store().All("replicasets.apps").begin()->first.second;
  SimResponse answer =
      Delete("replicasets.apps", "a", name, R"({"propagationPolicy":"Foreground"})");
  EXPECT_NE(answer.body.Find("metadata", "deletionTimestamp"), nullptr);
  Wait(absl::Seconds(1));
  EXPECT_EQ(sim_.store().All("replicasets.apps").size(), 0u);
  EXPECT_EQ(sim_.store().All("pods").size(), 0u);
}

TEST_F(KubeSimTest, OtherWorkloadsBecomeReady) {
  Apply("statefulsets.apps", "a", "db",
        R"({"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"db"},
    "spec":{"serviceName":"db","replicas":2,"selector":{"matchLabels":{"app":"db"}},"template":{"metadata":{"labels":
    {"app":"db"}},"spec":{"containers":[{"name":"c","image":"db:1"}]}},"volumeClaimTemplates":[{"metadata":
    {"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}]}})");
  Apply("daemonsets.apps", "a", "ds",
        R"({"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"ds"},
    "spec":{"selector":{"matchLabels":{"app":"ds"}},"template":{"metadata":{"labels":{"app":"ds"}},"spec":
    {"containers":[{"name":"c","image":"ds:1"}]}}}})");
  Apply("jobs.batch", "a", "job",
        R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"job"},
    "spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"job:1"}]}}}})");
  Wait(absl::Seconds(5));
  EXPECT_EQ(sim_.Find("statefulsets.apps", "a", "db")->Find("status", "readyReplicas")->IntOr(0),
            2);
  EXPECT_EQ(sim_.Find("persistentvolumeclaims", "a", "data-db-1")->StringAt("status", "phase"),
            "Bound");
  EXPECT_EQ(sim_.Find("daemonsets.apps", "a", "ds")->Find("status", "numberReady")->IntOr(0), 1);
  EXPECT_EQ(sim_.Find("jobs.batch", "a", "job")->Find("status", "succeeded")->IntOr(0), 1);
}

TEST_F(KubeSimTest, CustomResourcesAreServedWhenEstablished) {
  constexpr char kCrd[] =
      R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
    "metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
    "names":{"plural":"widgets","kind":"Widget"},"versions":[{"name":"v1","served":true,"storage":true,
    "schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":
    {"size":{"type":"integer"},"parts":{"type":"array","x-kubernetes-list-type":"map",
    "x-kubernetes-list-map-keys":["id"],"items":{"type":"object","properties":{"id":{"type":"string"},
    "n":{"type":"integer"}}}}}}}}}}]}})";
  constexpr char kWidget[] =
      R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},
    "spec":{"size":1,"parts":[{"id":"p","n":1}]}})";
  EXPECT_EQ(
      Apply("customresourcedefinitions.apiextensions.k8s.io", "", "widgets.example.com", kCrd).code,
      201);
  SimRequest early = ApplyOf("configmaps", "a", "w", kWidget);
  early.group = "example.com";
  early.plural = "widgets";
  EXPECT_EQ(Do(early).code, 404);
  Wait(absl::Seconds(1));
  EXPECT_EQ(Apply("widgets.example.com", "a", "w", kWidget).code, 201);
  EXPECT_EQ(Apply("widgets.example.com", "a", "w",
                  R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},
    "spec":{"parts":[{"id":"q","n":2}]}})",
                  "two")
                .code,
            200);
  EXPECT_EQ(sim_.Find("widgets.example.com", "a", "w")->Find("spec", "parts")->array()->size(), 2u);
  EXPECT_EQ(sim_.Find("widgets.example.com", "a", "w")->Find("metadata", "generation")->IntOr(0),
            2);
  Delete("customresourcedefinitions.apiextensions.k8s.io", "", "widgets.example.com");
  Wait(absl::Seconds(1));
  EXPECT_EQ(sim_.Find("widgets.example.com", "a", "w"), nullptr);
  EXPECT_EQ(sim_.FindKind("example.com", "v1", "widgets"), nullptr);
}

TEST_F(KubeSimTest, PagesArePinnedToOneRevision) {
  for (int i = 0; i < 5; ++i) {
    Create("secrets", "a", absl::StrCat(R"({"metadata":{"name":"s)", i, R"("}})"));
  }
  SimRequest list = For("secrets", "a", "", SimRequest::Verb::kList);
  list.limit = 2;
  std::vector<std::string> names;
  std::string revision;
  for (int page = 0; page < 3; ++page) {
    SimResponse answer = Do(list);
    ASSERT_EQ(answer.code, 200);
    if (page == 0) revision = answer.body.StringAt("metadata", "resourceVersion");
    EXPECT_EQ(answer.body.StringAt("metadata", "resourceVersion"), revision);
    for (const Value& item : *answer.body.Find("items")->array()) {
      names.push_back(item.StringAt("metadata", "name"));
    }
    list.continue_token = answer.body.StringAt("metadata", "continue");
    // Changes behind the first page do not show.
    Delete("secrets", "a", absl::StrCat("s", 4 - page));
    Create("secrets", "a", absl::StrCat(R"({"metadata":{"name":"z)", page, R"("}})"));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"s0", "s1", "s2", "s3", "s4"}));
  EXPECT_TRUE(list.continue_token.empty());
}

TEST_F(KubeSimTest, CompactionExpiresTokensAndWatches) {
  for (int i = 0; i < 3; ++i) {
    Create("secrets", "a", absl::StrCat(R"({"metadata":{"name":"s)", i, R"("}})"));
  }
  SimRequest list = For("secrets", "a", "", SimRequest::Verb::kList);
  list.limit = 1;
  SimResponse first = Do(list);
  list.continue_token = first.body.StringAt("metadata", "continue");
  Delete("secrets", "a", "s0");
  sim_.Compact();
  EXPECT_EQ(Do(list).code, 410);
  SimRequest watch = For("secrets", "a", "", SimRequest::Verb::kList);
  watch.resource_version = first.body.StringAt("metadata", "resourceVersion");
  std::vector<WatchEvent> events;
  SimResponse error;
  sim_.StartWatch(
      watch, now_, [&](WatchEvent event) { events.push_back(std::move(event)); }, &error);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, "ERROR");
  EXPECT_EQ(events[0].object.Find("code")->IntOr(0), 410);
}

TEST_F(KubeSimTest, WatchShowsWhatEntersAndLeavesTheSelection) {
  SimRequest watch = For("configmaps", "a", "", SimRequest::Verb::kList);
  watch.label_selector = "pick=me";
  watch.resource_version = absl::StrCat(sim_.store().revision());
  watch.bookmarks = true;
  watch.timeout_seconds = 300;
  std::string seen;
  SimResponse error;
  ASSERT_NE(sim_.StartWatch(
                watch, now_,
                [&](WatchEvent event) {
                  absl::StrAppend(&seen, event.type.empty() ? "END" : event.type, " ");
                },
                &error),
            0u);
  ApplyMap("{}");
  ApplyMap("{}", "m", false, R"(,"labels":{"pick":"me"})");
  ApplyMap(R"({"k":"v"})", "m", false, R"(,"labels":{"pick":"me"})");
  ApplyMap(R"({"k":"v"})");
  EXPECT_EQ(seen, "ADDED MODIFIED DELETED ");
  seen.clear();
  Wait(absl::Seconds(61));
  EXPECT_EQ(seen, "BOOKMARK ");
  seen.clear();
  Wait(absl::Seconds(300));
  EXPECT_TRUE(absl::EndsWith(seen, "END ")) << seen;
}

TEST_F(KubeSimTest, ImmutableFieldsAre422) {
  Apply("deployments.apps", "a", "web", kDeployment);
  std::string changed = absl::StrReplaceAll(kDeployment, {{"\"app\":\"web\"", "\"app\":\"new\""}});
  SimResponse answer = Apply("deployments.apps", "a", "web", changed, "m", true);
  EXPECT_EQ(answer.code, 422);
  EXPECT_EQ(answer.body.StringAt("reason"), "Invalid");
  EXPECT_TRUE(absl::StrContains(answer.body.StringAt("message"), "field is immutable"));
}

TEST_F(KubeSimTest, DenyAndAudit) {
  sim_.deny = [](const SimRequest& request) -> std::optional<std::string> {
    if (request.user == "nobody") return "User \"nobody\" cannot do this";
    return std::nullopt;
  };
  SimRequest request = ApplyOf("configmaps", "a", "x",
                               R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}})");
  request.user = "nobody";
  EXPECT_EQ(Do(request).code, 403);
  request.user = "agent";
  EXPECT_EQ(Do(request).code, 201);
  EXPECT_EQ(sim_.CountWrites("agent"), 1u);
  EXPECT_EQ(sim_.CountWrites("agent", "a"), 0u);
}

TEST_F(KubeSimTest, StrategicPatchMergesByKey) {
  Apply("deployments.apps", "a", "web", kDeployment);
  SimRequest patch = For("deployments.apps", "a", "web", SimRequest::Verb::kPatch);
  patch.patch = SimRequest::Patch::kStrategic;
  patch.field_manager = "kubectl-set";
  patch.body = R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":"nginx:9"}]}}}})";
  SimResponse answer = Do(patch);
  EXPECT_EQ(answer.code, 200);
  const Value& container =
      (*answer.body.Find("spec", "template", "spec", "containers")->array())[0];
  EXPECT_EQ(container.StringAt("image"), "nginx:9");
  EXPECT_NE(container.Find("ports"), nullptr);
}

}  // namespace
}  // namespace nave::kubesim
