// Goal: the agent's handshake, refusals and timers are those of the protocol. Method: a hub by hand
// (harness.h), one event at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/agent/session/harness.h"

namespace nave {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

AgentState HeldState(const TestBundle& bundle, uint64_t revision = 150) {
  AgentState state;
  state.hub_id = "hub-1";
  state.at = {1, Key(100), revision};
  Assignment held;
  held.key = Key(1);
  held.name = "projects/p/bundles/b1";
  held.revision = revision;
  held.digest = held.content_digest = bundle.digest;
  state.assignments[Key(1)] = held;
  return state;
}

TEST(Handshake, HelloSaysWhatIsHeld) {
  const TestBundle bundle = MakeBundle({{"a", "1"}});
  Harness h(HeldState(bundle));
  const Hello hello = h.Connect();
  EXPECT_EQ(hello.attempt, 1u);
  EXPECT_EQ(hello.instance_id, h.options.instance_id);
  EXPECT_EQ(hello.hub_id, "hub-1");
  EXPECT_EQ(hello.committed.revision, 150u);
  EXPECT_EQ(hello.kube_system_uid, "kube-system");
  EXPECT_EQ(hello.root, ComputeRoot({{Key(1), bundle.digest, false, KeyState::kPresent}}));
  EXPECT_FALSE(hello.state_lost);
  h.Drop();
  EXPECT_EQ(h.Connect().attempt, 2u);
}

TEST(Handshake, EqualSetsStoreTheHubsPointAndSendNoKeySet) {
  Harness h(HeldState(MakeBundle({{"a", "1"}})));
  h.Join(160, /*set_matches=*/true);
  EXPECT_EQ(h.durable.at.revision, 160u);
  EXPECT_THAT(h.Sent<KeySet>(), IsEmpty());
  EXPECT_EQ(h.Durable(1)->revision, 150u);
}

TEST(Handshake, EqualSetsDoNotGoBackInTheSameHistory) {
  Harness h(HeldState(MakeBundle({{"a", "1"}})));
  h.Join(140, /*set_matches=*/true);
  EXPECT_EQ(h.durable.at.revision, 150u);
  EXPECT_THAT(h.commits, IsEmpty());
}

TEST(Handshake, EqualSetsAtTheSamePointWriteNothing) {
  Harness h(HeldState(MakeBundle({{"a", "1"}})));
  h.Join(150, /*set_matches=*/true);
  EXPECT_THAT(h.commits, IsEmpty());
}

// "Tombstones left out of set_matches" is the hub's half of this.
TEST(Handshake, EqualSetsEndRemovalsThatNothingOrders) {
  AgentState state = HeldState(MakeBundle({{"a", "1"}}));
  state.assignments[Key(1)].state = KeyState::kRemoving;
  Harness left(state);
  left.Join(160, /*set_matches=*/true);
  EXPECT_EQ(left.Durable(1)->state, KeyState::kNotDesired);

  Harness gone(state);
  gone.Tick();
  gone.Report(gone.StatusOf(1, Phase::kRemoved));
  gone.Join(160, /*set_matches=*/true);
  EXPECT_EQ(gone.Durable(1), nullptr);
}

TEST(Handshake, DifferentSetsAreAnsweredWithEveryKey) {
  AgentState state = HeldState(MakeBundle({{"a", "1"}}));
  state.assignments[Key(2)] = state.assignments[Key(1)];
  state.assignments[Key(2)].key = Key(2);
  state.assignments[Key(2)].state = KeyState::kRemoving;
  Harness h(state);
  h.Join(160);
  ASSERT_THAT(h.Sent<KeySet>(), SizeIs(1));
  const KeySet set = h.Sent<KeySet>()[0];
  EXPECT_TRUE(set.last);
  ASSERT_THAT(set.keys, SizeIs(2));
  EXPECT_EQ(set.keys[1].state, KeyState::kRemoving);
}

TEST(Handshake, LongKeySetsAreSplit) {
  AgentState state;
  for (int n = 1; n <= 5; ++n) {
    state.assignments[Key(n)].key = Key(n);
  }
  Harness h(state);
  h.options.frame_bytes_max = 160;
  h.Restart();
  h.Join(160);
  const std::vector<KeySet> sets = h.Sent<KeySet>();
  ASSERT_THAT(sets, SizeIs(3));
  EXPECT_FALSE(sets[0].last);
  EXPECT_THAT(sets[0].keys, SizeIs(2));
  EXPECT_THAT(sets[2].keys, SizeIs(1));
  EXPECT_TRUE(sets[2].last);
}

TEST(Handshake, ForeignHistoryHolds) {
  Harness h(HeldState(MakeBundle({{"a", "1"}})));
  h.Join(100, false, /*contained=*/false);
  EXPECT_TRUE(h.hold);
  EXPECT_EQ(h.durable.hold_reason, "HistoryDiverged");
  EXPECT_THAT(h.Sent<KeySet>(), IsEmpty());
  // Nothing is taken from this hub, in whatever it sends.
  h.Send(h.Batch(101, {}, {{Key(1), "BundleDeleted", Propagation::kDelete, true}}));
  h.Send(h.Batch(102, {}, {}, {Key(1)}));
  EXPECT_EQ(h.Durable(1)->state, KeyState::kPresent);
  EXPECT_EQ(h.durable.at.revision, 150u);
  // It reports, with the reason and revision 0.
  h.Report(h.StatusOf(1, Phase::kApplied));
  ASSERT_NE(h.LastStatus(1), nullptr);
  EXPECT_EQ(h.LastStatus(1)->revision, 0u);
  EXPECT_EQ(h.Sent<StatusBatch>().back().hold_reason, "HistoryDiverged");
}

TEST(Handshake, HoldIsPersistedAndEndsWhenTheRightHistoryComesBack) {
  Harness h(HeldState(MakeBundle({{"a", "1"}})));
  h.Join(100, false, /*contained=*/false);
  h.Restart();
  EXPECT_TRUE(h.hold);
  h.Join(170, /*set_matches=*/true);
  EXPECT_FALSE(h.hold);
  EXPECT_EQ(h.durable.hold_reason, "");
}

TEST(Handshake, HoldLastsUntilTheCommitThatEndsIt) {
  AgentState state = HeldState(MakeBundle({{"a", "1"}}));
  state.hold_reason = "HistoryDiverged";
  Harness h(state);
  h.auto_commit = false;
  h.Join(170, /*set_matches=*/true);
  EXPECT_TRUE(h.hold);
  h.FinishCommit();
  EXPECT_FALSE(h.hold);
}

TEST(Adopt, CountsEveryRevisionAsZeroAndEndsTheHold) {
  const TestBundle old = MakeBundle({{"a", "1"}});
  const TestBundle fresh = MakeBundle({{"a", "2"}});
  Harness h(HeldState(old));
  h.hub_id = "hub-1";
  h.term = 7;
  h.auto_commit = false;
  h.Join(100, false, /*contained=*/false, /*adopt=*/true);
  EXPECT_TRUE(h.hold);
  EXPECT_FALSE(h.commit.has_value()) << "nothing is stored before the answer";
  ASSERT_THAT(h.Sent<KeySet>(), SizeIs(1));
  // Revision 100 is below the key's 150, and is taken all the same.
  h.Send(h.Batch(100, {{Key(1), "", fresh.digest, 10, false}}), fresh.blobs);
  while (h.commit.has_value()) h.FinishCommit();
  EXPECT_FALSE(h.hold);
  EXPECT_EQ(h.durable.at, h.AtRevision(100));
  EXPECT_EQ(h.Durable(1)->digest, fresh.digest);
  EXPECT_EQ(h.Durable(1)->revision, 100u);
  EXPECT_EQ(h.Durable(1)->name, "projects/p/bundles/b1");
  ASSERT_THAT(h.Sent<DesiredAck>(), SizeIs(1));
}

TEST(Adopt, IsCommittedWhenTheAnswerIsEmpty) {
  Harness h(HeldState(MakeBundle({{"a", "1"}})));
  h.Join(100, false, /*contained=*/false, /*adopt=*/true);
  h.Send(h.Batch(100, {}));
  EXPECT_EQ(h.durable.at.revision, 100u);
  EXPECT_EQ(h.Durable(1)->revision, 0u);
  EXPECT_EQ(h.durable.hold_reason, "");
  EXPECT_FALSE(h.hold);
}

// An adopt that keeps old key revisions, or reports them, would lose a tombstone of the new
// history.
TEST(Adopt, ReportsRevisionZeroUntilItIsCommittedAndNoOldOneAfter) {
  Harness h(HeldState(MakeBundle({{"a", "1"}})));
  h.auto_commit = false;
  h.Tick();
  h.Report(h.StatusOf(1, Phase::kApplied));
  h.Join(100, false, /*contained=*/false, /*adopt=*/true);
  EXPECT_EQ(h.LastStatus(1)->revision, 0u);
  h.Send(StatusAck{1});
  h.Send(h.Batch(100, {}));
  h.Report(h.StatusOf(1, Phase::kFailed));
  EXPECT_EQ(h.LastStatus(1)->revision, 0u);
  h.Send(StatusAck{2});
  h.FinishCommit();
  ASSERT_EQ(h.LastStatus(1)->phase, Phase::kFailed);
  EXPECT_EQ(h.LastStatus(1)->revision, 0u);
}

TEST(Adopt, CutBeforeTheAnswerKeepsTheOldRevisionsAndHolds) {
  Harness h(HeldState(MakeBundle({{"a", "1"}})));
  h.Join(100, false, /*contained=*/false, /*adopt=*/true);
  h.Drop();
  EXPECT_EQ(h.durable.hold_reason, "HistoryDiverged");
  EXPECT_EQ(h.Durable(1)->revision, 150u);
  EXPECT_EQ(h.durable.at.revision, 150u);
  EXPECT_TRUE(h.hold);
}

TEST(StateLost, CountsAsNotContainedAndStoresNothingBeforeTheAdopt) {
  AgentState rebuilt;
  rebuilt.assignments[Key(1)].key = Key(1);
  rebuilt.assignments[Key(1)].state = KeyState::kNotDesired;
  Harness h(rebuilt, /*state_lost=*/true);
  EXPECT_TRUE(h.hold);
  EXPECT_TRUE(h.Connect().state_lost);
  Welcome welcome = h.MakeWelcome(50);
  welcome.set_matches = true;
  h.Send(welcome);
  EXPECT_TRUE(h.hold);
  EXPECT_THAT(h.commits, IsEmpty());
  EXPECT_THAT(h.Sent<KeySet>(), IsEmpty());
  EXPECT_EQ(h.Sent<StatusBatch>().back().hold_reason, "StateLost");
  // A refusal that asks for a HOLD does not turn it into one that is stored.
  h.Send(Refusal{RefusalReason::kRevoked, "", std::nullopt});
  EXPECT_THAT(h.commits, IsEmpty());

  h.Join(50, false, false, /*adopt=*/true);
  ASSERT_THAT(h.Sent<KeySet>(), SizeIs(1));
  EXPECT_EQ(h.Sent<KeySet>()[0].keys[0].state, KeyState::kNotDesired);
  h.Send(h.Batch(50, {}));
  EXPECT_FALSE(h.hold);
  EXPECT_EQ(h.Durable(1)->state, KeyState::kNotDesired);
  EXPECT_EQ(h.durable.at.revision, 50u);
}

TEST(Frozen, WritesNothingAndReportsWhy) {
  Harness h(HeldState(MakeBundle({{"a", "1"}})), false, "StateTooNew");
  h.Join(200);
  h.Send(h.Batch(201, {}, {{Key(1), "", Propagation::kDelete, true}}));
  EXPECT_THAT(h.commits, IsEmpty());
  EXPECT_THAT(h.Sent<KeySet>(), IsEmpty());
  EXPECT_EQ(h.Sent<StatusBatch>().back().hold_reason, "StateTooNew");
}

// --- Refusals

struct RefusalCase {
  const char* name;
  RefusalReason reason;
  const char* hold;  // Expected durable hold reason.
  absl::Duration at_least;
  absl::Duration at_most;
};

class Refusals : public ::testing::TestWithParam<RefusalCase> {};

TEST_P(Refusals, AreAnsweredByTheTable) {
  const RefusalCase& c = GetParam();
  Harness h(HeldState(MakeBundle({{"a", "1"}})));
  h.Connect();
  h.Send(Refusal{c.reason, "why", std::nullopt});
  EXPECT_EQ(h.closes, 1);
  EXPECT_EQ(h.durable.hold_reason, c.hold);
  EXPECT_EQ(h.hold, c.hold[0] != '\0');
  EXPECT_GE(h.session->NextDeadline(), h.now + c.at_least);
  EXPECT_LE(h.session->NextDeadline(), h.now + c.at_most);
}

TEST_P(Refusals, RetryAfterWins) {
  const RefusalCase& c = GetParam();
  Harness h;
  h.Connect();
  h.Send(Refusal{c.reason, "why", absl::Seconds(77)});
  if (c.reason == RefusalReason::kCertExpired || c.reason == RefusalReason::kSuperseded) {
    EXPECT_EQ(h.session->NextDeadline(), absl::InfiniteFuture());
  } else {
    EXPECT_EQ(h.session->NextDeadline(), h.now + absl::Seconds(77));
  }
}

constexpr absl::Duration kBackoff = absl::Seconds(1);
const absl::Duration kNever = absl::InfiniteDuration();
INSTANTIATE_TEST_SUITE_P(
    Table, Refusals,
    ::testing::Values(
        RefusalCase{"NotAccepted", RefusalReason::kNotAccepted, "", absl::Seconds(30),
                    absl::Seconds(33)},
        RefusalCase{"Rejected", RefusalReason::kRejected, "Rejected", absl::Seconds(60),
                    absl::Seconds(66)},
        RefusalCase{"Revoked", RefusalReason::kRevoked, "Revoked", absl::Seconds(60),
                    absl::Seconds(66)},
        RefusalCase{"UnknownCluster", RefusalReason::kUnknownCluster, "UnknownCluster",
                    absl::Seconds(60), absl::Seconds(66)},
        RefusalCase{"WrongCluster", RefusalReason::kWrongCluster, "", absl::Seconds(60),
                    absl::Seconds(66)},
        RefusalCase{"CertExpired", RefusalReason::kCertExpired, "", kNever, kNever},
        RefusalCase{"CertUntrusted", RefusalReason::kCertUntrusted, "CertUntrusted",
                    absl::Seconds(60), absl::Seconds(66)},
        RefusalCase{"Superseded", RefusalReason::kSuperseded, "", kNever, kNever},
        RefusalCase{"StaleAttempt", RefusalReason::kStaleAttempt, "", absl::ZeroDuration(),
                    kBackoff},
        RefusalCase{"DuplicateIdentity", RefusalReason::kDuplicateIdentity, "DuplicateIdentity",
                    absl::Seconds(60), absl::Seconds(66)},
        RefusalCase{"ProtocolUnsupported", RefusalReason::kProtocolUnsupported, "",
                    absl::Minutes(5), absl::Minutes(5.5)},
        RefusalCase{"HubStarting", RefusalReason::kHubStarting, "", absl::ZeroDuration(), kBackoff},
        RefusalCase{"Behind", RefusalReason::kBehind, "", absl::ZeroDuration(), kBackoff},
        RefusalCase{"Overloaded", RefusalReason::kOverloaded, "", absl::ZeroDuration(), kBackoff},
        RefusalCase{"Draining", RefusalReason::kDraining, "", absl::ZeroDuration(), kBackoff},
        RefusalCase{"ProtocolError", RefusalReason::kProtocolError, "", absl::ZeroDuration(),
                    kBackoff}),
    [](const auto& info) { return info.param.name; });

TEST(Refusal, RevokedGrowsToFiveMinutes) {
  Harness h;
  std::vector<absl::Duration> waits;
  for (int i = 0; i < 5; ++i) {
    h.Connect();
    h.Send(Refusal{RefusalReason::kRevoked, "", std::nullopt});
    waits.push_back(h.session->NextDeadline() - h.now);
  }
  EXPECT_GE(waits[1], absl::Seconds(120));
  EXPECT_GE(waits[2], absl::Seconds(240));
  EXPECT_GE(waits[4], absl::Seconds(300));
  EXPECT_LE(waits[4], absl::Seconds(330));
}

TEST(Refusal, WrongClusterWritesNothingUntilTheHubTakesItAgain) {
  Harness h(HeldState(MakeBundle({{"a", "1"}})));
  h.Connect();
  h.Send(Refusal{RefusalReason::kWrongCluster, "", std::nullopt});
  EXPECT_TRUE(h.frozen);
  EXPECT_THAT(h.commits, IsEmpty());
  EXPECT_EQ(h.session->hold_reason(), "WrongCluster");
  h.Join(160, /*set_matches=*/true);
  EXPECT_FALSE(h.frozen);
  EXPECT_EQ(h.durable.at.revision, 160u);
}

TEST(Refusal, ExpiredCertificateIsRenewedThenDialledAtOnce) {
  Harness h;
  h.Connect();
  h.Send(Refusal{RefusalReason::kCertExpired, "", std::nullopt});
  EXPECT_TRUE(h.renew);
  h.Tick(absl::Hours(1));
  EXPECT_FALSE(h.dialled.has_value());
  h.Run(h.session->OnCertificateRenewed(true, h.now));
  EXPECT_TRUE(h.dialled.has_value());
}

TEST(Refusal, SupersededLooksAtTheLeaseFirst) {
  Harness h;
  h.Connect();
  h.Send(Refusal{RefusalReason::kSuperseded, "", std::nullopt});
  EXPECT_TRUE(h.check);
  h.Run(h.session->OnLeaseChecked(false, h.now));
  h.Tick(absl::Hours(1));
  EXPECT_FALSE(h.dialled.has_value());
  h.Run(h.session->OnLeaseChecked(true, h.now));
  h.Connect(absl::Seconds(2));
  EXPECT_EQ(h.Sent<Hello>().size(), 1u);
}

TEST(Refusal, UntrustedReadsTheCaAgain) {
  Harness h;
  h.Connect();
  h.Send(Refusal{RefusalReason::kCertUntrusted, "", std::nullopt});
  EXPECT_TRUE(h.reload);
}

TEST(Refusal, MayComeAtAnyTime) {
  Harness h;
  h.Join(100, true);
  h.Send(Refusal{RefusalReason::kRevoked, "", std::nullopt});
  EXPECT_EQ(h.durable.hold_reason, "Revoked");
  EXPECT_FALSE(h.session->live());
}

}  // namespace
}  // namespace nave
