// The index that follows the store's watch is the one that a fresh load gives, and it says of every
// change whom it touches.
#include "hub/fleet/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "common/runtime/executor.h"
#include "hub/decide/desired.h"
#include "tests/hub/controllers/world.h"

namespace nave {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using Lines = std::map<std::string, std::string>;

std::string At(uint64_t revision) { return absl::StrCat("@", revision, " "); }

// What is known of each bundle and each cluster, as bytes.
Lines DumpBundles(const FleetSnapshot& s) {
  Lines lines;
  s.bundles.ForEach([&](const Uuid& uid, const Versioned<Bundle>& bundle) {
    lines[uid.ToString()] += At(bundle.mod_revision) + EncodeRecord(bundle.value);
  });
  s.revisions.ForEach([&](const Uuid& uid, const RevisionsOfBundle& revisions) {
    for (const auto& [number, revision] : revisions)
      lines[uid.ToString()] += "r" + EncodeRecord(revision);
  });
  s.decisions.ForEach([&](const Uuid& uid, const Decision& decision) {
    DecisionPage page;
    for (const auto& [cluster, entry] : decision.entries) page.entries.push_back(entry);
    lines[uid.ToString()] +=
        "d" + At(decision.head_mod_revision) + EncodeRecord(decision.head) + EncodeRecord(page);
  });
  std::map<Uuid, std::string> tombstones;
  s.tombstones.ForEach([&](const Uuid&, const TombstonesOfCluster& of_cluster) {
    for (const auto& [bundle, tombstone] : of_cluster) {
      tombstones[bundle] += "t" + At(tombstone.mod_revision) + EncodeRecord(tombstone.value);
    }
  });
  for (const auto& [bundle, text] : tombstones) lines[bundle.ToString()] += text;
  return lines;
}

Lines DumpClusters(const FleetSnapshot& s) {
  Lines lines;
  s.clusters.ForEach([&](const Uuid& uid, const Versioned<Cluster>& cluster) {
    lines[uid.ToString()] += At(cluster.mod_revision) + EncodeRecord(cluster.value);
  });
  s.assigned.ForEach([&](const Uuid& uid, const std::set<Uuid>& bundles) {
    for (const Uuid& bundle : bundles) {
      lines[uid.ToString()] += "a" + bundle.ToString();
      auto assignment = ComputeAssignment(s, uid, bundle);
      if (assignment.has_value()) lines[uid.ToString()] += assignment->digest.Hex();
    }
  });
  s.tombstones.ForEach([&](const Uuid& uid, const TombstonesOfCluster& of_cluster) {
    for (const auto& [bundle, tombstone] : of_cluster) {
      lines[uid.ToString()] += "t" + At(tombstone.mod_revision) + EncodeRecord(tombstone.value);
    }
  });
  return lines;
}

Lines DumpRest(const FleetSnapshot& s) {
  Lines lines;
  s.sessions.ForEach([&](const Uuid& uid, const Versioned<SessionRecord>& session) {
    lines["session " + uid.ToString()] = At(session.mod_revision) + EncodeRecord(session.value);
  });
  s.retired.ForEach([&](const Uuid& uid, const Versioned<RetiredRecord>& retired) {
    lines["retired " + uid.ToString()] = At(retired.mod_revision) + EncodeRecord(retired.value);
  });
  for (const auto& [id, project] : s.projects) lines["project " + id] = EncodeRecord(project.value);
  for (const auto& [id, set] : s.cluster_sets) lines["set " + id] = EncodeRecord(set.value);
  for (const TermRecord& term : *s.terms)
    lines[absl::StrCat("term ", term.number)] = EncodeRecord(term);
  for (const auto& [id, uid] : s.names->clusters) lines["cluster name " + id] = uid.ToString();
  for (const auto& [id, uid] : s.names->bundles)
    lines["bundle name " + id.first + "/" + id.second] = uid.ToString();
  for (const auto& [uid, twin] : s.names->twins) lines["twin " + uid.ToString()] = twin.ToString();
  lines["adopt"] = EncodeRecord(s.adopt);
  lines["at"] = absl::StrCat(s.at().term, " ", s.at().nonce.ToString(), " ", s.at().revision);
  return lines;
}

std::set<std::string> Differing(const Lines& a, const Lines& b) {
  std::set<std::string> keys;
  for (const auto& [key, value] : a) {
    if (b.count(key) == 0 || b.at(key) != value) keys.insert(key);
  }
  for (const auto& [key, value] : b) {
    if (a.count(key) == 0) keys.insert(key);
  }
  return keys;
}

// A fleet over a world's store, moved by hand.
class FollowedWorld : public World {
 public:
  FollowedWorld() : World(0) {
    fleet = std::make_unique<Fleet>(&loop, &loop, records->store(), "hub",
                                    [this](FleetSnapshotPtr snapshot, const FleetChanges& touched) {
                                      ++published;
                                      newest = std::move(snapshot);
                                      changes.Add(touched);
                                    });
    fleet->Start([this](absl::Status status) { loaded = status; });
    Follow();
  }
  ~FollowedWorld() override { fleet.reset(); }
  void Follow() {
    do {
      loop.RunAll();
    } while (static_cast<SqliteStore*>(records->store())->RunPending() > 0);
  }

