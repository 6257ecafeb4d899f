// Goal: the life of a key is the protocol's §4, each sentence of it but those of its removal.
// Method: a hub by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/agent/session/keys_fixture.h"

namespace nave {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// --- Commit

TEST_F(Keys, InlineContentIsWrittenCommittedAndAcknowledged) {
  h.Deliver(1, one, 11);
  ASSERT_NE(h.Durable(1), nullptr);
  EXPECT_EQ(h.Durable(1)->name, "projects/p/bundles/b1");
  EXPECT_EQ(h.Durable(1)->revision, 11u);
  EXPECT_EQ(h.Durable(1)->content_digest, one.digest);
  EXPECT_EQ(h.durable.at, h.AtRevision(11));
  EXPECT_EQ(h.durable.hub_id, "hub-1");
  EXPECT_EQ(h.durable.cluster_uid, "cluster");
  EXPECT_EQ(h.durable.kube_system_uid, "kube-system");
  EXPECT_THAT(h.changed, ElementsAre(Key(1)));
  ASSERT_THAT(h.Sent<DesiredAck>(), SizeIs(1));
  EXPECT_EQ(h.Sent<DesiredAck>()[0].revision, 11u);
  EXPECT_EQ(h.contents.at(one.digest)->objects, one.content->objects);
}

TEST_F(Keys, ContentIsWrittenBeforeTheCommitThatNamesIt) {
  h.auto_write = false;
  h.Deliver(1, one, 11);
  EXPECT_THAT(h.writes, SizeIs(1));
  EXPECT_EQ(h.Durable(1), nullptr);
  EXPECT_THAT(h.Sent<DesiredAck>(), IsEmpty());
  h.FinishWrites();
  EXPECT_NE(h.Durable(1), nullptr);
}

TEST_F(Keys, NothingIsAcknowledgedBeforeItIsDurable) {
  h.auto_commit = false;
  h.Deliver(1, one, 11);
  EXPECT_THAT(h.Sent<DesiredAck>(), IsEmpty());
  h.FinishCommit();
  EXPECT_THAT(h.Sent<DesiredAck>(), SizeIs(1));
}

TEST_F(Keys, FailedCommitIsTriedAgain) {
  h.auto_commit = false;
  h.Deliver(1, one, 11);
  h.FinishCommit(absl::UnavailableError("down"));
  EXPECT_FALSE(h.commit.has_value());
  EXPECT_EQ(h.Durable(1), nullptr);
  h.Tick(absl::Seconds(1));
  ASSERT_TRUE(h.commit.has_value());
  h.FinishCommit();
  EXPECT_NE(h.Durable(1), nullptr);
}

TEST_F(Keys, FailedContentWriteIsTriedAgain) {
  h.auto_write = false;
  h.Deliver(1, one, 11);
  h.FinishWrites(absl::UnavailableError("down"));
  EXPECT_THAT(h.writes, IsEmpty());
  h.Tick(absl::Seconds(1));
  ASSERT_THAT(h.writes, SizeIs(1));
  h.FinishWrites();
  EXPECT_NE(h.Durable(1), nullptr);
}

TEST_F(Keys, PointIsStoredWhenABatchChangedNothing) {
  h.Send(h.Batch(20, {}));
  EXPECT_EQ(h.durable.at.revision, 20u);
  ASSERT_THAT(h.Sent<DesiredAck>(), SizeIs(1));
  EXPECT_EQ(h.Sent<DesiredAck>()[0].revision, 20u);
}

TEST_F(Keys, NothingOfABatchIsTakenBeforeItsLastPart) {
  h.Deliver(1, one, 11);
  DesiredBatch first = h.Batch(12, {UpsertOf(2, two)}, {TombstoneOf(1)});
  first.last = false;
  h.Send(first, two.blobs);
  EXPECT_EQ(h.Durable(1)->state, KeyState::kPresent);
  EXPECT_EQ(h.Durable(2), nullptr);
  EXPECT_THAT(h.writes, IsEmpty());
  h.Drop();
  EXPECT_EQ(h.durable.at.revision, 11u);
  EXPECT_EQ(h.session->ledger().working(), h.durable);
}

TEST_F(Keys, PartsAreOneBatch) {
  DesiredBatch first = h.Batch(12, {UpsertOf(1, one)});
  first.last = false;
  DesiredBatch second = h.Batch(12, {UpsertOf(2, two)});
  second.part = 1;
  second.items = 2;
  second.desired_root = ComputeRoot({{Key(1), one.digest, false, KeyState::kPresent},
                                     {Key(2), two.digest, false, KeyState::kPresent}});
  h.Send(first, one.blobs);
  h.Send(second, two.blobs);
  EXPECT_NE(h.Durable(1), nullptr);
  EXPECT_NE(h.Durable(2), nullptr);
  EXPECT_EQ(h.Sent<DesiredAck>().size(), 1u);
}

struct BrokenCase {
  const char* name;
  void (*breaks)(DesiredBatch*);
};
class BrokenBatches : public Keys, public ::testing::WithParamInterface<BrokenCase> {};

TEST_P(BrokenBatches, EndTheSessionAndChangeNothing) {
  DesiredBatch first = h.Batch(12, {UpsertOf(1, one)});
  first.last = false;
  h.Send(first, one.blobs);
  DesiredBatch second = h.Batch(12, {});
  second.part = 1;
  second.items = 1;
  GetParam().breaks(&second);
  h.Send(second);
  EXPECT_EQ(h.closes, 1);
  EXPECT_EQ(h.Durable(1), nullptr);
  EXPECT_GT(h.session->NextDeadline(), h.now);
}

INSTANTIATE_TEST_SUITE_P(
    Table, BrokenBatches,
    ::testing::Values(BrokenCase{"MissingPart", [](DesiredBatch* b) { b->part = 2; }},
                      BrokenCase{"PartTwice", [](DesiredBatch* b) { b->part = 0; }},
                      BrokenCase{"WrongCount", [](DesiredBatch* b) { b->items = 2; }},
                      BrokenCase{"OtherSnapshot", [](DesiredBatch* b) { b->at.revision = 13; }},
                      BrokenCase{"NoPoint", [](DesiredBatch* b) { b->at = At{}; }}),
    [](const auto& info) { return info.param.name; });

TEST_F(Keys, LowerOrEqualRevisionsAreIgnored) {
  h.Deliver(1, one, 11);
  h.Send(h.Batch(11, {UpsertOf(1, two)}), two.blobs);
  h.Send(h.Batch(9, {}, {TombstoneOf(1)}));
  EXPECT_EQ(h.Durable(1)->digest, one.digest);
  EXPECT_EQ(h.Durable(1)->state, KeyState::kPresent);
}

TEST_F(Keys, OneCommitTakesSeveralKeys) {
  h.auto_commit = false;
  h.Send(h.Batch(11, {UpsertOf(1, one), UpsertOf(2, two)}),
         {one.blobs[0], one.blobs[1], two.blobs[0], two.blobs[1]});
  h.FinishCommit();
  while (h.commit.has_value()) h.FinishCommit();
  EXPECT_NE(h.Durable(2), nullptr);
  EXPECT_LE(h.commits.size(), 3u);  // One from the set-up.
}

TEST_F(Keys, ConfirmedAloneNeedsNoContent) {
  h.Deliver(1, one, 11);
  h.auto_write = false;
  h.Send(h.Batch(12, {UpsertOf(1, one, /*confirmed=*/true)}));
  EXPECT_TRUE(h.Durable(1)->confirmed);
  EXPECT_EQ(h.Durable(1)->revision, 12u);
  EXPECT_THAT(h.writes, IsEmpty());
  EXPECT_THAT(h.fetches, IsEmpty());
}

// --- Content

TEST_F(Keys, MissingContentIsFetchedListingFirst) {
  h.Send(h.Batch(11, {UpsertOf(1, one)}));
  ASSERT_THAT(h.fetches, SizeIs(1));
  EXPECT_THAT(h.fetches[0].wants, ElementsAre(one.digest));
  h.AnswerFetch({one.blobs[0]});
  ASSERT_THAT(h.fetches, SizeIs(1));
  EXPECT_THAT(h.fetches[0].wants, ElementsAre(one.content->listing.objects[0].digest));
  h.AnswerFetch({one.blobs[1]});
  EXPECT_NE(h.Durable(1), nullptr);
}

TEST_F(Keys, ObjectsThatAnyKeyHoldsAreNotFetched) {
  h.Deliver(1, MakeBundle({{"a", "1"}, {"b", "1"}}), 11);
  const TestBundle mixed = MakeBundle({{"b", "1"}, {"c", "1"}});
  h.Send(h.Batch(12, {UpsertOf(2, mixed)}), {mixed.blobs[0]});
  ASSERT_THAT(h.fetches, SizeIs(1));
  EXPECT_THAT(h.fetches[0].wants, ElementsAre(mixed.content->listing.objects[1].digest));
  h.AnswerFetch({mixed.blobs[2]});
  ASSERT_NE(h.Durable(2), nullptr);
  EXPECT_EQ(h.contents.at(mixed.digest)->objects, mixed.content->objects);
}

TEST_F(Keys, FailedFetchIsTriedAgainWithBackOff) {
  h.Send(h.Batch(11, {UpsertOf(1, one)}));
  h.AnswerFetch({}, {}, absl::UnavailableError("cut"));
  EXPECT_THAT(h.fetches, IsEmpty());
  h.Tick(absl::Seconds(1));
  EXPECT_THAT(h.fetches, SizeIs(1));
}

TEST_F(Keys, WrongBytesAreFetchedAgainThenRejected) {
  h.Send(h.Batch(11, {UpsertOf(1, one)}));
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(h.fetches, SizeIs(1)) << i;
    const FetchRequest fetch = h.fetches.front();
    h.fetches.clear();
    h.Run(h.session->OnBlob(fetch.id, one.digest, two.blobs[0]->compressed, h.now));
    h.Run(h.session->OnFetchDone(fetch.id, absl::OkStatus(), {}, h.now));
    h.Tick(absl::Seconds(10));
  }
  ASSERT_NE(h.LastStatus(1), nullptr);
  EXPECT_EQ(h.LastStatus(1)->phase, Phase::kRejected);
  EXPECT_EQ(h.LastStatus(1)->reason, "ContentInvalid");
}

