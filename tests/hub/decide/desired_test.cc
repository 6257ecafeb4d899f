// What one cluster must run: assignments, confirmed ones, and the tombstones in force.
#include "hub/decide/desired.h"

#include <gtest/gtest.h>

#include "tests/hub/fleet/fleet_maker.h"

namespace nave {
namespace {

TEST(DesiredTest, FollowsTheDecision) {
  FleetMaker maker;
  maker.AddCluster(1);
  maker.AddCluster(2);
  maker.AddBundle(1, 3);
  EXPECT_TRUE(ComputeDesired(*maker.Snapshot(), ClusterUid(1)).assignments.empty())
      << "not decided yet";
  maker.Decide(1, {1, 2}, 2);
  DesiredSet desired = ComputeDesired(*maker.Snapshot(), ClusterUid(1));
  ASSERT_EQ(desired.assignments.size(), 1u);
  EXPECT_EQ(desired.assignments[BundleUid(1)],
            (DesiredAssignment{"projects/p/bundles/b1", 2, MadeDigest(2), 200, false}));
  EXPECT_EQ(RootOf(desired),
            ComputeRoot({{BundleUid(1), MadeDigest(2), false, KeyState::kPresent}}));
  maker.Decide(1, {2}, 3);
  EXPECT_TRUE(ComputeDesired(*maker.Snapshot(), ClusterUid(1)).assignments.empty());
  EXPECT_EQ(ComputeAssignment(*maker.Snapshot(), ClusterUid(2), BundleUid(1))->digest,
            MadeDigest(3));
  EXPECT_EQ(ComputeAssignment(*maker.Snapshot(), ClusterUid(1), BundleUid(1)), std::nullopt);
  EXPECT_EQ(ComputeAssignment(*maker.Snapshot(), ClusterUid(1), BundleUid(7)), std::nullopt);
}

TEST(DesiredTest, AConfirmIsVoidForAnythingElseThanWhatWasShown) {
  struct Row {
    const char* name;
    uint64_t revision;
    Digest digest;
    bool confirmed;
  };
  for (const Row& row :
       {Row{"this very version", 2, MadeDigest(2), true},
        Row{"another digest", 2, MadeDigest(9), false},
        Row{"another revision", 1, MadeDigest(2), false}, Row{"none", 0, Digest{}, false}}) {
    FleetMaker maker;
    maker.AddCluster(1);
    maker.AddBundle(1, 2);
    DecisionEntry entry;
    entry.cluster = ClusterUid(1);
    entry.revision = 2;
    entry.confirmed_revision = row.revision;
    entry.confirmed_digest = row.digest;
    maker.DecideEntries(1, {entry});
    EXPECT_EQ(ComputeAssignment(*maker.Snapshot(), ClusterUid(1), BundleUid(1))->confirmed,
              row.confirmed)
        << row.name;
  }
}

TEST(DesiredTest, TombstonesAreInForceWithTheirHeadAndOutsideTheDecision) {
  struct Row {
    const char* name;
    std::vector<uint16_t> decided;
    int switches;  // Times that this decision was switched to; 0: no decision.
    uint64_t head;
    bool in_force;
  };
  const Row rows[] = {
      {"switch not finished", {1}, 1, 2, false},
      {"switch not finished, and gone already", {}, 1, 2, false},
      {"current head", {}, 2, 2, true},
      {"later head", {}, 3, 2, true},
      {"later head that has the cluster again", {1}, 3, 2, false},
      {"no head: always", {1}, 1, 0, true},
      {"no head, no decision", {}, 0, 0, true},
      {"no decision", {}, 0, 1, false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    FleetMaker maker;
    maker.AddCluster(1);
    maker.AddBundle(1);
    for (int i = 0; i < row.switches; ++i) maker.Decide(1, row.decided);
    maker.AddTombstone(1, 1, row.head);
    uint64_t revision = maker.revision;
    DesiredSet desired = ComputeDesired(*maker.Snapshot(), ClusterUid(1));
    ASSERT_EQ(desired.tombstones.size(), row.in_force ? 1u : 0u);
    if (row.in_force) {
      EXPECT_EQ(desired.tombstones[BundleUid(1)].mod_revision, revision);
    }
  }
}

}  // namespace
}  // namespace nave
