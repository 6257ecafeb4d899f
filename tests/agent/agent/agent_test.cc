// The whole agent but for sockets: a simulated spoke, a hub in memory, the real apply engine;
// processes come and go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/agent/agent/agent_fixture.h"

namespace nave {
namespace {

using kubesim::SimRequest;

TEST_F(AgentTest, JoinsAppliesAndReports) {
  hub_.Put(1, MakeBundle({{"a", "1"}, {"b", "2"}}));
  auto process = Begin();
  RunFor();
  ASSERT_TRUE(hub_.live());
  EXPECT_EQ(MapValue("a"), "1");
  EXPECT_EQ(MapValue("b"), "2");
  EXPECT_EQ(PhaseOf(1), Phase::kApplied);
  EXPECT_EQ(hub_.StatusOf(1)->counts.total, 2u);
  EXPECT_EQ(hub_.dials.back().address, disk_.identity->hub_address);
  EXPECT_EQ(hub_.dials.back().certificate_pem, disk_.identity->certificate_pem);
  EXPECT_FALSE(hub_.hellos.back().kube_system_uid.empty());
  const AgentReport report = process->agent->Report();
  EXPECT_TRUE(report.leading);
  EXPECT_TRUE(report.live);
  EXPECT_EQ(report.cluster_name, "edge-1");
  EXPECT_EQ(ReadinessProblem(report, executor_.Now()), "");
}

TEST_F(AgentTest, FollowsChangesAndRemovals) {
  auto process = Begin();
  RunFor();
  hub_.Put(1, MakeBundle({{"a", "1"}, {"b", "1"}}));
  RunFor();
  hub_.Put(1, MakeBundle({{"a", "2"}}));
  RunFor();
  EXPECT_EQ(MapValue("a"), "2");
  EXPECT_EQ(MapValue("b"), "");
  hub_.Remove(1);
  RunFor();
  EXPECT_EQ(MapValue("a"), "");
  EXPECT_TRUE(process->agent->term()->store()->state().assignments.empty());
}

TEST_F(AgentTest, FetchesWhatDoesNotComeInline) {
  hub_.inline_blobs = false;
  hub_.Put(1, MakeBundle({{"a", "1"}}));
  auto process = Begin();
  RunFor();
  EXPECT_EQ(MapValue("a"), "1");
  EXPECT_GT(hub_.fetches, 0);
}

TEST_F(AgentTest, ARestartChangesNothing) {
  hub_.Put(1, MakeBundle({{"a", "1"}}));
  auto process = Begin();
  RunFor();
  const std::string version =
      sim_.Find("configmaps", "default", "a")->StringAt("metadata", "resourceVersion");
  process.reset();
  process = Begin();
  RunFor();
  EXPECT_TRUE(hub_.live());
  EXPECT_EQ(PhaseOf(1), Phase::kApplied);
  EXPECT_EQ(sim_.Find("configmaps", "default", "a")->StringAt("metadata", "resourceVersion"),
            version);
  EXPECT_EQ(calls_.enrolls, 1);
}

TEST_F(AgentTest, HealsWithoutTheHub) {
  hub_.Put(1, MakeBundle({{"a", "1"}}));
  auto process = Begin();
  RunFor();
  hub_.down = true;
  hub_.Cut();
  process.reset();
  process = Begin();
  RunFor();
  SimRequest request;
  request.verb = SimRequest::Verb::kDelete;
  request.version = "v1";
  request.plural = "configmaps";
  request.ns = "default";
  request.name = "a";
  ASSERT_TRUE(sim_.Handle(request, executor_.Now()).ok());
  EXPECT_EQ(MapValue("a"), "");
  RunFor(absl::Minutes(2));
  EXPECT_EQ(MapValue("a"), "1");
  EXPECT_FALSE(process->agent->Report().live);
  EXPECT_NE(ReadinessProblem(process->agent->Report(), executor_.Now()), "");
  EXPECT_EQ(LivenessProblem(process->agent->Report(), executor_.Now()), "");
  hub_.down = false;
  hub_.Put(1, MakeBundle({{"a", "2"}}));
  RunFor(absl::Minutes(2));
  EXPECT_EQ(MapValue("a"), "2");
}

TEST_F(AgentTest, AnotherHistoryIsNotFollowed) {
  hub_.Put(1, MakeBundle({{"a", "1"}}));
  auto process = Begin();
  RunFor();
  hub_.contained = false;
  hub_.Cut();
  hub_.Put(1, MakeBundle({{"a", "2"}}));
  RunFor(absl::Minutes(2));
  ASSERT_TRUE(hub_.live());
  EXPECT_EQ(MapValue("a"), "1");
  EXPECT_EQ(process->agent->Report().hold_reason, "HistoryDiverged");
  // It is remembered.
  process.reset();
  process = Begin();
  RunFor(absl::Minutes(1));
  EXPECT_EQ(MapValue("a"), "1");
  EXPECT_EQ(process->agent->Report().hold_reason, "HistoryDiverged");
  hub_.adopt = true;
  hub_.Cut();
  RunFor(absl::Minutes(2));
  EXPECT_EQ(MapValue("a"), "2");
  EXPECT_EQ(process->agent->Report().hold_reason, "");
}

TEST_F(AgentTest, LostStateWaitsForAnAdopt) {
  hub_.Put(1, MakeBundle({{"a", "1"}}));
  auto process = Begin();
  RunFor();
  process.reset();
  SimRequest request;
  request.verb = SimRequest::Verb::kDelete;
  request.version = "v1";
  request.plural = "secrets";
  request.ns = kNs;
  request.name = "nave-state";
  ASSERT_TRUE(sim_.Handle(request, executor_.Now()).ok());
  process = Begin();
  hub_.Put(1, MakeBundle({{"a", "2"}}));
  RunFor(absl::Minutes(1));
  EXPECT_TRUE(hub_.hellos.back().state_lost);
  EXPECT_EQ(process->agent->Report().hold_reason, "StateLost");
  EXPECT_EQ(MapValue("a"), "1");
  hub_.adopt = true;
  hub_.Cut();
  RunFor(absl::Minutes(1));
  EXPECT_EQ(MapValue("a"), "2");
  EXPECT_EQ(PhaseOf(1), Phase::kApplied);
}

TEST_F(AgentTest, TheStandbyTakesOver) {
  hub_.Put(1, MakeBundle({{"a", "1"}}));
  auto first = Begin("pod-a");
  RunFor();
  auto second = Begin("pod-b");
  RunFor();
  EXPECT_TRUE(first->agent->Report().leading);
  EXPECT_FALSE(second->agent->Report().leading);
  EXPECT_EQ(ReadinessProblem(second->agent->Report(), executor_.Now()), "");
  bool stopped = false;
  first->agent->Stop([&] { stopped = true; });
  RunFor(absl::Seconds(5));
  EXPECT_TRUE(stopped);
  first.reset();
  hub_.Put(1, MakeBundle({{"a", "2"}}));
  RunFor();
  EXPECT_TRUE(second->agent->Report().live);
  EXPECT_EQ(MapValue("a"), "2");
}

TEST_F(AgentTest, ALeaderThatLosesItsServerStopsAndComesBack) {
  hub_.Put(1, MakeBundle({{"a", "1"}}));
  auto process = Begin();
  RunFor();
  process->client->SetCut(true);
  RunFor(absl::Minutes(1));
  EXPECT_FALSE(process->agent->Report().leading);
  EXPECT_FALSE(hub_.live());
  process->client->SetCut(false);
  hub_.Put(1, MakeBundle({{"a", "2"}}));
  RunFor(absl::Minutes(1));
  EXPECT_TRUE(hub_.live());
  EXPECT_EQ(MapValue("a"), "2");
}

TEST_F(AgentTest, RenewsAnExpiredCertificate) {
  auto process = Begin();
  RunFor();
  const std::string before = disk_.identity->certificate_pem;
  hub_.refuse = RefusalReason::kCertExpired;
  hub_.Cut();
  RunFor(absl::Seconds(5));
  hub_.refuse.reset();
  RunFor(absl::Minutes(1));
  // Not again and again when the hub sticks to it.
  EXPECT_EQ(calls_.renewals, 1);
  EXPECT_TRUE(hub_.live());
  EXPECT_NE(hub_.dials.back().certificate_pem, before);
  EXPECT_EQ(hub_.dials.back().certificate_pem, disk_.identity->certificate_pem);
}

TEST_F(AgentTest, RenewsInTimeWithoutLosingTheSession) {
  auto process = Begin();
  RunFor();
  process.reset();
  // Past two thirds of its life.
  RunFor(absl::Hours(24 * 6));
  const size_t dials = hub_.dials.size();
  process = Begin();
  RunFor(absl::Minutes(1));
  EXPECT_EQ(calls_.renewals, 1);
  EXPECT_EQ(hub_.dials.size(), dials + 1);
  EXPECT_TRUE(hub_.live());
}

TEST_F(AgentTest, AForeignWriteOfItsStateStartsItOver) {
  hub_.Put(1, MakeBundle({{"a", "1"}}));
  auto process = Begin();
  RunFor();
  const Uuid instance = hub_.hellos.back().instance_id;
  SimRequest request;
  request.verb = SimRequest::Verb::kPatch;
  request.patch = SimRequest::Patch::kMerge;
  request.version = "v1";
  request.plural = "secrets";
  request.ns = kNs;
  request.name = "nave-state";
  request.body = R"({"metadata":{"annotations":{"nave.dev/writer":"someone"}}})";
  ASSERT_TRUE(sim_.Handle(request, executor_.Now()).ok());
  hub_.Put(1, MakeBundle({{"a", "2"}}));
  RunFor(absl::Minutes(1));
  EXPECT_NE(hub_.hellos.back().instance_id, instance);
  EXPECT_EQ(MapValue("a"), "2");
}

TEST_F(AgentTest, FactsAreSent) {
  auto process = Begin();
  RunFor();
  bool told = false;
  for (const AgentFrame& frame : hub_.frames) {
    const auto* facts = std::get_if<Facts>(&frame);
    told = told || (facts != nullptr && facts->kubernetes_version == "v1.34.0");
  }
  EXPECT_TRUE(told || hub_.hellos.back().facts.kubernetes_version == "v1.34.0");
}

}  // namespace
}  // namespace nave
