// Keys: each builder is undone by the parser, keys sort as their numbers do, and nothing else
// parses.
#include "hub/records/keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace nave {
namespace {

const Uuid kUid = *Uuid::Parse("00112233-4455-6677-8899-aabbccddeeff");
const Uuid kOther = *Uuid::Parse("f0112233-4455-6677-8899-aabbccddeeff");
const Digest kDigest = Sha256("x");

struct Case {
  std::string key;
  StoreKey want;
};

StoreKey Want(KeyKind kind) {
  StoreKey key;
  key.kind = kind;
  return key;
}
StoreKey WithId(KeyKind kind, std::string id, std::string project = "") {
  StoreKey key = Want(kind);
  key.id = std::move(id);
  key.project = std::move(project);
  return key;
}
StoreKey WithUid(KeyKind kind, Uuid uid) {
  StoreKey key = Want(kind);
  key.uid = uid;
  return key;
}

std::vector<Case> Cases() {
  std::vector<Case> cases = {
      {ProjectKey("p"), WithId(KeyKind::kProject, "p")},
      {ClusterKey("c"), WithId(KeyKind::kCluster, "c")},
      {ClusterSetKey("s"), WithId(KeyKind::kClusterSet, "s")},
      {RoleBindingKey("r"), WithId(KeyKind::kRoleBinding, "r")},
      {JoinTokenKey("t"), WithId(KeyKind::kJoinToken, "t")},
      {AuditKey("a"), WithId(KeyKind::kAudit, "a")},
      {BundleKey("p", "b"), WithId(KeyKind::kBundle, "b", "p")},
      {EventKey("p", "e"), WithId(KeyKind::kEvent, "e", "p")},
      {EventKey("", "e"), WithId(KeyKind::kEvent, "e")},
      {SessionKey(kUid), WithUid(KeyKind::kSession, kUid)},
      {StatusKey(kUid), WithUid(KeyKind::kStatus, kUid)},
      {RequestKey(kUid), WithUid(KeyKind::kRequest, kUid)},
      {RetiredKey(kUid), WithUid(KeyKind::kRetired, kUid)},
      {DecisionHeadKey(kUid), WithUid(KeyKind::kDecisionHead, kUid)},
      {ByUidKey(UidKind::kCluster, kUid), WithUid(KeyKind::kByUid, kUid)},
      {std::string(kHeadKey), WithId(KeyKind::kMeta, "head")},
  };
  StoreKey key = WithUid(KeyKind::kByUid, kUid);
  key.uid_kind = UidKind::kBundle;
  cases.push_back({ByUidKey(UidKind::kBundle, kUid), key});
  key = WithUid(KeyKind::kRevision, kUid);
  key.project = "p";
  key.number = 12;
  cases.push_back({RevisionKey("p", kUid, 12), key});
  key = WithUid(KeyKind::kDecisionPage, kUid);
  key.number = 7;
  key.page = 3;
  cases.push_back({DecisionPageKey(kUid, 7, 3), key});
  key = WithUid(KeyKind::kTombstone, kUid);
  key.bundle = kOther;
  cases.push_back({TombstoneKey(kUid, kOther), key});
  key = Want(KeyKind::kTerm);
  key.number = ~uint64_t{0};
  cases.push_back({TermKey(key.number), key});
  key = Want(KeyKind::kBlob);
  key.digest = kDigest;
  key.page = 40;
  cases.push_back({BlobKey(kDigest, 40), key});
  return cases;
}

TEST(KeysTest, ParserUndoesBuilders) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.key);
    std::optional<StoreKey> got = ParseStoreKey(c.key);
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(got->kind, c.want.kind);
    EXPECT_EQ(got->project, c.want.project);
    EXPECT_EQ(got->id, c.want.id);
    EXPECT_EQ(got->uid, c.want.uid);
    EXPECT_EQ(got->bundle, c.want.bundle);
    EXPECT_EQ(got->uid_kind, c.want.uid_kind);
    EXPECT_EQ(got->digest, c.want.digest);
    EXPECT_EQ(got->number, c.want.number);
    EXPECT_EQ(got->page, c.want.page);
    EXPECT_EQ(c.key.find(std::string(KindPrefix(c.want.kind))), 0u);
  }
}

// Stored by every hub so far: these strings must not change.
TEST(KeysTest, Spelling) {
  EXPECT_EQ(ClusterKey("c"), "/v1/cluster/-/c");
  EXPECT_EQ(BundleKey("p", "b"), "/v1/bundle/p/b");
  EXPECT_EQ(EventKey("", "e"), "/v1/event/-/e");
  EXPECT_EQ(RevisionKey("p", kUid, 12),
            "/v1/revision/p/00112233-4455-6677-8899-aabbccddeeff/00000000000000000012");
  EXPECT_EQ(DecisionPageKey(kUid, 7, 3),
            "/v1/decision/00112233-4455-6677-8899-aabbccddeeff/00000000000000000007-000003");
  EXPECT_EQ(TermKey(1), "/v1/term/00000000000000000001");
  EXPECT_EQ(BlobKey(kDigest, 1), "/v1/blob/" + kDigest.Hex() + "/000001");
  EXPECT_EQ(ByUidKey(UidKind::kBundle, kUid),
            "/v1/by-uid/bundle/00112233-4455-6677-8899-aabbccddeeff");
  EXPECT_EQ(TimeOrderedId(1700000000000000, 5), "00001700000000000000-00000000000000000005");
}

TEST(KeysTest, NothingElseParses) {
  for (const char* key :
       {"", "/", "/v1/", "/v1/cluster/", "/v1/cluster/p/c", "/v1/cluster/-/", "/v1/bundle/-/b",
        "/v1/bundle/p/b/c", "/v2/cluster/-/c", "/v1/term/1", "/v1/term/0000000000000000000x",
        "/v1/session/00112233-4455-6677-8899-AABBCCDDEEFF", "/v1/session/1", "/v1/meta/",
        "/v1/decision/00112233-4455-6677-8899-aabbccddeeff/tail",
        "/v1/decision/00112233-4455-6677-8899-aabbccddeeff/7-3",
        "/v1/by-uid/project/00112233-4455-6677-8899-aabbccddeeff", "/v1/blob/00/000001",
        "/v1/term/99999999999999999999"}) {
    EXPECT_FALSE(ParseStoreKey(key).has_value()) << key;
  }
}

TEST(KeysTest, NumbersSort) {
  std::vector<uint64_t> numbers = {0, 1, 9, 10, 99, 100, 4294967296, ~uint64_t{0}};
  auto sorted = [&](auto make) {
    std::vector<std::string> keys;
    for (uint64_t n : numbers) keys.push_back(make(n));
    return std::is_sorted(keys.begin(), keys.end());
  };
  EXPECT_TRUE(sorted([](uint64_t n) { return TermKey(n); }));
  EXPECT_TRUE(sorted([](uint64_t n) { return RevisionKey("p", kUid, n); }));
  EXPECT_TRUE(sorted([](uint64_t n) { return DecisionPageKey(kUid, n, 0); }));
  EXPECT_TRUE(sorted([](uint64_t n) { return TimeOrderedId(1, n); }));
  EXPECT_LT(TimeOrderedId(1, 9), TimeOrderedId(2, 0));
}

}  // namespace
}  // namespace nave