  ManualExecutor loop{absl::FromUnixSeconds(1800000000)};
  std::unique_ptr<Fleet> fleet;
  FleetSnapshotPtr newest;
  FleetChanges changes;
  std::optional<absl::Status> loaded;
  size_t published = 0;
};

// What users, agents and controllers do, in any order.
void ChangeAtRandom(FollowedWorld& world, std::mt19937& random, uint16_t cluster, uint16_t bundle) {
  Uuid uid = ClusterUid(cluster);
  switch (random() % 14) {
    case 0:
      world.AddCluster(cluster);
      break;
    case 1:
    case 10:
      world.ChangeCluster(cluster, [&](Cluster* c) {
        c->status.kube_system_uid = random() % 6 == 0 ? "" : absl::StrCat("kube-", random() % 2);
      });
      break;
    case 2:
      world.ApplyBundle(bundle);
      break;
    case 3:
      world.ChangeBundle(bundle, [&](Bundle* b) { b->meta.delete_time = world.now; });
      break;
    case 4: {
      RecordTxn txn;
      txn.Delete(ClusterKey(absl::StrCat("c", cluster)));
      EXPECT_TRUE(world.records->Commit(std::move(txn)).ok());
      break;
    }
    case 5:
      world.Put(SessionKey(uid), SessionRecord{uid, "", random() % 100, Uuid{}, 1});
      break;
    case 6:
      world.AcknowledgeTombstones(cluster);
      break;
    case 7:
      world.Put(ProjectKey("p"),
                Project{"p", {}, {random() % 4 == 0 ? "elsewhere" : "default"}, 0});
      break;
    case 8:
      world.Put(kAdoptKey.data(), AdoptRecord{1, Uuid{}, false, {uid}});
      break;
    case 9:
      world.ReconcileCluster(cluster).IgnoreError();
      break;
    default:
      world.ReconcileBundle(bundle).IgnoreError();
      break;
  }
}

TEST(FleetTest, FollowingTheWatchIsAsGoodAsLoading) {
  size_t reloads = 0, decisions = 0, twins = 0;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    FollowedWorld world;
    ASSERT_TRUE(world.loaded.has_value() && world.loaded->ok());
    FleetSnapshotPtr before = world.newest;
    for (int step = 0; step < 80; ++step) {
      uint16_t cluster = static_cast<uint16_t>(1 + random() % 5),
               bundle = static_cast<uint16_t>(1 + random() % 3);
      ChangeAtRandom(world, random, cluster, bundle);
      // Several transactions may come at once; a compacted watch begins anew.
      if (random() % 3 == 0) continue;
      if (random() % 8 == 0) {
        EXPECT_TRUE(world.records->store()->Compact(world.records->store()->Head().value()).ok());
      }
      world.changes = FleetChanges();
      world.Follow();
      world.loop.Advance(absl::Seconds(2));
      world.Follow();
      FleetSnapshotPtr fresh = world.Snapshot();
      ASSERT_THAT(Differing(DumpBundles(*world.newest), DumpBundles(*fresh)), IsEmpty());
      ASSERT_THAT(Differing(DumpClusters(*world.newest), DumpClusters(*fresh)), IsEmpty());
      ASSERT_THAT(Differing(DumpRest(*world.newest), DumpRest(*fresh)), IsEmpty());
      std::set<std::string> touched;
      for (const Uuid& one : world.changes.clusters) touched.insert(one.ToString());
      for (const Uuid& one : world.changes.bundles) touched.insert(one.ToString());
      for (const std::string& key : Differing(DumpClusters(*before), DumpClusters(*fresh))) {
        EXPECT_EQ(touched.count(key), 1u) << "cluster " << key;
      }
      for (const std::string& key : Differing(DumpBundles(*before), DumpBundles(*fresh))) {
        EXPECT_EQ(touched.count(key), 1u) << "bundle " << key;
      }
      before = world.newest;
      decisions += fresh->decisions.size();
      twins += fresh->names->twins.size();
    }
    reloads += world.fleet->reloads_total();
    if (HasFailure()) return;
  }
  EXPECT_GT(decisions, 200u);
  EXPECT_GT(twins, 50u);
  EXPECT_GT(reloads, 5u);
}

