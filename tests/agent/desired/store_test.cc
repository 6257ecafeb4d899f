// What is committed survives; what is not leaves nothing behind.
#include <gmock/gmock.h>

#include "tests/agent/desired/store_fixture.h"
#include "tests/testing/status_matchers.h"

namespace nave {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

TEST_F(StoreTest, FirstLoadFindsNothingAndTakesOver) {
  EXPECT_EQ(Load(), LoadOutcome::kOk);
  EXPECT_TRUE(store_->state().assignments.empty());
  EXPECT_EQ(store_->state().kube_system_uid, kKubeSystem);
  EXPECT_THAT(Secrets(), ElementsAre(kStateSecretName));
}

TEST_F(StoreTest, CommittedContentSurvivesTheProcess) {
  ASSERT_EQ(Load(), LoadOutcome::kOk);
  DesiredContentPtr content = ContentOf({{"a", "1"}, {"b", "2"}});
  Deliver(1, content, 7);
  ASSERT_THAT(WriteInventory(KeyOf(1), InventoryOf(5)), IsOk());
  const AgentState committed = store_->state();
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(Reload(), LoadOutcome::kOk);
    EXPECT_EQ(store_->state(), committed);
    DesiredContentPtr held = store_->content(KeyOf(1));
    ASSERT_NE(held, nullptr);
    EXPECT_EQ(held->objects, content->objects);
    EXPECT_EQ(held->listing, content->listing);
    EXPECT_EQ(store_->inventory(KeyOf(1)), InventoryOf(5));
    EXPECT_TRUE(store_->HasObject(content->listing.objects[1].digest));
    ASSERT_NE(store_->FindObject(content->listing.objects[0].digest), nullptr);
    EXPECT_FALSE(store_->HasObject(Sha256("other")));
  }
}

TEST_F(StoreTest, UncommittedContentIsSweptByTheNextLeader) {
  ASSERT_EQ(Load(), LoadOutcome::kOk);
  ASSERT_THAT(Write(KeyOf(1), ContentOf({{"a", "1"}})), IsOk());
  EXPECT_THAT(Secrets("nave-desired-"), SizeIs(1));
  EXPECT_EQ(store_->content(KeyOf(1)), nullptr);
  ASSERT_EQ(Reload(), LoadOutcome::kOk);
  EXPECT_THAT(Secrets(), ElementsAre(kStateSecretName));
}

TEST_F(StoreTest, CommitOfUnwrittenContentIsRefused) {
  ASSERT_EQ(Load(), LoadOutcome::kOk);
  AgentState next = store_->state();
  next.assignments[KeyOf(1)] = Holding(KeyOf(1), Sha256("nowhere"));
  EXPECT_THAT(Commit(next), HasReason(Reason::kInternal, HasSubstr("not written")));
  EXPECT_TRUE(store_->state().assignments.empty());
}

TEST_F(StoreTest, OldContentGoesWithTheCommitThatReplacesIt) {
  ASSERT_EQ(Load(), LoadOutcome::kOk);
  DesiredContentPtr a = ContentOf({{"a", "1"}});
  DesiredContentPtr b = ContentOf({{"a", "2"}});
  Deliver(1, a, 1);
  ASSERT_THAT(Write(KeyOf(1), b), IsOk());
  EXPECT_THAT(Secrets("nave-desired-"), SizeIs(2));
  EXPECT_EQ(store_->content(KeyOf(1))->digest, a->digest);
  Deliver(1, b, 2);
  EXPECT_THAT(Secrets("nave-desired-"), ElementsAre(HasSubstr(b->digest.Hex().substr(0, 12))));
  EXPECT_FALSE(store_->HasObject(a->listing.objects[0].digest));
  // And back again.
  Deliver(1, a, 3);
  EXPECT_THAT(Secrets("nave-desired-"), ElementsAre(HasSubstr(a->digest.Hex().substr(0, 12))));
  ASSERT_EQ(Reload(), LoadOutcome::kOk);
  EXPECT_EQ(store_->content(KeyOf(1))->objects, a->objects);
}

