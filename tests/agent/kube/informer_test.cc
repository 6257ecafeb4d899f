// The informer tells exactly what changed, and never that something is gone because a list failed.
#include "agent/kube/informer.h"

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/agent/kube/fake_kube_client.h"

namespace nave {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Value ObjectOf(const std::string& name, const std::string& version) {
  Value object;
  object["metadata"]["namespace"] = "ns";
  object["metadata"]["name"] = name;
  object["metadata"]["uid"] = absl::StrCat("uid-", name);
  object["metadata"]["resourceVersion"] = version;
  return object;
}

ListPage PageOf(std::vector<Value> items, std::string version, std::string token = "") {
  ListPage page;
  page.items = std::move(items);
  page.resource_version = std::move(version);
  page.continue_token = std::move(token);
  return page;
}

KubeError ErrorOf(KubeErrorClass error_class) {
  KubeError error;
  error.error_class = error_class;
  error.message = "no";
  return error;
}

ListPage FailedPage(KubeErrorClass error_class) {
  ListPage page;
  page.error = ErrorOf(error_class);
  return page;
}

class InformerTest : public ::testing::Test, public InformerHandler {
 protected:
  InformerTest() {
    InformerOptions options;
    options.type = {"", "v1", "ConfigMap", "configmaps", true, {}};
    options.seed = 7;
    informer_ = std::make_unique<Informer>(client_, executor_, options, *this);
    informer_->Start();
    executor_.RunAll();
  }

  void OnUpsert(Value object) override {
    Tell(absl::StrCat("upsert ", object.StringAt("metadata", "name"), "@",
                      object.StringAt("metadata", "resourceVersion")));
  }
  void OnDelete(Value object) override {
    Tell(absl::StrCat("delete ", object.StringAt("metadata", "name"), " ",
                      object.StringAt("metadata", "uid")));
  }
  void OnSynced() override { Tell("synced"); }
  void OnTrouble(const KubeError&) override { Tell("trouble"); }

  void Tell(std::string text) {
    told_.push_back(std::move(text));
    if (destroy_at_ == told_.back()) informer_.reset();
  }

  std::vector<std::string> TakeTold() { return std::exchange(told_, {}); }

  void Answer(ListPage page) {
    client_.AnswerList(std::move(page));
    executor_.RunAll();
  }
  void Event(KubeEvent::Type type, Value object) {
    client_.SendEvent(type, std::move(object));
    executor_.RunAll();
  }
  void End(KubeErrorClass error_class) {
    client_.EndWatch(ErrorOf(error_class));
    executor_.RunAll();
  }
  // Syncs with objects a@1 and b@2 at version 10.
  void Sync() {
    Answer(PageOf({ObjectOf("a", "1"), ObjectOf("b", "2")}, "10"));
    ASSERT_THAT(TakeTold(), ElementsAre("upsert a@1", "upsert b@2", "synced"));
    ASSERT_NE(client_.watch(), nullptr);
  }

