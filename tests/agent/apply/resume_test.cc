// The agent dies at any moment: what is right is not written again, what is not right becomes so.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/agent/apply/spoke.h"

namespace nave {
namespace {

using Resume = Spoke;

std::string App() {
  return Docs({NamespaceYaml("shop"), CrdYaml("things", "Thing", "example.org"),
               ConfigMapYaml("a", "1"), ServiceYaml("web"), DeploymentYaml("web", "nginx:1"),
               "apiVersion: example.org/v1\nkind: Thing\nmetadata:\n  name: t\nspec: {a: 1}\n",
               "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData: {k: v}\n"});
}

TEST_F(Resume, FiftyKillsWriteNothing) {
  StartAgent();
  Bundle(Key(1), App(), "shop");
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Run(absl::Minutes(1));
  const auto owned = Owned();
  ASSERT_EQ(owned.size(), 7u);
  const size_t writes = Writes();
  for (int i = 0; i < 50; ++i) {
    KillAgent();
    Run(absl::Milliseconds(i * 37 % 1000));
    StartAgent();
    Run(absl::Milliseconds(i * 91 % 3000));
  }
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Run(absl::Seconds(10));
  EXPECT_EQ(Owned(), owned);
  EXPECT_EQ(Writes(), writes);
  EXPECT_EQ(StatusOf(Key(1)).health, Health::kHealthy) << StatusOf(Key(1)).message;
}

TEST_F(Resume, KilledAtAnyMomentOfAnApply) {
  for (int at = 0; at < 60; at += 3) {
    SCOPED_TRACE(at);
    const Uuid key = Key(at + 1);
    const std::string ns = absl::StrCat("shop-", at);
    StartAgent();
    Bundle(key,
           Docs({NamespaceYaml(ns), ConfigMapYaml("a", "1"), DeploymentYaml("web", "nginx:1")}),
           ns);
    Run(absl::Milliseconds(at));
    RestartAgent();
    ASSERT_TRUE(RunUntil(key, Phase::kApplied));
    Run(absl::Seconds(10));
    EXPECT_EQ(store_.inventory(key).size(), 3u);
    for (const auto& [object, entry] : store_.inventory(key)) {
      EXPECT_EQ(entry.origin, InventoryEntry::Origin::kCreated) << object.ToString();
      EXPECT_EQ(entry.progress, InventoryEntry::Progress::kApplied) << object.ToString();
    }
    KillAgent();
  }
}

TEST_F(Resume, KilledAtAnyMomentOfARemoval) {
  for (int at = 0; at < 60; at += 3) {
    SCOPED_TRACE(at);
    const Uuid key = Key(at + 1);
    const std::string ns = absl::StrCat("shop-", at);
    StartAgent();
    Bundle(key,
           Docs({NamespaceYaml(ns), ConfigMapYaml("a", "1"), DeploymentYaml("web", "nginx:1")}),
           ns);
    ASSERT_TRUE(RunUntil(key, Phase::kApplied));
    Remove(key);
    Run(absl::Milliseconds(at * 2));
    RestartAgent();
    ASSERT_TRUE(RunUntil(key, Phase::kRemoved));
    EXPECT_FALSE(reconciler_->HasInventory(key));
    Run(absl::Seconds(30));
    EXPECT_FALSE(Exists("namespaces", "", ns));
    ForgetKey(key);
    KillAgent();
  }
  EXPECT_TRUE(Owned().empty());
}

}  // namespace
}  // namespace nave