TEST(FleetTest, ARecordThatCannotBeReadStopsTheLoadButNotTheWatch) {
  FollowedWorld world;
  world.AddCluster(1);
  RecordTxn txn;
  txn.Put(ClusterKey("c2"), "?");
  ASSERT_TRUE(world.records->Commit(std::move(txn)).ok());
  world.AddCluster(3);
  world.Follow();
  EXPECT_NE(world.newest->clusters.Find(ClusterUid(1)), nullptr);
  EXPECT_NE(world.newest->clusters.Find(ClusterUid(3)), nullptr);
  std::optional<absl::Status> loaded;
  Fleet fleet(&world.loop, &world.loop, world.records->store(), "hub",
              [](FleetSnapshotPtr, const FleetChanges&) {});
  fleet.Start([&](absl::Status status) { loaded = status; });
  world.Follow();
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(ErrorReason(*loaded), "STORE_CORRUPT");
  EXPECT_NE(loaded->message().find("/v1/cluster/-/c2"), absl::string_view::npos) << *loaded;
}

TEST(SnapshotTest, APublishedSnapshotDoesNotChange) {
  FleetMaker maker;
  maker.AddCluster(1);
  maker.AddBundle(1);
  maker.Decide(1, {1});
  FleetSnapshotPtr before = maker.Snapshot();
  Lines bundles = DumpBundles(*before), clusters = DumpClusters(*before), rest = DumpRest(*before);
  maker.AddCluster(2);
  maker.AddCluster(65);  // In one shard with 1.
  maker.AddBundle(1, 2);
  maker.Decide(1, {2}, 2);
  maker.AddTombstone(1, 1, 2);
  maker.Put(change::NoCluster{"c1"});
  maker.Put(TermRecord{2, MadeUid(0x7e, 2), 9, absl::UnixEpoch()});
  maker.Snapshot();
  EXPECT_EQ(DumpBundles(*before), bundles);
  EXPECT_EQ(DumpClusters(*before), clusters);
  EXPECT_EQ(DumpRest(*before), rest);
}

TEST(SnapshotTest, ADecisionIsSwitchedAsAWhole) {
  FleetMaker maker;
  maker.AddBundle(1);
  maker.Decide(1, {1, 2});
  DecisionEntry entry;
  entry.cluster = ClusterUid(3);
  maker.Put(change::Page{BundleUid(1), 2, 0, {{entry}}});
  EXPECT_EQ(maker.Snapshot()->decisions.Find(BundleUid(1))->entries.size(), 2u)
      << "pages without their head";
  EXPECT_EQ(maker.Snapshot()->assigned.Find(ClusterUid(3)), nullptr);
  maker.changes = FleetChanges();
  DecisionHead head;
  head.bundle = BundleUid(1);
  head.number = 2;
  head.pages = 1;
  maker.Put(head);
  FleetSnapshotPtr after = maker.Snapshot();
  EXPECT_EQ(after->decisions.Find(BundleUid(1))->entries.size(), 1u);
  EXPECT_EQ(after->assigned.Find(ClusterUid(1)), nullptr);
  EXPECT_THAT(*after->assigned.Find(ClusterUid(3)), ElementsAre(BundleUid(1)));
  EXPECT_THAT(maker.changes.clusters,
              UnorderedElementsAre(ClusterUid(1), ClusterUid(2), ClusterUid(3)));
  maker.Put(change::NoDecision{BundleUid(1)});
  EXPECT_EQ(maker.Snapshot()->assigned.size(), 0u);
}