TEST_F(Keys, LargeFetchesLeaveRoomForSmallOnes) {
  std::vector<Upsert> upserts;
  for (int n = 1; n <= 6; ++n) {
    Upsert upsert = UpsertOf(n, MakeBundle({{"a", std::to_string(n)}}));
    upsert.size = n <= 4 ? 16 << 20 : 100;
    upserts.push_back(upsert);
  }
  h.Send(h.Batch(11, upserts));
  ASSERT_THAT(h.fetches, SizeIs(4));
  EXPECT_EQ(h.fetches[0].wants[0], upserts[4].digest);
  EXPECT_EQ(h.fetches[1].wants[0], upserts[5].digest);
}

TEST_F(Keys, SupersededWantIsDroppedAndTheNextBatchHasTheNewOne) {
  h.Send(h.Batch(11, {UpsertOf(1, one)}));
  h.AnswerFetch({}, {one.digest});
  h.Send(h.Batch(12, {UpsertOf(1, two)}), two.blobs);
  EXPECT_EQ(h.Durable(1)->digest, two.digest);
}

TEST_F(Keys, SupersededWithoutANewBatchAsksWithAKeySet) {
  h.Send(h.Batch(11, {UpsertOf(1, one)}));
  h.AnswerFetch({}, {one.digest});
  EXPECT_THAT(h.Sent<KeySet>(), IsEmpty());
  h.Tick(absl::Seconds(1));
  EXPECT_THAT(h.Sent<KeySet>(), SizeIs(1));
}

