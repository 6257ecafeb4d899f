// Reading what a server serves, and remembering it.
#include "agent/kube/discovery.h"

#include <optional>

#include "agent/kube/discovery_parse.h"
#include "common/value/codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/agent/kube/fake_kube_client.h"

namespace nave {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Outcome = KindLookup::Outcome;

Value Json(const char* text) { return *ParseJson(text); }

constexpr char kAggregated[] = R"({
  "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {},
  "items": [
    {"metadata": {"name": "apps"}, "versions": [
      {"version": "v1", "freshness": "Current", "resources": [
        {"resource": "deployments", "scope": "Namespaced", "verbs": ["get", "list"],
         "responseKind": {"group": "apps", "version": "v1", "kind": "Deployment"},
         "subresources": [{"subresource": "scale",
           "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"}}]},
        {"resource": "kindless", "scope": "Cluster", "verbs": ["get"]}]},
      {"version": "v1beta1", "freshness": "Current", "resources": [
        {"resource": "deployments", "scope": "Namespaced", "verbs": ["get"],
         "responseKind": {"kind": "Deployment"}}]}]},
    {"metadata": {"name": "metrics.k8s.io"}, "versions": [
      {"version": "v1", "freshness": "Stale", "resources": []}]}]})";

TEST(DiscoveryParse, Aggregated) {
  const Value document = Json(kAggregated);
  ASSERT_TRUE(IsAggregatedDiscovery(document));
  const std::vector<GroupVersionTypes> found = ParseAggregatedDiscovery(document);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_THAT(
      found[0].types,
      ElementsAre(ResourceType{"apps", "v1", "Deployment", "deployments", true, {"get", "list"}}));
  EXPECT_EQ(found[1].version, "v1beta1");
  EXPECT_TRUE(found[2].failed);
  EXPECT_FALSE(IsAggregatedDiscovery(Json(R"({"kind":"APIGroupList","apiVersion":"v1"})")));
}

TEST(DiscoveryParse, OlderForm) {
  const std::vector<GroupVersionTypes> core =
      ParseGroupVersions(Json(R"({"kind":"APIVersions","versions":["v1"]})"));
  ASSERT_EQ(core.size(), 1u);
  EXPECT_EQ(core[0].group, "");
  const std::vector<GroupVersionTypes> groups = ParseGroupVersions(Json(R"({"groups":[
      {"name":"a","versions":[{"groupVersion":"a/v1"},{"groupVersion":"a/v2"}],
       "preferredVersion":{"groupVersion":"a/v2"}},
      {"name":"b","versions":[{"groupVersion":"b/v1"}]}]})"));
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].version, "v2");
  EXPECT_EQ(groups[1].version, "v1");
  EXPECT_EQ(groups[2].group, "b");
  EXPECT_THAT(ParseResourceList(Json(R"({"resources":[
      {"name":"pods","kind":"Pod","namespaced":true,"verbs":["get"]},
      {"name":"pods/log","kind":"Pod","namespaced":true,"verbs":["get"]},
      {"name":"nodes","kind":"Node","namespaced":false,"verbs":[]}]})"),
                                "", "v1"),
              ElementsAre(ResourceType{"", "v1", "Pod", "pods", true, {"get"}},
                          ResourceType{"", "v1", "Node", "nodes", false, {}}));
}

TEST(DiscoveryParse, AFailedGroupKeepsWhatWasKnown) {
  const ResourceType metric = {"metrics.k8s.io", "v1", "Metric", "metrics", true, {}};
  const ResourceType other = {"gone.example", "v1", "Gone", "gones", true, {}};
  const KubeClient::Discovery merged =
      MergeDiscovery(ParseAggregatedDiscovery(Json(kAggregated)), {metric, other});
  EXPECT_EQ(merged.types.back(), metric);
  EXPECT_EQ(merged.types.size(), 3u);
  EXPECT_THAT(merged.failed_groups, ElementsAre("metrics.k8s.io"));
}

KubeClient::Discovery Served(std::vector<ResourceType> types) {
  KubeClient::Discovery found;
  found.types = std::move(types);
  return found;
}

class DiscoveryCacheTest : public ::testing::Test {
 protected:
  void Resolve(std::string group, std::string version, std::string kind) {
    cache_->Resolve(std::move(group), std::move(version), std::move(kind),
                    [this](KindLookup lookup) { lookups_.push_back(std::move(lookup)); });
    executor_.RunAll();
  }
  void Answer(KubeClient::Discovery found) {
    client_.AnswerDiscovery(std::move(found));
    executor_.RunAll();
  }

