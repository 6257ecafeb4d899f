// A store in memory with the hub's records, snapshots of it, and controllers over it that can be
// made to fail.
#ifndef NAVE_TESTS_HUB_CONTROLLERS_WORLD_H_
#define NAVE_TESTS_HUB_CONTROLLERS_WORLD_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "hub/controllers/bundle_controller.h"
#include "hub/controllers/cluster_controller.h"
#include "hub/decide/desired.h"
#include "hub/fleet/fleet.h"
#include "hub/records/codec.h"
#include "hub/records/keys.h"
#include "hub/records/record_store.h"
#include "tests/hub/fleet/fleet_maker.h"
#include "tests/hub/records/wrapped_store.h"

namespace nave {

class World : public ControlStore {
 public:
  // `watch_log_bytes` 0: watches read the history, and notice its compaction.
  explicit World(size_t watch_log_bytes = size_t{16} << 20) {
    RecordStoreOptions options;
    options.hub_id = "hub";
    options.now = [this] { return now; };
    records = RecordStore::Open(MemoryStore("", true, watch_log_bytes), options).value();
    Put(ProjectKey("p"), Project{"p", {}, {"default"}, 0});
  }

  // Counts, fails when told, then commits.
  absl::StatusOr<std::optional<uint64_t>> Commit(ControlTxn txn) override {
    if (before_commit && !before_commit(txn))
      return MakeError(Reason::kStoreUnavailable, "store: gone");
    EXPECT_LE(txn.writes(), kControlWritesMax + 2);
    ++commits;
    RecordTxn record_txn;
    for (auto& [key, revision] : txn.compares) record_txn.Compare(key, revision);
    for (auto& [key, value] : txn.puts) record_txn.Put(key, value);
    for (std::string& key : txn.deletes) record_txn.Delete(key);
    record_txn.events = std::move(txn.events);
    record_txn.audit = std::move(txn.audit);
    absl::StatusOr<std::optional<uint64_t>> done = records->Commit(std::move(record_txn));
    if (after_commit) after_commit();
    return done;
  }
  // In order; false when a compare did not hold.
  bool CommitAll(std::vector<ControlTxn> txns) {
    for (ControlTxn& txn : txns) {
      if (!Commit(std::move(txn)).value().has_value()) return false;
    }
    return true;
  }

  FleetSnapshotPtr Snapshot() {
    SnapshotBuilder builder("hub");
    FleetChanges ignored;
    std::vector<RecordChange> heads;
    EXPECT_TRUE(ForEachRecord(*records->store(), kStorePrefix, 0, [&](const KeyValue& kv) {
                  std::optional<RecordChange> change = DecodeChange(kv, false).value();
                  if (!change.has_value()) return absl::OkStatus();
                  // A head is taken when its pages are there.
                  if (std::holds_alternative<DecisionHead>(change->body)) {
                    heads.push_back(*std::move(change));
                  } else {
                    builder.Apply(*change, &ignored);
                  }
                  return absl::OkStatus();
                }).ok());
    for (const RecordChange& head : heads) builder.Apply(head, &ignored);
    return builder.Publish();
  }

