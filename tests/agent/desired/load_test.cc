// What a new leader finds, and what it makes of it.
#include <gmock/gmock.h>

#include "tests/agent/desired/store_fixture.h"
#include "tests/testing/status_matchers.h"

namespace nave {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class LoadTest : public StoreTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(Load(), LoadOutcome::kOk);
    Deliver(1, ContentOf({{"a", "1"}}), 5);
    Deliver(2, ContentOf({{"b", "1"}}), 6);
    ASSERT_THAT(WriteInventory(KeyOf(1), InventoryOf(4)), IsOk());
    ASSERT_THAT(WriteInventory(KeyOf(2), InventoryOf(2)), IsOk());
  }
  // Adopts: nothing is written before, everything is whole after.
  void CheckRebuilt() {
    const AgentState& state = store_->state();
    EXPECT_TRUE(state.at.IsNone());
    for (const auto& [key, assignment] : state.assignments) {
      EXPECT_EQ(assignment.state, KeyState::kNotDesired);
      EXPECT_EQ(assignment.revision, 0u);
      EXPECT_TRUE(assignment.content_digest.IsNone());
    }
    AgentState next = state;
    next.hold_reason.clear();
    next.hub_id = "other hub";
    next.at = At{4, KeyOf(98), 3};
    ASSERT_THAT(Commit(next), IsOk());
    EXPECT_THAT(Secrets("nave-desired-"), IsEmpty());
    const AgentState committed = store_->state();
    std::map<Uuid, Inventory> inventories;
    for (const auto& [key, assignment] : committed.assignments) {
      inventories[key] = store_->inventory(key);
    }
    ASSERT_EQ(Reload(), LoadOutcome::kOk);
    EXPECT_EQ(store_->state(), committed);
    for (const auto& [key, inventory] : inventories) EXPECT_EQ(store_->inventory(key), inventory);
  }
};

TEST_F(LoadTest, LostStateIsRebuiltFromTheInventories) {
  DeleteSecret(kStateSecretName);
  const size_t before = sim_.audit().size();
  ASSERT_EQ(Reload(), LoadOutcome::kStateLost);
  EXPECT_EQ(sim_.audit().size(), before) << "written before an adopt";
  EXPECT_EQ(store_->inventory(KeyOf(1)), InventoryOf(4));
  EXPECT_EQ(store_->inventory(KeyOf(2)), InventoryOf(2));
  EXPECT_THAT(store_->state().assignments, SizeIs(2));
  // It is the same again before anything was decided.
  ASSERT_EQ(Reload(), LoadOutcome::kStateLost);
  CheckRebuilt();
}

TEST_F(LoadTest, LostInventoryLosesTheState) {
  DeleteSecret(InventorySecretName(KeyOf(1), 1, 0));
  ASSERT_EQ(Reload(), LoadOutcome::kStateLost);
  EXPECT_THAT(store_->state().assignments, SizeIs(1));
  EXPECT_EQ(store_->state().hub_id, "hub");
  CheckRebuilt();
}

TEST_F(LoadTest, UnreadableSecretsLoseTheState) {
  Corrupt(kStateSecretName, "state", "AAAA");
  ASSERT_EQ(Reload(), LoadOutcome::kStateLost);
  CheckRebuilt();
}

TEST_F(LoadTest, UnreadableInventoryLosesTheState) {
  Corrupt(InventorySecretName(KeyOf(1), 1, 0), "inventory", "AAAA");
  ASSERT_EQ(Reload(), LoadOutcome::kStateLost);
  EXPECT_EQ(store_->inventory(KeyOf(2)), InventoryOf(2));
  CheckRebuilt();
}

TEST_F(LoadTest, OneShardOfSeveralIsMissing) {
  part_bytes_ = 2000;
  ASSERT_EQ(Reload(), LoadOutcome::kOk);
  ASSERT_THAT(WriteInventory(KeyOf(1), InventoryOf(100)), IsOk());
  const uint32_t shards = store_->state().assignments.at(KeyOf(1)).inventory_shards;
  ASSERT_GT(shards, 2u);
  DeleteSecret(InventorySecretName(KeyOf(1), shards, 1));
  ASSERT_EQ(Reload(), LoadOutcome::kStateLost);
  EXPECT_LT(store_->inventory(KeyOf(1)).size(), 100u);
  EXPECT_GT(store_->inventory(KeyOf(1)).size(), 40u);
  CheckRebuilt();
}

TEST_F(LoadTest, LostContentIsAskedForAgain) {
  const Digest digest = store_->state().assignments.at(KeyOf(1)).digest;
  DeleteSecret(ContentSecretName(KeyOf(1), digest, 0));
  ASSERT_EQ(Reload(), LoadOutcome::kOk);
  const Assignment& held = store_->state().assignments.at(KeyOf(1));
  EXPECT_EQ(held.state, KeyState::kPresent);
  EXPECT_TRUE(held.digest.IsNone());
  EXPECT_TRUE(held.content_digest.IsNone());
  EXPECT_EQ(held.revision, 0u);
  EXPECT_EQ(store_->inventory(KeyOf(1)), InventoryOf(4));
  Deliver(1, ContentOf({{"a", "1"}}), 5);
  EXPECT_NE(store_->content(KeyOf(1)), nullptr);
}

