// What streams, clocks, stores and agents do to each other in the field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "hub/controllers/actions.h"
#include "hub/core/record_ports.h"
#include "hub/records/keys.h"
#include "tests/hub/core/hub_fixture.h"

namespace nave {
namespace {

bool Connected(const HubFixture& hub, const Cluster& cluster) {
  auto live = hub.core->live()->Find(cluster.meta.uid);
  return live != nullptr && live->connected;
}

// An agent of `cluster` that holds everything it was told to.
std::shared_ptr<TestAgent> Join(HubFixture* hub, const Cluster& cluster) {
  auto agent = hub->MakeAgent(cluster);
  agent->Dial();
  agent->Say(KeySet{});
  agent->AcceptBatch();
  return agent;
}

TEST(Sessions, ALateEndOfTheOldStreamLeavesTheNewOneConnected) {
  HubFixture hub;
  Cluster edge = hub.AddCluster("edge");
  auto before = hub.MakeAgent(edge);
  before->Dial();
  for (int i = 0; i < 200; ++i) {
    auto after = hub.MakeAgent(edge);
    after->hello.instance_id = before->hello.instance_id;
    after->hello.attempt = before->hello.attempt;
    after->Dial();
    before->HangUp();
    ASSERT_TRUE(Connected(hub, edge)) << i;
    before = after;
  }
}

TEST(Sessions, AgentsThatDialBeforeTheIndexIsLoadedComeBackLater) {
  std::string image;
  Cluster edge;
  {
    HubFixture hub;
    edge = hub.AddCluster("edge");
    hub.ApplyBundle("web", "1", {"edge"});
    image = hub.Image();
  }
  HubFixture hub(image, /*load=*/false);
  auto agent = hub.MakeAgent(edge);
  agent->Dial();
  auto refusal = agent->Last<Refusal>();
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->reason, RefusalReason::kHubStarting);
  EXPECT_TRUE(refusal->retry_after.has_value());
  EXPECT_FALSE(agent->Last<DesiredBatch>().has_value());
  hub.Load();
  agent = Join(&hub, edge);
  EXPECT_EQ(agent->held.size(), 1u);
}

TEST(Sessions, WhatWasCommittedBeforeACrashIsDeliveredAfterIt) {
  std::string image;
  Cluster edge;
  Hello hello;
  {
    HubFixture hub;
    edge = hub.AddCluster("edge");
    auto agent = Join(&hub, edge);
    hello = agent->hello;
    agent->HangUp();
    hub.ApplyBundle("web", "1", {"edge"});
    image = hub.Image();
  }
  HubFixture hub(image);
  auto agent = hub.MakeAgent(edge);
  agent->hello = hello;
  agent->Dial();
  agent->Say(KeySet{});
  ASSERT_TRUE(agent->AcceptBatch());
  EXPECT_EQ(agent->held.size(), 1u);
}

TEST(Sessions, ADeletionOvertakesABatchThatIsUnderWay) {
  HubFixture hub;
  Cluster edge = hub.AddCluster("edge");
  auto agent = Join(&hub, edge);
  hub.ApplyBundle("web", "1", {"edge"});
  // The first batch is out and not acknowledged.
  hub.DeleteBundle("web");
  hub.Run(absl::Seconds(1));
  agent->AcceptBatch();
  hub.Run(absl::Seconds(1));
  agent->AcceptBatch();
  EXPECT_TRUE(agent->held.empty());
  EXPECT_TRUE(hub.FindBundle("web").has_value());
  agent->ReportAll();
  hub.Run(absl::Seconds(10));
  EXPECT_FALSE(hub.FindBundle("web").has_value());
}

TEST(Sessions, ASkewedClockIsACondition) {
  HubFixture hub;
  Cluster edge = hub.AddCluster("edge");
  for (absl::Duration skew : {absl::Minutes(-10), absl::Minutes(10), absl::Hours(24 * 400)}) {
    auto agent = hub.MakeAgent(edge);
    agent->Dial();
    ASSERT_TRUE(agent->Last<Welcome>().has_value());
    agent->HangUp();
    agent->hello.attempt++;
    Hello hello = agent->hello;
    hello.agent_time = hub.executor.Now() + skew;
    auto skewed = hub.MakeAgent(edge);
    StreamId id = hub.core->sessions()->OnOpen(skewed->peer, skewed);
    hub.core->sessions()->OnFrame(id, hello);
    hub.Run();
    ASSERT_TRUE(skewed->Last<Welcome>().has_value());
    EXPECT_EQ(skewed->Last<Welcome>()->hub_time, hub.executor.Now());
    EXPECT_TRUE(Connected(hub, edge));
    EXPECT_NEAR(absl::ToDoubleSeconds(hub.core->live()->Find(edge.meta.uid)->clock_offset - skew),
                0, 1);
    hub.core->sessions()->OnClosed(id);
    hub.Run();
  }
}

TEST(Sessions, SilenceEndsASessionInTime) {
  HubFixture hub;
  Cluster edge = hub.AddCluster("edge");
  auto agent = hub.MakeAgent(edge);
  agent->Dial();
  hub.Run(absl::Seconds(24));
  EXPECT_TRUE(Connected(hub, edge));
  agent->Say(Ping{});
  EXPECT_TRUE(agent->Last<Pong>().has_value());
  hub.Run(absl::Seconds(24));
  EXPECT_TRUE(Connected(hub, edge));
  hub.Run(absl::Seconds(2));
  EXPECT_FALSE(Connected(hub, edge));
  EXPECT_TRUE(agent->closed);
}

TEST(Sessions, NobodySpeaksForAnotherCluster) {
  HubFixture hub;
  Cluster edge = hub.AddCluster("edge");
  Cluster core = hub.AddCluster("core");
  hub.ApplyBundle("web", "1", {"edge"});
  auto victim = Join(&hub, edge);
  victim->ReportAll();
  auto stranger = Join(&hub, core);
  EXPECT_TRUE(stranger->held.empty());
  stranger->held = victim->held;
  stranger->ReportAll();
  auto live = hub.core->live();
  EXPECT_EQ(live->Find(edge.meta.uid)->assignments.size(), 1u);
  // What it says of a key that is not its own stays with it and makes nothing of the bundle true
  // elsewhere.
  auto views =
      AssignmentsOfBundle(*hub.core->snapshot(), hub.FindBundle("web")->meta.uid, live->Snapshot());
  size_t ready = 0;
  for (const AssignmentView& view : views) ready += view.cluster_id == "edge" ? 1 : 0;
  EXPECT_EQ(ready, 1u);
  EXPECT_FALSE(victim->closed);
}

TEST(Sessions, AStoreThatStallsKeepsStreamsUpAndAcknowledgesNothing) {
  HubFixture hub;
  Cluster edge = hub.AddCluster("edge");
  hub.ApplyBundle("web", "1", {"edge"});
  auto agent = Join(&hub, edge);
  hub.Run(absl::Seconds(5));
  hub.stalling->Stall();
  agent->ReportAll();
  for (int i = 0; i < 12; ++i) {
    hub.Run(absl::Seconds(10));
    agent->Say(Ping{});
  }
  EXPECT_TRUE(Connected(hub, edge));
  EXPECT_FALSE(agent->Last<StatusAck>().has_value());
  // What was said can be seen meanwhile.
  EXPECT_EQ(hub.core->live()->Find(edge.meta.uid)->assignments.size(), 1u);
  hub.stalling->GoOn();
  hub.Run(absl::Seconds(5));
  EXPECT_TRUE(agent->Last<StatusAck>().has_value());
}

TEST(Sessions, AFloodOfStatusesIsFewWritesAndEndsAtTheLast) {
  HubFixture hub;
  std::vector<std::shared_ptr<TestAgent>> agents;
  std::vector<Cluster> clusters;
  for (int i = 0; i < 100; ++i) clusters.push_back(hub.AddCluster(absl::StrCat("c", i)));
  std::vector<std::string> names;
  for (const Cluster& cluster : clusters) names.push_back(cluster.id);
  hub.ApplyBundle("web", "1", names);
  for (const Cluster& cluster : clusters) agents.push_back(Join(&hub, cluster));
  for (int round = 0; round < 20; ++round) {
    for (auto& agent : agents) agent->ReportAll();
  }
  hub.Run(absl::Seconds(30));
  for (auto& agent : agents) {
    ASSERT_TRUE(agent->Last<StatusAck>().has_value());
    EXPECT_EQ(agent->Last<StatusAck>()->seq, 20u);
    EXPECT_TRUE(hub.records->Get(StatusKey(agent->peer.cluster)).ok());
  }
  EXPECT_EQ(hub.core->controllers().errors_total(), 0u);
}

TEST(Sessions, AForgottenClusterIsGoneWithoutItsAgent) {
  HubFixture hub;
  Cluster edge = hub.AddCluster("edge");
  hub.ApplyBundle("web", "1", {"edge"});
  auto agent = Join(&hub, edge);
  agent->ReportAll();
  hub.Run(absl::Seconds(10));
  agent->HangUp();
  std::vector<std::string> left;
  auto txn = PlanForget(*hub.core->snapshot(), hub.core->live()->Snapshot(), edge.meta.uid,
                        hub.executor.Now(), &left);
  ASSERT_TRUE(txn.ok()) << txn.status();
  EXPECT_EQ(left.size(), 1u);
  hub.Commit(ToRecordTxn(*std::move(txn)));
  hub.Run(absl::Minutes(1));
  EXPECT_FALSE(hub.FindCluster("edge").has_value());
  EXPECT_FALSE(hub.records->Get(StatusKey(edge.meta.uid)).ok());
  EXPECT_FALSE(hub.records->Get(SessionKey(edge.meta.uid)).ok());
  // Its agent comes back: it is told so, and nothing is taken from it.
  agent->Dial();
  ASSERT_TRUE(agent->Last<Refusal>().has_value());
  EXPECT_EQ(agent->Last<Refusal>()->reason, RefusalReason::kUnknownCluster);
  // The bundle can be deleted without it.
  hub.DeleteBundle("web");
  hub.Run(absl::Seconds(10));
  EXPECT_FALSE(hub.FindBundle("web").has_value());
}

TEST(Sessions, AClusterThatLeftAndJoinedAgainGetsItsBundles) {
  HubFixture hub;
  Cluster first = hub.AddCluster("edge");
  hub.ApplyBundle("web", "1", {"edge"});
  auto before = Join(&hub, first);
  before->HangUp();
  std::vector<std::string> left;
  hub.Commit(ToRecordTxn(*PlanForget(*hub.core->snapshot(), hub.core->live()->Snapshot(),
                                     first.meta.uid, hub.executor.Now(), &left)));
  hub.Run(absl::Seconds(10));
  Cluster second = hub.AddCluster("edge");
  auto after = Join(&hub, second);
  EXPECT_EQ(after->held.size(), 1u);
  before->Dial();
  EXPECT_EQ(before->Last<Refusal>()->reason, RefusalReason::kUnknownCluster);
  EXPECT_TRUE(Connected(hub, second));
}

}  // namespace
}  // namespace nave
