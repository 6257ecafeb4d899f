// Goal: what users may write, and the texts they get when they may not. Method: tables.
#include <gtest/gtest.h>

#include "common/base/error.h"
#include "common/base/nearest_word.h"
#include "common/model/names.h"
#include "common/model/selector.h"
#include "common/model/validate.h"

namespace nave {
namespace {

TEST(Names, Ids) {
  for (absl::string_view id : {"a", "a-b", "0x", "web-1"}) EXPECT_TRUE(IsId(id)) << id;
  for (absl::string_view id : {"", "-a", "a-", "A", "a_b", "a.b", "ä"})
    EXPECT_FALSE(IsId(id)) << id;
  EXPECT_TRUE(IsId(std::string(63, 'a')));
  EXPECT_FALSE(IsId(std::string(64, 'a')));
}

TEST(Names, RoundTrip) {
  EXPECT_EQ(*ParseBundleName("name", BundleName("p", "b")), (BundleRef{"p", "b"}));
  EXPECT_EQ(*ParseRevisionName("name", RevisionName("p", "b", 7)), (RevisionRef{"p", "b", 7}));
  EXPECT_EQ(*ParseEventName("name", EventName("p", "e1")), (EventRef{"p", "e1"}));
  EXPECT_EQ(*ParseEventName("name", EventName("", "e1")), (EventRef{"", "e1"}));
  EXPECT_EQ(*ParseName("name", "clusterSets", ClusterSetName("s")), "s");
  EXPECT_EQ(*ParseProjectParent("parent", "projects/-"), "-");
}

TEST(Names, Refused) {
  for (absl::string_view name :
       {"", "clusters", "clusters/", "clusters/A", "cluster/a", "clusters/a/b", "/clusters/a"}) {
    auto parsed = ParseName("name", "clusters", name);
    ASSERT_FALSE(parsed.ok()) << name;
    EXPECT_EQ(ErrorReason(parsed.status()), "INVALID_FIELD");
  }
  for (absl::string_view name :
       {"projects/p/bundles", "projects/-/bundles/b", "projects/p/bundles/b/x"}) {
    EXPECT_FALSE(ParseBundleName("name", name).ok()) << name;
  }
  for (absl::string_view name :
       {"projects/p/bundles/b/revisions/0", "projects/p/bundles/b/revisions/x"}) {
    EXPECT_FALSE(ParseRevisionName("name", name).ok()) << name;
  }
}

TEST(Selector, Matches) {
  struct Case {
    const char* selector;
    StringMap labels;
    bool matches;
  };
  const Case kCases[] = {
      {"", {}, true},
      {"  ", {{"a", "b"}}, true},
      {"a=b", {{"a", "b"}}, true},
      {"a==b", {{"a", "c"}}, false},
      {"a = b , c", {{"a", "b"}, {"c", ""}}, true},
      {"a!=b", {{"a", "c"}}, true},
      {"a!=b", {}, true},
      {"a!=b", {{"a", "b"}}, false},
      {"a in (x, y)", {{"a", "y"}}, true},
      {"a in (x,y)", {{"a", "z"}}, false},
      {"a in (x,y)", {}, false},
      {"a notin (x,y)", {{"a", "z"}}, true},
      {"a notin (x,y)", {}, true},
      {"a notin (x)", {{"a", "x"}}, false},
      {"a", {{"a", ""}}, true},
      {"a", {}, false},
      {"!a", {}, true},
      {"! a", {{"a", "1"}}, false},
      {"a=", {{"a", ""}}, true},
      {"a=,b", {{"a", ""}, {"b", "x"}}, true},
      {"a in (,x)", {{"a", ""}}, true},
      {"topology.nave.dev/region=eu", {{"topology.nave.dev/region", "eu"}}, true},
      {"env=prod,tier in (web),!old", {{"env", "prod"}, {"tier", "web"}}, true},
      {"env=prod,tier in (web),!old", {{"env", "prod"}, {"tier", "web"}, {"old", ""}}, false},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.selector);
    auto selector = Selector::Parse("spec.placement.selector", c.selector);
    ASSERT_TRUE(selector.ok()) << selector.status();
    EXPECT_EQ(selector->Matches(c.labels), c.matches);
    auto again = Selector::Parse("x", selector->ToString());
    ASSERT_TRUE(again.ok()) << selector->ToString();
    EXPECT_EQ(*again, *selector);
  }
}

TEST(Selector, Refused) {
  for (const char* text :
       {"=b", "a b", "a=b c=d", "a in", "a in x", "a in (x", "a in (x y)", "a,,b", "a,", "!",
        "!a=b", "a>1", "-a=b", "a=b/c", "A/B/c", "a=b)", "(a)", "a!b", "_x"}) {
    auto selector = Selector::Parse("spec.placement.selector", text);
    ASSERT_FALSE(selector.ok()) << text;
    EXPECT_EQ(ErrorReason(selector.status()), "INVALID_FIELD");
    EXPECT_NE(selector.status().message().find("spec.placement.selector"), absl::string_view::npos);
  }
  EXPECT_FALSE(Selector::Parse("x", std::string(5000, 'a')).ok());
}

template <typename Record>
std::string Verdict(const Record& record) {
  Violations violations;
  Validate(record, &violations);
  absl::Status status = violations.ToStatus();
  if (!status.ok()) {
    EXPECT_EQ(ErrorReason(status), "INVALID_FIELD");
  }
  return std::string(status.message());
}

Bundle GoodBundle() {
  Bundle bundle;
  bundle.spec.manifests.push_back({"a.yaml", "x: y", Sha256("x: y"), 4});
  bundle.spec.placement.emplace().selector = "";
  return bundle;
}

TEST(Validate, Bundles) {
  EXPECT_EQ(Verdict(GoodBundle()), "");
  struct Case {
    const char* name;
    void (*change)(Bundle*);
    const char* says;
  };
  const Case kCases[] = {
      {"label key", [](Bundle* b) { b->meta.labels["a b"] = ""; }, "metadata.labels[a b]"},
      {"label value", [](Bundle* b) { b->meta.labels["a"] = "x y"; },
       "must be empty, or at most 63"},
      {"annotations", [](Bundle* b) { b->meta.annotations["a"] = std::string(70000, 'x'); },
       "65536 bytes together"},
      {"same path", [](Bundle* b) { b->spec.manifests.push_back(b->spec.manifests[0]); },
       "must be unique in the bundle"},
      {"no path", [](Bundle* b) { b->spec.manifests[0].path.clear(); }, "spec.manifests[0].path"},
      {"no content",
       [](Bundle* b) {
         b->spec.manifests[0] = {"a.yaml", "", {}, 0};
       },
       "must have content"},
      {"namespace", [](Bundle* b) { b->spec.default_namespace = "A"; }, "spec.defaultNamespace"},
      {"nothing named", [](Bundle* b) { b->spec.placement->selector.reset(); },
       "at least one of clusterSets"},
      {"twice",
       [](Bundle* b) {
         b->spec.placement->names = {"a", "a"};
       },
       "spec.placement.names[1]"},
      {"selector", [](Bundle* b) { b->spec.placement->selector = "a=b c"; },
       "`spec.placement.selector`: must have ','"},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    Bundle bundle = GoodBundle();
    c.change(&bundle);
    std::string verdict = Verdict(bundle);
    EXPECT_NE(verdict.find(c.says), std::string::npos) << verdict;
  }
}

TEST(Validate, Others) {
  RoleBinding binding;
  EXPECT_NE(Verdict(binding).find("spec.subjects"), std::string::npos);
  binding.subjects = {"user:alice", "group:ops"};
  EXPECT_EQ(Verdict(binding), "");
  binding.project = "p";
  binding.cluster_set = "s";
  EXPECT_NE(Verdict(binding).find("must be empty when spec.project is set"), std::string::npos);
  binding.cluster_set = "";
  binding.subjects = {"alice"};
  EXPECT_NE(Verdict(binding).find("'user:NAME' or 'group:NAME'"), std::string::npos);

  JoinToken token;
  EXPECT_EQ(Verdict(token), "");
  token.ttl = absl::Seconds(1);
  EXPECT_NE(Verdict(token).find("must be from 1m to 168h, got 1s"), std::string::npos);
  token.ttl = absl::Hours(1);
  token.rejoin = true;
  EXPECT_NE(Verdict(token).find("spec.cluster"), std::string::npos);

  Cluster cluster;
  EXPECT_EQ(Verdict(cluster), "");
  cluster.spec.taints = {{"a", "b", TaintEffect::kNoSchedule, {}},
                         {"a", "c", TaintEffect::kNoSchedule, {}}};
  EXPECT_NE(Verdict(cluster).find("spec.taints[1]"), std::string::npos);
}

TEST(Validate, AllViolationsAreTold) {
  Bundle bundle = GoodBundle();
  bundle.meta.labels["a b"] = "";
  bundle.spec.default_namespace = "A";
  Violations violations;
  Validate(bundle, &violations);
  absl::Status status = violations.ToStatus();
  EXPECT_NE(status.message().find("(and 1 more)"), absl::string_view::npos);
  ErrorMetadata metadata = ErrorMetadataOf(status);
  ASSERT_EQ(metadata.size(), 2u);
  EXPECT_EQ(metadata[1].first, "field:spec.defaultNamespace");
}

TEST(NearestWord, Finds) {
  const std::vector<std::string> kWords = {"manifests", "defaultNamespace", "placement",
                                           "allowEmpty"};
  EXPECT_EQ(NearestWord("manifest", kWords), "manifests");
  EXPECT_EQ(NearestWord("plaecment", kWords), "placement");
  EXPECT_EQ(NearestWord("AllowEmpy", kWords), "allowEmpty");
  EXPECT_EQ(NearestWord("xyz", kWords), "");
  EXPECT_EQ(NearestWord("", kWords), "");
}

}  // namespace
}  // namespace nave
