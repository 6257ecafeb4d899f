// Goal: apply says what it did, sends nothing when a file is wrong, and names file, document and
// line. Method: files and stdin against a hub in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/error.h"
#include "nave/v1/bundle.pb.h"
#include "nave/v1/cluster_set.pb.h"
#include "tests/cli/testing/run_cli.h"

namespace nave::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kSet[] =
    "apiVersion: nave.dev/v1\nkind: ClusterSet\nmetadata: {name: eu}\nspec: {description: "
    "Europe}\n";
constexpr char kMap[] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

std::string BundleText(const std::string& manifests) {
  return "apiVersion: nave.dev/v1\nkind: Bundle\nmetadata: {name: web}\nspec:\n  placement: "
         "{clusterSets: [default]}\n "
         " manifests:\n" +
         manifests;
}

TEST(Apply, CreatedUnchangedConfigured) {
  CliRunner cli;
  CliResult first = cli.Run({"apply", "-f", "-"}, kSet);
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out, "clusterset/eu created\n");
  EXPECT_EQ(cli.Run({"apply", "-f", "-"}, kSet).out, "clusterset/eu unchanged\n");
  std::string other =
      "apiVersion: nave.dev/v1\nkind: ClusterSet\nmetadata: {name: eu}\nspec: {description: EU}\n";
  CliResult dry = cli.Run({"apply", "-f", "-", "--dry-run=server"}, other);
  EXPECT_EQ(dry.out, "clusterset/eu configured (server dry run)\n");
  EXPECT_EQ(cli.hub.Get<v1::ClusterSet>("clusterSets/eu").spec().description(), "Europe");
  EXPECT_EQ(cli.Run({"apply", "-f", "-"}, other).out, "clusterset/eu configured\n");
  EXPECT_EQ(cli.hub.Get<v1::ClusterSet>("clusterSets/eu").spec().description(), "EU");
}

TEST(Apply, WhatGetPrintsChangesNothing) {
  CliRunner cli;
  cli.Run({"apply", "-f", "-"},
          kSet + std::string("---\n") +
              BundleText(
                  "  - {path: a.yaml, content: '" +
                  std::string(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}})") +
                  "'}\n"));
  for (const char* format : {"yaml", "json"}) {
    for (const std::vector<std::string>& what :
         std::vector<std::vector<std::string>>{{"get", "clusterset/eu"},
                                               {"get", "clustersets"},
                                               {"get", "bundle/web"},
                                               {"get", "bundles"}}) {
      std::vector<std::string> get = what;
      get.insert(get.end(), {"-o", format});
      CliResult shown = cli.Run(get);
      ASSERT_EQ(shown.code, 0) << shown.err;
      CliResult applied = cli.Run({"apply", "-f", "-"}, shown.out);
      EXPECT_EQ(applied.code, 0) << applied.err << shown.out;
      EXPECT_THAT(applied.out, HasSubstr(" unchanged\n")) << shown.out;
    }
  }
}

TEST(Apply, WhatOthersNameComesFirst) {
  CliRunner cli;
  std::string text = BundleText(
      "  - {path: a.yaml, content: '" +
      std::string(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}})") + "'}\n");
  text +=
      "---\napiVersion: nave.dev/v1\nkind: Project\nmetadata: {name: p}\n---\n" + std::string(kSet);
  EXPECT_EQ(cli.Run({"apply", "-f", "-"}, text).out,
            "clusterset/eu created\nproject/p created\nbundle/web created\n");
}

TEST(Apply, ManifestsByPathAreReadBesideTheBundlesFile) {
  CliRunner cli;
  std::string file =
      cli.WriteFile("fleet/web.yaml", BundleText("  - path: k8s\n  - path: extra.yaml\n"));
  cli.WriteFile("fleet/k8s/b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n");
  cli.WriteFile("fleet/k8s/deep/c.yml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n");
  cli.WriteFile("fleet/k8s/notes.txt", "no manifest");
  cli.WriteFile("fleet/extra.yaml", kMap);
  CliResult result = cli.Run({"apply", "-f", file});
  EXPECT_EQ(result.code, 0) << result.err;
  std::vector<std::string> paths;
  v1::Bundle bundle = cli.hub.Get<v1::Bundle>("projects/default/bundles/web");
  for (const auto& manifest : bundle.spec().manifests()) {
    paths.push_back(manifest.path());
    EXPECT_FALSE(manifest.content().empty());
  }
  EXPECT_THAT(paths, ElementsAre("k8s/b.yaml", "k8s/deep/c.yml", "extra.yaml"));
}

