// Whose an object is, and what is never touched.
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/plan/marks.h"
#include "tests/agent/apply/spoke.h"

namespace nave {
namespace {

using Ownership = Spoke;

constexpr char kForeignMap[] =
    R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"default"},"data":{"key":"theirs"}})";

TEST_F(Ownership, ForeignObjectThatDiffersIsRefusedAndUntouched) {
  Kubectl(kForeignMap);
  const std::string before =
      Live("configmaps", "default", "x")->StringAt("metadata", "resourceVersion");
  StartAgent();
  Bundle(Key(1), Docs({ConfigMapYaml("x", "ours"), ConfigMapYaml("other", "ours")}));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kFailed));
  const ObjectStatus object = NotOk(Key(1), "ConfigMap", "x");
  EXPECT_EQ(object.reason, "NotOwned");
  EXPECT_FALSE(object.applied);
  EXPECT_NE(StatusOf(Key(1)).health, Health::kHealthy);
  Run(absl::Minutes(20));
  EXPECT_EQ(Live("configmaps", "default", "x")->StringAt("metadata", "resourceVersion"), before);
  EXPECT_EQ(WritesTo("configmaps", "x"), 0u);
  // The other object of the bundle does not wait for it.
  EXPECT_TRUE(Exists("configmaps", "default", "other"));
  // And the removal leaves it where it is.
  Remove(Key(1));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kRemoved));
  EXPECT_EQ(Live("configmaps", "default", "x")->StringAt("metadata", "resourceVersion"), before);
}

TEST_F(Ownership, RefusedObjectIsMadeWhenTheForeignOneGoes) {
  Kubectl(kForeignMap);
  StartAgent();
  Bundle(Key(1), ConfigMapYaml("x", "ours"));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kFailed));
  Delete("configmaps", "default", "x");
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied, absl::Minutes(10)));
  EXPECT_EQ(Live("configmaps", "default", "x")->StringAt("data", "key"), "ours");
}

TEST_F(Ownership, ForeignObjectWithoutDifferenceIsAdopted) {
  Kubectl(kForeignMap);
  const std::string uid = Live("configmaps", "default", "x")->StringAt("metadata", "uid");
  StartAgent();
  Bundle(Key(1), ConfigMapYaml("x", "theirs"));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  EXPECT_EQ(Live("configmaps", "default", "x")->StringAt("metadata", "uid"), uid);
  Run(absl::Seconds(5));
  EXPECT_EQ(store_.inventory(Key(1)).begin()->second.origin, InventoryEntry::Origin::kAdopted);
}

// An object listed by two bundles: the first owner keeps it, the other is told, and the removal of
// either neither deletes nor bounces it.
TEST_F(Ownership, ListedTwiceTheFirstOwnerWinsAndTheOtherIsTold) {
  StartAgent();
  Bundle(Key(1), ConfigMapYaml("x", "first"));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  const std::string uid = Live("configmaps", "default", "x")->StringAt("metadata", "uid");
  Bundle(Key(2), ConfigMapYaml("x", "second"));
  ASSERT_TRUE(RunUntil(Key(2), Phase::kFailed));
  const ObjectStatus object = NotOk(Key(2), "ConfigMap", "x");
  EXPECT_EQ(object.reason, "OwnedByOther");
  EXPECT_TRUE(absl::StrContains(object.message, "projects/p/bundles/b1")) << object.message;
  const size_t writes = Writes();
  Run(absl::Hours(1));
  EXPECT_EQ(Writes(), writes) << "the two must not fight";
  // The first one goes: the other takes the object as it is, nothing is deleted.
  Remove(Key(1));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kRemoved));
  ASSERT_TRUE(RunUntil(Key(2), Phase::kApplied));
  EXPECT_EQ(Live("configmaps", "default", "x")->StringAt("metadata", "uid"), uid);
  EXPECT_EQ(Live("configmaps", "default", "x")->StringAt("data", "key"), "second");
}

TEST_F(Ownership, LoserGoingLeavesTheObjectAlone) {
  StartAgent();
  Bundle(Key(1), ConfigMapYaml("x", "first"));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Bundle(Key(2), Docs({ConfigMapYaml("x", "second"), ConfigMapYaml("other", "1")}));
  ASSERT_TRUE(RunUntil(Key(2), Phase::kFailed));
  Run(absl::Seconds(5));
  const auto owned = Owned();
  Remove(Key(2));
  ASSERT_TRUE(RunUntil(Key(2), Phase::kRemoved));
  EXPECT_EQ(Owned().at("configmaps default/x"), owned.at("configmaps default/x"));
  EXPECT_FALSE(Exists("configmaps", "default", "other"));
}

TEST_F(Ownership, ObjectMovesBetweenBundlesWithoutDeletion) {
  StartAgent();
  Bundle(Key(1), Docs({ConfigMapYaml("x", "1"), ConfigMapYaml("other", "1")}));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  const std::string uid = Live("configmaps", "default", "x")->StringAt("metadata", "uid");
  Commit(Key(1), ConfigMapYaml("other", "1"));
  Commit(Key(2), ConfigMapYaml("x", "1"));
  reconciler_->OnAssignmentChanged(Key(1));
  reconciler_->OnAssignmentChanged(Key(2));
  ASSERT_TRUE(RunUntil(Key(2), Phase::kApplied));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  EXPECT_EQ(Live("configmaps", "default", "x")->StringAt("metadata", "uid"), uid);
  EXPECT_EQ(store_.inventory(Key(1)).size(), 1u);
  EXPECT_EQ(store_.inventory(Key(2)).size(), 1u);
  EXPECT_EQ(Live("configmaps", "default", "x")->StringAt("metadata", "labels", kAssignmentLabel),
            Key(2).ToString());
}

