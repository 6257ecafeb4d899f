// Codec: every stored field of every record survives, what is derived does not, and damage is
// refused.
#include "hub/records/codec.h"

#include <gtest/gtest.h>

#include "common/base/backoff.h"
#include "common/base/error.h"

namespace nave {
namespace {

const Uuid kUid = *Uuid::Parse("00112233-4455-6677-8899-aabbccddeeff");
const Uuid kOther = *Uuid::Parse("f0112233-4455-6677-8899-aabbccddeeff");
const absl::Time kTime = absl::FromUnixNanos(1700000000123456789);

ObjectMeta Meta() {
  ObjectMeta meta;
  meta.uid = kUid;
  meta.labels = {{"a", "1"}, {"b", ""}};
  meta.annotations = {{"note", "text"}};
  meta.generation = 3;
  meta.create_time = kTime;
  meta.update_time = kTime + absl::Seconds(1);
  meta.delete_time = kTime + absl::Seconds(2);
  return meta;
}

std::vector<Condition> Conditions() {
  return {{"Ready", ConditionStatus::kFalse, "Because", "text", kTime, 4},
          {"Other", ConditionStatus::kTrue, "", "", absl::InfinitePast(), 0},
          {"Third", ConditionStatus::kUnknown, "", "", absl::UnixEpoch(), 0}};
}

Facts SomeFacts() {
  return {"v1.37.2", 3, 2, {{"v1.37.1", 1}, {"v1.37.2", 2}}, 4000, 1 << 30, Conditions()};
}

std::vector<Manifest> Manifests() {
  return {{"a.yaml", "", Sha256("a"), 1}, {"b/c.yaml", "", Sha256("bb"), 2}};
}

template <typename Record>
void ExpectRoundTrip(const Record& record) {
  std::string value = EncodeRecord(record);
  absl::StatusOr<Record> got = DecodeRecord<Record>(value);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(*got == record) << typeid(Record).name();
  EXPECT_EQ(EncodeRecord(*got), value) << "encoding is deterministic";
  // Defaults too, but for those that are not stored as such.
  EXPECT_TRUE(*DecodeRecord<Record>(EncodeRecord(Record{})) == Record{}) << typeid(Record).name();
  EXPECT_EQ(ErrorReason(DecodeRecord<Record>("").status()), "STORE_CORRUPT");
  EXPECT_EQ(ErrorReason(DecodeRecord<Record>(EncodeText("\xff\xff")).status()), "STORE_CORRUPT");
  value[0] = 9;
  EXPECT_EQ(ErrorReason(DecodeRecord<Record>(value).status()), "STORE_TOO_NEW");
}

TEST(CodecTest, ApiRecords) {
  ExpectRoundTrip(Project{"p", Meta(), {"s1", "s2"}, 0});
  ExpectRoundTrip(ClusterSet{"s", Meta(), "text", 0});
  for (Role role : {Role::kViewer, Role::kEditor, Role::kAdmin}) {
    ExpectRoundTrip(RoleBinding{"r", Meta(), {"user:a", "group:b"}, role, "p", "s"});
  }
  JoinToken token;
  token.id = "t";
  token.meta = Meta();
  token.cluster = "c";
  token.ttl = absl::Minutes(7);
  token.rejoin = true;
  token.auto_accept = true;
  token.labels = {{"k", "v"}};
  token.cluster_set = "s";
  token.secret_hash = Sha256("s");
  token.expire_time = kTime;
  token.spent_by_key = Sha256("k");
  token.spent_for_cluster = kOther;
  token.spent_generation = 5;
  token.voided = true;
  ExpectRoundTrip(token);
  ExpectRoundTrip(Event{"e", Meta(), "p", "bundles/b", "c", true, "Reason", "message", 9, kTime});
}

TEST(CodecTest, ClusterRecord) {
  for (Admission admission : {Admission::kPending, Admission::kAccepted, Admission::kRejected}) {
    Cluster cluster{"c", Meta(), {"set", {}, true}, {}};
    cluster.spec.taints = {{"k", "v", TaintEffect::kNoExecute, kTime},
                           {"k2", "", TaintEffect::kPreferNoSchedule, absl::InfinitePast()},
                           {"k3", "", TaintEffect::kNoSchedule, absl::InfinitePast()}};
    cluster.status.admission = admission;
    cluster.status.revoked = true;
    cluster.status.removing = true;
    cluster.status.remove_confirmed = true;
    cluster.status.certificate_generation = 4;
    cluster.status.certificate_generation_seen = 5;
    cluster.status.certificate_not_after = kTime;
    cluster.status.kube_system_uid = "uid";
    cluster.status.locked = true;
    cluster.status.conditions = Conditions();
    ExpectRoundTrip(cluster);
  }
}

TEST(CodecTest, BundleAndRevision) {
  for (Adoption adoption : {Adoption::kIfNoDiff, Adoption::kAlways, Adoption::kNever}) {
    Bundle bundle{"p", "b", Meta(), {}, {}};
    bundle.spec.manifest_list = Sha256("list");
    bundle.spec.default_namespace = "ns";
    bundle.spec.create_namespace = false;
    bundle.spec.placement = PlacementSpec{{"s"}, {"c1", "c2"}, "env=prod", {"c3"}};
    bundle.spec.adoption = adoption;
    bundle.spec.allow_empty = true;
    bundle.status.observed_generation = 2;
    bundle.status.revision = 8;
    bundle.status.conditions = Conditions();
    bundle.status.held_hash = Sha256("held");
    bundle.status.held_clusters = {"c1"};
    bundle.status.confirmed_hash = Sha256("confirmed");
    bundle.status.orphan = true;
    bundle.status.delete_confirmed = true;
    ExpectRoundTrip(bundle);
    bundle.spec.placement->selector = "";
    ExpectRoundTrip(bundle);
    bundle.spec.placement->selector.reset();
    ExpectRoundTrip(bundle);
    bundle.spec.placement.reset();
    ExpectRoundTrip(bundle);
    BundleRevision revision{
        "p",  "b",   kOther,   8,  Meta(), Sha256("listing"), {}, Sha256("list"),
        "ns", false, adoption, 12, 3456};
    ExpectRoundTrip(revision);
  }
}

TEST(CodecTest, ManifestsAreNamedByTheirList) {
  Bundle bundle{"p", "b", Meta(), {}, {}};
  bundle.spec.manifests = Manifests();
  bundle.spec.manifests[0].content = "content is never stored here";
  std::string value = EncodeRecord(bundle);
  EXPECT_EQ(value.find("a.yaml"), std::string::npos);
  Bundle got = *DecodeRecord<Bundle>(value);
  std::string list = EncodeManifestList(bundle.spec.manifests);
  EXPECT_EQ(got.spec.manifest_list, Sha256(list));
  EXPECT_TRUE(got.spec.manifests.empty());
  EXPECT_EQ(*DecodeManifestList(list), Manifests());
  EXPECT_EQ(ErrorReason(DecodeManifestList("\xff").status()), "CONTENT_INVALID");
  BundleRevision revision;
  revision.manifests = Manifests();
  EXPECT_EQ(DecodeRecord<BundleRevision>(EncodeRecord(revision))->manifest_list, Sha256(list));
}

TEST(CodecTest, HubRecords) {
  ExpectRoundTrip(TermRecord{3, kUid, 99, kTime});
  ExpectRoundTrip(HeadRecord{3, kUid, 12});
  ExpectRoundTrip(AdoptRecord{3, kUid, true, {kUid, kOther}});
  ExpectRoundTrip(SessionRecord{kUid, "lease", 7, kOther, 2});
  ExpectRoundTrip(TombstoneRecord{kUid, kOther, "projects/p/bundles/b", "Left",
                                  Propagation::kOrphan, true, 4, kTime});
  ExpectRoundTrip(TombstoneRecord{kUid, kOther, "n", "r", Propagation::kDelete, false, 0, kTime});
  ExpectRoundTrip(DecisionHead{kUid, 4, 2, 700, Sha256("names"), kTime});
  ExpectRoundTrip(
      DecisionPage{{{kUid, "c", 3, Sha256("d"), 2, "Selected"}, {kOther, "d", 1, {}, 0, ""}}});
  ExpectRoundTrip(RetiredRecord{kUid, "c", 3, true, kTime});
  ExpectRoundTrip(AuditRecord{kTime, "u", "1.2.3.4", "m", "r", "OK", "d", 5});
  ExpectRoundTrip(RequestRecord{Sha256("r"), std::string("\0\1", 2)});
  SchemaRecord schema = *DecodeRecord<SchemaRecord>(EncodeRecord(SchemaRecord{7, "v0.1"}));
  EXPECT_EQ(schema.format, 7u);
  EXPECT_EQ(schema.written_by, "v0.1");
}

TEST(CodecTest, StatusSummaries) {
  StatusSummary summary{kUid, "HistoryDiverged", "v0.1", kTime, SomeFacts(), {}};
  for (int phase = 0; phase <= static_cast<int>(Phase::kRejected); ++phase) {
    auto health = static_cast<Health>(phase % (static_cast<int>(Health::kDegraded) + 1));
    summary.assignments.push_back({kOther,
                                   "projects/p/bundles/b",
                                   5,
                                   Sha256("d"),
                                   static_cast<Phase>(phase),
                                   health,
                                   {4, 3, 2, 1},
                                   "Reason",
                                   kTime});
  }
  ExpectRoundTrip(summary);
}

TEST(CodecTest, DerivedFieldsAreNotStored) {
  Cluster cluster;
  cluster.meta.resource_version = 5;
  cluster.status.phase = ClusterPhase::kReady;
  cluster.status.connected = true;
  cluster.status.facts = SomeFacts();
  cluster.status.bundles = 3;
  EXPECT_EQ(*DecodeRecord<Cluster>(EncodeRecord(cluster)), Cluster{});
  Bundle bundle;
  bundle.status.health = Health::kDegraded;
  bundle.status.counts.clusters = 9;
  EXPECT_EQ(*DecodeRecord<Bundle>(EncodeRecord(bundle)), Bundle{});
}

TEST(CodecTest, TextAndNumbers) {
  EXPECT_EQ(*DecodeText(EncodeText("hub")), "hub");
  EXPECT_EQ(*DecodeNumber(EncodeNumber(~uint64_t{0})), ~uint64_t{0});
  EXPECT_EQ(ErrorReason(DecodeNumber(EncodeText("x")).status()), "STORE_CORRUPT");
}

// Whatever a byte is changed to, decoding answers, and never with a uid or digest of a wrong size.
TEST(CodecTest, DamageNeverCrashes) {
  StatusSummary summary{kUid, "h", "v", kTime, SomeFacts(), {}};
  summary.facts.node_versions.clear();
  summary.assignments.resize(1);
  summary.assignments[0].bundle = kOther;
  summary.assignments[0].digest = Sha256("d");
  std::string value = EncodeRecord(summary);
  SplitMix random(1);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string changed = value;
    size_t changes = 1 + random.Below(3);
    for (size_t c = 0; c < changes; ++c) {
      changed[random.Below(changed.size())] = static_cast<char>(random.Next());
    }
    if (random.Below(4) == 0) changed.resize(random.Below(changed.size()));
    if (!DecodeRecord<StatusSummary>(changed).ok()) ++refused;
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace nave
