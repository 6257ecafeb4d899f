#include "hub/core/hub_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hub/records/keys.h"
#include "tests/hub/core/hub_fixture.h"

namespace nave {
namespace {

TEST(HubCoreTest, ABundleReachesItsClusterAndItsStatusComesBack) {
  HubFixture hub;
  Cluster edge = hub.AddCluster("edge");
  hub.ApplyBundle("web", "1", {"edge"});
  auto agent = hub.MakeAgent(edge);
  agent->Dial();
  auto welcome = agent->Last<Welcome>();
  ASSERT_TRUE(welcome.has_value());
  EXPECT_EQ(welcome->epoch, 1u);
  EXPECT_TRUE(welcome->history_contains_yours);
  EXPECT_FALSE(welcome->set_matches);
  agent->Say(KeySet{});
  ASSERT_TRUE(agent->AcceptBatch());
  ASSERT_EQ(agent->held.size(), 1u);
  EXPECT_EQ(agent->held.begin()->second.name, "projects/default/bundles/web");

  agent->ReportAll();
  auto live = hub.core->live()->Find(edge.meta.uid);
  ASSERT_NE(live, nullptr);
  ASSERT_EQ(live->assignments.size(), 1u);
  EXPECT_EQ(live->assignments.begin()->second->health, Health::kHealthy);
  hub.Run(absl::Seconds(30));
  EXPECT_TRUE(hub.records->Get(StatusKey(edge.meta.uid)).ok());
}

TEST(HubCoreTest, AnUpdateIsSentOnceAndNothingWhenNothingChanges) {
  HubFixture hub;
  Cluster edge = hub.AddCluster("edge");
  hub.ApplyBundle("web", "1", {"edge"});
  auto agent = hub.MakeAgent(edge);
  agent->Dial();
  agent->Say(KeySet{});
  ASSERT_TRUE(agent->AcceptBatch());
  agent->ReportAll();
  size_t before = agent->frames.size();
  hub.Run(absl::Seconds(5));
  EXPECT_FALSE(agent->AcceptBatch());
  Digest first = agent->held.begin()->second.digest;
  hub.ApplyBundle("web", "2", {"edge"});
  ASSERT_TRUE(agent->AcceptBatch());
  EXPECT_NE(agent->held.begin()->second.digest, first);
  EXPECT_GT(agent->frames.size(), before);

  // It comes back with what it has: the roots match, so it gets no batch.
  agent->HangUp();
  agent->Dial();
  ASSERT_TRUE(agent->Last<Welcome>().has_value());
  EXPECT_TRUE(agent->Last<Welcome>()->set_matches);
  EXPECT_FALSE(agent->Last<DesiredBatch>().has_value());
}

TEST(HubCoreTest, ADeletedBundleGoesWhenItsLastClusterIsRidOfIt) {
  HubFixture hub;
  Cluster edge = hub.AddCluster("edge");
  hub.ApplyBundle("web", "1", {"edge"});
  auto agent = hub.MakeAgent(edge);
  agent->Dial();
  agent->Say(KeySet{});
  ASSERT_TRUE(agent->AcceptBatch());
  agent->ReportAll();
  hub.DeleteBundle("web");
  hub.Run(absl::Seconds(1));
  ASSERT_TRUE(agent->AcceptBatch());
  EXPECT_TRUE(agent->held.empty());
  ASSERT_EQ(agent->removing.size(), 1u);
  // Not before the agent says so.
  EXPECT_TRUE(hub.FindBundle("web").has_value());
  agent->ReportAll();
  hub.Run(absl::Seconds(30));
  EXPECT_FALSE(hub.FindBundle("web").has_value());
}

TEST(HubCoreTest, AClusterThatLeavesAPlacementGetsATombstone) {
  HubFixture hub;
  Cluster edge = hub.AddCluster("edge");
  Cluster core = hub.AddCluster("core");
  hub.ApplyBundle("web", "1", {"edge", "core"});
  auto agent = hub.MakeAgent(edge);
  agent->Dial();
  agent->Say(KeySet{});
  ASSERT_TRUE(agent->AcceptBatch());
  // A person named another list: that is an order, whatever its size.
  hub.ApplyBundle("web", "1", {"core"});
  hub.Run(absl::Seconds(1));
  ASSERT_TRUE(agent->AcceptBatch());
  EXPECT_EQ(agent->removing.size(), 1u);
}

struct RefusalCase {
  const char* name;
  RefusalReason reason;
  void (*change)(Cluster*, TestAgent*);
  bool without_record = false;
};
class RefusalTest : public testing::TestWithParam<RefusalCase> {};

TEST_P(RefusalTest, IsGivenByTheRecord) {
  HubFixture hub;
  Cluster edge = hub.AddCluster("edge");
  Cluster other = hub.AddCluster("other");
  auto agent = hub.MakeAgent(edge);
  Cluster changed = edge;
  GetParam().change(&changed, agent.get());
  if (!GetParam().without_record) hub.Put(ClusterKey("edge"), changed);
  agent->Dial();
  auto refusal = agent->Last<Refusal>();
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->reason, GetParam().reason) << FormatRefusalReason(refusal->reason);
  EXPECT_FALSE(refusal->message.empty());
  EXPECT_TRUE(agent->closed);
  // Nothing else stops.
  auto healthy = hub.MakeAgent(other);
  healthy->Dial();
  EXPECT_TRUE(healthy->Last<Welcome>().has_value());
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusalTest,
    testing::Values(
        RefusalCase{"NotAccepted", RefusalReason::kNotAccepted,
                    [](Cluster* c, TestAgent*) { c->status.admission = Admission::kPending; }},
        RefusalCase{"Rejected", RefusalReason::kRejected,
                    [](Cluster* c, TestAgent*) { c->status.admission = Admission::kRejected; }},
        RefusalCase{"Revoked", RefusalReason::kRevoked,
                    [](Cluster* c, TestAgent*) { c->status.revoked = true; }},
        RefusalCase{"OldGeneration", RefusalReason::kRevoked,
                    [](Cluster* c, TestAgent*) { c->status.certificate_generation = 2; }},
        RefusalCase{"WrongCluster", RefusalReason::kWrongCluster,
                    [](Cluster* c, TestAgent*) { c->status.kube_system_uid = "another"; }},
        RefusalCase{"UnknownCluster", RefusalReason::kUnknownCluster,
                    [](Cluster*, TestAgent* a) { a->peer.cluster = Uuid::Random(); }, true},
        RefusalCase{
            "ProtocolUnsupported", RefusalReason::kProtocolUnsupported,
            [](Cluster*, TestAgent* a) { a->hello.protocol_min = a->hello.protocol_max = 99; }}),
    [](const auto& info) { return info.param.name; });

TEST(HubCoreTest, ANewerSessionTakesOver) {
  HubFixture hub;
  Cluster edge = hub.AddCluster("edge");
  auto first = hub.MakeAgent(edge);
  first->Dial();
  ASSERT_TRUE(first->Last<Welcome>().has_value());
  auto second = hub.MakeAgent(edge);
  second->Dial();
  ASSERT_TRUE(second->Last<Welcome>().has_value());
  EXPECT_EQ(second->Last<Welcome>()->epoch, 2u);
  ASSERT_TRUE(first->Last<Refusal>().has_value());
  EXPECT_EQ(first->Last<Refusal>()->reason, RefusalReason::kSuperseded);
  EXPECT_TRUE(first->closed);
}

TEST(HubCoreTest, RevokingCutsALiveSession) {
  HubFixture hub;
  Cluster edge = hub.AddCluster("edge");
  auto agent = hub.MakeAgent(edge);
  agent->Dial();
  ASSERT_TRUE(agent->Last<Welcome>().has_value());
  Cluster record = *hub.FindCluster("edge");
  record.status.revoked = true;
  record.status.certificate_generation = 2;
  hub.Put(ClusterKey("edge"), record);
  ASSERT_TRUE(agent->Last<Refusal>().has_value());
  EXPECT_EQ(agent->Last<Refusal>()->reason, RefusalReason::kRevoked);
  EXPECT_TRUE(agent->closed);
}

TEST(HubCoreTest, ARestartedHubKnowsWhatItsAgentsHave) {
  std::string image;
  Cluster edge;
  Hello hello;
  {
    HubFixture hub;
    edge = hub.AddCluster("edge");
    hub.ApplyBundle("web", "1", {"edge"});
    auto agent = hub.MakeAgent(edge);
    agent->Dial();
    agent->Say(KeySet{});
    ASSERT_TRUE(agent->AcceptBatch());
    hello = agent->hello;
    image = hub.Image();
  }
  HubFixture hub(image);
  auto agent = hub.MakeAgent(edge);
  agent->hello = hello;
  agent->Dial();
  ASSERT_TRUE(agent->Last<Welcome>().has_value());
  EXPECT_TRUE(agent->Last<Welcome>()->history_contains_yours);
  EXPECT_TRUE(agent->Last<Welcome>()->set_matches);
  EXPECT_FALSE(agent->Last<DesiredBatch>().has_value());
}

TEST(HubCoreTest, ARestoredHubSendsNothingToAnAgentThatSawMore) {
  std::string image;
  Cluster edge;
  Hello hello;
  {
    HubFixture hub;
    edge = hub.AddCluster("edge");
    hub.ApplyBundle("web", "1", {"edge"});
    image = hub.Image();
    hub.ApplyBundle("more", "1", {"edge"});
    auto agent = hub.MakeAgent(edge);
    agent->Dial();
    agent->Say(KeySet{});
    ASSERT_TRUE(agent->AcceptBatch());
    ASSERT_EQ(agent->held.size(), 2u);
    hello = agent->hello;
  }
  HubFixture hub(image);
  // It went on with other writes before the agent came back.
  for (int i = 0; i < 50; ++i) hub.ApplyBundle("web", absl::StrCat(i), {"edge"});
  auto agent = hub.MakeAgent(edge);
  agent->hello = hello;
  agent->Dial();
  ASSERT_TRUE(agent->Last<Welcome>().has_value());
  EXPECT_FALSE(agent->Last<Welcome>()->history_contains_yours);
  EXPECT_FALSE(agent->Last<Welcome>()->adopt);
  hub.Run(absl::Seconds(20));
  EXPECT_FALSE(agent->Last<DesiredBatch>().has_value());
}

}  // namespace
}  // namespace nave