// A commit that was asked for before the content was there must not take it away.
TEST_F(StoreTest, ContentThatWaitsForItsCommitStays) {
  ASSERT_EQ(Load(), LoadOutcome::kOk);
  DesiredContentPtr a = ContentOf({{"a", "1"}});
  DesiredContentPtr b = ContentOf({{"a", "2"}});
  Deliver(1, a, 1);
  AgentState same = store_->state();
  same.at.revision = 2;
  std::optional<absl::Status> committed, written;
  store_->Commit(same, [&](absl::Status got) { committed = got; });
  store_->WriteContent(KeyOf(1), b, [&](absl::Status got) { written = got; });
  RunFor();
  ASSERT_THAT(committed.value(), IsOk());
  ASSERT_THAT(written.value(), IsOk());
  AgentState next = store_->state();
  next.assignments[KeyOf(1)] = Holding(KeyOf(1), b->digest, 3);
  EXPECT_THAT(Commit(next), IsOk());
  EXPECT_EQ(store_->content(KeyOf(1))->objects, b->objects);
}

TEST_F(StoreTest, AbandonedContentGoesWithTheNextCommit) {
  ASSERT_EQ(Load(), LoadOutcome::kOk);
  Deliver(1, ContentOf({{"a", "1"}}), 1);
  std::optional<absl::Status> written;
  store_->WriteContent(KeyOf(1), ContentOf({{"a", "2"}}), [&](absl::Status got) { written = got; });
  store_->AbandonContent(KeyOf(1));
  RunFor();
  ASSERT_TRUE(written.has_value());
  AgentState next = store_->state();
  next.at.revision = 9;
  ASSERT_THAT(Commit(next), IsOk());
  EXPECT_THAT(Secrets("nave-desired-"), SizeIs(1));
  EXPECT_NE(store_->content(KeyOf(1)), nullptr);
}

TEST_F(StoreTest, ForgottenKeyLeavesNothing) {
  ASSERT_EQ(Load(), LoadOutcome::kOk);
  Deliver(1, ContentOf({{"a", "1"}}));
  Deliver(2, ContentOf({{"b", "1"}}));
  ASSERT_THAT(WriteInventory(KeyOf(1), InventoryOf(3)), IsOk());
  AgentState next = store_->state();
  next.assignments.erase(KeyOf(1));
  ASSERT_THAT(Commit(next), IsOk());
  for (const std::string& name : Secrets()) {
    EXPECT_THAT(name, testing::Not(HasSubstr(KeyOf(1).ToString())));
  }
  EXPECT_THAT(store_->inventory(KeyOf(1)), IsEmpty());
  EXPECT_THAT(WriteInventory(KeyOf(1), InventoryOf(3)),
              HasReason(Reason::kNotFound, HasSubstr("")));
  EXPECT_THAT(Secrets(absl::StrCat("nave-inventory-", KeyOf(1).ToString())), IsEmpty());
  EXPECT_NE(store_->content(KeyOf(2)), nullptr);
}

TEST_F(StoreTest, SeveralWaitingCommitsAreOneWrite) {
  ASSERT_EQ(Load(), LoadOutcome::kOk);
  const size_t before = sim_.audit().size();
  int done = 0;
  for (uint64_t revision = 1; revision <= 20; ++revision) {
    AgentState next = store_->state();
    next.at = At{1, KeyOf(99), revision};
    store_->Commit(next, [&](absl::Status status) {
      EXPECT_THAT(status, IsOk());
      ++done;
    });
    executor_.RunAll();
  }
  RunFor();
  EXPECT_EQ(done, 20);
  EXPECT_EQ(store_->state().at.revision, 20u);
  // The first, and all others.
  EXPECT_LE(sim_.audit().size() - before, 2u);
}

TEST_F(StoreTest, LargeContentIsCutIntoParts) {
  part_bytes_ = 64;
  ASSERT_EQ(Reload(), LoadOutcome::kOk);
  std::map<std::string, std::string> objects;
  for (int i = 0; i < 20; ++i) objects[absl::StrCat("o", i)] = Sha256(absl::StrCat(i)).Hex();
  DesiredContentPtr content = ContentOf(objects);
  Deliver(1, content);
  EXPECT_GT(Secrets("nave-desired-").size(), 10u);
  ASSERT_EQ(Reload(), LoadOutcome::kOk);
  ASSERT_NE(store_->content(KeyOf(1)), nullptr);
  EXPECT_EQ(store_->content(KeyOf(1))->objects, content->objects);
}

