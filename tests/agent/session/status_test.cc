// Goal: statuses are batched, acknowledged and sent again as protocol §3.5 says. Method: a hub by
// hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/agent/session/harness.h"

namespace nave {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Statuses : public ::testing::Test {
 protected:
  Statuses() {
    AgentState state;
    state.hub_id = "hub-1";
    state.at = {1, Key(100), 10};
    for (int n = 1; n <= 3; ++n) {
      Assignment& held = state.assignments[Key(n)];
      held.key = Key(n);
      held.revision = 10;
      held.digest = held.content_digest = Sha256(std::to_string(n));
    }
    h = std::make_unique<Harness>(state);
  }
  void Join(std::optional<uint64_t> seq = std::nullopt) {
    h->Connect();
    h->sent.clear();
    Welcome welcome = h->MakeWelcome(10);
    welcome.set_matches = true;
    if (seq.has_value()) welcome.status = StatusCursor{h->options.instance_id, *seq};
    h->Send(welcome);
  }
  std::vector<StatusBatch> Batches() { return h->Sent<StatusBatch>(); }
  std::unique_ptr<Harness> h;
};

TEST_F(Statuses, FirstOneIsFullAndNamesKeysNotYetLookedAt) {
  h->Tick();
  h->Report(h->StatusOf(1, Phase::kApplied));
  Join();
  ASSERT_THAT(Batches(), SizeIs(1));
  EXPECT_TRUE(Batches()[0].full);
  EXPECT_TRUE(Batches()[0].last);
  ASSERT_THAT(Batches()[0].changed, SizeIs(3));
  EXPECT_EQ(Batches()[0].changed[0].phase, Phase::kApplied);
  EXPECT_EQ(Batches()[0].changed[1].phase, Phase::kPending);
  EXPECT_EQ(Batches()[0].changed[1].health, Health::kUnknown);
  EXPECT_EQ(Batches()[0].changed[1].reason, "StatusUnknown");
}

TEST_F(Statuses, OneBatchIsOnItsWayAndChangesCoalesce) {
  Join();
  for (int i = 0; i < 5; ++i) {
    AssignmentStatus status = h->StatusOf(1, Phase::kApplying);
    status.counts.applied = static_cast<uint32_t>(i);
    h->Report(status);
  }
  h->Report(h->StatusOf(2, Phase::kApplied));
  EXPECT_THAT(Batches(), SizeIs(1));
  h->Send(StatusAck{1});
  ASSERT_THAT(Batches(), SizeIs(2));
  EXPECT_EQ(Batches()[1].seq, 2u);
  EXPECT_FALSE(Batches()[1].full);
  ASSERT_THAT(Batches()[1].changed, SizeIs(2));
  EXPECT_EQ(Batches()[1].changed[0].counts.applied, 4u);
}

TEST_F(Statuses, ChangesWithinTheGatheringTimeGoOutTogether) {
  h->options.status_gather = absl::Milliseconds(200);
  h->Restart();
  Join();
  EXPECT_THAT(Batches(), SizeIs(1)) << "the whole picture does not wait";
  h->Send(StatusAck{1});
  h->Report(h->StatusOf(1, Phase::kApplying));
  h->Tick(absl::Milliseconds(150));
  h->Report(h->StatusOf(1, Phase::kApplied));
  h->Report(h->StatusOf(2, Phase::kApplied));
  EXPECT_THAT(Batches(), SizeIs(1));
  EXPECT_EQ(h->session->NextDeadline(), h->now + absl::Milliseconds(50));
  h->Tick(absl::Milliseconds(50));
  ASSERT_THAT(Batches(), SizeIs(2));
  ASSERT_THAT(Batches()[1].changed, SizeIs(2));
  EXPECT_EQ(Batches()[1].changed[0].phase, Phase::kApplied);
}

TEST_F(Statuses, TheSameStatusTwiceIsSentOnce) {
  Join();
  h->Send(StatusAck{1});
  h->Report(h->StatusOf(1, Phase::kApplied));
  h->Send(StatusAck{2});
  h->Report(h->StatusOf(1, Phase::kApplied));
  EXPECT_THAT(Batches(), SizeIs(2));
}

TEST_F(Statuses, CursorThatCoversTheLastBatchCountsAsItsAck) {
  Join();
  h->Report(h->StatusOf(1, Phase::kApplied));
  h->Drop();
  Join(1);
  ASSERT_THAT(Batches(), SizeIs(1));
  EXPECT_FALSE(Batches()[0].full);
  EXPECT_EQ(Batches()[0].seq, 2u);
  EXPECT_THAT(Batches()[0].changed, SizeIs(1));
}

TEST_F(Statuses, WhatWasNotAcknowledgedIsSentAgain) {
  Join();
  h->Send(StatusAck{1});
  h->Report(h->StatusOf(1, Phase::kApplied));
  h->Drop();
  Join(1);
  ASSERT_THAT(Batches(), SizeIs(1));
  EXPECT_FALSE(Batches()[0].full);
  EXPECT_EQ(Batches()[0].changed.at(0).key, Key(1));
  EXPECT_EQ(Batches()[0].seq, 3u);
}

TEST_F(Statuses, AFullOneThatWasNotAcknowledgedIsFullAgain) {
  Join();
  h->Send(StatusAck{1});
  h->Drop();
  Join();  // Another replica: no cursor, so seq 2 is full.
  h->Drop();
  Join(1);
  EXPECT_TRUE(Batches().at(0).full);
}

TEST_F(Statuses, WithoutACursorOrWithAnothersItIsFull) {
  Join();
  h->Send(StatusAck{1});
  h->Drop();
  Join();
  EXPECT_TRUE(Batches().at(0).full);
  h->Drop();
  h->Connect();
  h->sent.clear();
  Welcome welcome = h->MakeWelcome(10);
  welcome.set_matches = true;
  welcome.status = StatusCursor{Key(99), 1};
  h->Send(welcome);
  EXPECT_TRUE(Batches().at(0).full);
}

TEST_F(Statuses, AnAckCoversOnlyItsOwnStream) {
  Join();
  h->Send(StatusAck{1});
  h->Report(h->StatusOf(1, Phase::kApplied));  // seq 2
  h->Drop();
  Join();  // Full, seq 3.
  h->Send(StatusAck{2});
  h->Report(h->StatusOf(2, Phase::kApplied));
  EXPECT_THAT(Batches(), SizeIs(1)) << "still on its way";
  h->Send(StatusAck{3});
  EXPECT_THAT(Batches(), SizeIs(2));
}

TEST_F(Statuses, LargeBatchesAreSplit) {
  h->options.frame_bytes_max = 4000;
  h->Restart();
  h->Tick();
  for (int n = 1; n <= 3; ++n) {
    AssignmentStatus status = h->StatusOf(n, Phase::kFailed);
    status.message = std::string(400, 'm');
    status.not_ok.resize(6);
    for (ObjectStatus& object : status.not_ok) object.message = std::string(300, 'x');
    h->Report(status);
  }
  Join();
  ASSERT_THAT(Batches(), SizeIs(3));
  for (const StatusBatch& batch : Batches()) {
    EXPECT_EQ(batch.seq, 1u);
    EXPECT_TRUE(batch.full);
    EXPECT_THAT(batch.changed, SizeIs(1));
  }
  EXPECT_FALSE(Batches()[1].last);
  EXPECT_TRUE(Batches()[2].last);
}

TEST_F(Statuses, TextsAndListsAreBounded) {
  h->Tick();
  AssignmentStatus status = h->StatusOf(1, Phase::kFailed);
  status.message = std::string(5000, 'm');
  status.not_ok.resize(300);
  status.not_ok_total = 300;
  h->Report(status);
  Join();
  EXPECT_EQ(h->LastStatus(1)->message.size(), kMessageBytesMax);
  EXPECT_EQ(h->LastStatus(1)->not_ok.size(), kStatusObjectsMax);
  EXPECT_EQ(h->LastStatus(1)->not_ok_total, 300u);
}

TEST_F(Statuses, TimesAreOnTheHubsClock) {
  h->Tick();
  AssignmentStatus status = h->StatusOf(1, Phase::kFailed);
  status.since = h->now - absl::Seconds(5);
  status.not_ok.resize(2);
  status.not_ok[0].since = h->now;
  h->Report(status);
  h->Connect();
  Welcome welcome = h->MakeWelcome(10);
  welcome.set_matches = true;
  welcome.hub_time = h->now + absl::Hours(2);
  h->Send(welcome);
  EXPECT_EQ(h->LastStatus(1)->since, h->now - absl::Seconds(5) + absl::Hours(2));
  EXPECT_EQ(h->LastStatus(1)->not_ok[0].since, h->now + absl::Hours(2));
  EXPECT_EQ(h->LastStatus(1)->not_ok[1].since, absl::InfinitePast());
}

TEST_F(Statuses, OfKeysThatAreNotHeldAreDropped) {
  Join();
  h->Send(StatusAck{1});
  h->Report(h->StatusOf(9, Phase::kApplied));
  EXPECT_THAT(Batches(), SizeIs(1));
}

TEST_F(Statuses, FactsGoOutOnChangeAndOncePerSession) {
  Facts facts;
  facts.kubernetes_version = "v1.37.2";
  facts.conditions.push_back({"DnsReady", ConditionStatus::kFalse, "x", "y", h->now, 0});
  h->Run(h->session->OnFacts(facts, h->now));
  const Hello hello = h->Connect();
  EXPECT_EQ(hello.facts.kubernetes_version, "v1.37.2");
  EXPECT_THAT(hello.facts.conditions, IsEmpty());
  Welcome welcome = h->MakeWelcome(10);
  welcome.set_matches = true;
  h->Send(welcome);
  EXPECT_THAT(h->Sent<Facts>(), ElementsAre(facts));
  h->Run(h->session->OnFacts(facts, h->now));
  EXPECT_THAT(h->Sent<Facts>(), SizeIs(1));
  facts.nodes = 2;
  h->Run(h->session->OnFacts(facts, h->now));
  EXPECT_THAT(h->Sent<Facts>(), SizeIs(2));
}

}  // namespace
}  // namespace nave
