// Goal: status, why, confirm, events, hub adopt, config, version and explain-error say what they
// should. Method: a hub in memory, golden texts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/error.h"
#include "nave/v1/bundle.pb.h"
#include "nave/v1/cluster.pb.h"
#include "nave/v1/hub.pb.h"
#include "tests/cli/testing/run_cli.h"

namespace nave::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

v1::Hub HubRecord() {
  v1::Hub hub;
  hub.set_version("0.1.0");
  hub.set_term(12);
  hub.set_revision(345);
  hub.set_sessions(1);
  hub.mutable_term_start_time()->set_seconds(1800000000 - 10800);
  auto* ready = hub.add_conditions();
  ready->set_type("Ready");
  ready->set_status(v1::CONDITION_STATUS_TRUE);
  return hub;
}

void Fleet(CliRunner* cli) {
  v1::Cluster ready;
  ready.set_name("clusters/eu-1");
  ready.mutable_status()->set_phase(v1::CLUSTER_PHASE_READY);
  ready.mutable_status()->set_agent_version("0.1.0");
  cli->hub.Put(ready);
  v1::Cluster gone;
  gone.set_name("clusters/edge");
  gone.mutable_status()->set_phase(v1::CLUSTER_PHASE_DISCONNECTED);
  gone.mutable_status()->set_reason("SessionLost");
  gone.mutable_status()->mutable_phase_since()->set_seconds(1800000000 - 840);
  cli->hub.Put(gone);
  v1::Bundle held;
  held.set_name("projects/default/bundles/web");
  held.mutable_status()->set_held_hash("h1");
  held.mutable_status()->add_held_clusters("eu-1");
  cli->hub.Put(held);
  cli->hub.On<v1::GetHubRequest, v1::Hub>([](const v1::GetHubRequest&) { return HubRecord(); });
}