TEST(SnapshotTest, ThreeNamesOfOneKubernetesCluster) {
  FleetMaker maker;
  for (uint16_t n : {1, 2, 3}) {
    Cluster cluster = maker.MakeCluster(n);
    cluster.status.kube_system_uid = "same";
    maker.Put(cluster);
  }
  FleetSnapshotPtr snapshot = maker.Snapshot();
  EXPECT_EQ(snapshot->names->twins.size(), 3u);
  for (const auto& [uid, twin] : snapshot->names->twins) EXPECT_NE(uid, twin);
  maker.Put(change::NoCluster{"c2"});
  Cluster rejoined = maker.MakeCluster(3);
  maker.Put(rejoined);
  EXPECT_THAT(maker.Snapshot()->names->twins, IsEmpty());
}

TEST(LiveTest, ASummaryComesBackWithoutMessages) {
  ClusterLive live;
  live.hold_reason = "HistoryDiverged";
  live.agent_version = "1.2.3";
  live.facts.nodes = 5;
  live.last_seen_ns = std::make_shared<std::atomic<int64_t>>(123456789);
  auto status = std::make_shared<AssignmentStatus>();
  status->key = BundleUid(1);
  status->name = "projects/p/bundles/b1";
  status->revision = 7;
  status->digest = MadeDigest(1);
  status->phase = Phase::kFailed;
  status->health = Health::kDegraded;
  status->counts = {5, 4, 3, 2};
  status->reason = "Forbidden";
  status->message = "not stored";
  status->since = absl::FromUnixSeconds(5);
  live.assignments[status->key] = status;
  ClusterLive back = FromSummary(Summarize(ClusterUid(1), live));
  EXPECT_EQ(back.hold_reason, live.hold_reason);
  EXPECT_EQ(back.agent_version, live.agent_version);
  EXPECT_EQ(back.facts, live.facts);
  EXPECT_EQ(back.last_seen(), live.last_seen());
  EXPECT_FALSE(back.connected);
  EXPECT_FALSE(back.status_from_session);
  AssignmentStatus want = *status;
  want.message.clear();
  want.not_ok_total = 2;
  EXPECT_EQ(*back.assignments.at(BundleUid(1)), want);
}

TEST(LiveTest, UnknownClustersAreBounded) {
  LiveTable table;
  for (uint16_t n = 0; n < 1200; ++n) {
    table.NoteUnknown({ClusterUid(n), "x", 1, "", absl::FromUnixSeconds(n)});
  }
  std::vector<UnknownCluster> unknown = table.Unknown();
  EXPECT_EQ(unknown.size(), 1000u);
  for (const UnknownCluster& one : unknown) EXPECT_GE(one.last_seen, absl::FromUnixSeconds(200));
  table.NoteUnknown({ClusterUid(1199), "x", 5, "", absl::FromUnixSeconds(1)});
  table.NoteUnknown({ClusterUid(1199), "x", 2, "", absl::FromUnixSeconds(9000)});
  for (const UnknownCluster& one : table.Unknown()) {
    if (one.uid == ClusterUid(1199)) {
      EXPECT_EQ(one.generation, 5u) << "the highest generation seen";
    }
  }
  table.ForgetUnknown(ClusterUid(1199));
  EXPECT_EQ(table.Unknown().size(), 999u);
}

TEST(LiveTest, StoredSummariesAreLoaded) {
  World world;
  StatusSummary summary;
  summary.cluster = ClusterUid(4);
  summary.agent_version = "1";
  world.Put(StatusKey(ClusterUid(4)), summary);
  LiveTable table;
  ASSERT_TRUE(LoadSummaries(world.records->store(), &table).ok());
  ASSERT_NE(table.Find(ClusterUid(4)), nullptr);
  EXPECT_EQ(table.Find(ClusterUid(4))->agent_version, "1");
}

}  // namespace
}  // namespace nave
