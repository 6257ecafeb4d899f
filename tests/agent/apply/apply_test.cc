// From a committed version to what runs, and to what is reported of it.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/agent/apply/spoke.h"

namespace nave {
namespace {

using Apply = Spoke;

std::string Shop() {
  return Docs({NamespaceYaml("shop"), ConfigMapYaml("settings", "1"), ServiceYaml("web"),
               DeploymentYaml("web", "nginx:1")});
}

TEST_F(Apply, ManifestsRunAndAreReportedHealthy) {
  StartAgent();
  Bundle(Key(1), Shop(), "shop");
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Run(absl::Seconds(10));
  const AssignmentStatus& status = StatusOf(Key(1));
  EXPECT_EQ(status.health, Health::kHealthy) << status.reason << " " << status.message;
  EXPECT_EQ(status.counts.total, 4u);
  EXPECT_EQ(status.counts.healthy, 4u);
  EXPECT_EQ(status.not_ok_total, 0u);
  EXPECT_TRUE(status.reason.empty()) << status.reason;
  EXPECT_EQ(Live("configmaps", "shop", "settings")->StringAt("data", "key"), "1");
  EXPECT_EQ(store_.inventory(Key(1)).size(), 4u);
  for (const auto& [object, entry] : store_.inventory(Key(1))) {
    EXPECT_EQ(entry.progress, InventoryEntry::Progress::kApplied) << object.ToString();
    EXPECT_EQ(entry.origin, InventoryEntry::Origin::kCreated) << object.ToString();
  }
}

TEST_F(Apply, NothingIsWrittenAtRest) {
  StartAgent();
  Bundle(Key(1), Shop(), "shop");
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Run(absl::Seconds(30));
  const size_t writes = Writes();
  const size_t inventory_writes = store_.inventory_writes;
  EXPECT_EQ(writes, 4u);
  Run(absl::Hours(3));
  EXPECT_EQ(Writes(), writes);
  EXPECT_EQ(store_.inventory_writes, inventory_writes);
}

TEST_F(Apply, IntentionsAreDurableBeforeTheFirstWrite) {
  StartAgent();
  bool written = false;
  store_.on_write = [&](const Uuid&, const Inventory& inventory) {
    if (std::exchange(written, true)) return;
    EXPECT_EQ(inventory.size(), 4u);
    EXPECT_EQ(Writes(), 0u);
  };
  store_.write_error = absl::UnavailableError("no API server");
  Bundle(Key(1), Shop(), "shop");
  Run(absl::Seconds(20));
  EXPECT_EQ(Writes(), 0u);
  store_.write_error = absl::OkStatus();
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  EXPECT_TRUE(written);
}

TEST_F(Apply, NewVersionIsAppliedAndWhatItDropsGoes) {
  StartAgent();
  Bundle(Key(1), Docs({ConfigMapYaml("a", "1"), ConfigMapYaml("b", "1")}));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Bundle(Key(1), Docs({ConfigMapYaml("b", "2"), ConfigMapYaml("c", "1")}));
  Run(absl::Seconds(20));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  EXPECT_FALSE(Exists("configmaps", "default", "a"));
  EXPECT_EQ(Live("configmaps", "default", "b")->StringAt("data", "key"), "2");
  EXPECT_TRUE(Exists("configmaps", "default", "c"));
  EXPECT_EQ(store_.inventory(Key(1)).size(), 2u);
}

TEST_F(Apply, TombstoneRemovesEverythingAndSaysSo) {
  StartAgent();
  Bundle(Key(1), Shop(), "shop");
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Run(absl::Seconds(10));
  Remove(Key(1));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kRemoved));
  Run(absl::Seconds(5));
  EXPECT_FALSE(reconciler_->HasInventory(Key(1)));
  EXPECT_FALSE(Exists("namespaces", "", "shop"));
  EXPECT_FALSE(Exists("deployments.apps", "shop", "web"));
  EXPECT_TRUE(Owned().empty());
}

}  // namespace
}  // namespace nave