TEST_F(Keys, NewerBatchReplacesWhatIsPending) {
  h.Send(h.Batch(11, {UpsertOf(1, one)}));
  const uint64_t fetch = h.fetches.at(0).id;
  h.Send(h.Batch(12, {UpsertOf(1, two)}), two.blobs);
  EXPECT_THAT(h.cancelled, ElementsAre(fetch));
  EXPECT_EQ(h.Durable(1)->digest, two.digest);
  EXPECT_EQ(h.Durable(1)->revision, 12u);
}

TEST_F(Keys, SameDigestLeavesTheFetchAlone) {
  h.Send(h.Batch(11, {UpsertOf(1, one)}));
  const uint64_t fetch = h.fetches.at(0).id;
  h.Send(h.Batch(12, {UpsertOf(1, one, /*confirmed=*/true)}));
  EXPECT_THAT(h.cancelled, IsEmpty());
  ASSERT_THAT(h.fetches, SizeIs(1));
  EXPECT_EQ(h.fetches[0].id, fetch);
  h.AnswerFetch({one.blobs[0]});
  h.AnswerFetch({one.blobs[1]});
  EXPECT_EQ(h.Durable(1)->revision, 12u);
  EXPECT_TRUE(h.Durable(1)->confirmed);
}

TEST_F(Keys, BurstConvergesOnTheLastOne) {
  h.auto_write = false;
  h.Deliver(1, one, 11);
  h.Deliver(1, two, 12);
  h.Deliver(1, one, 13);
  EXPECT_THAT(h.abandoned, ElementsAre(Key(1), Key(1)));
  h.FinishWrites();
  EXPECT_EQ(h.Durable(1)->digest, one.digest);
  EXPECT_EQ(h.Durable(1)->revision, 13u);
  EXPECT_EQ(h.Durable(1)->name, "projects/p/bundles/b1");
}