  ManualExecutor executor_{absl::FromUnixSeconds(1000)};
  FakeKubeClient client_{executor_};
  std::vector<std::string> told_;
  std::string destroy_at_;
  std::unique_ptr<Informer> informer_;
};

TEST_F(InformerTest, ListsInPagesThenWatches) {
  EXPECT_EQ(client_.lists.front().request.limit, 100u);
  Answer(PageOf({ObjectOf("a", "1")}, "10", "next"));
  EXPECT_THAT(TakeTold(), ElementsAre("upsert a@1"));
  EXPECT_FALSE(informer_->is_synced());
  EXPECT_EQ(client_.watch(), nullptr);
  EXPECT_EQ(client_.lists.front().request.continue_token, "next");
  Answer(PageOf({ObjectOf("b", "2")}, "10"));
  EXPECT_THAT(TakeTold(), ElementsAre("upsert b@2", "synced"));
  EXPECT_TRUE(informer_->is_synced());
  ASSERT_NE(client_.watch(), nullptr);
  EXPECT_EQ(client_.watch()->request.resource_version, "10");

  Event(KubeEvent::Type::kModified, ObjectOf("a", "11"));
  Event(KubeEvent::Type::kAdded, ObjectOf("c", "12"));
  Event(KubeEvent::Type::kDeleted, ObjectOf("b", "13"));
  Event(KubeEvent::Type::kDeleted, ObjectOf("never", "14"));
  EXPECT_THAT(TakeTold(), ElementsAre("upsert a@11", "upsert c@12", "delete b uid-b"));
  EXPECT_EQ(informer_->size(), 2u);
}

TEST_F(InformerTest, GoesOnFromTheLastVersionSeen) {
  Sync();
  Event(KubeEvent::Type::kBookmark, ObjectOf("", "50"));
  EXPECT_THAT(TakeTold(), IsEmpty());
  executor_.Advance(absl::Minutes(5));
  End(KubeErrorClass::kNone);
  ASSERT_NE(client_.watch(), nullptr);
  EXPECT_EQ(client_.watch()->request.resource_version, "50");
  EXPECT_TRUE(client_.lists.empty());
  EXPECT_THAT(TakeTold(), IsEmpty());
}

TEST_F(InformerTest, ACompleteListShowsWhatIsGone) {
  Sync();
  executor_.Advance(absl::Minutes(1));
  End(KubeErrorClass::kGone);
  ASSERT_EQ(client_.lists.size(), 1u);
  Answer(PageOf({ObjectOf("b", "2")}, "90"));
  EXPECT_THAT(TakeTold(), ElementsAre("delete a uid-a", "synced"));
  EXPECT_EQ(client_.watch()->request.resource_version, "90");
}

TEST_F(InformerTest, AFailedOrPartialListShowsNothing) {
  Sync();
  executor_.Advance(absl::Minutes(1));
  End(KubeErrorClass::kGone);
  // The first page has only b; the second never comes.
  Answer(PageOf({ObjectOf("b", "2")}, "90", "next"));
  Answer(FailedPage(KubeErrorClass::kGone));
  EXPECT_THAT(TakeTold(), ElementsAre("trouble"));
  EXPECT_TRUE(informer_->TroubleSince().has_value());
  executor_.Advance(absl::Seconds(1));
  ASSERT_EQ(client_.lists.size(), 1u);
  EXPECT_EQ(client_.lists.front().request.continue_token, "");
  for (const KubeErrorClass error_class :
       {KubeErrorClass::kUnreachable, KubeErrorClass::kKindNotServed, KubeErrorClass::kForbidden,
        KubeErrorClass::kThrottled, KubeErrorClass::kServerError}) {
    Answer(FailedPage(error_class));
    EXPECT_THAT(TakeTold(), ElementsAre("trouble"));
    executor_.Advance(absl::Seconds(30));
    ASSERT_EQ(client_.lists.size(), 1u);
  }
  EXPECT_EQ(informer_->size(), 2u);
  // What the aborted round had seen does not count for the next one.
  Answer(PageOf({ObjectOf("a", "1")}, "95"));
  EXPECT_THAT(TakeTold(), ElementsAre("delete b uid-b", "synced"));
  EXPECT_FALSE(informer_->TroubleSince().has_value());
}

TEST_F(InformerTest, AWatchThatEndsAtOnceIsNotRepeatedAtOnce) {
  Sync();
  End(KubeErrorClass::kNone);
  EXPECT_EQ(client_.watch(), nullptr);
  EXPECT_EQ(client_.watches_begun, 1);
  executor_.Advance(absl::Milliseconds(399));
  EXPECT_EQ(client_.watches_begun, 1);
  executor_.Advance(absl::Milliseconds(401));
  EXPECT_EQ(client_.watches_begun, 2);
  EXPECT_EQ(client_.watch()->request.resource_version, "10");
}

TEST_F(InformerTest, ABrokenWatchKeepsItsPlace) {
  Sync();
  Event(KubeEvent::Type::kModified, ObjectOf("a", "11"));
  TakeTold();
  End(KubeErrorClass::kUnreachable);
  EXPECT_THAT(TakeTold(), ElementsAre("trouble"));
  EXPECT_EQ(informer_->TroubleSince(), executor_.Now());
  executor_.Advance(absl::Seconds(1));
  ASSERT_NE(client_.watch(), nullptr);
  EXPECT_EQ(client_.watch()->request.resource_version, "11");
  EXPECT_TRUE(informer_->TroubleSince().has_value());
  executor_.Advance(absl::Seconds(5));
  EXPECT_FALSE(informer_->TroubleSince().has_value());
}

TEST_F(InformerTest, WaitsAsLongAsTheServerSays) {
  Sync();
  KubeError throttled = ErrorOf(KubeErrorClass::kThrottled);
  throttled.retry_after = absl::Seconds(20);
  client_.EndWatch(throttled);
  executor_.Advance(absl::Seconds(19));
  EXPECT_EQ(client_.watches_begun, 1);
  executor_.Advance(absl::Seconds(1));
  EXPECT_EQ(client_.watches_begun, 2);
}

TEST_F(InformerTest, MayBeDestroyedInAnyCall) {
  struct Step {
    const char* at;
    std::function<void()> act;
  };
  const Step steps[] = {
      {"upsert a@1",
       [this] {
         Answer(PageOf({ObjectOf("a", "1"), ObjectOf("b", "2")}, "10"));
       }},
      {"synced", [this] { Answer(PageOf({ObjectOf("a", "1")}, "10")); }},
      {"trouble", [this] { Answer(FailedPage(KubeErrorClass::kUnreachable)); }},
      {"upsert c@12",
       [this] {
         Sync();
         Event(KubeEvent::Type::kAdded, ObjectOf("c", "12"));
       }},
      {"delete a uid-a",
       [this] {
         Sync();
         executor_.Advance(absl::Minutes(1));
         End(KubeErrorClass::kGone);
         Answer(PageOf({}, "90"));
       }},
  };
  for (const Step& step : steps) {
    SCOPED_TRACE(step.at);
    destroy_at_ = step.at;
    step.act();
    EXPECT_EQ(informer_, nullptr);
    EXPECT_EQ(told_.back(), step.at);
    EXPECT_EQ(client_.watch(), nullptr);
    executor_.Advance(absl::Minutes(10));
    client_.lists.clear();
    told_.clear();
    destroy_at_.clear();
    InformerOptions options;
    options.type = {"", "v1", "ConfigMap", "configmaps", true, {}};
    informer_ = std::make_unique<Informer>(client_, executor_, options, *this);
    informer_->Start();
    executor_.RunAll();
  }
}

TEST(InformerBackoff, DoublesUpToTheCapAndForgets) {
  InformerBackoff backoff;
  absl::Time now = absl::FromUnixSeconds(1000);
  for (const double want : {0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0}) {
    EXPECT_NEAR(absl::ToDoubleSeconds(backoff.Next(now, 0.9999999)), want, 0.001);
    now += absl::Seconds(60);
  }
  EXPECT_NEAR(absl::ToDoubleSeconds(backoff.Next(now, 0)), 15, 0.001);
  now += absl::Minutes(3);
  EXPECT_NEAR(absl::ToDoubleSeconds(backoff.Next(now, 0)), 0.4, 0.001);
}

}  // namespace
}  // namespace nave