TEST_F(LoadTest, ANewerFormatIsNotTouched) {
  for (const std::string& name :
       {std::string(kStateSecretName), InventorySecretName(KeyOf(2), 1, 0)}) {
    Corrupt(name, "format", "Mg==");
    Restart();
    EXPECT_EQ(Load(), LoadOutcome::kStateTooNew) << name;
    Corrupt(name, "format", "MQ==");
  }
  EXPECT_EQ(Reload(), LoadOutcome::kOk);
}

TEST_F(LoadTest, ACopyInAnotherClusterIsNotTouched) {
  Restart();
  const size_t before = sim_.audit().size();
  EXPECT_EQ(Load(*store_, "22222222-2222-4222-8222-222222222222"), LoadOutcome::kWrongCluster);
  EXPECT_EQ(sim_.audit().size(), before);
  EXPECT_EQ(Load(*store_, ""), LoadOutcome::kOk) << "an uid that could not be read says nothing";
}

TEST_F(LoadTest, ASilentServerIsNoLoss) {
  Restart();
  client_->SetCut(true);
  EXPECT_EQ(Load(), LoadOutcome::kUnavailable);
  client_->SetCut(false);
  EXPECT_EQ(Load(), LoadOutcome::kOk);
  EXPECT_EQ(store_->inventory(KeyOf(1)), InventoryOf(4));
}

TEST_F(LoadTest, ForeignSecretsAreLeftAlone) {
  kubesim::SimRequest request;
  request.verb = kubesim::SimRequest::Verb::kCreate;
  request.version = "v1";
  request.plural = "secrets";
  request.ns = kAgentNamespace;
  for (const char* name : {"nave-identity", "nave-desired-x", "other"}) {
    request.body = absl::StrCat(R"({"metadata":{"name":")", name, R"("}})");
    ASSERT_TRUE(sim_.Handle(request, executor_.Now()).ok());
  }
  ASSERT_EQ(Reload(), LoadOutcome::kOk);
  EXPECT_THAT(Secrets("nave-identity"), SizeIs(1));
  EXPECT_THAT(Secrets("nave-desired-x"), SizeIs(1));
}

// Deaths at random moments over a server that loses answers: what was told to be durable is, and
// nothing is lost.
TEST_F(LoadTest, SurvivesDeathsAtRandom) {
  SplitMix random(7);
  sim_.fault = [&](const kubesim::SimRequest& request) {
    kubesim::SimFault fault;
    const uint64_t dice = random.Below(20);
    if (!request.IsWrite()) return fault;
    if (dice == 0) fault.kind = kubesim::SimFault::Kind::kDropAfter;
    if (dice == 1) fault.kind = kubesim::SimFault::Kind::kDropBefore;
    return fault;
  };
  Inventory durable = InventoryOf(4), asked = durable;
  uint64_t durable_revision = 6, asked_revision = 6;
  Digest durable_digest = store_->state().assignments.at(KeyOf(1)).digest;
  Digest asked_digest = durable_digest;
  for (int round = 0; round < 120; ++round) {
    asked = InventoryOf(static_cast<int>(random.Below(8)), absl::StrCat("v", round));
    store_->WriteInventory(KeyOf(1), asked, [&, asked](absl::Status status) {
      if (status.ok()) durable = asked;
    });
    DesiredContentPtr content = ContentOf({{"a", absl::StrCat(random.Below(3))}});
    const auto revision = static_cast<uint64_t>(10 + round);
    store_->WriteContent(KeyOf(1), content, [&, content, revision](absl::Status status) {
      if (!status.ok()) return;
      AgentState next = store_->state();
      next.at.revision = revision;
      next.assignments[KeyOf(1)] = Holding(KeyOf(1), content->digest, revision);
      asked_revision = revision;
      asked_digest = content->digest;
      store_->Commit(next, [&, content, revision](absl::Status committed) {
        if (!committed.ok()) return;
        durable_revision = revision;
        durable_digest = content->digest;
      });
    });
    executor_.Advance(absl::Milliseconds(random.Below(40)));
    if (random.Below(2) == 0) executor_.Advance(absl::Seconds(20));
    Restart();
    LoadOutcome outcome = LoadOutcome::kUnavailable;
    for (int tries = 0; tries < 20 && outcome == LoadOutcome::kUnavailable; ++tries) {
      outcome = Load();
    }
    ASSERT_EQ(outcome, LoadOutcome::kOk) << round;
    const AgentState& state = store_->state();
    if (state.at.revision != durable_revision) {
      ASSERT_EQ(state.at.revision, asked_revision) << round;
      durable_revision = asked_revision;
      durable_digest = asked_digest;
    }
    ASSERT_EQ(state.assignments.at(KeyOf(1)).digest, durable_digest) << round;
    ASSERT_NE(store_->content(KeyOf(1)), nullptr) << round;
    if (store_->inventory(KeyOf(1)) != durable) {
      ASSERT_EQ(store_->inventory(KeyOf(1)), asked) << round;
      durable = asked;
    }
    ASSERT_EQ(store_->inventory(KeyOf(2)), InventoryOf(2)) << round;
  }
  sim_.fault = nullptr;
  ASSERT_EQ(Reload(), LoadOutcome::kOk);
  // One content and one inventory a key, and nave-state.
  EXPECT_THAT(Secrets(), SizeIs(5));
}

}  // namespace
}  // namespace nave
