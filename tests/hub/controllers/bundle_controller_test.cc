// Decisions are made, switched, held and ended as people ordered; nothing leaves a cluster without
// an order that stands, wherever the controller is cut off.
#include "hub/controllers/bundle_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "hub/controllers/actions.h"
#include "hub/decide/desired.h"
#include "tests/hub/controllers/world.h"

namespace nave {
namespace {

using Outcome = BundleController::Outcome;
using ::testing::IsEmpty;

class BundleControllerTest : public testing::Test {
 protected:
  void MakeFleet(uint16_t clusters) {
    for (uint16_t n = 1; n <= clusters; ++n) world_.AddCluster(n);
    world_.ApplyBundle(1);
    world_.SettleBundle(1);
  }
  std::shared_ptr<const Decision> DecisionOf(uint16_t bundle = 1) {
    return world_.Snapshot()->decisions.Find(BundleUid(bundle));
  }
  Bundle Record(uint16_t bundle = 1) {
    return world_.Snapshot()->bundles.Find(BundleUid(bundle))->value;
  }
  size_t Tombstones() {
    size_t count = 0;
    world_.Snapshot()->tombstones.ForEach(
        [&](const Uuid&, const TombstonesOfCluster& t) { count += t.size(); });
    return count;
  }
  void MoveAway(uint16_t first, uint16_t last) {
    for (uint16_t n = first; n <= last; ++n) {
      world_.ChangeCluster(n, [](Cluster* c) { c->spec.cluster_set = "elsewhere"; });
    }
  }

