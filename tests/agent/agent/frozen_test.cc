// States that must not be touched: nothing is written, and the hub is told why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/agent/agent/agent_fixture.h"

namespace nave {
namespace {

using kubesim::SimRequest;

class FrozenTest : public AgentTest {
 protected:
  void SetUp() override {
    hub_.Put(1, MakeBundle({{"a", "1"}}));
    process_ = Begin();
    RunFor();
    ASSERT_EQ(MapValue("a"), "1");
  }
  void TearDown() override { process_.reset(); }

  void DeleteMap() {
    SimRequest request;
    request.verb = SimRequest::Verb::kDelete;
    request.version = "v1";
    request.plural = "configmaps";
    request.ns = "default";
    request.name = "a";
    ASSERT_TRUE(sim_.Handle(request, executor_.Now()).ok());
  }
  // Writes of the agent but for its Lease.
  size_t Writes() const {
    size_t writes = 0;
    for (const kubesim::AuditRecord& record : sim_.audit()) {
      const bool lease = record.resource == "leases.coordination.k8s.io";
      if (record.user.find("nave-agent") != std::string::npos && !lease) ++writes;
    }
    return writes;
  }
  void CheckNothingIsWritten(absl::string_view reason) {
    DeleteMap();
    hub_.Put(1, MakeBundle({{"a", "2"}}));
    const size_t before = Writes();
    RunFor(absl::Minutes(3));
    EXPECT_EQ(Writes(), before);
    EXPECT_EQ(MapValue("a"), "");
    EXPECT_EQ(process_->agent->Report().hold_reason, reason);
  }

  std::unique_ptr<Process> process_;
};

TEST_F(FrozenTest, AStateOfANewerFormat) {
  process_.reset();
  SimRequest request;
  request.verb = SimRequest::Verb::kPatch;
  request.patch = SimRequest::Patch::kMerge;
  request.version = "v1";
  request.plural = "secrets";
  request.ns = kNs;
  request.name = "nave-state";
  request.body = R"({"data":{"format":"OQ=="}})";
  ASSERT_TRUE(sim_.Handle(request, executor_.Now()).ok());
  process_ = Begin();
  RunFor();
  EXPECT_TRUE(hub_.live());
  CheckNothingIsWritten("StateTooNew");
}

TEST_F(FrozenTest, TheHubSaysWrongClusterUntilItDoesNot) {
  hub_.refuse = RefusalReason::kWrongCluster;
  hub_.Cut();
  RunFor();
  CheckNothingIsWritten("WrongCluster");
  hub_.refuse.reset();
  RunFor(absl::Minutes(6));
  EXPECT_EQ(MapValue("a"), "2");
  EXPECT_EQ(process_->agent->Report().hold_reason, "");
}

TEST_F(FrozenTest, RefusalsThatHoldGoOnHealing) {
  hub_.refuse = RefusalReason::kRevoked;
  hub_.Cut();
  RunFor();
  EXPECT_EQ(process_->agent->Report().hold_reason, "Revoked");
  DeleteMap();
  RunFor(absl::Minutes(2));
  EXPECT_EQ(MapValue("a"), "1");
  hub_.refuse.reset();
  RunFor(absl::Minutes(6));
  EXPECT_EQ(process_->agent->Report().hold_reason, "");
}

TEST_F(FrozenTest, SupersededGoesOnWhenItStillLeads) {
  hub_.refuse = RefusalReason::kSuperseded;
  hub_.Cut();
  RunFor(absl::Seconds(10));
  EXPECT_FALSE(hub_.live());
  hub_.refuse.reset();
  RunFor(absl::Minutes(1));
  EXPECT_TRUE(hub_.live());
}

}  // namespace
}  // namespace nave