TEST_F(Keys, PartsAndPendingKeysDieWithTheStream) {
  h.Deliver(1, one, 11);
  h.Send(h.Batch(12, {UpsertOf(1, two)}));
  EXPECT_TRUE(h.pending[Key(1)]);
  h.Drop();
  EXPECT_FALSE(h.pending[Key(1)]);
  EXPECT_EQ(h.Connect().root, ComputeRoot({{Key(1), one.digest, false, KeyState::kPresent}}));
}

// --- Roots

TEST_F(Keys, DifferentRootAsksWithGrowingPauses) {
  DesiredBatch batch = h.Batch(11, {});
  batch.desired_root = Sha256("another");
  std::vector<absl::Duration> pauses;
  for (uint64_t revision = 11; revision < 20; ++revision) {
    h.sent.clear();
    batch.at.revision = revision;
    h.Send(batch);
    const absl::Time begin = h.now;
    while (h.Sent<KeySet>().empty() && h.closes == 0) {
      h.now = h.session->NextDeadline();
      h.Tick();
      if (!h.Sent<Ping>().empty()) h.Send(Pong{});
    }
    ASSERT_EQ(h.closes, 0) << h.close_reason;
    pauses.push_back(h.now - begin);
  }
  EXPECT_EQ(pauses[0], absl::Seconds(1));
  EXPECT_EQ(pauses[1], absl::Seconds(2));
  EXPECT_EQ(pauses[5], absl::Seconds(32));
  EXPECT_EQ(pauses[6], absl::Seconds(60));
  EXPECT_EQ(pauses[8], absl::Seconds(60));
  EXPECT_THAT(h.Sent<DesiredAck>(), IsEmpty());
}

TEST_F(Keys, RootIsComparedOnlyWhenNothingIsPending) {
  h.Send(h.Batch(11, {UpsertOf(1, one)}));
  h.Tick(absl::Seconds(9));
  EXPECT_THAT(h.Sent<KeySet>(), IsEmpty());
  EXPECT_THAT(h.Sent<DesiredAck>(), IsEmpty());
}

// --- Rejection

