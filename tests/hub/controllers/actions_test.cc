// What people order about removals and history, and the ends of a cluster's life.
#include "hub/controllers/actions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/hub/controllers/world.h"

namespace nave {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ClusterLive Connected() {
  ClusterLive live;
  live.connected = true;
  live.status_complete = true;
  live.status_from_session = true;
  live.last_seen_ns = std::make_shared<std::atomic<int64_t>>(1);
  return live;
}

void Report(ClusterLive* live, uint16_t bundle, Digest digest, Phase phase) {
  auto status = std::make_shared<AssignmentStatus>();
  status->key = BundleUid(bundle);
  status->name = absl::StrCat("projects/p/bundles/b", bundle);
  status->digest = digest;
  status->phase = phase;
  status->health = Health::kHealthy;
  live->assignments[BundleUid(bundle)] = std::move(status);
}

class ActionsTest : public testing::Test {
 protected:
  LiveTable::Map Live() const {
    LiveTable::Map map;
    for (const auto& [number, live] : live_)
      map.Set(ClusterUid(number), std::make_shared<const ClusterLive>(live));
    return map;
  }
  absl::StatusOr<std::vector<ControlTxn>> Confirm(const std::string& cluster,
                                                  const std::string& shown) {
    return PlanConfirm(*world_.Snapshot(), Live(), BundleUid(1), cluster, shown, world_.now);
  }
  bool Confirmed(uint16_t cluster) {
    return ComputeAssignment(*world_.Snapshot(), ClusterUid(cluster), BundleUid(1))->confirmed;
  }