  World world_;
};

TEST_F(BundleControllerTest, DecidesAndComesToRest) {
  MakeFleet(3);
  EXPECT_EQ(DecisionOf()->head.number, 1u);
  EXPECT_EQ(DecisionOf()->entries.size(), 3u);
  EXPECT_EQ(Record().status.observed_generation, 1u);
  EXPECT_EQ(FindCondition(Record().status.conditions, "Placed")->status, ConditionStatus::kTrue);
  ASSERT_EQ(world_.Events().size(), 1u);
  EXPECT_EQ(world_.Events()[0].about, "bundles/b1");
  size_t before = world_.commits;
  EXPECT_EQ(world_.ReconcileBundle(1).value(), Outcome::kDone);
  EXPECT_EQ(world_.commits, before);
  world_.ApplyBundle(1);
  world_.SettleBundle(1);
  EXPECT_EQ(DecisionOf()->head.number, 2u);
  std::shared_ptr<const Decision> decision = DecisionOf();
  for (const auto& [cluster, entry] : decision->entries) EXPECT_EQ(entry.revision, 2u);
  EXPECT_THAT(world_.KeysWith("00001-"), IsEmpty()) << "pages of the decision before";
}

TEST_F(BundleControllerTest, ABundleWithoutARevisionWaits) {
  world_.AddCluster(1);
  Bundle bundle = FleetMaker().AddBundle(1, 0);
  bundle.spec.placement = PlacementSpec{{}, {}, "", {}};
  world_.Put(BundleKey("p", "b1"), bundle);
  world_.SettleBundle(1);
  EXPECT_EQ(DecisionOf(), nullptr);
}

TEST_F(BundleControllerTest, OnAnOldSnapshotItWritesNothing) {
  MakeFleet(3);
  FleetSnapshotPtr old = world_.Snapshot();
  MoveAway(3, 3);
  FleetSnapshotPtr newer = world_.Snapshot();
  world_.ApplyBundle(1);
  world_.SettleBundle(1);
  std::shared_ptr<const Decision> decision = DecisionOf();
  EXPECT_EQ(world_.ReconcileBundle(1, newer).value(), Outcome::kStale);
  EXPECT_EQ(DecisionOf()->head_mod_revision, decision->head_mod_revision);
  EXPECT_EQ(world_.ReconcileBundle(1, old).value(), Outcome::kDone) << "it had nothing to do";
}

TEST_F(BundleControllerTest, AHeldShrinkIsShownAndNotSwitched) {
  MakeFleet(10);
  uint64_t head = DecisionOf()->head_mod_revision;
  MoveAway(1, 4);
  world_.SettleBundle(1);
  EXPECT_EQ(DecisionOf()->head_mod_revision, head);
  EXPECT_EQ(Tombstones(), 0u);
  BundleStatus status = Record().status;
  EXPECT_EQ(status.held_clusters.size(), 4u);
  EXPECT_EQ(FindCondition(status.conditions, "Placed")->reason, "RemovalHeld");
  EXPECT_EQ(world_.Events().back().reason, "RemovalHeld");
  EXPECT_TRUE(world_.Events().back().warning);

  // Another list than the one shown is no confirm.
  absl::Status stale =
      PlanConfirm(*world_.Snapshot(), {}, BundleUid(1), "", MadeDigest(9).Hex(), world_.now)
          .status();
  EXPECT_FALSE(stale.ok());
  auto confirm =
      PlanConfirm(*world_.Snapshot(), {}, BundleUid(1), "", status.held_hash.Hex(), world_.now);
  ASSERT_TRUE(confirm.ok()) << confirm.status();
  ASSERT_TRUE(world_.CommitAll(*std::move(confirm)));
  world_.SettleBundle(1);
  EXPECT_EQ(DecisionOf()->entries.size(), 6u);
  EXPECT_EQ(Tombstones(), 4u);
  world_.Snapshot()->tombstones.ForEach([](const Uuid&, const TombstonesOfCluster& tombstones) {
    EXPECT_TRUE(tombstones.begin()->second.value.confirmed);
  });
  EXPECT_TRUE(Record().status.confirmed_hash.IsNone());
  EXPECT_TRUE(Record().status.held_clusters.empty());
}

TEST_F(BundleControllerTest, AConfirmThatWasOvertakenIsVoid) {
  MakeFleet(10);
  MoveAway(1, 4);
  world_.SettleBundle(1);
  auto confirm = PlanConfirm(*world_.Snapshot(), {}, BundleUid(1), "",
                             Record().status.held_hash.Hex(), world_.now);
  ASSERT_TRUE(world_.CommitAll(*std::move(confirm)));
  // Before it is acted on the clusters are back.
  for (uint16_t n = 1; n <= 4; ++n) {
    world_.ChangeCluster(n, [](Cluster* c) { c->spec.cluster_set = "default"; });
  }
  world_.SettleBundle(1);
  EXPECT_TRUE(Record().status.confirmed_hash.IsNone());
  // The same shrink much later wants a confirm of its own.
  MoveAway(1, 4);
  world_.SettleBundle(1);
  EXPECT_EQ(DecisionOf()->entries.size(), 10u);
  EXPECT_EQ(Record().status.held_clusters.size(), 4u);
}

TEST_F(BundleControllerTest, ASmallShrinkGoesUnconfirmed) {
  MakeFleet(10);
  MoveAway(1, 2);
  world_.SettleBundle(1);
  EXPECT_EQ(DecisionOf()->entries.size(), 8u);
  auto tombstones = world_.Snapshot()->tombstones.Find(ClusterUid(1));
  ASSERT_NE(tombstones, nullptr);
  const TombstoneRecord& tombstone = tombstones->begin()->second.value;
  EXPECT_FALSE(tombstone.confirmed);
  EXPECT_EQ(tombstone.reason, "LeftDecision");
  EXPECT_EQ(tombstone.head, 2u);
  // It comes back before its agent did anything: the order is dropped.
  world_.ChangeCluster(1, [](Cluster* c) { c->spec.cluster_set = "default"; });
  world_.SettleBundle(1);
  EXPECT_EQ(DecisionOf()->entries.size(), 9u);
  EXPECT_EQ(world_.Snapshot()->tombstones.Find(ClusterUid(1)), nullptr);
  EXPECT_NE(world_.Snapshot()->tombstones.Find(ClusterUid(2)), nullptr);
}

TEST_F(BundleControllerTest, DeletionEndsWhenTheLastClusterConfirmed) {
  for (bool orphan : {false, true}) {
    SCOPED_TRACE(orphan);
    MakeFleet(3);
    world_.ChangeBundle(1, [&](Bundle* b) {
      b->meta.delete_time = world_.now;
      b->status.orphan = orphan;
      b->status.delete_confirmed = !orphan;
    });
    world_.SettleBundle(1);
    EXPECT_EQ(Tombstones(), 3u);
    const TombstoneRecord tombstone =
        world_.Snapshot()->tombstones.Find(ClusterUid(1))->begin()->second.value;
    EXPECT_EQ(tombstone.propagation, orphan ? Propagation::kOrphan : Propagation::kDelete);
    EXPECT_EQ(tombstone.confirmed, !orphan);
    EXPECT_EQ(tombstone.reason, "BundleDeleted");
    world_.AcknowledgeTombstones(1);
    world_.AcknowledgeTombstones(2);
    world_.SettleBundle(1);
    EXPECT_NE(world_.Snapshot()->bundles.Find(BundleUid(1)), nullptr) << "c3 has not answered";
    world_.AcknowledgeTombstones(3);
    world_.SettleBundle(1);
    EXPECT_THAT(world_.KeysWith(BundleUid(1).ToString()), IsEmpty());
    EXPECT_THAT(world_.KeysWith("/bundle/"), IsEmpty());
    EXPECT_EQ(world_.Events().back().reason, "BundleDeleted");
  }
}

TEST_F(BundleControllerTest, AForgottenClusterLeavesWithoutATombstone) {
  MakeFleet(3);
  RecordTxn txn;
  txn.Delete(ClusterKey("c2"));
  ASSERT_TRUE(world_.records->Commit(std::move(txn)).ok());
  world_.SettleBundle(1);
  EXPECT_EQ(DecisionOf()->entries.size(), 2u);
  EXPECT_EQ(Tombstones(), 0u);
}

TEST_F(BundleControllerTest, ARemovedClustersTombstoneSaysWhetherItWasConfirmed) {
  for (bool confirmed : {false, true}) {
    MakeFleet(3);
    world_.ChangeCluster(2, [&](Cluster* c) {
      c->status.removing = true;
      c->status.remove_confirmed = confirmed;
    });
    world_.SettleBundle(1);
    auto tombstones = world_.Snapshot()->tombstones.Find(ClusterUid(2));
    ASSERT_NE(tombstones, nullptr);
    EXPECT_EQ(tombstones->begin()->second.value.confirmed, confirmed);
    EXPECT_EQ(tombstones->begin()->second.value.reason, "ClusterRemoved");
    world_.AcknowledgeTombstones(2);
  }
}

TEST_F(BundleControllerTest, KeepsTheNewestRevisionsAndThoseInUse) {
  world_.bundle_options.history = 3;
  MakeFleet(2);
  for (int i = 0; i < 5; ++i) world_.ApplyBundle(1);
  FleetSnapshotPtr snapshot = world_.Snapshot();
  ASSERT_EQ(snapshot->revisions.Find(BundleUid(1))->size(), 6u);
  world_.SettleBundle(1);
  std::vector<uint64_t> numbers;
  std::shared_ptr<const RevisionsOfBundle> kept = world_.Snapshot()->revisions.Find(BundleUid(1));
  for (const auto& [number, revision] : *kept) numbers.push_back(number);
  EXPECT_EQ(numbers, (std::vector<uint64_t>{4, 5, 6}));
}

// What must hold at every revision of the store: a cluster that had a bundle has it still, or there
// is an order to remove it that stands, until the agent has reported it done or somebody forgot the
// cluster.
class Watchman {
 public:
  explicit Watchman(World* world) : world_(world) {
    world->after_commit = [this] { Look(); };
  }
  ~Watchman() { world_->after_commit = nullptr; }
  // The agent reported what was ordered from it.
  void Acknowledged(uint16_t cluster) {
    DesiredSet desired = ComputeDesired(*world_->Snapshot(), ClusterUid(cluster));
    for (auto it = had_.begin(); it != had_.end();) {
      bool done = it->first == ClusterUid(cluster) && desired.assignments.count(it->second) == 0;
      it = done ? had_.erase(it) : std::next(it);
    }
  }
  void Look() {
    FleetSnapshotPtr snapshot = world_->Snapshot();
    for (auto it = had_.begin(); it != had_.end();) {
      if (snapshot->clusters.Find(it->first) == nullptr) {
        it = had_.erase(it);
        continue;
      }
      DesiredSet desired = ComputeDesired(*snapshot, it->first);
      bool stands =
          desired.assignments.count(it->second) > 0 || desired.tombstones.count(it->second) > 0;
      EXPECT_TRUE(stands) << "bundle " << it->second.ToString() << " left " << it->first.ToString()
                          << " without an order, revision " << snapshot->revision;
      ++it;
    }
    snapshot->clusters.ForEach([&](const Uuid& cluster, const Versioned<Cluster>&) {
      DesiredSet desired = ComputeDesired(*snapshot, cluster);
      for (const auto& [bundle, assignment] : desired.assignments) {
        had_.insert({cluster, bundle});
        EXPECT_EQ(desired.tombstones.count(bundle), 0u) << "desired and ordered away";
      }
    });
  }

