// What leaves a spoke, on whose order, and what never does.
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/agent/apply/spoke.h"

namespace nave {
namespace {

using kubesim::SimRequest;
using Removal = Spoke;

std::string Maps(int from, int to, const std::string& value = "1") {
  std::vector<std::string> documents;
  for (int i = from; i < to; ++i)
    documents.push_back(ConfigMapYaml(absl::StrCat("map-", i), value));
  return Docs(documents);
}

TEST_F(Removal, EditBurstEndsAtTheLastVersion) {
  StartAgent();
  Bundle(Key(1), Docs({ConfigMapYaml("a", "1"), ConfigMapYaml("b", "1")}));
  for (int i = 0; i < 50; ++i) {
    Run(absl::Milliseconds(i % 7));
    Bundle(Key(1), i % 2 == 0
                       ? ConfigMapYaml("b", absl::StrCat(i))
                       : Docs({ConfigMapYaml("a", absl::StrCat(i)), ConfigMapYaml("c", "1")}));
  }
  Bundle(Key(1), ConfigMapYaml("b", "last"));
  Run(absl::Seconds(30));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  EXPECT_FALSE(Exists("configmaps", "default", "a"));
  EXPECT_FALSE(Exists("configmaps", "default", "c"));
  EXPECT_EQ(Live("configmaps", "default", "b")->StringAt("data", "key"), "last");
  EXPECT_EQ(Owned().size(), 1u);
  EXPECT_EQ(store_.inventory(Key(1)).size(), 1u);
}

TEST_F(Removal, RightAfterCreationTakesSeconds) {
  StartAgent();
  Bundle(Key(1), Docs({NamespaceYaml("shop"), DeploymentYaml("web", "nginx:1")}), "shop");
  Run(absl::Milliseconds(20));
  Remove(Key(1));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kRemoved, absl::Seconds(15)));
  Run(absl::Minutes(1));
  EXPECT_TRUE(Owned().empty());
  EXPECT_FALSE(Exists("namespaces", "", "shop"));
}

TEST_F(Removal, NothingIsWrittenAfterIt) {
  StartAgent();
  Bundle(Key(1), Maps(0, 10));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Remove(Key(1));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kRemoved));
  const size_t writes = Writes();
  ForgetKey(Key(1));
  // Somebody makes one of the objects again, with our marks gone: it is nobody's of ours.
  Kubectl(
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"map-1","namespace":"default"}})");
  Run(absl::Hours(1));
  EXPECT_EQ(Writes(), writes);
  EXPECT_TRUE(Exists("configmaps", "default", "map-1"));
}

TEST_F(Removal, OrderedWhileTheAgentWasAwayIsExact) {
  StartAgent();
  Bundle(Key(1), Maps(0, 10));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Run(absl::Seconds(5));
  const auto owned = Owned();
  KillAgent();
  Commit(Key(1), Maps(0, 7));
  Run(absl::Hours(1));
  StartAgent();
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Run(absl::Seconds(10));
  const auto left = Owned();
  EXPECT_EQ(left.size(), 7u);
  for (const auto& [name, versions] : left) EXPECT_EQ(owned.at(name), versions) << name;
}

// A removal that was overtaken by a new version is not carried out from memory.
TEST_F(Removal, OrderThatWasTakenBackIsNotCarriedOut) {
  StartAgent();
  Bundle(Key(1), Maps(0, 5));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Run(absl::Seconds(5));
  const auto owned = Owned();
  KillAgent();
  Remove(Key(1));
  Commit(Key(1), Maps(0, 5));
  StartAgent();
  Run(absl::Minutes(5));
  EXPECT_EQ(Owned(), owned);
}