  const ResourceType v2_ = {"example.com", "v2", "Thing", "things", true, {}};
  const ResourceType v1_ = {"example.com", "v1", "Thing", "things", true, {}};
  ManualExecutor executor_{absl::FromUnixSeconds(1000)};
  FakeKubeClient client_{executor_};
  std::vector<KindLookup> lookups_;
  std::unique_ptr<DiscoveryCache> cache_ = std::make_unique<DiscoveryCache>(client_, executor_);
};

TEST_F(DiscoveryCacheTest, AsksOnceOnAMiss) {
  EXPECT_EQ(cache_->Find("example.com", "v1", "Thing").outcome, Outcome::kUnknown);
  Resolve("example.com", "v1", "Thing");
  ASSERT_EQ(client_.discoveries.size(), 1u);
  Answer(Served({v2_, v1_}));
  ASSERT_EQ(lookups_.size(), 1u);
  EXPECT_EQ(lookups_[0].outcome, Outcome::kServed);
  EXPECT_EQ(lookups_[0].type, v1_);
  EXPECT_EQ(cache_->Find("example.com", "", "Thing").type, v2_);
  Resolve("example.com", "v2", "Thing");
  EXPECT_TRUE(client_.discoveries.empty());
  EXPECT_EQ(lookups_.back().type, v2_);

  Resolve("example.com", "v2", "thing");
  Answer(Served({v2_, v1_}));
  EXPECT_EQ(lookups_.back().outcome, Outcome::kNotServed);
}

TEST_F(DiscoveryCacheTest, CallsThatComeLaterShareTheNextOne) {
  Resolve("example.com", "v1", "Thing");
  Resolve("example.com", "v2", "Thing");
  Resolve("example.com", "v3", "Thing");
  ASSERT_EQ(client_.discoveries.size(), 1u);
  Answer(Served({v1_}));
  // The answer to the first may be older than the other calls.
  EXPECT_EQ(lookups_.size(), 1u);
  ASSERT_EQ(client_.discoveries.size(), 1u);
  Answer(Served({v1_, v2_}));
  ASSERT_EQ(lookups_.size(), 3u);
  EXPECT_EQ(lookups_[1].outcome, Outcome::kServed);
  EXPECT_EQ(lookups_[2].outcome, Outcome::kNotServed);
  EXPECT_TRUE(client_.discoveries.empty());
}

TEST_F(DiscoveryCacheTest, NoAnswerIsUnknownNeverAbsent) {
  int changes = 0;
  cache_->SetOnChange([&] { ++changes; });
  Resolve("example.com", "v1", "Thing");
  Answer(Served({v1_}));
  EXPECT_EQ(changes, 1);
  KubeClient::Discovery failed;
  failed.error.error_class = KubeErrorClass::kUnreachable;
  Resolve("example.com", "v1", "Other");
  Answer(failed);
  EXPECT_EQ(lookups_.back().outcome, Outcome::kUnknown);
  EXPECT_EQ(lookups_.back().error.error_class, KubeErrorClass::kUnreachable);
  EXPECT_EQ(cache_->Find("example.com", "v1", "Thing").outcome, Outcome::kServed);
  KubeClient::Discovery partial = Served({v1_});
  partial.failed_groups = {"down.example"};
  Resolve("down.example", "v1", "Other");
  Answer(partial);
  EXPECT_EQ(lookups_.back().outcome, Outcome::kUnknown);
  EXPECT_EQ(cache_->Find("example.com", "v1", "Other").outcome, Outcome::kNotServed);
  EXPECT_EQ(changes, 2);
  cache_->Refresh([](KubeError) {});
  Answer(partial);
  EXPECT_EQ(changes, 2);
}

TEST_F(DiscoveryCacheTest, MayBeDestroyedWhileItWaits) {
  Resolve("example.com", "v1", "Thing");
  Resolve("example.com", "v2", "Thing");
  cache_.reset();
  Answer(Served({v1_}));
  EXPECT_THAT(lookups_, IsEmpty());

  cache_ = std::make_unique<DiscoveryCache>(client_, executor_);
  cache_->Refresh([this](KubeError) { cache_.reset(); });
  cache_->Refresh([](KubeError) { FAIL() << "called after the end"; });
  Answer(Served({v1_}));
  EXPECT_TRUE(client_.discoveries.empty());
}

}  // namespace
}  // namespace nave
