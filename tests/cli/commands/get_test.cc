// Goal: get shows what there is, page by page, in every form, and watches. Method: a hub in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/error.h"
#include "nave/v1/bundle.pb.h"
#include "nave/v1/cluster.pb.h"
#include "nave/v1/event.pb.h"
#include "nave/v1/hub.pb.h"
#include "nave/v1/project.pb.h"
#include "tests/cli/testing/run_cli.h"

namespace nave::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

v1::Project Project(const std::string& id, int bundles = 0) {
  v1::Project project;
  project.set_name("projects/" + id);
  project.mutable_metadata()->mutable_create_time()->set_seconds(1800000000 - 60);
  project.mutable_status()->set_bundles(bundles);
  return project;
}

v1::Bundle Bundle(const std::string& project, const std::string& id) {
  v1::Bundle bundle;
  bundle.set_name("projects/" + project + "/bundles/" + id);
  bundle.mutable_metadata()->mutable_create_time()->set_seconds(1800000000 - 60);
  return bundle;
}

TEST(Get, EveryPage) {
  CliRunner cli;
  for (const char* id : {"a", "b", "c", "d", "e"}) cli.hub.Put(Project(id));
  CliResult result = cli.Run({"get", "projects", "-o", "name"});
  EXPECT_EQ(result.out, "project/a\nproject/b\nproject/c\nproject/d\nproject/e\n");
  EXPECT_EQ(cli.hub.CallsOf("ListProjects").size(), 3u);
}

TEST(Get, TablesAndForms) {
  CliRunner cli;
  cli.hub.Put(Project("a", 2));
  EXPECT_EQ(cli.Run({"get", "projects"}).out,
            "NAME  CLUSTER SETS  BUNDLES  AGE\n"
            "a     -             2        60s\n");
  EXPECT_EQ(cli.Run({"get", "project", "a", "--no-headers"}).out, "a  -  2  60s\n");
  EXPECT_THAT(cli.Run({"get", "projects", "--show-labels"}).out, HasSubstr("LABELS\n"));
  EXPECT_EQ(cli.Run({"get", "project/a", "-o", "yaml"}).out,
            "apiVersion: nave.dev/v1\nkind: Project\nmetadata:\n  createTime: "
            "\"2027-01-15T07:59:00Z\"\n  name: a\n"
            "status:\n  bundles: 2\n");
  EXPECT_THAT(cli.Run({"get", "project/a", "-ojson"}).out, HasSubstr("\"kind\": \"Project\""));
  EXPECT_THAT(cli.Run({"get", "projects", "-o=json"}).out, HasSubstr("\"kind\": \"List\""));
}

TEST(Get, NothingIsTalkNotData) {
  CliRunner cli;
  CliResult none = cli.Run({"get", "projects"});
  EXPECT_EQ(none.code, 0);
  EXPECT_EQ(none.out, "");
  EXPECT_EQ(none.err, "There are no projects.\n");
  EXPECT_EQ(cli.Run({"get", "projects", "-q"}).err, "");
  EXPECT_THAT(cli.Run({"get", "projects", "-o", "json"}).out, HasSubstr("\"items\": []"));
}

TEST(Get, ProjectsOfBundles) {
  CliRunner cli;
  cli.hub.Put(Bundle("default", "a"));
  cli.hub.Put(Bundle("shop", "b"));
  EXPECT_EQ(cli.Run({"get", "bundles", "-o", "name"}).out, "bundle/a\n");
  EXPECT_EQ(cli.Run({"get", "bundles", "-p", "shop", "-o", "name"}).out, "bundle/b\n");
  EXPECT_EQ(cli.Run({"-p", "shop", "get", "bundles", "-o", "name"}).out, "bundle/b\n");
  EXPECT_EQ(cli.Run({"get", "bundles", "-A", "-o", "name"}).out,
            "bundle/a\nprojects/shop/bundles/b\n");
  EXPECT_THAT(cli.Run({"get", "bundles", "-A"}).out, HasSubstr("PROJECT  NAME"));
  cli.environment["NAVECTL_PROJECT"] = "shop";
  EXPECT_EQ(cli.Run({"get", "bundle/b", "-o", "name"}).out, "bundle/b\n");
  EXPECT_EQ(cli.Run({"get", "projects/default/bundles/a", "-o", "name"}).out,
            "projects/default/bundles/a\n");
}

TEST(Get, ContentOfManifestsOnlyWhenAskedFor) {
  CliRunner cli;
  cli.hub.Put(Bundle("default", "a"));
  cli.Run({"get", "bundle/a", "-o", "yaml"});
  cli.Run({"get", "bundle/a", "-o", "yaml", "--full"});
  EXPECT_THAT(cli.hub.CallsOf("GetBundle"),
              ElementsAre(testing::Not(HasSubstr("VIEW_FULL")), HasSubstr("VIEW_FULL")));
}

TEST(Get, SeveralNames) {
  CliRunner cli;
  cli.hub.Put(Project("a"));
  CliResult some = cli.Run({"get", "project", "a", "b", "-o", "name"});
  EXPECT_EQ(some.code, 4);
  EXPECT_EQ(some.out, "project/a\n");
  EXPECT_THAT(some.err, HasSubstr("there is no projects/b"));
}