TEST_F(Removal, RaceOfUpdatesAndRemovalsEndsAsOrderedLast) {
  StartAgent();
  for (int i = 0; i < 200; ++i) {
    Bundle(Key(1), Maps(0, 3, absl::StrCat(i)));
    Run(absl::Milliseconds(i % 13));
    Remove(Key(1));
    Run(absl::Milliseconds(i % 5));
  }
  ASSERT_TRUE(RunUntil(Key(1), Phase::kRemoved));
  Run(absl::Minutes(1));
  EXPECT_TRUE(Owned().empty());
  const size_t writes = Writes();
  EXPECT_LT(writes, 200u * 12);
  Run(absl::Hours(1));
  EXPECT_EQ(Writes(), writes);
}

// A deletion that is refused stays in the inventory and is tried again.
TEST_F(Removal, RefusedDeletionIsRememberedAndTriedAgain) {
  StartAgent();
  Bundle(Key(1), Docs({ConfigMapYaml("a", "1"), ConfigMapYaml("b", "1")}));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  sim_.deny = [](const SimRequest& request) -> std::optional<std::string> {
    if (request.verb == SimRequest::Verb::kDelete && request.name == "a")
      return "a webhook said no";
    return std::nullopt;
  };
  Bundle(Key(1), ConfigMapYaml("b", "1"));
  Run(absl::Minutes(3));
  EXPECT_EQ(store_.inventory(Key(1)).size(), 2u);
  EXPECT_NE(StatusOf(Key(1)).reason, "");
  const ObjectStatus object = NotOk(Key(1), "ConfigMap", "a");
  EXPECT_TRUE(absl::StrContains(object.message, "a webhook said no")) << object.message;
  RestartAgent();
  sim_.deny = nullptr;
  Run(absl::Minutes(6));
  EXPECT_FALSE(Exists("configmaps", "default", "a"));
  EXPECT_EQ(store_.inventory(Key(1)).size(), 1u);
}

TEST_F(Removal, VersionWithoutObjectsPrunesTheLastOne) {
  StartAgent();
  Bundle(Key(1), ConfigMapYaml("a", "1"));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Bundle(Key(1), "");
  Run(absl::Seconds(10));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  EXPECT_FALSE(Exists("configmaps", "default", "a"));
}

TEST_F(Removal, NamespaceThatWasThereBeforeStays) {
  Kubectl(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}})");
  const std::string uid = Live("namespaces", "", "shop")->StringAt("metadata", "uid");
  StartAgent();
  // Once asked for bare, once with labels of its own (adopted only when it has them).
  Bundle(Key(1), Docs({NamespaceYaml("shop"), ConfigMapYaml("a", "1")}), "shop");
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Run(absl::Seconds(5));
  EXPECT_EQ(StatusOf(Key(1)).health, Health::kHealthy) << StatusOf(Key(1)).message;
  Remove(Key(1));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kRemoved));
  Run(absl::Minutes(1));
  ASSERT_TRUE(Exists("namespaces", "", "shop"));
  EXPECT_EQ(Live("namespaces", "", "shop")->StringAt("metadata", "uid"), uid);
  EXPECT_FALSE(Exists("configmaps", "shop", "a"));
}

TEST_F(Removal, AdoptedNamespaceIsReleasedNotDeleted) {
  Kubectl(
      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop","labels":{"team":"a"}}})");
  StartAgent();
  Bundle(Key(1), "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n  labels: {team: a}\n");
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Remove(Key(1));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kRemoved));
  ASSERT_TRUE(Exists("namespaces", "", "shop"));
  EXPECT_TRUE(Owned().empty()) << "released objects bear no mark of ours";
  EXPECT_EQ(Live("namespaces", "", "shop")->StringAt("metadata", "labels", "team"), "a");
}

TEST_F(Removal, NamespaceWithObjectsOfOthersIsRetainedAndSaysWhy) {
  StartAgent();
  Bundle(Key(1), Docs({NamespaceYaml("shop"), ConfigMapYaml("a", "1")}), "shop");
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Kubectl(
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"theirs","namespace":"shop"}})");
  Remove(Key(1));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kRemoved));
  Run(absl::Minutes(1));
  EXPECT_EQ(StatusOf(Key(1)).reason, "Retained");
  EXPECT_TRUE(absl::StrContains(StatusOf(Key(1)).message, "theirs")) << StatusOf(Key(1)).message;
  EXPECT_TRUE(Exists("namespaces", "", "shop"));
  EXPECT_TRUE(Exists("configmaps", "shop", "theirs"));
  EXPECT_FALSE(Exists("configmaps", "shop", "a"));
  EXPECT_TRUE(Owned().empty());
}

