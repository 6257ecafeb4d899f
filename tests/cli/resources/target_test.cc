// Goal: what people type names what they mean, or the error says what is nearest. Method: tables.
#include "cli/resources/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace nave::cli {
namespace {

using testing::HasSubstr;

TEST(Targets, Good) {
  struct Case {
    std::vector<std::string> arguments;
    std::vector<std::string> names;
  };
  const Case cases[] = {
      {{"cluster/a"}, {"clusters/a"}},
      {{"clusters", "a", "b"}, {"clusters/a", "clusters/b"}},
      {{"bundle", "web"}, {"projects/shop/bundles/web"}},
      {{"bundle/web", "cluster/a"}, {"projects/shop/bundles/web", "clusters/a"}},
      {{"projects/other/bundles/web"}, {"projects/other/bundles/web"}},
      {{"clusterSets/eu"}, {"clusterSets/eu"}},
      {{"set", "eu"}, {"clusterSets/eu"}},
      {{"project/x"}, {"projects/x"}},
      {{"revision/web@3"}, {"projects/shop/bundles/web/revisions/3"}},
      {{"revision", "web/3"}, {"projects/shop/bundles/web/revisions/3"}},
      {{"bundle", "projects/other/bundles/web"}, {"projects/other/bundles/web"}},
      {{"BUNDLES", "web"}, {"projects/shop/bundles/web"}},
  };
  for (const Case& c : cases) {
    auto selection = ParseSelection(c.arguments, "shop");
    ASSERT_THAT(selection, IsOk()) << c.arguments[0];
    std::vector<std::string> names;
    for (const Target& target : selection->targets) names.push_back(target.name);
    EXPECT_EQ(names, c.names);
  }
  auto lone = ParseSelection({"clusters"}, "shop");
  EXPECT_TRUE(lone->targets.empty());
  EXPECT_EQ(lone->kind->kind, "Cluster");
}

TEST(Targets, Bad) {
  struct Case {
    std::vector<std::string> arguments;
    const char* want;
  };
  const Case cases[] = {
      {{}, "a kind must be given"},
      {{"clsters"}, "there is no kind 'clsters'; did you mean 'clusters'?"},
      {{"bundel/web"}, "did you mean 'bundle'?"},
      {{"xyzzyplugh"}, "kinds are project, clusterset, cluster"},
      {{"cluster/UPPER"}, "'UPPER' cannot be the name of a cluster"},
      {{"cluster/"}, "names nothing"},
      {{"bundle/a", "b"}, "'b' names nothing: it must be KIND/NAME"},
      {{"revision/web"}, "must be BUNDLE@NUMBER"},
      {{"cluster/a/b"}, "cannot be the name"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(ParseSelection(c.arguments, "shop"),
                HasReason(Reason::kUsageInvalid, HasSubstr(c.want)));
  }
}

TEST(Targets, ShortNamesAreReadBack) {
  for (const char* name :
       {"clusters/a", "projects/shop/bundles/web", "projects/other/bundles/web", "clusterSets/eu",
        "projects/shop/bundles/web/revisions/3", "roleBindings/r", "joinTokens/t", "projects/p"}) {
    auto target = ParseTarget(name, "shop");
    ASSERT_THAT(target, IsOk()) << name;
    std::string text = ShortName(*target->kind, name, "shop");
    auto back = ParseTarget(text, "shop");
    ASSERT_THAT(back, IsOk()) << text;
    EXPECT_EQ(back->name, name) << text;
  }
  EXPECT_EQ(ShortName(*FindKind("bundle"), "projects/shop/bundles/web", "shop"), "bundle/web");
}

}  // namespace
}  // namespace nave::cli