TEST(Status, OneScreen) {
  CliRunner cli;
  Fleet(&cli);
  CliResult result = cli.Run({"status"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(
      result.out,
      "Hub       Ready +   version 0.1.0   up 3h   term 12   revision 345\n"
      "Clusters  2: 1 Disconnected, 1 Ready\n"
      "Bundles   1: 1 RemovalHeld\n"
      "Agents    1 connected; versions: 1 0.1.0\n"
      "\n"
      "Not ready\n"
      "  x  cluster/edge  Disconnected  SessionLost             for 14m  navectl cluster why edge\n"
      "  x  bundle/web    RemovalHeld   leaves 1 cluster: eu-1           navectl confirm "
      "bundle/web\n");
  EXPECT_EQ(cli.Run({"status", "--check"}).code, 1);
}

TEST(Status, AllIsWell) {
  CliRunner cli;
  cli.hub.On<v1::GetHubRequest, v1::Hub>([](const v1::GetHubRequest&) { return HubRecord(); });
  CliResult result = cli.Run({"status", "--check"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, testing::Not(HasSubstr("Not ready")));
}

TEST(Status, OfOneBundle) {
  CliRunner cli;
  Fleet(&cli);
  CliResult result = cli.Run({"status", "bundle/web"});
  EXPECT_THAT(
      result.out,
      HasSubstr("Held until confirmed: it would leave 1 cluster: eu-1\n  navectl confirm web\n"));
}

TEST(Status, UnknownClusters) {
  CliRunner cli;
  cli.hub.On<v1::GetHubRequest, v1::Hub>([](const v1::GetHubRequest&) {
    v1::Hub hub = HubRecord();
    hub.set_unknown_clusters_total(1);
    hub.add_unknown_clusters()->set_certificate_name("lost");
    hub.mutable_conditions(0)->set_status(v1::CONDITION_STATUS_FALSE);
    auto* store = hub.add_conditions();
    store->set_type("StoreAvailable");
    store->set_status(v1::CONDITION_STATUS_FALSE);
    store->set_reason("DiskFull");
    return hub;
  });
  CliResult result = cli.Run({"status"});
  EXPECT_THAT(
      result.out,
      AllOf(HasSubstr("Hub       Not ready x"), HasSubstr("x StoreAvailable is False: DiskFull"),
            HasSubstr("Unknown to this hub (1)"), HasSubstr("navectl cluster accept lost"),
            HasSubstr("navectl hub adopt --accept-unknown")));
}

TEST(Why, CauseEvidenceAndNextStep) {
  CliRunner cli;
  cli.hub.On<v1::DiagnoseClusterRequest, v1::Diagnosis>(
      [](const v1::DiagnoseClusterRequest& request) {
        v1::Diagnosis diagnosis;
        diagnosis.set_subject(request.name());
        diagnosis.set_state("Disconnected");
        diagnosis.set_reason("Revoked");
        diagnosis.set_cause("All its certificates are refused.");
        diagnosis.mutable_since()->set_seconds(1800000000 - 840);
        auto* evidence = diagnosis.add_evidence();
        evidence->set_source("hub");
        evidence->set_text("stream closed: REVOKED");
        evidence->mutable_time()->set_seconds(1800000000 - 840);
        diagnosis.add_evidence()->set_source("record");
        auto* step = diagnosis.add_next_steps();
        step->set_command("navectl token create --cluster edge --rejoin");
        step->set_text("a new one-time token");
        diagnosis.add_next_steps()->set_text("ask alice");
        return diagnosis;
      });
  std::string want =
      "edge is Disconnected, cause Revoked, for 14m\n"
      "  All its certificates are refused.\n"
      " 1  hub     stream closed: REVOKED  14m ago\n"
      " 2  record\n"
      "Next:  navectl token create --cluster edge --rejoin   # a new one-time token\n"
      "       ask alice\n";
  EXPECT_EQ(cli.Run({"cluster", "why", "edge"}).out, want);
  EXPECT_EQ(cli.Run({"why", "cluster/edge"}).out, want);
  EXPECT_THAT(cli.Run({"why", "cluster", "edge", "-o", "json"}).out,
              HasSubstr("\"reason\": \"Revoked\""));
}

void HeldOnCluster(CliRunner* cli) {
  cli->hub.On<v1::ListBundleAssignmentsRequest, v1::ListBundleAssignmentsResponse>([](const auto&) {
    v1::ListBundleAssignmentsResponse answer;
    auto* assignment = answer.add_assignments();
    assignment->set_cluster("eu-1");
    assignment->set_confirm_digest("d1");
    assignment->set_message("60 objects would go");
    answer.add_assignments()->set_cluster("eu-2");
    return answer;
  });
}

TEST(Confirm, ShowsAndConfirmsWhatWasShown) {
  CliRunner cli;
  Fleet(&cli);
  HeldOnCluster(&cli);
  CliResult result = cli.Run({"confirm", "web"});
  EXPECT_EQ(result.out, "bundle/web confirmed\nbundle/web confirmed on eu-1\n") << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("it leaves 1 cluster: eu-1"),
                                HasSubstr("on eu-1: 60 objects would go")));
  EXPECT_THAT(cli.hub.CallsOf("ConfirmBundle"),
              ElementsAre(HasSubstr("shown: \"h1\""),
                          AllOf(HasSubstr("cluster: \"eu-1\""), HasSubstr("shown: \"d1\""))));
}

TEST(Confirm, OneClusterOrNothing) {
  CliRunner cli;
  Fleet(&cli);
  HeldOnCluster(&cli);
  EXPECT_EQ(cli.Run({"confirm", "bundle/web", "--cluster", "eu-1"}).out,
            "bundle/web confirmed on eu-1\n");
  CliResult none = cli.Run({"confirm", "web", "--cluster", "eu-2"});
  EXPECT_EQ(none.code, 5);
  EXPECT_THAT(none.err, HasSubstr("NOTHING_TO_CONFIRM"));
}

TEST(Confirm, APersonMaySayNo) {
  for (const auto& [typed, code] : {std::pair{"n\n", 5}, std::pair{"", 5}, std::pair{"y\n", 0}}) {
    CliRunner cli;
    cli.terminal = true;
    Fleet(&cli);
    EXPECT_EQ(cli.Run({"confirm", "web"}, typed).code, code);
    EXPECT_EQ(cli.hub.CallsOf("ConfirmBundle").size(), code == 0 ? 1u : 0u);
    EXPECT_EQ(cli.Run({"confirm", "web", "--yes"}).code, 0);
  }
}

TEST(Events, Scopes) {
  struct Case {
    std::vector<std::string> about;
    const char* want;
  };
  for (const Case& c :
       {Case{{}, "parent: \"-\""}, Case{{"hub"}, "about: \"hub\""},
        Case{{"cluster/a"}, "about: \"clusters/a\""},
        Case{{"bundle/web"}, "parent: \"projects/default\" about: \"bundles/web\""}}) {
    CliRunner cli;
    std::vector<std::string> line{"events"};
    line.insert(line.end(), c.about.begin(), c.about.end());
    EXPECT_EQ(cli.Run(line).code, 0);
    EXPECT_THAT(cli.hub.CallsOf("ListEvents"), ElementsAre(HasSubstr(c.want)));
  }
}

TEST(HubAdopt, CountsAndConfirmation) {
  CliRunner cli;
  cli.hub.On<v1::AdoptHubRequest, v1::AdoptHubResponse>([](const auto&) {
    v1::AdoptHubResponse answer;
    answer.add_adopted("a");
    answer.set_adopted_total(1);
    answer.set_not_desired_total(2);
    return answer;
  });
  CliResult result = cli.Run({"hub", "adopt", "--accept-unknown"});
  EXPECT_EQ(result.out, "1 cluster adopted: a\n0 unknown clusters accepted\n");
  EXPECT_THAT(result.err, AllOf(HasSubstr("2 keys that the hub does not know stay as NotDesired"),
                                HasSubstr("tokens are void")));
  cli.Run({"hub", "adopt", "--remove-unclaimed", "--confirm=hub"});
  EXPECT_THAT(cli.hub.CallsOf("AdoptHub").back(),
              AllOf(HasSubstr("remove_unclaimed: true"), HasSubstr("confirm: \"hub\"")));
  EXPECT_EQ(cli.Run({"hub", "adopt", "--remove-unclaimed", "--confirm=hbu"}).code, 2);
  cli.terminal = true;
  EXPECT_EQ(cli.Run({"hub", "adopt", "--remove-unclaimed"}, "\n").code, 5);
}

TEST(Config, ImportUseAndView) {
  CliRunner cli;
  std::string admin = cli.WriteFile(
      "admin.yaml",
      "apiVersion: nave.dev/v1\nkind: Config\ncurrent-context: nave\ncontexts:\n- name: nave\n"
      "  context: {hub: 'new:8443', client-key-data: S0VZ}\n");
  EXPECT_EQ(cli.Run({"config", "import", admin, "--name", "new"}).out,
            "context new is the current one\n");
  EXPECT_EQ(cli.Run({"config", "current-context"}).out, "new\n");
  EXPECT_EQ(cli.Run({"config", "use-context", "test"}).code, 0);
  EXPECT_EQ(cli.Run({"config", "get-contexts"}).out,
            "CURRENT  NAME  HUB            PROJECT  AS\n"
            "*        test  hub.test:8443  -        certificate\n"
            "         new   new:8443       -        -\n");
  EXPECT_THAT(cli.Run({"config", "view"}).out,
              AllOf(HasSubstr("REDACTED"), testing::Not(HasSubstr("S0VZ"))));
  cli.environment["NAVECTL_PROJECT"] = "shop";
  EXPECT_THAT(cli.Run({"config", "view", "--origins"}).out,
              HasSubstr("environment NAVECTL_PROJECT"));
  EXPECT_THAT(cli.hub.calls(), IsEmpty());
}

TEST(Version, OfBothAndOfOne) {
  CliRunner cli;
  Fleet(&cli);
  EXPECT_THAT(cli.Run({"version"}).out,
              AllOf(HasSubstr("navectl  0.1.0\n"), HasSubstr("hub      0.1.0")));
  EXPECT_EQ(cli.Run({"version", "--client"}).out, "navectl  0.1.0\n");
  EXPECT_EQ(cli.Run({"--version"}).out, "navectl  0.1.0\n");
  cli.hub.FailAll(MakeError(Reason::kHubUnreachable, "gone"));
  CliResult away = cli.Run({"version"});
  EXPECT_EQ(away.code, 6);
  EXPECT_EQ(away.out, "navectl  0.1.0\n");
}

TEST(ExplainError, BothSpellingsWithoutAHub) {
  CliRunner cli;
  cli.environment.clear();
  CliResult upper = cli.Run({"explain-error", "REMOVAL_HELD"});
  EXPECT_EQ(upper.code, 0) << upper.err;
  EXPECT_EQ(upper.out, cli.Run({"explain-error", "RemovalHeld"}).out);
  CliResult unknown = cli.Run({"explain-error", "REMOVAL_HELT"});
  EXPECT_EQ(unknown.code, 4);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean REMOVAL_HELD?"));
}

}  // namespace
}  // namespace nave::cli