TEST_F(Removal, NamespacesOfTheSystemAndOfTheAgentAreProtected) {
  StartAgent();
  Kubectl(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"nave-system"}})");
  Bundle(Key(1), Docs({NamespaceYaml("kube-system"), NamespaceYaml("default"),
                       NamespaceYaml("nave-system"), ConfigMapYaml("a", "1", "nave-system")}));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Remove(Key(1));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kRemoved));
  Run(absl::Minutes(1));
  for (const char* name : {"kube-system", "default", "nave-system"}) {
    ASSERT_TRUE(Exists("namespaces", "", name)) << name;
    EXPECT_EQ(Live("namespaces", "", name)->StringAt("metadata", "deletionTimestamp"), "") << name;
  }
}

TEST_F(Removal, MassDeletionWaitsForAConfirmation) {
  StartAgent();
  Bundle(Key(1), Maps(0, 100));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Run(absl::Seconds(10));
  Bundle(Key(1), Maps(0, 40));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kRemovalHeld));
  EXPECT_TRUE(absl::StrContains(StatusOf(Key(1)).message, "60 of 100")) << StatusOf(Key(1)).message;
  Run(absl::Hours(1));
  EXPECT_EQ(Owned().size(), 100u);
  RestartAgent();
  Run(absl::Minutes(5));
  EXPECT_EQ(Owned().size(), 100u);
  Confirm(Key(1));
  Run(absl::Seconds(10));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  EXPECT_EQ(Owned().size(), 40u);
}

TEST_F(Removal, UnconfirmedTombstoneOfManyIsHeldConfirmedGoes) {
  StartAgent();
  Bundle(Key(1), Maps(0, 60));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Remove(Key(1), /*confirmed=*/false);
  ASSERT_TRUE(RunUntil(Key(1), Phase::kRemovalHeld));
  Run(absl::Minutes(10));
  EXPECT_EQ(Owned().size(), 60u);
  Remove(Key(1), /*confirmed=*/true);
  ASSERT_TRUE(RunUntil(Key(1), Phase::kRemoved));
  EXPECT_TRUE(Owned().empty());
}

TEST_F(Removal, VolumesAreHeldByThemselves) {
  StartAgent();
  Bundle(Key(1),
         "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: data\nspec:\n  "
         "accessModes: [ReadWriteOnce]\n  "
         "resources: {requests: {storage: 1Gi}}\n");
  Run(absl::Seconds(10));
  ASSERT_TRUE(Exists("persistentvolumeclaims", "default", "data"));
  Remove(Key(1), /*confirmed=*/false);
  ASSERT_TRUE(RunUntil(Key(1), Phase::kRemovalHeld));
  EXPECT_TRUE(absl::StrContains(StatusOf(Key(1)).message, "data"));
  Run(absl::Minutes(10));
  EXPECT_TRUE(Exists("persistentvolumeclaims", "default", "data"));
}

TEST_F(Removal, HoldStopsItHealingGoesOn) {
  StartAgent();
  Bundle(Key(1), Maps(0, 5));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  reconciler_->SetHold(true);
  Bundle(Key(1), Maps(0, 3));
  Run(absl::Minutes(5));
  EXPECT_EQ(Owned().size(), 5u);
  EXPECT_EQ(StatusOf(Key(1)).reason, "OnHold");
  EXPECT_EQ(StatusOf(Key(1)).revision, 0u);
  Delete("configmaps", "default", "map-1");
  Run(absl::Seconds(2));
  EXPECT_TRUE(Exists("configmaps", "default", "map-1"));
  reconciler_->SetHold(false);
  Run(absl::Seconds(10));
  EXPECT_EQ(Owned().size(), 3u);
}