TEST(Get, UnknownClustersStandBesideTheOthers) {
  CliRunner cli;
  v1::Hub hub;
  hub.set_unknown_clusters_total(1);
  auto* unknown = hub.add_unknown_clusters();
  unknown->set_uid("u-1");
  unknown->set_certificate_name("lost");
  cli.hub.On<v1::GetHubRequest, v1::Hub>([&](const v1::GetHubRequest&) { return hub; });
  CliResult result = cli.Run({"get", "clusters", "-o", "wide"});
  EXPECT_THAT(result.out, HasSubstr("lost"));
  EXPECT_THAT(result.out, HasSubstr("UnknownToThisHub: uid u-1"));
  // Who may not see them still sees the clusters.
  cli.hub.On<v1::GetHubRequest, v1::Hub>([](const v1::GetHubRequest&) -> absl::StatusOr<v1::Hub> {
    return MakeError(Reason::kPermissionDenied, "no");
  });
  EXPECT_EQ(cli.Run({"get", "clusters"}).code, 0);
  // They are no records: programs that read records do not get them.
  EXPECT_EQ(cli.Run({"get", "clusters", "-o", "name"}).out, "");
}

TEST(Get, WatchGoesOnAndResumes) {
  CliRunner cli;
  cli.hub.Put(Project("a", 1));
  cli.hub.Then([&] { cli.hub.Put(Project("a", 2)); });
  cli.hub.ThenBreak(MakeError(Reason::kHubUnreachable, "gone"));
  cli.hub.Then([&] { cli.hub.Remove("projects/a"); });
  CliResult result = cli.Run({"get", "projects", "-w"});
  EXPECT_EQ(result.code, 7);  // The fake's stream ends so.
  EXPECT_EQ(result.out,
            "NAME  CLUSTER SETS  BUNDLES  AGE\n"
            "a     -             1        60s\n"
            "a     -             2        60s\n"
            "a     -             2        60s\n"  // The fake sends it again.
            "a     Deleted\n");
}

TEST(Get, WatchAsJsonIsALineForEachChange) {
  CliRunner cli;
  cli.hub.Put(Project("a"));
  cli.hub.Then([&] { cli.hub.Remove("projects/a"); });
  CliResult result = cli.Run({"get", "projects", "-w", "-o", "json"});
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 2);
  EXPECT_THAT(result.out, HasSubstr("\"type\":\"ITEM\""));
  EXPECT_THAT(result.out, HasSubstr("\"type\":\"DELETED\""));
}

TEST(Get, WatchOfWhatDoesNotExist) {
  CliRunner cli;
  CliResult result = cli.Run({"get", "project/a", "-w"});
  EXPECT_EQ(result.code, 4);
  EXPECT_THAT(result.err, HasSubstr("project \"a\" does not exist"));
}

TEST(Get, ConnectionComesFromTheContext) {
  CliRunner cli;
  cli.Run({"get", "projects"});
  EXPECT_EQ(cli.connection.hub, "hub.test:8443");
  EXPECT_EQ(cli.connection.roots_pem, "CA");
  EXPECT_EQ(cli.connection.certificate_pem, "CERT");
  EXPECT_EQ(cli.connection.key_pem, "KEY");
  cli.environment["NAVECTL_HUB"] = "other:1";
  cli.Run({"get", "projects", "--token-file", cli.WriteFile("token", " secret\n"),
           "--request-timeout=5s"});
  EXPECT_EQ(cli.connection.hub, "other:1");
  EXPECT_EQ(cli.connection.bearer_token, "secret");
  EXPECT_EQ(cli.connection.request_timeout, absl::Seconds(5));
}

TEST(Describe, BundleWithItsClustersAndEvents) {
  CliRunner cli;
  cli.hub.Put(Bundle("default", "a"));
  cli.hub.On<v1::ListBundleAssignmentsRequest, v1::ListBundleAssignmentsResponse>(
      [](const v1::ListBundleAssignmentsRequest& request) {
        v1::ListBundleAssignmentsResponse answer;
        auto* assignment = answer.add_assignments();
        bool first = request.page_token().empty();
        assignment->set_cluster(first ? "one" : "two");
        if (first) answer.set_next_page_token("more");
        EXPECT_EQ(request.view(), v1::VIEW_FULL);
        return answer;
      });
  v1::Event event;
  event.set_name("projects/default/events/e1");
  event.mutable_spec()->set_about("bundles/a");
  event.mutable_spec()->set_reason("NotOwned");
  cli.hub.Put(event);
  CliResult result = cli.Run({"describe", "bundle/a"});
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* want :
       {"bundle a\n", "Clusters\n", "  one ", "  two ", "Events\n", "NotOwned"}) {
    EXPECT_THAT(result.out, HasSubstr(want));
  }
  EXPECT_THAT(cli.hub.CallsOf("ListEvents")[0],
              HasSubstr("parent: \"projects/default\" about: \"bundles/a\""));
}

TEST(Describe, ClusterWithWhatTheHubDoesNotKnow) {
  CliRunner cli;
  v1::Cluster cluster;
  cluster.set_name("clusters/a");
  cli.hub.Put(cluster);
  cli.hub.On<v1::ListClusterAssignmentsRequest, v1::ListClusterAssignmentsResponse>(
      [](const v1::ListClusterAssignmentsRequest&) {
        v1::ListClusterAssignmentsResponse answer;
        answer.add_assignments()->set_phase(v1::ASSIGNMENT_PHASE_NOT_DESIRED);
        return answer;
      });
  EXPECT_THAT(cli.Run({"describe", "cluster/a"}).out, HasSubstr("NotDesired"));
  EXPECT_THAT(cli.Run({"cluster", "describe", "a"}).out, HasSubstr("NotDesired"));
}

}  // namespace
}  // namespace nave::cli