TEST_F(StoreTest, InventoryGrowsIntoMoreShards) {
  part_bytes_ = 2000;
  ASSERT_EQ(Reload(), LoadOutcome::kOk);
  Deliver(1, ContentOf({{"a", "1"}}));
  for (int objects : {1, 100, 30, 200}) {
    ASSERT_THAT(WriteInventory(KeyOf(1), InventoryOf(objects)), IsOk());
    EXPECT_EQ(store_->inventory(KeyOf(1)), InventoryOf(objects));
    EXPECT_THAT(Secrets("nave-inventory-"),
                SizeIs(store_->state().assignments.at(KeyOf(1)).inventory_shards));
  }
  EXPECT_GT(Secrets("nave-inventory-").size(), 4u);
  ASSERT_EQ(Reload(), LoadOutcome::kOk);
  EXPECT_EQ(store_->inventory(KeyOf(1)), InventoryOf(200));
  ASSERT_THAT(WriteInventory(KeyOf(1), InventoryOf(200, "v2")), IsOk());
}

TEST_F(StoreTest, UnchangedShardIsNotWritten) {
  ASSERT_EQ(Load(), LoadOutcome::kOk);
  Deliver(1, ContentOf({{"a", "1"}}));
  ASSERT_THAT(WriteInventory(KeyOf(1), InventoryOf(3)), IsOk());
  const size_t before = sim_.audit().size();
  ASSERT_THAT(WriteInventory(KeyOf(1), InventoryOf(3)), IsOk());
  EXPECT_EQ(sim_.audit().size(), before);
}

TEST_F(StoreTest, ASecondLeaderFencesTheFirst) {
  ASSERT_EQ(Load(), LoadOutcome::kOk);
  Deliver(1, ContentOf({{"a", "1"}}));
  kubesim::SimKubeClient other_client(&sim_, &executor_);
  std::unique_ptr<SecretDesiredStore> other = MakeStore(other_client);
  ASSERT_EQ(Load(*other), LoadOutcome::kOk);
  AgentState next = store_->state();
  next.assignments.clear();
  EXPECT_THAT(Commit(next), HasReason(Reason::kStateTakenOver, HasSubstr(kStateSecretName)));
  // And for good.
  EXPECT_TRUE(absl::IsFailedPrecondition(WriteInventory(KeyOf(1), InventoryOf(1))));
  EXPECT_TRUE(absl::IsFailedPrecondition(Write(KeyOf(1), ContentOf({{"a", "2"}}))));
  EXPECT_EQ(other->state().assignments.size(), 1u);
}

TEST_F(StoreTest, AnInventoryThatAnotherWroteFences) {
  ASSERT_EQ(Load(), LoadOutcome::kOk);
  Deliver(1, ContentOf({{"a", "1"}}));
  MergePatch(InventorySecretName(KeyOf(1), 1, 0),
             R"({"metadata":{"annotations":{"nave.dev/writer":"other.1"}}})");
  EXPECT_TRUE(absl::IsFailedPrecondition(WriteInventory(KeyOf(1), InventoryOf(2))));
  EXPECT_THAT(store_->inventory(KeyOf(1)), IsEmpty());
}

TEST_F(StoreTest, AnswersThatAreLostAreLookedUp) {
  ASSERT_EQ(Load(), LoadOutcome::kOk);
  int requests = 0;
  sim_.fault = [&](const kubesim::SimRequest& request) {
    kubesim::SimFault fault;
    // Every second write happens, and nobody hears of it.
    if (request.IsWrite() && ++requests % 2 == 1) fault.kind = kubesim::SimFault::Kind::kDropAfter;
    return fault;
  };
  DesiredContentPtr a = ContentOf({{"a", "1"}});
  Deliver(1, a, 1);
  ASSERT_THAT(WriteInventory(KeyOf(1), InventoryOf(4)), IsOk());
  Deliver(1, ContentOf({{"a", "2"}}), 2);
  EXPECT_GT(requests, 8);
  EXPECT_THAT(Secrets("nave-desired-"), SizeIs(1));
  ASSERT_EQ(Reload(), LoadOutcome::kOk);
  EXPECT_EQ(store_->inventory(KeyOf(1)), InventoryOf(4));
}

TEST_F(StoreTest, ForbiddenIsAnErrorThatChangesNothing) {
  ASSERT_EQ(Load(), LoadOutcome::kOk);
  sim_.deny = [](const kubesim::SimRequest& request) -> std::optional<std::string> {
    if (request.IsWrite()) return "no";
    return std::nullopt;
  };
  EXPECT_THAT(Write(KeyOf(1), ContentOf({{"a", "1"}})),
              HasReason(Reason::kForbidden, StartsWith("cannot write Secret")));
  sim_.deny = nullptr;
  Deliver(1, ContentOf({{"a", "1"}}));
}

}  // namespace
}  // namespace nave