TEST_F(Removal, PendingVersionStopsIt) {
  StartAgent();
  Bundle(Key(1), Maps(0, 5));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Bundle(Key(1), Maps(0, 3));
  reconciler_->SetPending(Key(1), true);
  Run(absl::Minutes(1));
  EXPECT_EQ(Owned().size(), 5u);
  Bundle(Key(1), Maps(0, 4));
  Run(absl::Seconds(10));
  EXPECT_EQ(Owned().size(), 4u);
}

TEST_F(Removal, NotDesiredKeepsEverything) {
  StartAgent();
  Bundle(Key(1), Maps(0, 5));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  NotDesired(Key(1));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kNotDesired));
  RestartAgent();
  Run(absl::Hours(2));
  EXPECT_EQ(Owned().size(), 5u);
  EXPECT_EQ(StatusOf(Key(1)).phase, Phase::kNotDesired);
  EXPECT_EQ(StatusOf(Key(1)).reason, "NotDesired") << StatusOf(Key(1)).message;
  // Applied again it is the same objects.
  const auto owned = Owned();
  Bundle(Key(1), Maps(0, 5));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  EXPECT_EQ(Owned(), owned);
}

TEST_F(Removal, PruneWaitsUntilEverythingListedIsApplied) {
  StartAgent();
  Bundle(Key(1), Maps(0, 3));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Bundle(Key(1),
         Docs({Maps(0, 2), "apiVersion: example.org/v1\nkind: Nothing\nmetadata:\n  name: x\n"}));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kPruneWaiting));
  EXPECT_TRUE(absl::StrContains(StatusOf(Key(1)).message, "Nothing")) << StatusOf(Key(1)).message;
  Run(absl::Minutes(10));
  EXPECT_TRUE(Exists("configmaps", "default", "map-2"));
}

// Content that cannot be had is no order to remove what it lists.
TEST_F(Removal, MissingContentRemovesNothing) {
  StartAgent();
  Bundle(Key(1), Maps(0, 5));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  KillAgent();
  store_.SetContent(Key(1), nullptr);
  StartAgent();
  Run(absl::Hours(1));
  EXPECT_EQ(Owned().size(), 5u);
}

// Two bundles, two namespaces: a removal reaches nothing but its own inventory.
TEST_F(Removal, ReachesOnlyTheOwnInventory) {
  StartAgent();
  Bundle(Key(1),
         Docs({NamespaceYaml("one"), ConfigMapYaml("a", "1", "one"),
               ConfigMapYaml("b", "1", "default")}),
         "one");
  Bundle(Key(2), Docs({NamespaceYaml("two"), ConfigMapYaml("a", "1", "two")}), "two");
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  ASSERT_TRUE(RunUntil(Key(2), Phase::kApplied));
  Kubectl(
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"default"}})");
  Run(absl::Seconds(5));
  const size_t before = Owned().size();
  Remove(Key(1));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kRemoved));
  Run(absl::Seconds(10));
  EXPECT_EQ(before - Owned().size(), 3u);
  EXPECT_TRUE(Exists("configmaps", "two", "a"));
  EXPECT_TRUE(Exists("configmaps", "default", "c"));
}

TEST_F(Removal, RemovedIsSaidOnlyWhenItIsGone) {
  StartAgent();
  Bundle(
      Key(1),
      "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  finalizers: [example.org/wait]\n");
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Remove(Key(1));
  Run(absl::Minutes(3));
  EXPECT_EQ(StatusOf(Key(1)).phase, Phase::kRemoving);
  EXPECT_TRUE(reconciler_->HasInventory(Key(1)));
  EXPECT_TRUE(absl::StrContains(NotOk(Key(1), "ConfigMap", "a").message, "example.org/wait"));
  EXPECT_EQ(WritesTo("configmaps", "a"), 2u) << "one apply, one deletion";
  Edit("configmaps", "default", "a", R"({"metadata":{"finalizers":null}})");
  ASSERT_TRUE(RunUntil(Key(1), Phase::kRemoved, absl::Seconds(5)));
}