TEST_F(Keys, RejectedUpsertLeavesTheLastGoodContentAndStandsInTheRoot) {
  h.Deliver(1, one, 11);
  h.AckStatus();
  h.Deliver(1, bad, 12);
  EXPECT_EQ(h.Durable(1)->digest, one.digest);
  ASSERT_THAT(h.Sent<DesiredAck>(), SizeIs(2));
  const DesiredAck ack = h.Sent<DesiredAck>()[1];
  ASSERT_THAT(ack.rejected, SizeIs(1));
  EXPECT_EQ(ack.rejected_total, 1u);
  EXPECT_EQ(ack.rejected[0].digest, bad.digest);
  EXPECT_EQ(ack.rejected[0].code, "CONTENT_INVALID");
  // Its status carries the rejected digest.
  h.AckStatus();
  ASSERT_NE(h.LastStatus(1), nullptr);
  EXPECT_EQ(h.LastStatus(1)->digest, bad.digest);
  EXPECT_EQ(h.LastStatus(1)->phase, Phase::kRejected);
  EXPECT_EQ(h.LastStatus(1)->revision, 12u);
  // Sent once a process: the next handshake finds equal sets.
  h.Drop();
  EXPECT_EQ(h.Connect().root, ComputeRoot({{Key(1), bad.digest, false, KeyState::kPresent}}));
  h.Send(h.MakeWelcome(12));
  EXPECT_EQ(h.Sent<KeySet>().back().keys[0].digest, bad.digest);
  // Not by the next process.
  h.Restart();
  EXPECT_EQ(h.Connect().root, ComputeRoot({{Key(1), one.digest, false, KeyState::kPresent}}));
}

TEST_F(Keys, RejectionOfAKeyThatIsNotHeldStandsAsPresent) {
  h.Deliver(1, bad, 11);
  EXPECT_EQ(h.Durable(1), nullptr);
  EXPECT_EQ(h.durable.at.revision, 11u);
  EXPECT_THAT(h.Sent<DesiredAck>(), SizeIs(1));
  EXPECT_EQ(h.session->ledger().KeySetEntries().at(0).digest, bad.digest);
  // The hub thinks that the key is held, and leaves the name out.
  h.Send(h.Batch(12, {UpsertOf(1, one)}), one.blobs);
  EXPECT_EQ(h.Durable(1)->name, "projects/p/bundles/b1");
}

class RejectionEnds : public Keys {
 protected:
  void Expect(size_t keys) {
    EXPECT_TRUE(h.session->ledger().rejected().empty());
    EXPECT_EQ(h.session->ledger().KeySetEntries().size(), keys);
  }
};
TEST_F(RejectionEnds, WithTheNextUpsert) {
  h.Deliver(1, bad, 11);
  h.Deliver(1, one, 12);
  Expect(1);
  EXPECT_EQ(h.Durable(1)->digest, one.digest);
}
TEST_F(RejectionEnds, WithTheOldContentComingBack) {
  h.Deliver(1, one, 11);
  h.Deliver(1, bad, 12);
  h.Deliver(1, one, 13);
  Expect(1);
  EXPECT_EQ(h.Durable(1)->revision, 13u);
}
TEST_F(RejectionEnds, WithATombstone) {
  h.Deliver(1, bad, 11);
  h.Send(h.Batch(12, {}, {TombstoneOf(1)}));
  Expect(0);
}
TEST_F(RejectionEnds, WithNotDesired) {
  h.Deliver(1, one, 11);
  h.Deliver(1, bad, 12);
  h.Send(h.Batch(13, {}, {}, {Key(1)}));
  Expect(1);
  EXPECT_EQ(h.Durable(1)->state, KeyState::kNotDesired);
}

TEST_F(Keys, OverTheLimitIsRejectedBeforeItIsFetched) {
  Upsert upsert = UpsertOf(1, one);
  upsert.size = kBundleBytesMax + 1;
  h.Send(h.Batch(11, {upsert}));
  EXPECT_THAT(h.fetches, IsEmpty());
  EXPECT_EQ(h.Sent<DesiredAck>().at(0).rejected.at(0).code, "LIMIT_EXCEEDED");
}

TEST_F(Keys, ObjectOfAnotherNameIsRejected) {
  TestBundle swapped = one;
  auto listing = one.content->listing;
  listing.objects[0].key.name = "other";
  const std::string json = FormatListing(listing);
  swapped.digest = Sha256(json);
  swapped.blobs[0] = MakeBlob(json);
  h.Deliver(1, swapped, 11);
  EXPECT_EQ(h.Sent<DesiredAck>().at(0).rejected.at(0).code, "CONTENT_INVALID");
}

TEST_F(Keys, OneRejectionBlocksNoOtherKey) {
  h.Send(h.Batch(11, {UpsertOf(1, bad), UpsertOf(2, two)}),
         {bad.blobs[0], two.blobs[0], two.blobs[1]});
  EXPECT_NE(h.Durable(2), nullptr);
}

}  // namespace
}  // namespace nave
