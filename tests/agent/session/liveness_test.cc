// Goal: pings, timeouts and redials happen when the protocol says so. Method: a hub by hand and a
// clock moved by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/agent/session/harness.h"

namespace nave {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Liveness, PingsAfterTenSecondsWithoutBothDirections) {
  Harness h;
  h.Join(10, true);
  h.sent.clear();
  h.Tick(absl::Seconds(9));
  EXPECT_THAT(h.Sent<Ping>(), IsEmpty());
  h.Tick(absl::Seconds(1));
  EXPECT_THAT(h.Sent<Ping>(), SizeIs(1));
  h.Send(Pong{});
  h.Tick(absl::Seconds(9));
  EXPECT_THAT(h.Sent<Ping>(), SizeIs(1));
}

TEST(Liveness, SendingAloneDoesNotPutThePingOff) {
  Harness h;
  h.Join(10, true);
  h.sent.clear();
  h.Tick(absl::Seconds(6));
  Facts facts;
  facts.nodes = 3;
  h.Run(h.session->OnFacts(facts, h.now));
  EXPECT_THAT(h.Sent<Facts>(), SizeIs(1));
  h.Tick(absl::Seconds(4));
  EXPECT_THAT(h.Sent<Ping>(), SizeIs(1));
}

TEST(Liveness, FollowsTheIntervalsOfWelcome) {
  Harness h;
  h.Connect();
  Welcome welcome = h.MakeWelcome(10);
  welcome.set_matches = true;
  welcome.ping_interval = absl::Seconds(3);
  welcome.dead_after = absl::Seconds(7);
  h.Send(welcome);
  h.sent.clear();
  h.Tick(absl::Seconds(3));
  EXPECT_THAT(h.Sent<Ping>(), SizeIs(1));
  h.Tick(absl::Seconds(4));
  EXPECT_EQ(h.closes, 1);
}

TEST(Liveness, SilenceOfTwentyFiveSecondsEndsTheSession) {
  Harness h;
  h.Join(10, true);
  h.Tick(absl::Seconds(24));
  EXPECT_EQ(h.closes, 0);
  h.Tick(absl::Seconds(1));
  EXPECT_EQ(h.closes, 1);
  EXPECT_EQ(h.close_reason, "the hub is silent");
}

TEST(Liveness, DeadlineComesBeforeTheEnd) {
  Harness h;
  h.Join(10, true);
  // Only deadlines drive it: pings go out, and the silence is noticed within 25 s.
  const absl::Time begin = h.now;
  int wakes = 0;
  while (h.closes == 0 && ++wakes < 100) {
    h.now = h.session->NextDeadline();
    h.Tick();
  }
  EXPECT_EQ(h.now - begin, absl::Seconds(25));
  EXPECT_LT(wakes, 10);
}

TEST(Liveness, AHubThatNeverAnswersIsGivenUp) {
  Harness h;
  h.Tick();
  EXPECT_EQ(h.dialled, 1u);
  h.dialled.reset();
  h.Tick(absl::Seconds(25));
  EXPECT_EQ(h.closes, 1);
}

TEST(Liveness, AWriteThatDoesNotFinishEndsTheSession) {
  Harness h;
  h.Connect();
  Welcome welcome = h.MakeWelcome(10);
  welcome.set_matches = true;
  // By hand: the write of the answer is never reported done.
  Effects effects = h.session->OnFrame(h.attempt, {{}, {}, welcome}, h.now);
  ASSERT_TRUE(effects.frame.has_value());
  for (int i = 0; i < 19; ++i) {
    h.now += absl::Seconds(1);
    Effects none = h.session->OnFrame(h.attempt, {{}, {}, Pong{}}, h.now);
    EXPECT_FALSE(none.frame.has_value()) << "one write at a time";
    EXPECT_FALSE(none.close_stream);
  }
  h.now += absl::Seconds(1);
  Effects end = h.session->OnTick(h.now);
  EXPECT_TRUE(end.close_stream);
  EXPECT_EQ(end.close_reason, "a write did not finish");
}

