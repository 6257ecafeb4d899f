// Never two leaders that may write, and always one in the end.
#include "agent/leader/leadership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/kubesim/sim_kube_client.h"

namespace nave {
namespace {

TEST(DecideLease, Table) {
  const absl::Time now = absl::FromUnixSeconds(1000);
  struct Case {
    const char* name;
    std::optional<LeaseRecord> present;
    absl::Duration seen_for;
    bool restarted;
    bool take;
  };
  auto held = [](const char* holder, const char* instance) {
    LeaseRecord lease;
    lease.holder = holder;
    lease.instance = instance;
    lease.resource_version = "7";
    return lease;
  };
  const Case cases[] = {
      {"none", std::nullopt, absl::ZeroDuration(), true, true},
      {"released", held("", ""), absl::ZeroDuration(), false, true},
      {"another's, fresh", held("b", "2"), absl::Seconds(14), true, false},
      {"another's, run out", held("b", "2"), absl::Seconds(15), true, true},
      {"own name after a restart", held("a", "0"), absl::ZeroDuration(), true, true},
      {"own name, another process lives", held("a", "0"), absl::Seconds(3), false, false},
      {"own write whose answer was lost", held("a", "1"), absl::ZeroDuration(), false, true},
  };
  for (const Case& c : cases) {
    LeaseDecision decision = DecideLease(c.present, now - c.seen_for, "a", "1", c.restarted,
                                         absl::Seconds(15), now, now);
    EXPECT_EQ(decision.take.has_value(), c.take) << c.name;
    if (c.take) {
      EXPECT_EQ(decision.take->holder, "a") << c.name;
      EXPECT_EQ(decision.take->resource_version, c.present ? "7" : "") << c.name;
    } else {
      EXPECT_EQ(decision.look_at, now - c.seen_for + absl::Seconds(15)) << c.name;
    }
  }
}

TEST(DecideLease, RecordSurvivesItsObject) {
  LeaseRecord lease{"pod", "i", absl::Seconds(15), absl::FromUnixMicros(1'700'000'000'123'456),
                    3,     "9"};
  EXPECT_EQ(ParseLease(FormatLease(lease, "ns", "l", lease.acquired)), lease);
}

// One process with its own link to the API server.
struct Process {
  Process(kubesim::KubeSim* sim, Executor* executor, std::string identity, uint64_t seed) {
    kubesim::SimKubeClientOptions client_options;
    client_options.seed = seed;
    client = std::make_unique<kubesim::SimKubeClient>(sim, executor, client_options);
    LeadershipOptions options;
    options.client = client.get();
    options.executor = executor;
    options.ns = "default";
    options.identity = std::move(identity);
    options.instance = absl::StrCat("instance-", seed);
    options.seed = seed;
    leadership = std::make_unique<Leadership>(std::move(options));
    leadership->Start([this] { ++elected; }, [this] { ++lost; });
  }
  std::unique_ptr<kubesim::SimKubeClient> client;
  std::unique_ptr<Leadership> leadership;
  int elected = 0;
  int lost = 0;
};

class LeadershipTest : public testing::Test {
 protected:
  std::unique_ptr<Process> Begin(std::string identity) {
    return std::make_unique<Process>(&sim_, &executor_, std::move(identity), ++seed_);
  }
  uint64_t seed_ = 0;
  ManualExecutor executor_{absl::FromUnixSeconds(1'700'000'000)};
  kubesim::KubeSim sim_{kubesim::KubeSimOptions(), executor_.Now()};
  kubesim::SimStepper stepper_{&sim_, &executor_};
};

TEST_F(LeadershipTest, OneOfTwoLeadsAndStays) {
  auto a = Begin("a");
  auto b = Begin("b");
  executor_.Advance(absl::Minutes(5));
  EXPECT_EQ(a->leadership->leading() + b->leadership->leading(), 1);
  EXPECT_EQ(a->elected + b->elected, 1);
  EXPECT_EQ(a->lost + b->lost, 0);
  Process& standby = a->leadership->leading() ? *b : *a;
  EXPECT_LT(executor_.Now() - standby.leadership->last_contact(), absl::Seconds(5));
}

TEST_F(LeadershipTest, ReleaseHandsOverAtOnce) {
  auto a = Begin("a");
  executor_.Advance(absl::Seconds(1));
  auto b = Begin("b");
  executor_.Advance(absl::Seconds(1));
  bool released = false;
  a->leadership->Release([&] { released = true; });
  EXPECT_FALSE(a->leadership->MayWrite());
  executor_.Advance(absl::Seconds(3));
  EXPECT_TRUE(released);
  EXPECT_TRUE(b->leadership->leading());
}

TEST_F(LeadershipTest, ReleaseEndsWithoutTheServer) {
  auto a = Begin("a");
  executor_.Advance(absl::Seconds(1));
  a->client->SetCut(true);
  int released = 0;
  a->leadership->Release([&] { ++released; });
  executor_.Advance(absl::Seconds(10));
  EXPECT_EQ(released, 1);
}

TEST_F(LeadershipTest, ARestartedPodTakesItsOwnLease) {
  auto a = Begin("a");
  executor_.Advance(absl::Seconds(1));
  ASSERT_TRUE(a->leadership->leading());
  a.reset();
  a = Begin("a");
  executor_.Advance(absl::Seconds(1));
  EXPECT_TRUE(a->leadership->leading());
}

TEST_F(LeadershipTest, TwoProcessesOfOneNameDoNotTakeTurns) {
  auto a = Begin("same");
  executor_.Advance(absl::Seconds(10));
  auto b = Begin("same");
  executor_.Advance(absl::Minutes(10));
  EXPECT_EQ(a->lost, 1);
  EXPECT_EQ(b->elected, 1);
  EXPECT_EQ(b->lost, 0);
}

TEST_F(LeadershipTest, ALeaderWithoutServerStopsWritingBeforeAnotherBegins) {
  auto a = Begin("a");
  executor_.Advance(absl::Seconds(20));
  auto b = Begin("b");
  executor_.Advance(absl::Seconds(3));
  a->client->SetCut(true);
  const absl::Time cut = executor_.Now();
  absl::Time stopped = absl::InfiniteFuture(), taken = absl::InfiniteFuture();
  while (executor_.Now() < cut + absl::Minutes(1)) {
    executor_.Advance(absl::Milliseconds(100));
    EXPECT_FALSE(a->leadership->MayWrite() && b->leadership->MayWrite());
    if (!a->leadership->MayWrite()) stopped = std::min(stopped, executor_.Now());
    if (b->leadership->leading()) taken = std::min(taken, executor_.Now());
  }
  EXPECT_LE(stopped - cut, absl::Seconds(10) + absl::Milliseconds(100));
  EXPECT_LT(stopped, taken);
  EXPECT_LE(taken - cut, absl::Seconds(20));
  EXPECT_EQ(a->lost, 1);
  // It comes back as a standby.
  a->client->SetCut(false);
  executor_.Advance(absl::Minutes(1));
  EXPECT_FALSE(a->leadership->leading());
  EXPECT_TRUE(b->leadership->leading());
}

TEST_F(LeadershipTest, LostAnswersDoNotCostTheLeadership) {
  auto a = Begin("a");
  executor_.Advance(absl::Seconds(1));
  int writes = 0;
  sim_.fault = [&](const kubesim::SimRequest& request) {
    kubesim::SimFault fault;
    if (request.IsWrite() && ++writes % 2 == 0) fault.kind = kubesim::SimFault::Kind::kDropAfter;
    return fault;
  };
  executor_.Advance(absl::Minutes(3));
  EXPECT_GT(writes, 10);
  EXPECT_TRUE(a->leadership->leading());
  EXPECT_EQ(a->lost, 0);
}

TEST_F(LeadershipTest, CheckTellsTheHolder) {
  auto a = Begin("a");
  executor_.Advance(absl::Seconds(1));
  std::vector<bool> told;
  a->leadership->Check([&](bool ours) { told.push_back(ours); });
  executor_.Advance(absl::Seconds(1));
  auto b = Begin("a");  // Takes it.
  executor_.Advance(absl::Seconds(1));
  a->leadership->Check([&](bool ours) { told.push_back(ours); });
  executor_.Advance(absl::Seconds(1));
  EXPECT_EQ(told, (std::vector<bool>{true, false}));
}

}  // namespace
}  // namespace nave
