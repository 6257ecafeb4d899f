// The hub's side of one agent's stream: what it says to each input.
#include "hub/session/agent_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/hub/fleet/fleet_maker.h"

namespace nave {
namespace {

using State = AgentSession::State;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// Every delta is there at once and small, unless told otherwise.
class FakeContent : public BlobSetSource {
 public:
  std::optional<BlobSetPtr> Delta(const Digest& from, const Digest& to) override {
    asked.push_back({from, to});
    if (loading) return std::nullopt;
    if (bytes == 0) return BlobSetPtr();
    auto set = std::make_shared<BlobSet>();
    set->encoded = std::string(bytes, 'x');
    return set;
  }
  std::vector<std::pair<Digest, Digest>> asked;
  bool loading = false;
  size_t bytes = 10;
};

class AgentSessionTest : public testing::Test {
 protected:
  AgentSessionTest() {
    maker_.AddCluster(1);
    for (uint16_t n : {1, 2, 3}) maker_.AddBundle(n, 3);
    maker_.Decide(1, {1});
    maker_.Decide(2, {1});
  }
  AgentSession& Open(Hello hello, bool contained = true) {
    session_.emplace(ClusterUid(1), 7, std::move(hello), *maker_.Snapshot(), contained,
                     std::nullopt, SessionOptions{}, absl::UnixEpoch());
    return *session_;
  }
  // With a session whose agent holds what is desired; the Welcome is taken.
  AgentSession& OpenMatching() {
    Hello hello;
    hello.root = RootOf(ComputeDesired(*maker_.Snapshot(), ClusterUid(1)));
    AgentSession& session = Open(hello);
    EXPECT_TRUE(Take<Welcome>()->set_matches);
    return session;
  }
  std::optional<HubFrame> TakeFrame() {
    return session_->TakeOutbound(*maker_.Snapshot(), &content_);
  }
  template <typename T>
  std::optional<T> Take() {
    std::optional<HubFrame> frame = TakeFrame();
    if (!frame.has_value() || !std::holds_alternative<T>(frame->body)) return std::nullopt;
    return std::get<T>(frame->body);
  }
  std::optional<DesiredBatch> Changed() {
    session_->MarkDirty();
    return Take<DesiredBatch>();
  }
  static std::vector<Uuid> Keys(const std::vector<Upsert>& upserts) {
    std::vector<Uuid> keys;
    for (const Upsert& upsert : upserts) keys.push_back(upsert.key);
    return keys;
  }

