// What others do to owned objects, and what is done about it.
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/plan/marks.h"
#include "tests/agent/apply/spoke.h"

namespace nave {
namespace {

using kubesim::SimRequest;

class Drift : public Spoke {
 protected:
  void Shop() {
    StartAgent();
    Bundle(Key(1), Docs({ConfigMapYaml("settings", "1"), ServiceYaml("web"),
                         DeploymentYaml("web", "nginx:1")}));
    ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
    Run(absl::Seconds(10));
  }
};

TEST_F(Drift, DeletedObjectIsBackWithinTwoSeconds) {
  Shop();
  for (const char* resource : {"services", "deployments.apps"}) {
    Delete(resource, "default", "web");
    Run(absl::Seconds(2));
    EXPECT_TRUE(Exists(resource, "default", "web")) << resource;
  }
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Run(absl::Seconds(10));
  EXPECT_EQ(StatusOf(Key(1)).health, Health::kHealthy);
}

TEST_F(Drift, EditOfAnOwnedFieldIsHealedWithinTwoSeconds) {
  Shop();
  for (int i = 0; i < 20; ++i) {
    Edit("deployments.apps", "default", "web",
         absl::StrCat(R"({"spec":{"replicas":)", 5 + i, "}}"));
    Run(absl::Seconds(2));
    EXPECT_EQ(Live("deployments.apps", "default", "web")->Find("spec", "replicas")->IntOr(0), 2)
        << i;
    Edit("configmaps", "default", "settings", absl::StrCat(R"({"data":{"key":")", i, "x\"}}"));
    Run(absl::Seconds(2));
    EXPECT_EQ(Live("configmaps", "default", "settings")->StringAt("data", "key"), "1") << i;
    Run(absl::Minutes(1));
  }
}

TEST_F(Drift, RemovedMarksComeBack) {
  Shop();
  Edit(
      "configmaps", "default", "settings",
      R"({"metadata":{"labels":{"nave.dev/assignment":null},"annotations":{"nave.dev/owner":null}}})");
  Run(absl::Seconds(2));
  EXPECT_EQ(
      Live("configmaps", "default", "settings")->StringAt("metadata", "labels", kAssignmentLabel),
      Key(1).ToString());
}

TEST_F(Drift, FieldsOfOthersAreNoDrift) {
  Shop();
  const size_t writes = Writes();
  Edit("deployments.apps", "default", "web",
       R"({"metadata":{"annotations":{"note":"1"}},"spec":{"minReadySeconds":3}})");
  Edit("configmaps", "default", "settings", R"({"data":{"extra":"1"}})");
  Run(absl::Minutes(5));
  EXPECT_EQ(Live("deployments.apps", "default", "web")->Find("spec", "minReadySeconds")->IntOr(0),
            3);
  EXPECT_EQ(Live("configmaps", "default", "settings")->StringAt("data", "extra"), "1");
  EXPECT_EQ(Writes(), writes);
}

TEST_F(Drift, FightWithAnotherWriterSlowsDownAndIsTold) {
  Shop();
  const size_t writes = Writes();
  int edits = 0;
  const absl::Time end = executor_.Now() + absl::Minutes(30);
  while (executor_.Now() < end) {
    if (Live("configmaps", "default", "settings")->StringAt("data", "key") == "1") {
      Edit("configmaps", "default", "settings", absl::StrCat(R"({"data":{"key":"fight"}})"));
      ++edits;
    }
    Run(absl::Milliseconds(100));
  }
  // Thirty at once, then ever less often; each takes two requests.
  EXPECT_LT(Writes() - writes, 2u * 50);
  EXPECT_GT(edits, 30);
  // And the rest of the bundle is not held up.
  Delete("services", "default", "web");
  Run(absl::Seconds(2));
  EXPECT_TRUE(Exists("services", "default", "web"));
  // When it ends, so does the trouble.
  Run(absl::Minutes(10));
  EXPECT_EQ(Live("configmaps", "default", "settings")->StringAt("data", "key"), "1");
  EXPECT_EQ(StatusOf(Key(1)).phase, Phase::kApplied);
}

TEST_F(Drift, WhatChangedWhileTheAgentWasAwayIsHealed) {
  Shop();
  KillAgent();
  Edit("configmaps", "default", "settings", R"({"data":{"key":"other"}})");
  Delete("services", "default", "web");
  Edit("deployments.apps", "default", "web", R"({"spec":{"replicas":9}})");
  Run(absl::Hours(1));
  StartAgent();
  Run(absl::Seconds(5));
  EXPECT_EQ(Live("configmaps", "default", "settings")->StringAt("data", "key"), "1");
  EXPECT_TRUE(Exists("services", "default", "web"));
  EXPECT_EQ(Live("deployments.apps", "default", "web")->Find("spec", "replicas")->IntOr(0), 2);
}

TEST_F(Drift, WatchThatLostItsPlaceMissesNothing) {
  Shop();
  client_->SetCut(true);
  Run(absl::Minutes(1));
  Delete("services", "default", "web");
  Edit("configmaps", "default", "settings", R"({"data":{"key":"other"}})");
  Run(absl::Minutes(1));
  sim_.Compact();
  client_->SetCut(false);
  Run(absl::Minutes(1));
  EXPECT_TRUE(Exists("services", "default", "web"));
  EXPECT_EQ(Live("configmaps", "default", "settings")->StringAt("data", "key"), "1");
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
}

// While nothing can be seen, nothing is called healthy.
TEST_F(Drift, BrokenWatchMakesHealthUnknown) {
  Shop();
  EXPECT_EQ(StatusOf(Key(1)).health, Health::kHealthy);
  client_->SetCut(true);
  Run(absl::Minutes(5));
  EXPECT_EQ(StatusOf(Key(1)).health, Health::kUnknown);
  EXPECT_EQ(StatusOf(Key(1)).reason, "ApiServerUnavailable");
  client_->SetCut(false);
  Run(absl::Minutes(2));
  EXPECT_EQ(StatusOf(Key(1)).health, Health::kHealthy) << StatusOf(Key(1)).message;
}

constexpr char kJob[] =
    "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: once\nspec:\n  ttlSecondsAfterFinished: "
    "10\n  template:\n    spec:\n"
    "      restartPolicy: Never\n      containers:\n      - name: c\n        image: busybox\n";

TEST_F(Drift, FinishedJobThatIsCleanedUpDoesNotRunAgain) {
  StartAgent();
  Bundle(Key(1), kJob);
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Run(absl::Minutes(1));
  ASSERT_FALSE(Exists("jobs.batch", "default", "once"));
  const size_t writes = Writes();
  EXPECT_EQ(StatusOf(Key(1)).phase, Phase::kApplied);
  EXPECT_EQ(StatusOf(Key(1)).health, Health::kHealthy) << StatusOf(Key(1)).message;
  RestartAgent();
  Run(absl::Hours(1));
  EXPECT_FALSE(Exists("jobs.batch", "default", "once"));
  EXPECT_EQ(Writes(), writes);
  EXPECT_EQ(StatusOf(Key(1)).health, Health::kHealthy) << StatusOf(Key(1)).message;
  // Another Job is another run.
  std::string changed = kJob;
  changed.replace(changed.find("busybox"), 7, "busybox:2");
  Bundle(Key(1), changed);
  Run(absl::Seconds(3));
  EXPECT_TRUE(Exists("jobs.batch", "default", "once"));
}

TEST_F(Drift, UnchangedJobIsLeftAloneByANewVersion) {
  StartAgent();
  std::string job = kJob;
  job.erase(job.find("  ttlSeconds"), std::string("  ttlSecondsAfterFinished: 10\n").size());
  Bundle(Key(1), job);
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Run(absl::Minutes(1));
  const std::string before =
      Live("jobs.batch", "default", "once")->StringAt("metadata", "resourceVersion");
  Bundle(Key(1), Docs({job, ConfigMapYaml("a", "1")}));
  Run(absl::Seconds(20));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  EXPECT_EQ(StatusOf(Key(1)).not_ok_total, 0u);
  EXPECT_EQ(Live("jobs.batch", "default", "once")->StringAt("metadata", "resourceVersion"), before);
  EXPECT_EQ(WritesTo("jobs.batch", "once"), 1u);
}

TEST_F(Drift, ObjectBeingDeletedIsMadeAgainWhenItIsGone) {
  StartAgent();
  Bundle(
      Key(1),
      "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  finalizers: [example.org/wait]\n");
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  const std::string uid = Live("configmaps", "default", "a")->StringAt("metadata", "uid");
  Delete("configmaps", "default", "a");
  Run(absl::Minutes(1));
  EXPECT_EQ(NotOk(Key(1), "ConfigMap", "a").reason, "Terminating");
  Edit("configmaps", "default", "a", R"({"metadata":{"finalizers":null}})");
  Run(absl::Seconds(2));
  ASSERT_TRUE(Exists("configmaps", "default", "a"));
  EXPECT_NE(Live("configmaps", "default", "a")->StringAt("metadata", "uid"), uid);
}

TEST_F(Drift, DeletedNamespaceComesBackWithWhatWasInIt) {
  StartAgent();
  Bundle(Key(1),
         Docs({NamespaceYaml("shop"), ConfigMapYaml("a", "1"), DeploymentYaml("web", "nginx:1")}),
         "shop");
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Run(absl::Seconds(10));
  Delete("namespaces", "", "shop");
  Run(absl::Minutes(1));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  EXPECT_TRUE(Exists("namespaces", "", "shop"));
  EXPECT_TRUE(Exists("configmaps", "shop", "a"));
  EXPECT_TRUE(Exists("deployments.apps", "shop", "web"));
}

}  // namespace
}  // namespace nave