  template <typename Record>
  void Put(const std::string& key, const Record& record) {
    RecordTxn txn;
    txn.Put(key, EncodeRecord(record));
    EXPECT_TRUE(records->Commit(std::move(txn)).value().has_value());
  }
  void PutCluster(const Cluster& cluster) { Put(ClusterKey(cluster.id), cluster); }
  Cluster AddCluster(uint16_t number) {
    Cluster cluster = FleetMaker().MakeCluster(number);
    PutCluster(cluster);
    return cluster;
  }
  void ChangeCluster(uint16_t number, const std::function<void(Cluster*)>& change) {
    auto record = Snapshot()->clusters.Find(ClusterUid(number));
    if (record == nullptr) return;
    Cluster cluster = record->value;
    change(&cluster);
    PutCluster(cluster);
  }
  // p/b<number> for every cluster of the set, with one revision; its next revision when it is
  // there.
  void ApplyBundle(uint16_t number) {
    auto record = Snapshot()->bundles.Find(BundleUid(number));
    Bundle bundle;
    if (record != nullptr) bundle = record->value;
    bundle.project = "p";
    bundle.id = absl::StrCat("b", number);
    bundle.meta.uid = BundleUid(number);
    ++bundle.meta.generation;
    ++bundle.status.revision;
    if (!bundle.spec.placement.has_value()) bundle.spec.placement = PlacementSpec{{}, {}, "", {}};
    BundleRevision revision;
    revision.project = "p";
    revision.bundle = bundle.id;
    revision.bundle_uid = bundle.meta.uid;
    revision.number = bundle.status.revision;
    revision.listing = MadeDigest(static_cast<uint8_t>(revision.number));
    Put(RevisionKey("p", bundle.meta.uid, revision.number), revision);
    Put(BundleKey("p", bundle.id), bundle);
    RecordTxn txn;
    txn.Put(ByUidKey(UidKind::kBundle, bundle.meta.uid), EncodeText("p/" + bundle.id));
    EXPECT_TRUE(records->Commit(std::move(txn)).ok());
  }
  void ChangeBundle(uint16_t number, const std::function<void(Bundle*)>& change) {
    auto record = Snapshot()->bundles.Find(BundleUid(number));
    if (record == nullptr) return;
    Bundle bundle = record->value;
    change(&bundle);
    Put(BundleKey("p", bundle.id), bundle);
  }
  // An agent reports the removals that are ordered as done.
  void AcknowledgeTombstones(uint16_t cluster) {
    FleetSnapshotPtr snapshot = Snapshot();
    DesiredSet desired = ComputeDesired(*snapshot, ClusterUid(cluster));
    for (const auto& [bundle, tombstone] : desired.tombstones) {
      RecordTxn txn;
      txn.Compare(TombstoneKey(ClusterUid(cluster), bundle), tombstone.mod_revision);
      txn.Delete(TombstoneKey(ClusterUid(cluster), bundle));
      EXPECT_TRUE(records->Commit(std::move(txn)).value().has_value());
    }
  }
  // Keys that hold something of a bundle or cluster, by their uid or id.
  std::vector<std::string> KeysWith(const std::string& text) {
    std::vector<std::string> keys;
    EXPECT_TRUE(ForEachRecord(*records->store(), kStorePrefix, 0, [&](const KeyValue& kv) {
                  if (kv.key.find(text) != std::string::npos) keys.push_back(kv.key);
                  return absl::OkStatus();
                }).ok());
    return keys;
  }
  std::vector<Event> Events() {
    std::vector<Event> events;
    EXPECT_TRUE(
        ForEachRecord(*records->store(), KindPrefix(KeyKind::kEvent), 0, [&](const KeyValue& kv) {
          events.push_back(DecodeRecord<Event>(kv.value).value());
          return absl::OkStatus();
        }).ok());
    return events;
  }

  absl::StatusOr<BundleController::Outcome> ReconcileBundle(uint16_t number,
                                                            FleetSnapshotPtr snapshot = nullptr) {
    if (snapshot == nullptr) snapshot = Snapshot();
    return BundleController(this, bundle_options).Reconcile(*snapshot, BundleUid(number), now);
  }
  absl::StatusOr<ClusterController::Outcome> ReconcileCluster(uint16_t number,
                                                              const ClusterLive* live = nullptr,
                                                              FleetSnapshotPtr snapshot = nullptr) {
    if (snapshot == nullptr) snapshot = Snapshot();
    return ClusterController(this).Reconcile(*snapshot, ClusterUid(number), live, now);
  }
  // Until nothing is left to do.
  void SettleBundle(uint16_t number) {
    for (int i = 0; i < 100; ++i) {
      if (ReconcileBundle(number).value() == BundleController::Outcome::kDone) return;
    }
    ADD_FAILURE() << "bundle " << number << " does not come to rest";
  }

  absl::Time now = absl::FromUnixSeconds(1800000000);
  std::unique_ptr<RecordStore> records;
  BundleController::Options bundle_options;
  // False: the commit fails.
  std::function<bool(const ControlTxn&)> before_commit;
  std::function<void()> after_commit;
  size_t commits = 0;
};

}  // namespace nave

#endif  // NAVE_TESTS_HUB_CONTROLLERS_WORLD_H_