 private:
  World* const world_;
  std::set<std::pair<Uuid, Uuid>> had_;
};

TEST_F(BundleControllerTest, ASwitchOfManyPagesCutOffAnywhereGoesOn) {
  // More than two pages of clusters, and leavers for more than two transactions.
  constexpr uint16_t kClusters = 1100, kLeavers = 215;
  auto prepare = [&](World* world) {
    RecordTxn txn;
    for (uint16_t n = 1; n <= kClusters; ++n) {
      Cluster cluster = FleetMaker().MakeCluster(n);
      txn.Put(ClusterKey(cluster.id), EncodeRecord(cluster));
      if (txn.writes.size() == 90 || n == kClusters) {
        ASSERT_TRUE(world->records->Commit(std::exchange(txn, RecordTxn())).ok());
      }
    }
    world->ApplyBundle(1);
    world->SettleBundle(1);
    world->Put(ProjectKey("p"), Project{"p", {}, {"default", "edge"}, 0});
    world->ChangeBundle(1, [](Bundle* b) { b->spec.placement->cluster_sets = {"default"}; });
    for (uint16_t n = 1; n <= kLeavers; ++n) {
      Cluster cluster = FleetMaker().MakeCluster(n);
      cluster.spec.cluster_set = "edge";
      txn.Put(ClusterKey(cluster.id), EncodeRecord(cluster));
      if (txn.writes.size() == 90 || n == kLeavers) {
        ASSERT_TRUE(world->records->Commit(std::exchange(txn, RecordTxn())).ok());
      }
    }
  };
  size_t commits = 0;
  for (size_t cut = 0; cut <= commits; ++cut) {
    SCOPED_TRACE(cut);
    World world;
    prepare(&world);
    Watchman watchman(&world);
    watchman.Look();
    size_t done = 0;
    bool cutting = cut > 0;
    world.before_commit = [&](const ControlTxn&) { return !cutting || ++done < cut; };
    if (cutting) {
      EXPECT_FALSE(world.ReconcileBundle(1).ok());
      EXPECT_EQ(world.Snapshot()->decisions.Find(BundleUid(1))->entries.size(), kClusters)
          << "not switched";
    }
    cutting = false;
    size_t before = world.commits;
    world.SettleBundle(1);
    if (cut == 0) commits = world.commits - before;
    EXPECT_EQ(world.Snapshot()->decisions.Find(BundleUid(1))->entries.size(), kClusters - kLeavers);
    EXPECT_EQ(world.Snapshot()->decisions.Find(BundleUid(1))->head.pages, 2u);
  }
  EXPECT_GE(commits, 5u);
}

constexpr uint16_t kRandomClusters = 9;

// What anybody may do to a fleet at any time.
void ChangeAtRandom(World& world, Watchman& watchman, std::mt19937& random, int step,
                    uint16_t cluster, uint16_t bundle, size_t* held) {
  switch (random() % 9) {
    case 0: {
      if (world.Snapshot()->clusters.Find(ClusterUid(cluster)) == nullptr &&
          world.Snapshot()->tombstones.Find(ClusterUid(cluster)) == nullptr) {
        world.AddCluster(cluster);
        world.AddCluster(static_cast<uint16_t>(100 + step));
      }
      break;
    }
    case 1: {
      bool away = random() % 2 == 0;
      for (uint32_t n = random() % 5; n < 5; ++n) {
        world.ChangeCluster(static_cast<uint16_t>(1 + random() % kRandomClusters), [&](Cluster* c) {
          c->spec.cluster_set = away ? "elsewhere" : "default";
        });
      }
      break;
    }
    case 2:
      world.ChangeCluster(cluster, [&](Cluster* c) { c->spec.cordoned = !c->spec.cordoned; });
      break;
    case 3:
      if (random() % 3 == 0)
        world.ChangeCluster(cluster, [&](Cluster* c) { c->status.removing = true; });
      break;
    case 4: {
      if (random() % 4 != 0) break;
      RecordTxn txn;
      txn.Delete(ClusterKey(absl::StrCat("c", cluster)));
      EXPECT_TRUE(world.records->Commit(std::move(txn)).ok());
      break;
    }
    case 5: {
      auto record = world.Snapshot()->bundles.Find(BundleUid(bundle));
      if (record == nullptr || !record->value.meta.deleting()) world.ApplyBundle(bundle);
      break;
    }
    case 6:
      if (random() % 10 == 0)
        world.ChangeBundle(bundle, [&](Bundle* b) { b->meta.delete_time = world.now; });
      break;
    case 7:
      watchman.Look();
      world.AcknowledgeTombstones(cluster);
      watchman.Acknowledged(cluster);
      break;
    case 8: {
      auto record = world.Snapshot()->bundles.Find(BundleUid(bundle));
      if (record == nullptr || record->value.status.held_clusters.empty()) break;
      ++*held;
      auto confirm = PlanConfirm(*world.Snapshot(), {}, BundleUid(bundle), "",
                                 record->value.status.held_hash.Hex(), world.now);
      if (confirm.ok()) {
        for (ControlTxn& txn : *confirm) world.Commit(std::move(txn)).IgnoreError();
      }
      break;
    }
  }
}

TEST_F(BundleControllerTest, RandomFleetsNeverLoseAnythingWithoutAnOrder) {
  size_t failed = 0, stale = 0, held = 0, tombstones = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    World world;
    world.bundle_options.history = 2;
    Watchman watchman(&world);
    bool failing = true;
    world.before_commit = [&](const ControlTxn&) { return !failing || random() % 5 != 0; };
    std::vector<FleetSnapshotPtr> seen;
    for (uint16_t n = 1; n <= kRandomClusters; ++n) world.AddCluster(n);
    for (uint16_t n : {1, 2}) world.ApplyBundle(n);
    for (int step = 0; step < 60; ++step) {
      uint16_t cluster = static_cast<uint16_t>(1 + random() % kRandomClusters);
      uint16_t bundle = static_cast<uint16_t>(1 + random() % 2);
      ChangeAtRandom(world, watchman, random, step, cluster, bundle, &held);
      watchman.Look();
      seen.push_back(world.Snapshot());
      // Often on the newest state, sometimes on an older one.
      size_t age = random() % 4 == 0 ? random() % std::min<size_t>(3, seen.size()) : 0;
      FleetSnapshotPtr snapshot = seen[seen.size() - 1 - age];
      auto outcome = world.ReconcileBundle(bundle, snapshot);
      failed += !outcome.ok();
      stale += outcome.ok() && *outcome == Outcome::kStale;
      world.ReconcileCluster(cluster).IgnoreError();
      tombstones += world.Snapshot()->tombstones.size();
    }
    failing = false;
    for (uint16_t bundle : {1, 2}) {
      world.SettleBundle(bundle);
      auto record = world.Snapshot()->bundles.Find(BundleUid(bundle));
      if (record == nullptr) continue;
      PlacementResult want = DecidePlacement(MakePlacementInput(*world.Snapshot(), record->value));
      auto decision = world.Snapshot()->decisions.Find(BundleUid(bundle));
      EXPECT_EQ(decision == nullptr ? 0u : decision->entries.size(), want.chosen.size());
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(failed, 40u);
  EXPECT_GT(stale, 5u);
  EXPECT_GT(held, 10u);
  EXPECT_GT(tombstones, 200u);
}

}  // namespace
}  // namespace nave
