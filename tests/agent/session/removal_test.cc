// Goal: the end of a key is the protocol's §4, each sentence of it. Method: a hub by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/agent/session/keys_fixture.h"

namespace nave {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(Keys, TombstoneIsPersistedReportedAndForgottenByItsAck) {
  h.Deliver(1, one, 11);
  h.AckStatus();
  h.Send(h.Batch(12, {}, {{Key(1), "", Propagation::kOrphan, true}}));
  ASSERT_NE(h.Durable(1), nullptr);
  EXPECT_EQ(h.Durable(1)->state, KeyState::kRemoving);
  EXPECT_EQ(h.Durable(1)->propagation, Propagation::kOrphan);
  EXPECT_TRUE(h.Durable(1)->confirmed);
  EXPECT_EQ(h.Durable(1)->revision, 12u);
  EXPECT_THAT(h.Sent<DesiredAck>(), SizeIs(2));

  h.AckStatus();
  h.Report(h.StatusOf(1, Phase::kRemoved), false);
  ASSERT_EQ(h.LastStatus(1)->phase, Phase::kRemoved);
  EXPECT_EQ(h.LastStatus(1)->revision, 12u);
  EXPECT_NE(h.Durable(1), nullptr) << "not before the hub said that its record is gone";
  h.AckStatus();
  EXPECT_EQ(h.Durable(1), nullptr);
  EXPECT_THAT(h.Sent<StatusBatch>().back().gone, ElementsAre(Key(1)));
}

TEST_F(Keys, AckOfAnOlderTombstoneForgetsNothing) {
  h.Deliver(1, one, 11);
  h.AckStatus();
  h.Send(h.Batch(12, {}, {TombstoneOf(1)}));
  h.AckStatus();
  h.Report(h.StatusOf(1, Phase::kRemoved), false);
  const uint64_t seq = h.Sent<StatusBatch>().back().seq;
  h.Send(h.Batch(14, {}, {TombstoneOf(1, /*confirmed=*/true)}));
  h.Send(StatusAck{seq});
  ASSERT_NE(h.Durable(1), nullptr);
  EXPECT_EQ(h.Durable(1)->revision, 14u);
  // The reconciler says it again, for the new one.
  h.AckStatus();
  h.Report(h.StatusOf(1, Phase::kRemoved), false);
  h.AckStatus();
  EXPECT_EQ(h.Durable(1), nullptr);
}

TEST_F(Keys, TombstoneOfAKeyThatIsNotHeldReportsRemovedWhenItsPointIsDurable) {
  h.auto_commit = false;
  h.Send(h.Batch(12, {}, {TombstoneOf(7)}));
  EXPECT_EQ(h.LastStatus(7), nullptr);
  h.FinishCommit();
  EXPECT_EQ(h.durable.at.revision, 12u);
  ASSERT_NE(h.LastStatus(7), nullptr);
  EXPECT_EQ(h.LastStatus(7)->phase, Phase::kRemoved);
  EXPECT_EQ(h.LastStatus(7)->revision, 12u);
  h.AckStatus();
  EXPECT_THAT(h.Sent<StatusBatch>().back().gone, ElementsAre(Key(7)));
}

TEST_F(Keys, TombstoneEndsAPendingUpsert) {
  h.Send(h.Batch(11, {UpsertOf(1, one)}));
  h.Send(h.Batch(12, {}, {TombstoneOf(1)}));
  EXPECT_THAT(h.fetches, IsEmpty());
  EXPECT_EQ(h.Durable(1), nullptr);
  ASSERT_NE(h.LastStatus(1), nullptr);
  EXPECT_EQ(h.LastStatus(1)->phase, Phase::kRemoved);
}

TEST_F(Keys, UpsertWhileRemovingIsPresentWithTheOldContentAtOnce) {
  h.Deliver(1, one, 11);
  h.Send(h.Batch(12, {}, {TombstoneOf(1, true)}));
  h.auto_commit = false;
  h.Send(h.Batch(13, {UpsertOf(1, two)}));  // Its content is not there.
  EXPECT_TRUE(h.pending[Key(1)]) << "no further deletion starts";
  h.FinishCommit();
  EXPECT_EQ(h.Durable(1)->state, KeyState::kPresent);
  EXPECT_EQ(h.Durable(1)->digest, one.digest);
  EXPECT_FALSE(h.Durable(1)->confirmed);
  EXPECT_TRUE(h.pending[Key(1)]) << "the change of the first commit does not end the mark";
  h.AnswerFetch({two.blobs[0]});
  h.AnswerFetch({two.blobs[1]});
  h.FinishCommit();
  EXPECT_EQ(h.Durable(1)->digest, two.digest);
  EXPECT_FALSE(h.pending[Key(1)]);
}

TEST_F(Keys, RejectionOfAnUpsertWhileRemovingLeavesItPresent) {
  h.Deliver(1, one, 11);
  h.Send(h.Batch(12, {}, {TombstoneOf(1)}));
  h.Deliver(1, bad, 13);
  EXPECT_EQ(h.Durable(1)->state, KeyState::kPresent);
  EXPECT_EQ(h.Durable(1)->digest, one.digest);
  EXPECT_EQ(h.session->ledger().KeySetEntries().at(0).digest, bad.digest);
}

TEST_F(Keys, WhatAnUpsertStoppedStaysStoppedUntilThatIsDurable) {
  struct Case {
    const char* name;
    bool commit_late;
    std::function<void()> lose_upsert;
  };
  uint64_t revision = 10;
  const Case cases[] = {
      {"refused", false, [&] { h.AnswerFetch({bad.blobs[0]}); }},
      {"the stream ends", false, [&] { h.Drop(); }},
      {"refused early", true, [&] { h.AnswerFetch({bad.blobs[0]}); }},
      {"the stream ends early", true, [&] { h.Drop(); }},
      {"not desired", false, [&] { h.Send(h.Batch(revision + 1, {}, {}, {Key(1)})); }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    h.Deliver(1, one, revision += 10);
    // The tombstone is on its way to the store when the upsert comes, or was there before.
    h.auto_commit = !c.commit_late;
    h.Send(h.Batch(revision += 10, {}, {TombstoneOf(1)}));
    h.auto_commit = false;
    h.Send(h.Batch(revision += 10, {UpsertOf(1, bad)}));
    c.lose_upsert();
    if (c.commit_late) h.FinishCommit();
    EXPECT_EQ(h.Durable(1)->state, KeyState::kRemoving);
    EXPECT_TRUE(h.pending[Key(1)]);
    while (h.commit.has_value()) h.FinishCommit();
    h.auto_commit = true;
    EXPECT_NE(h.Durable(1)->state, KeyState::kRemoving);
    EXPECT_FALSE(h.pending[Key(1)]);
    h.Restart();
    h.Join(revision += 10);
  }
}

TEST_F(Keys, UpsertWhileRemovingWithoutContentIsNotDesiredUntilItComes) {
  AgentState state;
  state.hub_id = "hub-1";
  state.at = h.AtRevision(10);
  state.assignments[Key(1)].key = Key(1);
  state.assignments[Key(1)].state = KeyState::kRemoving;
  state.assignments[Key(1)].revision = 9;
  Harness other(state);
  other.Join(11);
  other.Send(other.Batch(11, {UpsertOf(1, one)}));
  EXPECT_EQ(other.Durable(1)->state, KeyState::kNotDesired);
  other.AnswerFetch({one.blobs[0]});
  other.AnswerFetch({one.blobs[1]});
  EXPECT_EQ(other.Durable(1)->state, KeyState::kPresent);
}

TEST_F(Keys, CutAfterTheRevivalTakesTheSameUpsertAgain) {
  h.Deliver(1, one, 11);
  h.Send(h.Batch(12, {}, {TombstoneOf(1)}));
  h.Send(h.Batch(13, {UpsertOf(1, two)}));
  h.Drop();
  h.Join(13);
  h.Send(h.Batch(13, {UpsertOf(1, two)}), two.blobs);
  EXPECT_EQ(h.Durable(1)->digest, two.digest);
}

TEST_F(Keys, NoDeletionStartsWhileANewerUpsertIsPending) {
  h.Deliver(1, one, 11);
  h.auto_commit = false;
  h.Send(h.Batch(12, {UpsertOf(1, two)}), two.blobs);
  EXPECT_TRUE(h.pending[Key(1)]) << "also while its commit is on its way";
  h.FinishCommit();
  EXPECT_FALSE(h.pending[Key(1)]);
}

TEST_F(Keys, NotDesiredIsLeftAloneAndForgottenWhenItOwnsNothing) {
  h.Deliver(1, one, 11);
  h.Send(h.Batch(12, {}, {}, {Key(1)}));
  EXPECT_EQ(h.Durable(1)->state, KeyState::kNotDesired);
  EXPECT_EQ(h.Durable(1)->content_digest, one.digest) << "it is still healed";
  EXPECT_EQ(h.session->ledger().Root(), ComputeRoot({}));
  EXPECT_THAT(h.Sent<DesiredAck>(), SizeIs(2));
  h.Report(h.StatusOf(1, Phase::kNotDesired), /*owns_objects=*/true);
  EXPECT_NE(h.Durable(1), nullptr);
  h.Report(h.StatusOf(1, Phase::kNotDesired), /*owns_objects=*/false);
  EXPECT_EQ(h.Durable(1), nullptr);
}

TEST_F(Keys, NotDesiredWhileRemovingForgetsWhatIsGone) {
  h.Deliver(1, one, 11);
  h.Deliver(2, two, 12);
  h.Send(h.Batch(13, {}, {TombstoneOf(1), TombstoneOf(2)}));
  h.Report(h.StatusOf(1, Phase::kRemoved), false);
  h.Report(h.StatusOf(2, Phase::kRemoving));
  h.Send(h.Batch(14, {}, {}, {Key(1), Key(2)}));
  EXPECT_EQ(h.Durable(1), nullptr);
  EXPECT_EQ(h.Durable(2)->state, KeyState::kNotDesired);
}

TEST_F(Keys, NotDesiredComesBackWithAnUpsert) {
  h.Deliver(1, one, 11);
  h.Send(h.Batch(12, {}, {}, {Key(1)}));
  h.Send(h.Batch(13, {UpsertOf(1, one)}));
  EXPECT_EQ(h.Durable(1)->state, KeyState::kPresent);
  EXPECT_THAT(h.fetches, IsEmpty());
}

TEST_F(Keys, HoldStopsRemovalsButKeepsThem) {
  h.Deliver(1, one, 11);
  h.Send(h.Batch(12, {}, {TombstoneOf(1)}));
  h.Drop();
  h.Join(5, false, /*contained=*/false);
  EXPECT_TRUE(h.hold);
  EXPECT_EQ(h.Durable(1)->state, KeyState::kRemoving);
  // Even when it was done already, it is not forgotten: the ack is about revision 0.
  h.Report(h.StatusOf(1, Phase::kRemoved), false);
  h.AckStatus();
  EXPECT_NE(h.Durable(1), nullptr);
}

}  // namespace
}  // namespace nave