  FleetMaker maker_;
  FakeContent content_;
  std::optional<AgentSession> session_;
};

TEST_F(AgentSessionTest, Welcomes) {
  struct Case {
    const char* name;
    bool contained, equal, adopted;
    State state;
    bool matches, adopt;
  };
  for (const Case& c :
       {Case{"equal sets", true, true, false, State::kLive, true, false},
        Case{"another set", true, false, false, State::kAwaitKeySet, false, false},
        Case{"another history, though equal sets", false, true, false, State::kHold, false, false},
        Case{"another history, adopted", false, true, true, State::kAwaitKeySet, false, true},
        Case{"our history, adopted", true, true, true, State::kLive, true, false}}) {
    SCOPED_TRACE(c.name);
    if (c.adopted) maker_.Put(AdoptRecord{1, MadeUid(0x7e, 1), true, {}});
    Hello hello;
    if (c.equal) hello.root = RootOf(ComputeDesired(*maker_.Snapshot(), ClusterUid(1)));
    AgentSession& session = Open(hello, c.contained);
    EXPECT_EQ(session.state(), c.state);
    Welcome welcome = Take<Welcome>().value();
    EXPECT_EQ(welcome.epoch, 7u);
    EXPECT_EQ(welcome.hub_id, "hub");
    EXPECT_EQ(welcome.current, maker_.Snapshot()->at());
    EXPECT_EQ(welcome.history_contains_yours, c.contained);
    EXPECT_EQ(welcome.set_matches, c.matches);
    EXPECT_EQ(welcome.adopt, c.adopt);
    EXPECT_EQ(TakeFrame(), std::nullopt);
    if (c.adopted) maker_.Put(AdoptRecord{});
  }
  // A tombstone in force is something to say.
  maker_.Decide(2, {});
  maker_.AddTombstone(1, 2, 2);
  Hello hello;
  hello.root = RootOf(ComputeDesired(*maker_.Snapshot(), ClusterUid(1)));
  Open(hello);
  EXPECT_FALSE(Take<Welcome>()->set_matches);
}

TEST_F(AgentSessionTest, SaysNothingInHold) {
  AgentSession& session = Open({}, false);
  ASSERT_TRUE(Take<Welcome>().has_value());
  session.OnKeySet({}, *maker_.Snapshot());
  EXPECT_EQ(session.state(), State::kHold);
  maker_.Decide(1, {1}, 2);
  EXPECT_EQ(Changed(), std::nullopt);
}

TEST_F(AgentSessionTest, WaitsForTheKeySetAndAnswersItOnce) {
  AgentSession& session = Open({});
  ASSERT_TRUE(Take<Welcome>().has_value());
  maker_.Decide(3, {1});
  EXPECT_EQ(Changed(), std::nullopt) << "no batch before the answer";
  session.OnKeySet({{{BundleUid(1), MadeDigest(1)}}, false}, *maker_.Snapshot());
  EXPECT_EQ(TakeFrame(), std::nullopt);
  session.OnKeySet({{{BundleUid(9), MadeDigest(1)}}, true}, *maker_.Snapshot());
  DesiredBatch batch = Take<DesiredBatch>().value();
  EXPECT_THAT(Keys(batch.upserts), UnorderedElementsAre(BundleUid(2), BundleUid(3)));
  EXPECT_THAT(batch.not_desired, ElementsAre(BundleUid(9)));
  EXPECT_EQ(batch.desired_root, RootOf(ComputeDesired(*maker_.Snapshot(), ClusterUid(1))));
  EXPECT_EQ(TakeFrame(), std::nullopt);
  // A second KeySet with everything right gets an answer too, an empty one.
  KeySet right;
  for (uint16_t n : {1, 2, 3}) right.keys.push_back({BundleUid(n), MadeDigest(1)});
  session.OnKeySet(right, *maker_.Snapshot());
  batch = Take<DesiredBatch>().value();
  EXPECT_TRUE(batch.last);
  EXPECT_EQ(batch.items, 0u);
}

TEST_F(AgentSessionTest, AnswerToOneKey) {
  // Bundle 1 is desired with digest 1, bundle 2 ordered away, bundle 3 unknown to the cluster.
  maker_.Decide(2, {});
  maker_.AddTombstone(1, 2, 2);
  struct Case {
    const char* name;
    KeySetEntry entry;
    bool upsert, named, not_desired;
  };
  const Case cases[] = {
      {"held and right",
       {BundleUid(1), MadeDigest(1), false, KeyState::kPresent},
       false,
       false,
       false},
      {"another version",
       {BundleUid(1), MadeDigest(2), false, KeyState::kPresent},
       true,
       false,
       false},
      {"confirmed where it is not",
       {BundleUid(1), MadeDigest(1), true, KeyState::kPresent},
       true,
       false,
       false},
      {"right, but on its way out",
       {BundleUid(1), MadeDigest(1), false, KeyState::kRemoving},
       true,
       true,
       false},
      {"right, but left alone",
       {BundleUid(1), MadeDigest(1), false, KeyState::kNotDesired},
       true,
       true,
       false},
      {"not held", {BundleUid(2), MadeDigest(1), false, KeyState::kPresent}, true, true, false},
      {"unknown", {BundleUid(3), MadeDigest(1), false, KeyState::kPresent}, true, true, true},
      {"unknown, on its way out",
       {BundleUid(3), MadeDigest(1), false, KeyState::kRemoving},
       true,
       true,
       true},
      {"unknown, and it knows",
       {BundleUid(3), MadeDigest(1), false, KeyState::kNotDesired},
       true,
       true,
       false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    AgentSession& session = Open({});
    ASSERT_TRUE(Take<Welcome>().has_value());
    session.OnKeySet({{c.entry}, true}, *maker_.Snapshot());
    DesiredBatch batch = Take<DesiredBatch>().value();
    EXPECT_THAT(batch.tombstones, SizeIs(1));
    EXPECT_EQ(batch.not_desired.size(), c.not_desired ? 1u : 0u);
    ASSERT_EQ(batch.upserts.size(), c.upsert ? 1u : 0u);
    if (c.upsert) {
      EXPECT_EQ(batch.upserts[0].digest, MadeDigest(1));
      EXPECT_EQ(batch.upserts[0].name, c.named ? "projects/p/bundles/b1" : "");
    }
  }
}

TEST_F(AgentSessionTest, SendsDifferencesOnly) {
  OpenMatching();
  EXPECT_EQ(Changed(), std::nullopt) << "nothing is different";
  maker_.Decide(1, {1}, 2);
  maker_.Decide(3, {1});
  DesiredBatch batch = Changed().value();
  EXPECT_EQ(batch.at, maker_.Snapshot()->at());
  EXPECT_THAT(Keys(batch.upserts), UnorderedElementsAre(BundleUid(1), BundleUid(3)));
  EXPECT_EQ(Changed(), std::nullopt) << "sent once";
  // Away and back between two looks: nothing to say. By an order: the order, and later the key
  // again, by its name.
  maker_.Decide(1, {}, 2);
  maker_.Decide(1, {1}, 2);
  EXPECT_EQ(Changed(), std::nullopt);
  maker_.Decide(2, {});
  maker_.AddTombstone(1, 2, 2);
  batch = Changed().value();
  EXPECT_THAT(batch.upserts, IsEmpty());
  EXPECT_THAT(batch.tombstones, SizeIs(1));
  EXPECT_EQ(Changed(), std::nullopt);
  maker_.AddTombstone(1, 2, 2);
  EXPECT_THAT(Changed()->tombstones, SizeIs(1)) << "written anew, so sent anew";
  maker_.Put(change::NoTombstone{ClusterUid(1), BundleUid(2)});
  maker_.Decide(2, {1});
  batch = Changed().value();
  ASSERT_THAT(batch.upserts, SizeIs(1));
  EXPECT_EQ(batch.upserts[0].name, "projects/p/bundles/b2");
  // Off the decision without an order: left alone.
  maker_.Decide(3, {});
  EXPECT_THAT(Changed()->not_desired, ElementsAre(BundleUid(3)));
}

TEST_F(AgentSessionTest, AcksAndRejections) {
  AgentSession& session = OpenMatching();
  maker_.Decide(1, {1}, 2);
  maker_.Decide(2, {1}, 2);
  DesiredBatch batch = Changed().value();
  session.OnAck({batch.at.revision,
                 {{BundleUid(1), MadeDigest(2), "CONTENT_INVALID", "no"},
                  {BundleUid(2), MadeDigest(9), "X", "old"}},
                 2});
  ASSERT_THAT(session.rejections(), SizeIs(1))
      << "a rejection of another version counts for nothing";
  EXPECT_EQ(session.rejections().at(BundleUid(1)).code, "CONTENT_INVALID");
  EXPECT_EQ(Changed(), std::nullopt) << "a rejected version is not sent again";
  content_.asked.clear();
  maker_.Decide(1, {1}, 3);
  ASSERT_TRUE(Changed().has_value());
  EXPECT_THAT(session.rejections(), IsEmpty());
  EXPECT_THAT(content_.asked, ElementsAre(std::make_pair(MadeDigest(1), MadeDigest(3))))
      << "it has the old content";
}

TEST_F(AgentSessionTest, ContentComesWithTheBatchWhenItIsSmall) {
  OpenMatching();
  maker_.Decide(1, {1}, 2);
  content_.loading = true;
  session_->MarkDirty();
  EXPECT_EQ(TakeFrame(), std::nullopt);
  session_->OnPing();
  EXPECT_TRUE(Take<Pong>().has_value()) << "others do not wait for content";
  content_.loading = false;
  EXPECT_THAT(TakeFrame()->shared_blobs, SizeIs(1));
  maker_.Decide(1, {1}, 3);
  content_.bytes = 0;
  session_->MarkDirty();
  std::optional<HubFrame> frame = TakeFrame();
  ASSERT_TRUE(frame.has_value());
  EXPECT_THAT(frame->shared_blobs, IsEmpty()) << "the agent fetches it";
  maker_.Decide(1, {1}, 2);
  maker_.Decide(2, {1}, 2);
  content_.bytes = kInlineBlobBytesMax * 2 / 3;
  session_->MarkDirty();
  EXPECT_THAT(TakeFrame()->shared_blobs, SizeIs(1)) << "together too large";
}

TEST_F(AgentSessionTest, ControlFramesAreFewAndComeFirst) {
  AgentSession& session = OpenMatching();
  maker_.Decide(1, {1}, 2);
  session.MarkDirty();
  for (int i = 0; i < 5; ++i) session.OnPing();
  session.AckStatus(3);
  session.AckStatus(9);
  session.AckStatus(5);
  session.Drain();
  EXPECT_TRUE(Take<Pong>().has_value());
  EXPECT_EQ(Take<StatusAck>()->seq, 9u);
  EXPECT_TRUE(Take<Drain>().has_value());
  EXPECT_TRUE(Take<DesiredBatch>().has_value());
  EXPECT_EQ(TakeFrame(), std::nullopt);
}

TEST_F(AgentSessionTest, StatusParts) {
  AgentSession& session = OpenMatching();
  auto part = [](uint64_t seq, uint16_t bundle, bool last) {
    StatusBatch batch;
    batch.seq = seq;
    batch.last = last;
    batch.changed.emplace_back().key = BundleUid(bundle);
    batch.gone = {BundleUid(static_cast<uint16_t>(bundle + 100))};
    return batch;
  };
  EXPECT_EQ(session.OnStatus(part(1, 1, false)), std::nullopt);
  std::optional<StatusBatch> whole = session.OnStatus(part(1, 2, true));
  ASSERT_TRUE(whole.has_value());
  EXPECT_THAT(whole->changed, SizeIs(2));
  EXPECT_THAT(whole->gone, SizeIs(2));
  EXPECT_EQ(session.OnStatus(part(2, 1, false)), std::nullopt);
  EXPECT_THAT(session.OnStatus(part(3, 3, true))->changed, ElementsAre(part(3, 3, true).changed[0]))
      << "an unfinished one is dropped";
}

TEST_F(AgentSessionTest, ALargeAnswerIsCutIntoParts) {
  FleetMaker maker;
  maker.AddCluster(1);
  for (uint16_t n = 1; n <= 2000; ++n) {
    maker.AddBundle(n);
    if (n <= 1900) maker.Decide(n, {1});
  }
  FleetSnapshotPtr snapshot = maker.Snapshot();
  AgentSession session(ClusterUid(1), 1, {}, *snapshot, true, std::nullopt, SessionOptions{},
                       absl::UnixEpoch());
  KeySet keys;
  for (uint16_t n = 5000; n < 8000; ++n) keys.keys.push_back({BundleUid(n), MadeDigest(1)});
  session.OnKeySet(keys, *snapshot);
  content_.bytes = 0;
  ASSERT_TRUE(std::holds_alternative<Welcome>(session.TakeOutbound(*snapshot, &content_)->body));
  size_t items = 0;
  uint32_t number = 0;
  while (true) {
    std::optional<HubFrame> frame = session.TakeOutbound(*snapshot, &content_);
    ASSERT_TRUE(frame.has_value());
    const DesiredBatch& part = std::get<DesiredBatch>(frame->body);
    EXPECT_EQ(part.part, number++);
    EXPECT_EQ(part.at, snapshot->at());
    size_t in_part = part.upserts.size() + part.tombstones.size() + part.not_desired.size();
    EXPECT_LE(in_part, 1500u);
    items += in_part;
    if (!part.last) continue;
    EXPECT_EQ(part.items, items);
    break;
  }
  EXPECT_EQ(items, 4900u);
  EXPECT_EQ(number, 4u);
  EXPECT_EQ(session.TakeOutbound(*snapshot, &content_), std::nullopt);
}

}  // namespace
}  // namespace nave