TEST(Apply, FoldersAndPatterns) {
  CliRunner cli;
  cli.WriteFile("f/b.yaml", "apiVersion: nave.dev/v1\nkind: Project\nmetadata: {name: b}\n");
  cli.WriteFile("f/a.json",
                R"({"apiVersion":"nave.dev/v1","kind":"Project","metadata":{"name":"a"}})");
  cli.WriteFile("f/.hidden.yaml", "kind: [");
  cli.WriteFile("f/sub/c.yml", "apiVersion: nave.dev/v1\nkind: Project\nmetadata: {name: c}\n");
  EXPECT_EQ(cli.Run({"apply", "-f", cli.folder + "/f"}).out,
            "project/a created\nproject/b created\n");
  EXPECT_EQ(cli.Run({"apply", "-R", "-f", cli.folder + "/f"}).out,
            "project/a unchanged\nproject/b unchanged\nproject/c created\n");
  EXPECT_EQ(cli.Run({"apply", "-f", cli.folder + "/f/*.yaml", "-f", cli.folder + "/f/b.yaml"}).out,
            "project/b unchanged\n");
  CliResult none = cli.Run({"apply", "-f", cli.folder + "/f/*.txt"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("no file fits the pattern"));
  cli.WriteFile("empty/sub/x.yaml", "");
  EXPECT_THAT(cli.Run({"apply", "-f", cli.folder + "/empty"}).err,
              HasSubstr("add -R for its sub-folders"));
}

TEST(Apply, PlainManifestsAsABundle) {
  CliRunner cli;
  cli.WriteFile("k8s/a.yaml", kMap);
  CliResult unsaid = cli.Run({"apply", "-f", cli.folder + "/k8s"});
  EXPECT_EQ(unsaid.code, 2);
  EXPECT_THAT(unsaid.err,
              AllOf(HasSubstr("plain Kubernetes manifests"), HasSubstr("--bundle NAME")));
  CliResult made = cli.Run({"apply", "-f", cli.folder + "/k8s", "--bundle", "web", "--cluster-sets",
                            "eu,us", "-n", "shop"});
  EXPECT_EQ(made.out, "bundle/web created\n") << made.err;
  v1::Bundle bundle = cli.hub.Get<v1::Bundle>("projects/default/bundles/web");
  EXPECT_THAT(bundle.spec().placement().cluster_sets(), ElementsAre("eu", "us"));
  EXPECT_EQ(bundle.spec().default_namespace(), "shop");
  // Placement and namespace stay when the command line says nothing about them.
  cli.Run({"apply", "-f", "-", "--bundle", "web"}, kMap);
  EXPECT_THAT(cli.hub.CallsOf("UpdateBundle").back(),
              HasSubstr("update_mask { paths: \"spec.manifests\" }"));
  CliResult everywhere = cli.Run({"apply", "-f", "-", "--bundle", "all", "--all-clusters"}, kMap);
  EXPECT_EQ(everywhere.code, 0) << everywhere.err;
  EXPECT_TRUE(
      cli.hub.Get<v1::Bundle>("projects/default/bundles/all").spec().placement().has_selector());
}

TEST(Apply, WrongFilesSendNothing) {
  struct Case {
    const char* name;
    std::string text;
    std::vector<const char*> want;
  };
  const std::string good = kSet + std::string("---\n");
  const Case cases[] = {
      {"YAML", good + "kind: [\n", {"f.yaml", "MANIFEST_INVALID", "line"}},
      {"a key twice",
       good + "kind: A\nkind: B\n",
       {"f.yaml", "DUPLICATE_KEY", "document 2", "kind"}},
      {"no mapping", good + "- a\n", {"f.yaml document 2 (line 6)", "must be a mapping"}},
      {"unknown kind",
       good + "apiVersion: nave.dev/v1\nkind: Bundel\nmetadata: {name: x}\n",
       {"f.yaml document 2 (line 6)", "did you mean 'Bundle'?"}},
      {"unknown field",
       good + "apiVersion: nave.dev/v1\nkind: Bundle\nmetadata: {name: x}\nspec: {manifestz: []}\n",
       {"document 2 (line 6)", "UNKNOWN_FIELD", "did you mean 'manifests'?"}},
      {"later field",
       good + "apiVersion: nave.dev/v1\nkind: Bundle\nmetadata: {name: x}\nspec: {suspend: true}\n",
       {"document 2 (line 6)", "NOT_SUPPORTED_YET", "spec.suspend"}},
      {"later version",
       "apiVersion: nave.dev/v9\nkind: Bundle\nmetadata: {name: x}\n",
       {"document 1 (line 1)", "must be 'nave.dev/v1'"}},
      {"no name",
       "apiVersion: nave.dev/v1\nkind: Project\nmetadata: {}\n",
       {"document 1 (line 1)", "metadata.name"}},
      {"bad name",
       "apiVersion: nave.dev/v1\nkind: Project\nmetadata: {name: Big_Name}\n",
       {"document 1 (line 1)", "`metadata.name`", "'Big_Name'"}},
      {"the same twice",
       good + kSet,
       {"DUPLICATE_OBJECT", "document 2 (line 6)", "clusterSets/eu"}},
      {"mixed", good + kMap, {"f.yaml document 2 (line 6)", "`apiVersion`: must be 'nave.dev/v1'"}},
      {"made by the hub",
       "apiVersion: nave.dev/v1\nkind: Event\nmetadata: {name: x}\n",
       {"it cannot be applied"}},
      {"a token",
       "apiVersion: nave.dev/v1\nkind: JoinToken\nmetadata: {name: x}\n",
       {"navectl token create"}},
      {"a bad manifest",
       BundleText("  - {path: m.yaml, content: \"a: b\\n---\\nkind: [\\n\"}\n"),
       {"MANIFEST_INVALID", "bundle \"web\"", "m.yaml"}},
      {"an object twice",
       BundleText("  - {path: m.yaml, content: \"" +
                  std::string("apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: "
                              "a}\\n---\\napiVersion: v1\\nkind: "
                              "ConfigMap\\nmetadata: {name: a}\\n") +
                  "\"}\n"),
       {"DUPLICATE_OBJECT", "m.yaml"}},
      {"no object", BundleText("  - {path: m.yaml, content: '# nothing'}\n"), {"BUNDLE_EMPTY"}},
      {"a missing manifest",
       BundleText("  - path: nowhere.yaml\n"),
       {"FILE_UNREADABLE", "nowhere.yaml", "bundle \"web\""}},
      {"nothing", "# nothing\n", {"nothing to apply"}},
  };
  for (const Case& c : cases) {
    CliRunner cli;
    CliResult result = cli.Run({"apply", "-f", cli.WriteFile("f.yaml", c.text)});
    EXPECT_EQ(result.code, 2) << c.name << result.err;
    for (const char* want : c.want) EXPECT_THAT(result.err, HasSubstr(want)) << c.name;
    EXPECT_THAT(cli.hub.calls(), IsEmpty()) << c.name;
  }
}

TEST(Apply, SomeRefusedIsPartial) {
  CliRunner cli;
  cli.hub.On<v1::UpdateBundleRequest, v1::Bundle>([](const v1::UpdateBundleRequest&) {
    return MakeError(Reason::kPermissionDenied, "you may not");
  });
  std::string bundle = BundleText(
      "  - {path: a.yaml, content: '" +
      std::string(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}})") + "'}\n");
  CliResult both = cli.Run({"apply", "-f", "-"}, kSet + std::string("---\n") + bundle);
  EXPECT_EQ(both.code, 8);
  EXPECT_EQ(both.out, "clusterset/eu created\n");
  EXPECT_THAT(both.err, AllOf(HasSubstr("stdin document 2 (line 6): you may not"),
                              HasSubstr("PERMISSION_DENIED")));
  EXPECT_EQ(cli.Run({"apply", "-f", "-"}, bundle).code, 3);
}

TEST(Apply, WarningsOfTheHubAreTalk) {
  CliRunner cli;
  cli.hub.On<v1::UpdateBundleRequest, v1::Bundle>([](const v1::UpdateBundleRequest& request) {
    v1::Bundle answer = request.bundle();
    answer.mutable_status()->add_warnings("removes ConfigMap a from 3 clusters");
    return answer;
  });
  std::string bundle = BundleText(
      "  - {path: a.yaml, content: '" +
      std::string(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}})") + "'}\n");
  CliResult result = cli.Run({"apply", "-f", "-"}, bundle);
  EXPECT_EQ(result.out, "bundle/web created\n");
  EXPECT_EQ(result.err, "Warning: bundle/web: removes ConfigMap a from 3 clusters\n");
}

}  // namespace
}  // namespace nave::cli