  World world_;
  std::map<uint16_t, ClusterLive> live_;
};

TEST_F(ActionsTest, ConfirmOfHeldRemovalsIsForTheVersionThatWasShown) {
  for (uint16_t n = 1; n <= 3; ++n) {
    world_.AddCluster(n);
    live_[n] = Connected();
  }
  world_.ApplyBundle(1);
  world_.SettleBundle(1);
  const std::string shown = MadeDigest(1).Hex();
  EXPECT_EQ(ErrorReason(Confirm("", shown).status()), "NOTHING_TO_CONFIRM");
  Report(&live_[1], 1, MadeDigest(1), Phase::kRemovalHeld);
  Report(&live_[2], 1, MadeDigest(1), Phase::kRemovalHeld);
  Report(&live_[3], 1, MadeDigest(1), Phase::kApplied);
  EXPECT_EQ(ErrorReason(Confirm("", MadeDigest(9).Hex()).status()), "CONFIRMATION_STALE");
  EXPECT_EQ(ErrorReason(Confirm("c3", shown).status()), "NOTHING_TO_CONFIRM");
  EXPECT_EQ(ErrorReason(Confirm("c9", shown).status()), "NOT_FOUND");
  EXPECT_EQ(
      ErrorReason(
          PlanConfirm(*world_.Snapshot(), Live(), BundleUid(9), "", shown, world_.now).status()),
      "NOT_FOUND");
  ASSERT_TRUE(world_.CommitAll(Confirm("c2", shown).value()));
  EXPECT_FALSE(Confirmed(1));
  EXPECT_TRUE(Confirmed(2));
  ASSERT_TRUE(world_.CommitAll(Confirm("", shown).value()));
  EXPECT_TRUE(Confirmed(1));
  EXPECT_FALSE(Confirmed(3));
  world_.SettleBundle(1);
  EXPECT_TRUE(Confirmed(1)) << "the controller keeps it";
  world_.ApplyBundle(1);
  world_.SettleBundle(1);
  EXPECT_FALSE(Confirmed(1)) << "another version wants a confirm of its own";
}

TEST_F(ActionsTest, ConfirmOfATombstoneIsANewerOrder) {
  world_.AddCluster(1);
  live_[1] = Connected();
  world_.ApplyBundle(1);
  world_.SettleBundle(1);
  world_.ChangeBundle(1, [&](Bundle* b) { b->meta.delete_time = world_.now; });
  world_.SettleBundle(1);
  Report(&live_[1], 1, MadeDigest(1), Phase::kRemovalHeld);
  uint64_t before =
      ComputeDesired(*world_.Snapshot(), ClusterUid(1)).tombstones[BundleUid(1)].mod_revision;
  ASSERT_TRUE(world_.CommitAll(Confirm("c1", MadeDigest(1).Hex()).value()));
  DesiredTombstone after =
      ComputeDesired(*world_.Snapshot(), ClusterUid(1)).tombstones[BundleUid(1)];
  EXPECT_TRUE(after.tombstone.confirmed);
  EXPECT_GT(after.mod_revision, before);
}

TEST_F(ActionsTest, AConfirmThatLostARaceWritesNothing) {
  world_.AddCluster(1);
  live_[1] = Connected();
  world_.ApplyBundle(1);
  world_.SettleBundle(1);
  Report(&live_[1], 1, MadeDigest(1), Phase::kRemovalHeld);
  auto confirm = Confirm("", MadeDigest(1).Hex());
  world_.ApplyBundle(1);
  world_.SettleBundle(1);
  EXPECT_FALSE(world_.CommitAll(*std::move(confirm)));
  EXPECT_FALSE(Confirmed(1));
}

TEST_F(ActionsTest, AdoptCountsInThePresentTermAndAddsUp) {
  auto adopted = [&](uint16_t n) { return world_.Snapshot()->Adopted(ClusterUid(n)); };
  EXPECT_FALSE(adopted(1));
  world_.Commit(PlanAdopt(*world_.Snapshot(), {ClusterUid(1)})).value();
  world_.Commit(PlanAdopt(*world_.Snapshot(), {ClusterUid(2), ClusterUid(1)})).value();
  EXPECT_TRUE(adopted(1));
  EXPECT_TRUE(adopted(2));
  EXPECT_FALSE(adopted(3));
  EXPECT_THAT(world_.Snapshot()->adopt.clusters, SizeIs(2));
  world_.Put(TermKey(2), TermRecord{2, MadeUid(0x7e, 2), world_.Snapshot()->revision, world_.now});
  EXPECT_FALSE(adopted(1)) << "of another term";
  world_.Commit(PlanAdopt(*world_.Snapshot(), {})).value();
  EXPECT_TRUE(adopted(3));
  EXPECT_THAT(world_.Snapshot()->adopt.clusters, IsEmpty());
}

TEST_F(ActionsTest, RemoveUnclaimedOrdersAwayWhatTheHubDoesNotKnow) {
  world_.AddCluster(1);
  world_.ApplyBundle(1);
  world_.SettleBundle(1);
  live_[1] = Connected();
  Report(&live_[1], 1, MadeDigest(1), Phase::kApplied);
  for (uint16_t n = 100; n < 250; ++n) Report(&live_[1], n, MadeDigest(1), Phase::kApplied);
  EXPECT_THAT(UnclaimedKeys(*world_.Snapshot(), Live(), ClusterUid(1)), SizeIs(150));
  std::vector<ControlTxn> txns =
      PlanRemoveUnclaimed(*world_.Snapshot(), Live(), ClusterUid(1), true, world_.now);
  EXPECT_THAT(txns, SizeIs(2));
  ASSERT_TRUE(world_.CommitAll(std::move(txns)));
  DesiredSet desired = ComputeDesired(*world_.Snapshot(), ClusterUid(1));
  EXPECT_THAT(desired.tombstones, SizeIs(150));
  EXPECT_TRUE(desired.tombstones[BundleUid(100)].tombstone.confirmed);
  EXPECT_THAT(desired.assignments, SizeIs(1));
  EXPECT_THAT(UnclaimedKeys(*world_.Snapshot(), Live(), ClusterUid(1)), IsEmpty());
}

TEST_F(ActionsTest, ForgetLeavesWhatRunsAndSaysSo) {
  world_.AddCluster(1);
  world_.ApplyBundle(1);
  world_.ApplyBundle(2);
  world_.SettleBundle(1);
  world_.SettleBundle(2);
  world_.ChangeBundle(2, [&](Bundle* b) { b->meta.delete_time = world_.now; });
  world_.SettleBundle(2);
  world_.Put(SessionKey(ClusterUid(1)), SessionRecord{ClusterUid(1), "", 7, Uuid{}, 1});
  StatusSummary summary;
  summary.cluster = ClusterUid(1);
  world_.Put(StatusKey(ClusterUid(1)), summary);
  std::vector<std::string> left;
  ControlTxn txn = PlanForget(*world_.Snapshot(), {}, ClusterUid(1), world_.now, &left).value();
  EXPECT_THAT(left, ElementsAre("projects/p/bundles/b1", "projects/p/bundles/b2"));
  ASSERT_TRUE(world_.Commit(std::move(txn)).value().has_value());
  EXPECT_EQ(world_.Snapshot()->clusters.Find(ClusterUid(1)), nullptr);
  EXPECT_FALSE(world_.Snapshot()->retired.Find(ClusterUid(1))->value.removed);

  // Its agent calls; the record is made again when nothing of the old one is left.
  UnknownCluster unknown{ClusterUid(1), "c1", 4, "", world_.now};
  auto accept = [&](const std::string& id) {
    return PlanAcceptUnknown(*world_.Snapshot(), unknown, id, "", world_.now);
  };
  EXPECT_EQ(ErrorReason(accept("c1").status()), "CLUSTER_STATE_CONFLICT");
  FleetSnapshotPtr old = world_.Snapshot();
  EXPECT_EQ(world_.ReconcileCluster(1).value(), ClusterController::Outcome::kWrote);
  EXPECT_EQ(world_.ReconcileCluster(1).value(), ClusterController::Outcome::kDone);
  EXPECT_EQ(world_.Snapshot()->sessions.Find(ClusterUid(1)), nullptr);
  EXPECT_TRUE(absl::IsNotFound(world_.records->Get(StatusKey(ClusterUid(1))).status()));
  ControlTxn first = accept("c1").value(), second = accept("other").value();
  ASSERT_TRUE(world_.Commit(std::move(first)).value().has_value());
  EXPECT_FALSE(world_.Commit(std::move(second)).value().has_value()) << "one uid, one record";
  EXPECT_EQ(ErrorReason(accept("c1").status()), "ALREADY_EXISTS");
  auto record = world_.Snapshot()->clusters.Find(ClusterUid(1));
  EXPECT_EQ(record->value.status.certificate_generation_seen, 4u);
  EXPECT_EQ(record->value.status.admission, Admission::kAccepted);
  EXPECT_EQ(world_.Snapshot()->retired.Find(ClusterUid(1)), nullptr);
  // A controller that is late takes nothing of the new one.
  world_.Put(SessionKey(ClusterUid(1)), SessionRecord{ClusterUid(1), "", 1, Uuid{}, 1});
  EXPECT_EQ(world_.ReconcileCluster(1, nullptr, old).value(), ClusterController::Outcome::kStale);
  EXPECT_NE(world_.Snapshot()->sessions.Find(ClusterUid(1)), nullptr);
}

TEST_F(ActionsTest, RemovalEndsWhenTheSpokeIsEmpty) {
  struct Case {
    const char* name;
    std::function<void(Cluster*, std::optional<ClusterLive>*)> change;
    bool complete;
  };
  const Case cases[] = {
      {"empty and said so", [](auto*, auto*) {}, true},
      {"offline", [](auto*, auto* live) { (*live)->connected = false; }, false},
      {"never heard of", [](auto*, auto* live) { live->reset(); }, false},
      {"never joined",
       [](auto* cluster, auto* live) {
         cluster->status.certificate_generation = 0;
         live->reset();
       },
       true},
      {"no full status", [](auto*, auto* live) { (*live)->status_complete = false; }, false},
      {"a key is left",
       [](auto*, auto* live) { Report(&**live, 9, MadeDigest(1), Phase::kNotDesired); }, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    World world;
    Cluster cluster = FleetMaker().MakeCluster(1);
    cluster.status.removing = true;
    cluster.status.certificate_generation = 3;
    std::optional<ClusterLive> live = Connected();
    c.change(&cluster, &live);
    world.PutCluster(cluster);
    auto outcome = world.ReconcileCluster(1, live.has_value() ? &*live : nullptr).value();
    EXPECT_EQ(outcome == ClusterController::Outcome::kWrote, c.complete);
    EXPECT_EQ(world.Snapshot()->clusters.Find(ClusterUid(1)) == nullptr, c.complete);
    if (!c.complete) continue;
    auto retired = world.Snapshot()->retired.Find(ClusterUid(1));
    EXPECT_TRUE(retired->value.removed);
    EXPECT_EQ(retired->value.certificate_generation, cluster.status.certificate_generation);
    // Its uid is remembered for as long as a certificate of it may be good.
    world.now += kRetiredFor;
    EXPECT_EQ(world.ReconcileCluster(1).value(), ClusterController::Outcome::kDone);
    world.now += absl::Seconds(1);
    EXPECT_EQ(world.ReconcileCluster(1).value(), ClusterController::Outcome::kWrote);
    EXPECT_EQ(world.Snapshot()->retired.Find(ClusterUid(1)), nullptr);
  }
}

TEST_F(ActionsTest, RemovalWaitsForDecisionAndTombstones) {
  world_.AddCluster(1);
  world_.AddCluster(2);
  world_.ApplyBundle(1);
  world_.SettleBundle(1);
  world_.ChangeCluster(1, [](Cluster* c) { c->status.removing = true; });
  ClusterLive live = Connected();
  EXPECT_EQ(world_.ReconcileCluster(1, &live).value(), ClusterController::Outcome::kDone)
      << "decided still";
  world_.SettleBundle(1);
  EXPECT_EQ(world_.ReconcileCluster(1, &live).value(), ClusterController::Outcome::kDone)
      << "ordered, not reported";
  world_.AcknowledgeTombstones(1);
  EXPECT_EQ(world_.ReconcileCluster(1, &live).value(), ClusterController::Outcome::kWrote);
}

}  // namespace
}  // namespace nave
