// Snapshots of a hub's index made by hand, change by change, without a store.
#ifndef NAVE_TESTS_HUB_FLEET_FLEET_MAKER_H_
#define NAVE_TESTS_HUB_FLEET_FLEET_MAKER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hub/fleet/snapshot.h"

namespace nave {

// A uid that is easy to tell: kinds by the first byte, numbers by the last two.
inline Uuid MadeUid(uint8_t kind, uint16_t number) {
  Uuid uid;
  uid.bytes[0] = kind;
  uid.bytes[14] = static_cast<uint8_t>(number >> 8);
  uid.bytes[15] = static_cast<uint8_t>(number);
  return uid;
}
inline Uuid ClusterUid(uint16_t number) { return MadeUid(0xc1, number); }
inline Uuid BundleUid(uint16_t number) { return MadeUid(0xb0, number); }
inline Digest MadeDigest(uint8_t number) {
  Digest digest;
  digest.bytes[0] = number;
  return digest;
}

class FleetMaker {
 public:
  FleetMaker() {
    Put(TermRecord{1, MadeUid(0x7e, 1), 0, absl::UnixEpoch()});
    Put(Project{"p", {}, {"default"}, 0});
  }

  // Raises the revision. Records, or what `change` has for deletions.
  template <typename Body>
  void Put(Body body) {
    RecordChange change;
    change.mod_revision = ++revision;
    change.body = std::move(body);
    builder.Apply(change, &changes);
  }
  // Cluster "c<number>", accepted, of set default.
  Cluster MakeCluster(uint16_t number) {
    Cluster cluster;
    cluster.id = absl::StrCat("c", number);
    cluster.meta.uid = ClusterUid(number);
    cluster.status.admission = Admission::kAccepted;
    cluster.status.certificate_generation = 1;
    return cluster;
  }
  Cluster AddCluster(uint16_t number) {
    Cluster cluster = MakeCluster(number);
    Put(cluster);
    return cluster;
  }
  // Bundle p/b<number> with revisions 1 to `revisions`; revision n's listing is MadeDigest(n).
  Bundle AddBundle(uint16_t number, uint64_t revisions = 1) {
    Bundle bundle;
    bundle.project = "p";
    bundle.id = absl::StrCat("b", number);
    bundle.meta.uid = BundleUid(number);
    bundle.meta.generation = 1;
    bundle.status.revision = revisions;
    Put(bundle);
    for (uint64_t n = 1; n <= revisions; ++n) {
      BundleRevision revision;
      revision.project = "p";
      revision.bundle = bundle.id;
      revision.bundle_uid = bundle.meta.uid;
      revision.number = n;
      revision.listing = MadeDigest(static_cast<uint8_t>(n));
      revision.bytes = 100 * n;
      Put(revision);
    }
    return bundle;
  }
  // Switches the bundle's decision to these clusters, each to run `revision`.
  void Decide(uint16_t bundle, std::vector<uint16_t> clusters, uint64_t revision_number = 1) {
    std::vector<DecisionEntry> entries;
    for (uint16_t number : clusters) {
      DecisionEntry entry;
      entry.cluster = ClusterUid(number);
      entry.cluster_id = absl::StrCat("c", number);
      entry.revision = revision_number;
      entries.push_back(entry);
    }
    DecideEntries(bundle, entries);
  }
  void DecideEntries(uint16_t bundle, std::vector<DecisionEntry> entries) {
    uint64_t number = ++heads_[bundle];
    uint32_t clusters = static_cast<uint32_t>(entries.size());
    uint32_t pages = entries.empty() ? 0 : 1;
    if (pages > 0)
      Put(change::Page{BundleUid(bundle), number, 0, DecisionPage{std::move(entries)}});
    DecisionHead head;
    head.bundle = BundleUid(bundle);
    head.number = number;
    head.pages = pages;
    head.clusters = clusters;
    Put(head);
  }
  void AddTombstone(uint16_t cluster, uint16_t bundle, uint64_t head) {
    TombstoneRecord tombstone;
    tombstone.cluster = ClusterUid(cluster);
    tombstone.bundle = BundleUid(bundle);
    tombstone.name = absl::StrCat("projects/p/bundles/b", bundle);
    tombstone.reason = "LeftDecision";
    tombstone.head = head;
    Put(tombstone);
  }
  FleetSnapshotPtr Snapshot() { return builder.Publish(); }

  SnapshotBuilder builder{"hub"};
  FleetChanges changes;
  uint64_t revision = 0;

 private:
  std::map<uint16_t, uint64_t> heads_;
};

}  // namespace nave

#endif  // NAVE_TESTS_HUB_FLEET_FLEET_MAKER_H_