TEST_F(Ownership, AnotherHubsObjectIsRefused) {
  Kubectl(absl::StrCat(
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"default","annotations":{"nave.dev/owner":)",
      R"("v1;someotherhub;c;)", Key(1).ToString(),
      R"(;/ConfigMap;default/x"}},"data":{"key":"1"}})"));
  StartAgent();
  Bundle(Key(1), ConfigMapYaml("x", "1"));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kFailed));
  EXPECT_EQ(NotOk(Key(1), "ConfigMap", "x").reason, "OwnedByOther");
  EXPECT_EQ(WritesTo("configmaps", "x"), 0u);
}

// A controller or a person that copies our label (and even the annotation) to an object of its own
// does not make it ours.
TEST_F(Ownership, CopiedMarksMakeNothingOurs) {
  StartAgent();
  Bundle(Key(1), Docs({ConfigMapYaml("x", "1"), ConfigMapYaml("other", "1")}));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  const kubesim::ObjectPtr x = Live("configmaps", "default", "x");
  Kubectl(absl::StrCat(
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"copy","namespace":"default",)",
      R"("labels":{"nave.dev/assignment":")", Key(1).ToString(),
      R"("},"annotations":{"nave.dev/owner":")",
      x->StringAt("metadata", "annotations", kOwnerAnnotation), R"("}}})"));
  const std::string before =
      Live("configmaps", "default", "copy")->StringAt("metadata", "resourceVersion");
  Bundle(Key(1), ConfigMapYaml("other", "1"));
  Run(absl::Seconds(10));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Remove(Key(1));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kRemoved));
  RestartAgent();
  Run(absl::Minutes(5));
  ASSERT_TRUE(Exists("configmaps", "default", "copy"));
  EXPECT_EQ(Live("configmaps", "default", "copy")->StringAt("metadata", "resourceVersion"), before);
}

// The first apply of an absent object must not swallow one that appears in that moment.
TEST_F(Ownership, ObjectThatAppearsBetweenReadAndWriteIsNotSwallowed) {
  StartAgent();
  bool once = false;
  sim_.fault = [&](const kubesim::SimRequest& request) {
    if (request.user == kAgentUser && request.verb == kubesim::SimRequest::Verb::kPatch &&
        request.name == "x" && !std::exchange(once, true)) {
      Kubectl(kForeignMap);
    }
    return kubesim::SimFault{};
  };
  Bundle(Key(1), ConfigMapYaml("x", "ours"));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kFailed));
  EXPECT_TRUE(once);
  EXPECT_EQ(NotOk(Key(1), "ConfigMap", "x").reason, "NotOwned");
  EXPECT_EQ(Live("configmaps", "default", "x")->StringAt("data", "key"), "theirs");
}

TEST_F(Ownership, FieldOfAnotherManagerIsLeftOutAndTold) {
  StartAgent();
  Bundle(Key(1), DeploymentYaml("web", "nginx:1", 2));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  // Somebody adds a key that a later version of the bundle wants too.
  Edit("deployments.apps", "default", "web", R"({"spec":{"minReadySeconds":7}})");
  Run(absl::Seconds(5));
  std::string yaml = DeploymentYaml("web", "nginx:2", 3);
  yaml.replace(yaml.find("  replicas:"), 0, "  minReadySeconds: 1\n");
  Bundle(Key(1), yaml);
  Run(absl::Seconds(20));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  const kubesim::ObjectPtr live = Live("deployments.apps", "default", "web");
  EXPECT_EQ(live->Find("spec", "minReadySeconds")->IntOr(0), 7);
  EXPECT_EQ(live->Find("spec", "replicas")->IntOr(0), 3);
  const ObjectStatus object = NotOk(Key(1), "Deployment", "web");
  EXPECT_EQ(object.reason, "FieldManagerConflict");
  EXPECT_TRUE(absl::StrContains(object.message, "kubectl-edit")) << object.message;
  EXPECT_TRUE(absl::StrContains(object.message, "minReadySeconds")) << object.message;
}

// What the hub no longer sends goes, what people on the spoke added stays.
TEST_F(Ownership, LabelsOfTheHubGoThoseOfTheSpokeStay) {
  StartAgent();
  Bundle(Key(1),
         "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  labels: {a: hub, b: hub}\n  "
         "annotations: {n: hub}\n");
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Edit("configmaps", "default", "x", R"({"metadata":{"labels":{"mine":"spoke"}}})");
  Run(absl::Seconds(5));
  Bundle(Key(1), "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  labels: {a: hub}\n");
  Run(absl::Seconds(5));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  const kubesim::ObjectPtr live = Live("configmaps", "default", "x");
  EXPECT_EQ(live->StringAt("metadata", "labels", "a"), "hub");
  EXPECT_EQ(live->StringAt("metadata", "labels", "b"), "");
  EXPECT_EQ(live->StringAt("metadata", "labels", "mine"), "spoke");
  EXPECT_EQ(live->StringAt("metadata", "annotations", "n"), "");
}

}  // namespace
}  // namespace nave