TEST(Redial, FirstOneAfterALostSessionIsWithinTheSpread) {
  std::vector<absl::Duration> waits;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Harness h;
    h.options.seed = seed;
    h.Restart();
    h.Connect();
    Welcome welcome = h.MakeWelcome(10);
    welcome.set_matches = true;
    welcome.reconnect_spread = absl::Seconds(20);
    h.Send(welcome);
    // Long enough to be stable.
    for (int i = 0; i < 10; ++i) {
      h.Tick(absl::Seconds(10));
      h.Send(Pong{});
    }
    h.Drop();
    waits.push_back(h.session->NextDeadline() - h.now);
    EXPECT_LE(waits.back(), absl::Seconds(20));
  }
  EXPECT_GT(*std::max_element(waits.begin(), waits.end()), absl::Seconds(15));
  EXPECT_LT(*std::min_element(waits.begin(), waits.end()), absl::Seconds(5));
}

TEST(Redial, BacksOffToThirtySecondsAndResetsAfterAStableMinute) {
  Harness h;
  absl::Duration longest;
  for (int i = 0; i < 60; ++i) {
    h.Connect();
    h.Drop();
    const absl::Duration wait = h.session->NextDeadline() - h.now;
    EXPECT_LE(wait, absl::Seconds(i == 0 ? 1 : 30));
    longest = std::max(longest, wait);
  }
  EXPECT_GT(longest, absl::Seconds(20));
  h.Join(10, true);
  for (int i = 0; i < 6; ++i) {
    h.Tick(absl::Seconds(10));
    h.Send(Pong{});
  }
  h.Drop();
  EXPECT_LE(h.session->NextDeadline() - h.now, absl::Seconds(1)) << "the spread of this hub";
}

TEST(Redial, AFlappingSessionIsSlowedDown) {
  Harness h;
  absl::Duration longest;
  for (int i = 0; i < 40; ++i) {
    h.Join(10, true);
    h.Drop();
    longest = std::max(longest, h.session->NextDeadline() - h.now);
  }
  EXPECT_GT(longest, absl::Seconds(15));
}

TEST(Redial, DrainDialsAgain) {
  Harness h;
  h.Join(10, true);
  h.Send(Drain{});
  EXPECT_EQ(h.closes, 1);
  EXPECT_LE(h.session->NextDeadline(), h.now + absl::Seconds(1));
}

TEST(Streams, WhatComesFromAnOlderOneIsIgnored) {
  Harness h;
  h.Connect();
  const uint64_t old = h.attempt;
  h.Drop();
  h.Connect();
  HubFrame revoked;
  revoked.body = Refusal{RefusalReason::kRevoked, "", std::nullopt};
  h.Run(h.session->OnFrame(old, revoked, h.now));
  h.Run(h.session->OnStreamDown(old, h.now));
  EXPECT_FALSE(h.hold);
  EXPECT_EQ(h.closes, 0);
  h.Send(h.MakeWelcome(10));
  EXPECT_TRUE(h.session->live());
}

TEST(Streams, FramesOutOfPlaceEndTheSession) {
  Harness early;
  early.Connect();
  early.Send(early.Batch(10, {}));
  EXPECT_EQ(early.closes, 1);

  Harness twice;
  twice.Join(10, true);
  twice.Send(twice.MakeWelcome(10));
  EXPECT_EQ(twice.closes, 1);

  Harness version;
  version.Connect();
  Welcome welcome = version.MakeWelcome(10);
  welcome.protocol = 2;
  version.Send(welcome);
  EXPECT_EQ(version.closes, 1);
}

TEST(Streams, UnknownFramesAreIgnored) {
  Harness h;
  h.Join(10, true);
  h.Hub(HubFrame{});
  EXPECT_EQ(h.closes, 0);
}

}  // namespace
}  // namespace nave
