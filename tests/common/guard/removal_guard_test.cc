// Goal: the guard holds exactly what architecture §2.1 says. Method: a table of orders and what is
// owned, and the edges of both limits.
#include "common/guard/removal_guard.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace nave {
namespace {

Uuid Key(uint8_t n) {
  Uuid uuid;
  uuid.bytes[15] = n;
  return uuid;
}

struct Order {
  uint32_t objects;
  bool confirmed = false;
  bool orphan = false;
  int volumes = 0;
};

struct Case {
  const char* name;
  std::vector<Order> orders;
  uint64_t owned;
  // 'm' mass, 'v' volumes, 'b' both, '-' free; one per order.
  std::string want;
};

class RemovalGuardTest : public testing::TestWithParam<Case> {};

TEST_P(RemovalGuardTest, HoldsWhatTheRuleSays) {
  const Case& c = GetParam();
  std::vector<RemovalOrder> orders;
  for (size_t i = 0; i < c.orders.size(); ++i) {
    const Order& o = c.orders[i];
    RemovalOrder order;
    order.key = Key(static_cast<uint8_t>(i + 1));
    order.confirmed = o.confirmed;
    order.orphan = o.orphan;
    for (uint32_t n = 0; n < o.objects; ++n) {
      const bool volume = static_cast<int>(n) < o.volumes;
      CountRemoval({"", volume ? "PersistentVolumeClaim" : "ConfigMap", "ns", "x"}, order);
    }
    orders.push_back(order);
  }
  RemovalVerdict verdict = EvaluateRemovalGuard(orders, c.owned);
  std::string got;
  for (size_t i = 0; i < orders.size(); ++i) {
    const RemovalHold* hold = verdict.Find(orders[i].key);
    if (hold == nullptr) {
      got += '-';
    } else {
      got += hold->mass ? (hold->volumes.empty() ? 'm' : 'b') : 'v';
      EXPECT_NE(DescribeHold(*hold, verdict), "");
    }
  }
  EXPECT_EQ(got, c.want);
}

INSTANTIATE_TEST_SUITE_P(
    Table, RemovalGuardTest,
    testing::Values(Case{"nothing_ordered", {}, 1000, ""}, Case{"fifty_of_fifty", {{50}}, 50, "-"},
                    Case{"fifty_one_of_fifty_one", {{51}}, 51, "m"},
                    Case{"fifty_one_of_255_is_just_20_percent", {{51}}, 255, "-"},
                    Case{"fifty_one_of_254_is_more", {{51}}, 254, "m"},
                    Case{"one_of_one_is_few", {{1}}, 1, "-"},
                    Case{"two_keys_count_together", {{30}, {30}}, 100, "mm"},
                    Case{"confirmed_counts_nothing", {{30, true}, {30}}, 100, "--"},
                    Case{"confirmed_is_free_beside_a_held_one", {{500, true}, {60}}, 100, "-m"},
                    Case{"orphan_counts_nothing", {{500, false, true}, {30}}, 100, "--"},
                    Case{"volume_is_held_by_itself", {{1, false, false, 1}, {1}}, 1000, "v-"},
                    Case{"volume_confirmed", {{1, true, false, 1}}, 1, "-"},
                    Case{"volume_orphaned", {{1, false, true, 1}}, 1, "-"},
                    Case{"volume_and_mass", {{60, false, false, 2}, {1}}, 100, "bm"},
                    Case{"a_key_with_nothing_left_is_not_held", {{60}, {0}}, 100, "m-"}),
    [](const testing::TestParamInfo<Case>& info) { return std::string(info.param.name); });

TEST(IsVolumeTest, CoreKindsOnly) {
  EXPECT_TRUE(IsVolume({"", "PersistentVolume", "", "pv"}));
  EXPECT_FALSE(IsVolume({"example.com", "PersistentVolume", "", "pv"}));
  EXPECT_FALSE(IsVolume({"", "Pod", "ns", "pv"}));
}

}  // namespace
}  // namespace nave
