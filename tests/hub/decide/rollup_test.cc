// From what agents report to what people see: a parent is never greener than a child, what is not
// ready has a reason, and what is not known is shown as not known.
#include "hub/decide/rollup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/hub/fleet/fleet_maker.h"

namespace nave {
namespace {

using ::testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1800000000);

ClusterLive Connected() {
  ClusterLive live;
  live.connected = true;
  live.epoch = 3;
  live.since = kNow - absl::Hours(1);
  live.status_complete = true;
  live.status_from_session = true;
  live.last_seen_ns = std::make_shared<std::atomic<int64_t>>(absl::ToUnixNanos(kNow));
  return live;
}

void Report(ClusterLive* live, uint16_t bundle, Digest digest, Phase phase, Health health,
            std::string reason = "") {
  auto status = std::make_shared<AssignmentStatus>();
  status->key = BundleUid(bundle);
  status->name = absl::StrCat("projects/p/bundles/b", bundle);
  status->digest = digest;
  status->phase = phase;
  status->health = health;
  status->reason = std::move(reason);
  live->assignments[BundleUid(bundle)] = std::move(status);
}

// Cluster c1 runs revision 2 of bundle b1.
struct World {
  World() {
    cluster = maker.AddCluster(1);
    bundle = maker.AddBundle(1, 2);
    maker.Decide(1, {1}, 2);
  }
  LiveTable::Map Live() const {
    LiveTable::Map map;
    if (live.has_value()) map.Set(ClusterUid(1), std::make_shared<const ClusterLive>(*live));
    return map;
  }
  FleetMaker maker;
  Cluster cluster;
  Bundle bundle;
  std::optional<ClusterLive> live;
};

TEST(RollupTest, OneBundleOnOneCluster) {
  const Digest want = MadeDigest(2), old = MadeDigest(1);
  struct Case {
    const char* name;
    std::function<void(World*)> change;
    Phase phase;
    Health health;
    const char* reason;
    bool ready;
    ClusterPhase cluster_phase;
  };
  auto connect = [](World* w) -> ClusterLive* { return &w->live.emplace(Connected()); };
  const Case cases[] = {
      {"never connected", [](World*) {}, Phase::kPending, Health::kUnknown, "NeverConnected", false,
       ClusterPhase::kDisconnected},
      {"applied and healthy",
       [&](World* w) { Report(connect(w), 1, want, Phase::kApplied, Health::kHealthy); },
       Phase::kApplied, Health::kHealthy, "Healthy", true, ClusterPhase::kReady},
      {"applied, not healthy",
       [&](World* w) {
         Report(connect(w), 1, want, Phase::kApplied, Health::kDegraded, "CrashLoop");
       },
       Phase::kApplied, Health::kDegraded, "CrashLoop", false, ClusterPhase::kDegraded},
      {"progressing",
       [&](World* w) { Report(connect(w), 1, want, Phase::kApplying, Health::kProgressing); },
       Phase::kApplying, Health::kProgressing, "Applying", false, ClusterPhase::kSyncing},
      {"healthy, but an older version",
       [&](World* w) { Report(connect(w), 1, old, Phase::kApplied, Health::kHealthy); },
       Phase::kPending, Health::kProgressing, "StatusStale", false, ClusterPhase::kSyncing},
      {"nothing reported", [&](World* w) { connect(w); }, Phase::kPending, Health::kProgressing,
       "StatusUnknown", false, ClusterPhase::kSyncing},
      {"gone while healthy",
       [&](World* w) {
         Report(connect(w), 1, want, Phase::kApplied, Health::kHealthy);
         w->live->connected = false;
       },
       Phase::kApplied, Health::kUnknown, "AgentDisconnected", false, ClusterPhase::kDisconnected},
      {"healthy by a summary of an earlier session",
       [&](World* w) {
         Report(connect(w), 1, want, Phase::kApplied, Health::kHealthy);
         w->live->status_from_session = false;
       },
       Phase::kApplied, Health::kUnknown, "Unknown", false, ClusterPhase::kDegraded},
      {"holds an older version",
       [&](World* w) {
         Report(connect(w), 1, old, Phase::kApplied, Health::kHealthy);
         w->live->hold_reason = "HistoryDiverged";
       },
       Phase::kPending, Health::kUnknown, "OnHold", false, ClusterPhase::kOnHold},
      {"refused by the agent",
       [&](World* w) {
         Report(connect(w), 1, old, Phase::kApplied, Health::kHealthy);
         w->live->rejections[BundleUid(1)] = {BundleUid(1), want, "OBJECT_TOO_LARGE",
                                              "Deployment web"};
       },
       Phase::kRejected, Health::kDegraded, "ObjectTooLarge", false, ClusterPhase::kDegraded},
      {"an older version was refused",
       [&](World* w) {
         Report(connect(w), 1, want, Phase::kApplied, Health::kHealthy);
         w->live->rejections[BundleUid(1)] = {BundleUid(1), old, "OBJECT_TOO_LARGE",
                                              "Deployment web"};
       },
       Phase::kApplied, Health::kHealthy, "Healthy", true, ClusterPhase::kReady},
      {"removals held",
       [&](World* w) { Report(connect(w), 1, want, Phase::kRemovalHeld, Health::kHealthy); },
       Phase::kRemovalHeld, Health::kHealthy, "RemovalHeld", false, ClusterPhase::kDegraded},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    World world;
    c.change(&world);
    FleetSnapshotPtr snapshot = world.maker.Snapshot();
    const ClusterLive* live = world.live.has_value() ? &*world.live : nullptr;
    std::vector<AssignmentView> views = AssignmentsOfCluster(*snapshot, ClusterUid(1), live);
    ASSERT_EQ(views.size(), 1u);
    const AssignmentView& view = views[0];
    EXPECT_EQ(view.phase, c.phase);
    EXPECT_EQ(view.health, c.health);
    EXPECT_EQ(view.reason, c.reason);
    EXPECT_EQ(view.ready(), c.ready);
    EXPECT_TRUE(view.decided);
    EXPECT_EQ(view.revision, 2u);
    // Seen from the bundle it is the same.
    std::vector<AssignmentView> of_bundle =
        AssignmentsOfBundle(*snapshot, BundleUid(1), world.Live());
    ASSERT_EQ(of_bundle.size(), 1u);
    EXPECT_EQ(of_bundle[0].phase, view.phase);
    EXPECT_EQ(of_bundle[0].health, view.health);
    EXPECT_EQ(of_bundle[0].reason, view.reason);

    ClusterStatus cluster = DeriveClusterStatus(*snapshot, world.cluster, live, kNow);
    EXPECT_EQ(cluster.phase, c.cluster_phase) << FormatClusterPhase(cluster.phase);
    EXPECT_EQ(cluster.bundles, 1u);
    EXPECT_EQ(cluster.bundles_ready, c.ready ? 1u : 0u);
    EXPECT_FALSE(cluster.reason.empty());
    EXPECT_GE(cluster.health, view.health);
    BundleStatus bundle = DeriveBundleStatus(*snapshot, world.bundle, world.Live(), kNow);
    EXPECT_GE(bundle.health, view.health);
    EXPECT_EQ(bundle.counts.clusters, 1u);
    EXPECT_EQ(bundle.counts.ready, c.ready ? 1u : 0u);
    for (const auto* conditions : {&cluster.conditions, &bundle.conditions}) {
      const Condition* ready = FindCondition(*conditions, "Ready");
      ASSERT_NE(ready, nullptr);
      EXPECT_EQ(ready->status == ConditionStatus::kTrue, c.ready);
      EXPECT_FALSE(ready->reason.empty());
    }
  }
}

TEST(RollupTest, PhasesOfAClusterInTheirOrder) {
  struct Case {
    const char* name;
    std::function<void(ClusterStatus*, ClusterLive*)> change;
    ClusterPhase phase;
    const char* reason;
  };
  const Case cases[] = {
      {"removing beats all",
       [](auto* s, auto*) {
         s->removing = s->revoked = true;
         s->admission = Admission::kRejected;
       },
       ClusterPhase::kRemoving, "Removing"},
      {"removing, offline",
       [](auto* s, auto* l) {
         s->removing = true;
         l->connected = false;
       },
       ClusterPhase::kRemoving, "WaitingForAgent"},
      {"revoked beats rejected",
       [](auto* s, auto*) {
         s->revoked = true;
         s->admission = Admission::kRejected;
       },
       ClusterPhase::kRevoked, "Revoked"},
      {"rejected", [](auto* s, auto*) { s->admission = Admission::kRejected; },
       ClusterPhase::kRejected, "Rejected"},
      {"pending", [](auto* s, auto*) { s->admission = Admission::kPending; },
       ClusterPhase::kPending, "NotAccepted"},
      {"pending, not joined",
       [](auto* s, auto*) {
         s->admission = Admission::kPending;
         s->certificate_generation = 0;
       },
       ClusterPhase::kPending, "NeverConnected"},
      {"two agents", [](auto* s, auto*) { s->locked = true; }, ClusterPhase::kDisconnected,
       "DuplicateIdentity"},
      {"offline", [](auto*, auto* l) { l->connected = false; }, ClusterPhase::kDisconnected,
       "AgentDisconnected"},
      {"offline with a cause",
       [](auto*, auto* l) {
         l->connected = false;
         l->disconnect_reason = "Superseded";
       },
       ClusterPhase::kDisconnected, "Superseded"},
      {"hold", [](auto*, auto* l) { l->hold_reason = "HistoryDiverged"; }, ClusterPhase::kOnHold,
       "HistoryDiverged"},
      {"no full status", [](auto*, auto* l) { l->status_complete = false; }, ClusterPhase::kSyncing,
       "StatusUnknown"},
      {"ready", [](auto*, auto*) {}, ClusterPhase::kReady, "Connected"},
  };
  for (const Case& c : cases) {
    FleetMaker maker;
    Cluster cluster = maker.MakeCluster(1);
    ClusterLive live = Connected();
    c.change(&cluster.status, &live);
    maker.Put(cluster);
    ClusterStatus status = DeriveClusterStatus(*maker.Snapshot(), cluster, &live, kNow);
    EXPECT_EQ(status.phase, c.phase) << c.name << ": " << FormatClusterPhase(status.phase);
    EXPECT_EQ(status.reason, c.reason) << c.name;
    EXPECT_EQ(FindCondition(status.conditions, "Ready")->status == ConditionStatus::kTrue,
              c.phase == ClusterPhase::kReady)
        << c.name;
  }
}

TEST(RollupTest, ClockSkewAndTwinsAreConditions) {
  FleetMaker maker;
  Cluster one = maker.MakeCluster(1), two = maker.MakeCluster(2);
  one.status.kube_system_uid = two.status.kube_system_uid = "same";
  maker.Put(one);
  maker.Put(two);
  ClusterLive live = Connected();
  live.clock_offset = -absl::Minutes(6);
  ClusterStatus status = DeriveClusterStatus(*maker.Snapshot(), one, &live, kNow);
  ASSERT_NE(FindCondition(status.conditions, "ClockSkew"), nullptr);
  ASSERT_NE(FindCondition(status.conditions, "SameCluster"), nullptr);
  EXPECT_THAT(FindCondition(status.conditions, "SameCluster")->message, HasSubstr("c2"));
  live.clock_offset = absl::Minutes(5);
  maker.Put(change::NoCluster{"c2"});
  status = DeriveClusterStatus(*maker.Snapshot(), one, &live, kNow);
  EXPECT_EQ(FindCondition(status.conditions, "ClockSkew"), nullptr);
  EXPECT_EQ(FindCondition(status.conditions, "SameCluster"), nullptr);
}

TEST(RollupTest, RemovalsAndUnknownKeys) {
  FleetMaker maker;
  Cluster cluster = maker.AddCluster(1);
  maker.AddBundle(1);
  maker.Decide(1, {});
  maker.AddTombstone(1, 1, 1);
  ClusterLive live = Connected();
  Report(&live, 7, MadeDigest(7), Phase::kApplied, Health::kHealthy);
  Report(&live, 1, MadeDigest(1), Phase::kApplied, Health::kHealthy);
  std::vector<AssignmentView> views = AssignmentsOfCluster(*maker.Snapshot(), ClusterUid(1), &live);
  ASSERT_EQ(views.size(), 2u);
  EXPECT_EQ(views[0].phase, Phase::kRemoving);
  EXPECT_EQ(views[0].reason, "LeftDecision");
  EXPECT_FALSE(views[0].decided);
  EXPECT_EQ(views[1].phase, Phase::kNotDesired);
  EXPECT_EQ(views[1].reason, "NotDesired");
  EXPECT_EQ(DeriveClusterStatus(*maker.Snapshot(), cluster, &live, kNow).phase,
            ClusterPhase::kDegraded);
  live.connected = false;
  EXPECT_EQ(AssignmentsOfCluster(*maker.Snapshot(), ClusterUid(1), &live)[0].reason,
            "WaitingForAgent");
}

TEST(RollupTest, CountsOfABundle) {
  FleetMaker maker;
  std::vector<uint16_t> numbers;
  for (uint16_t n = 1; n <= 6; ++n) {
    maker.AddCluster(n);
    if (n < 6) numbers.push_back(n);
  }
  Bundle bundle = maker.AddBundle(1, 2);
  maker.Decide(1, numbers, 2);
  maker.AddTombstone(6, 1, 1);
  LiveTable::Map live;
  auto set = [&](uint16_t n, Digest digest, Phase phase, Health health, bool connected = true) {
    ClusterLive one = Connected();
    one.connected = connected;
    Report(&one, 1, digest, phase, health);
    live.Set(ClusterUid(n), std::make_shared<const ClusterLive>(one));
  };
  set(1, MadeDigest(2), Phase::kApplied, Health::kHealthy);
  set(2, MadeDigest(2), Phase::kApplied, Health::kDegraded);
  set(3, MadeDigest(1), Phase::kApplied, Health::kHealthy);
  set(4, MadeDigest(2), Phase::kApplied, Health::kHealthy, false);
  set(6, MadeDigest(1), Phase::kRemoving, Health::kTerminating);
  BundleStatus status = DeriveBundleStatus(*maker.Snapshot(), bundle, live, kNow);
  // c1 ready, c2 failed, c3 pending, c4 and c5 not connected, c6 leaves.
  EXPECT_EQ(status.counts, (BundleCounts{5, 2, 1, 1, 1, 2, 1}));
  EXPECT_EQ(status.health, Health::kDegraded);
  EXPECT_THAT(FindCondition(status.conditions, "Ready")->message, HasSubstr("c2"));
}

TEST(RollupTest, ABundleOnNoClusterIsNotReady) {
  FleetMaker maker;
  Bundle bundle = maker.AddBundle(1);
  BundleStatus status = DeriveBundleStatus(*maker.Snapshot(), bundle, {}, kNow);
  EXPECT_EQ(FindCondition(status.conditions, "Ready")->status, ConditionStatus::kFalse);
  EXPECT_EQ(FindCondition(status.conditions, "Ready")->reason, "NotPlaced");
}

}  // namespace
}  // namespace nave