TEST_F(Removal, NamespaceThatIsBeingDeletedIsSuccessInProgress) {
  StartAgent();
  Bundle(Key(1), Docs({NamespaceYaml("shop"), ConfigMapYaml("a", "1")}), "shop");
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Edit("configmaps", "shop", "a", R"({"metadata":{"finalizers":["example.org/wait"]}})");
  Run(absl::Seconds(5));
  Remove(Key(1));
  Delete("namespaces", "", "shop");
  Run(absl::Minutes(1));
  EXPECT_EQ(StatusOf(Key(1)).phase, Phase::kRemoving);
  Edit("configmaps", "shop", "a", R"({"metadata":{"finalizers":null}})");
  ASSERT_TRUE(RunUntil(Key(1), Phase::kRemoved));
  EXPECT_FALSE(Exists("namespaces", "", "shop"));
}

TEST_F(Removal, ObjectMadeAnewByOthersIsNotDeleted) {
  StartAgent();
  Bundle(Key(1), ConfigMapYaml("a", "1"));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  KillAgent();
  Delete("configmaps", "default", "a");
  Kubectl(
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"}})");
  Remove(Key(1));
  StartAgent();
  ASSERT_TRUE(RunUntil(Key(1), Phase::kRemoved));
  EXPECT_TRUE(Exists("configmaps", "default", "a"));
}

TEST_F(Removal, OrphanLeavesTheObjectsWithoutMarks) {
  StartAgent();
  Bundle(Key(1), Maps(0, 3));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Remove(Key(1), true, Propagation::kOrphan);
  ASSERT_TRUE(RunUntil(Key(1), Phase::kRemoved));
  for (const char* name : {"map-0", "map-1", "map-2"})
    EXPECT_TRUE(Exists("configmaps", "default", name));
  EXPECT_TRUE(Owned().empty());
}

TEST_F(Removal, NamesOfEveryLengthAndShapeSurvive) {
  StartAgent();
  std::vector<std::string> documents;
  std::vector<std::string> names;
  for (size_t length : {52, 53, 54, 63, 64, 253}) names.push_back(std::string(length, 'n'));
  for (const std::string& name : names) documents.push_back(ConfigMapYaml(name, "1"));
  documents.push_back(
      "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: "
      "\"a_b:c;d\"\nrules: []\n");
  Bundle(Key(1), Docs(documents));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Run(absl::Seconds(5));
  const auto owned = Owned();
  ASSERT_EQ(owned.size(), names.size() + 1);
  for (int round = 0; round < 3; ++round) {
    RestartAgent();
    Run(absl::Minutes(5));
    EXPECT_EQ(Owned(), owned);
  }
  Remove(Key(1));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kRemoved));
  EXPECT_TRUE(Owned().empty());
}

// Deletion goes the other way round: what stands on something goes before it.
TEST_F(Removal, GoesInReverseOrder) {
  StartAgent();
  Bundle(Key(1),
         Docs({NamespaceYaml("shop"), CrdYaml("things", "Thing", "example.org"),
               ConfigMapYaml("a", "1"), DeploymentYaml("web", "nginx:1"),
               "apiVersion: example.org/v1\nkind: Thing\nmetadata:\n  name: t\n"}),
         "shop");
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Remove(Key(1));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kRemoved));
  std::vector<std::string> order;
  for (const kubesim::AuditRecord& record : sim_.audit()) {
    if (record.user == kAgentUser && record.verb == "delete") order.push_back(record.resource);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"things.example.org", "deployments.apps", "configmaps",
                                             "customresourcedefinitions.apiextensions.k8s.io",
                                             "namespaces"}));
  EXPECT_TRUE(Owned().empty());
}

}  // namespace
}  // namespace nave
