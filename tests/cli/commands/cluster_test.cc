// Goal: a cluster is added, joined, accepted, removed and forgotten as the user was told. Method: a
// hub in memory; the record changes as a joining agent would change it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/error.h"
#include "common/pki/join_token.h"
#include "nave/v1/cluster.pb.h"
#include "nave/v1/join_token.pb.h"
#include "tests/cli/testing/run_cli.h"

namespace nave::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string TokenText() {
  JoinTokenText token;
  token.hub_address = "hub.test:8444";
  token.id = "k3vq2mzt7a";
  token.secret = std::string(kJoinTokenSecretBytes, 's');
  return FormatJoinToken(token);
}

v1::Cluster EdgeRecord() {
  v1::Cluster cluster;
  cluster.set_name("clusters/edge");
  cluster.mutable_status()->set_phase(v1::CLUSTER_PHASE_PENDING);
  cluster.mutable_status()->set_admission(v1::CLUSTER_ADMISSION_PENDING);
  return cluster;
}

// A hub that gives tokens and makes records.
void Prepare(CliRunner* cli) {
  cli->hub.On<v1::CreateJoinTokenRequest, v1::CreateJoinTokenResponse>(
      [](const v1::CreateJoinTokenRequest& request) {
        v1::CreateJoinTokenResponse answer;
        *answer.mutable_join_token() = request.join_token();
        answer.mutable_join_token()->set_name("joinTokens/k3vq2mzt7a");
        answer.mutable_join_token()->mutable_status()->mutable_expire_time()->set_seconds(
            1800000000 + 1800);
        answer.set_token(TokenText());
        return answer;
      });
  cli->hub.On<v1::CreateClusterRequest, v1::Cluster>(
      [cli](const v1::CreateClusterRequest& request) -> absl::StatusOr<v1::Cluster> {
        if (cli->hub.Find("clusters/" + request.cluster_id()) != nullptr)
          return MakeError(Reason::kAlreadyExists, "is there");
        v1::Cluster cluster = EdgeRecord();
        cluster.set_name("clusters/" + request.cluster_id());
        cli->hub.Put(cluster);
        return cluster;
      });
}

TEST(ClusterAdd, TicksOffTheSteps) {
  CliRunner cli;
  Prepare(&cli);
  v1::Cluster cluster = EdgeRecord();
  v1::ClusterStatus* status = cluster.mutable_status();
  cli.hub.Then([&] {
    status->mutable_certificate_not_after()->set_seconds(1800000000 + 604800);
    status->set_admission(v1::CLUSTER_ADMISSION_ACCEPTED);
    cli.hub.Put(cluster);
  });
  cli.hub.Then([&] {
    status->set_phase(v1::CLUSTER_PHASE_SYNCING);
    status->set_connected(true);
    status->set_agent_address("198.51.100.7");
    status->set_agent_version("0.1.0");
    cli.hub.Put(cluster);
  });
  cli.hub.Then([&] {
    cli.now += absl::Seconds(23);
    status->mutable_facts()->set_kubernetes_version("v1.32.4");
    status->mutable_facts()->set_nodes(12);
    status->mutable_facts()->set_cpu_millis(340000);
    status->set_phase(v1::CLUSTER_PHASE_READY);
    cli.hub.Put(cluster);
  });
  CliResult result = cli.Run({"cluster", "add", "edge", "--set", "eu", "-l", "env=prod,region=eu"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("navectl cluster manifest edge | kubectl apply -f -"),
                                HasSubstr("| base64 -d | gunzip | kubectl apply -f -"),
                                HasSubstr("nave-agent --token-file T")));
  EXPECT_THAT(result.err,
              HasSubstr("Cluster edge registered (state: Pending).\n"
                        "The token is valid 30m, for one use, for this cluster only.\n"));
  EXPECT_THAT(
      result.err,
      HasSubstr("  + identity verified     certificate signed, expires in 7d, renews by itself\n"
                "  + accepted              \n"
                "  + agent dialled in      198.51.100.7   agent 0.1.0\n"
                "  + inventory received    v1.32.4, 12 nodes, 340 CPU\n"
                "  + Ready                 in 23s\n"));
  EXPECT_THAT(cli.hub.CallsOf("CreateCluster")[0],
              AllOf(HasSubstr("cluster_set: \"eu\""), HasSubstr("region")));
  EXPECT_THAT(cli.hub.CallsOf("CreateJoinToken")[0],
              AllOf(HasSubstr("cluster: \"edge\""), HasSubstr("auto_accept: true")));
}

TEST(ClusterAdd, ManualAcceptanceIsSaid) {
  CliRunner cli;
  Prepare(&cli);
  cli.hub.Then([&] {
    v1::Cluster cluster = EdgeRecord();
    cluster.mutable_status()->mutable_certificate_not_after()->set_seconds(1800604800);
    cli.hub.Put(cluster);
  });
  cli.hub.Then([&] {
    v1::Cluster cluster = EdgeRecord();
    cluster.mutable_status()->set_phase(v1::CLUSTER_PHASE_REJECTED);
    cli.hub.Put(cluster);
  });
  CliResult result = cli.Run({"cluster", "add", "edge", "--manual-accept"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, AllOf(HasSubstr("navectl cluster accept edge"),
                                HasSubstr("was rejected (REJECTED)")));
  EXPECT_THAT(cli.hub.CallsOf("CreateJoinToken")[0], Not(HasSubstr("auto_accept")));
}

TEST(ClusterAdd, AgainIsHarmlessUntilItJoined) {
  CliRunner cli;
  Prepare(&cli);
  EXPECT_EQ(cli.Run({"cluster", "add", "edge", "--no-wait"}).code, 0);
  EXPECT_THAT(cli.hub.CallsOf("CreateJoinToken"), IsEmpty());
  CliResult again = cli.Run({"cluster", "add", "edge", "--no-wait"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("is registered already"));
  v1::Cluster joined = EdgeRecord();
  joined.mutable_status()->mutable_certificate_not_after()->set_seconds(1800604800);
  cli.hub.Put(joined);
  CliResult third = cli.Run({"cluster", "add", "edge", "--no-wait"});
  EXPECT_EQ(third.code, 5);
  EXPECT_THAT(third.err, HasSubstr("ALREADY_ENROLLED"));
}

TEST(ClusterManifest, IsDataAndHasAToken) {
  CliRunner cli;
  Prepare(&cli);
  EXPECT_EQ(cli.Run({"cluster", "manifest", "edge"}).code, 4);
  cli.hub.Put(EdgeRecord());
  CliResult result =
      cli.Run({"cluster", "manifest", "edge", "--agent-image", "registry.test/agent:1"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("kind: Deployment"), HasSubstr("registry.test/agent:1")));
  EXPECT_THAT(result.err, HasSubstr("keep it as secret"));
  CliResult line = cli.Run({"cluster", "manifest", "edge", "--one-line", "--rejoin"});
  EXPECT_EQ(std::count(line.out.begin(), line.out.end(), '\n'), 1);
  EXPECT_THAT(cli.hub.CallsOf("CreateJoinToken").back(), HasSubstr("rejoin: true"));
}

TEST(TokenCreate, TheTokenIsTheOnlyData) {
  CliRunner cli;
  Prepare(&cli);
  CliResult result =
      cli.Run({"token", "create", "--cluster", "edge", "--ttl", "2h", "-l", "a=b", "--set", "eu"});
  EXPECT_EQ(result.out, TokenText() + "\n");
  EXPECT_THAT(result.err,
              HasSubstr("Token k3vq2mzt7a is valid 30m, for one use, for cluster edge only."));
  EXPECT_THAT(cli.hub.CallsOf("CreateJoinToken")[0],
              AllOf(HasSubstr("ttl { seconds: 7200 }"), HasSubstr("cluster_set: \"eu\""),
                    Not(HasSubstr("auto_accept"))));
  EXPECT_THAT(cli.Run({"token", "create", "-o", "json"}).out, HasSubstr("\"token\": \"nave1."));
}

TEST(TokenRevoke, ById) {
  CliRunner cli;
  v1::JoinToken token;
  token.set_name("joinTokens/k3vq2mzt7a");
  cli.hub.Put(token);
  EXPECT_THAT(cli.Run({"token", "list"}).out, HasSubstr("k3vq2mzt7a"));
  EXPECT_EQ(cli.Run({"token", "revoke", "k3vq2mzt7a"}).out, "token k3vq2mzt7a revoked\n");
  EXPECT_EQ(cli.Run({"token", "revoke", "k3vq2mzt7a"}).code, 4);
}

TEST(ClusterLife, SimpleVerbs) {
  CliRunner cli;
  struct Case {
    const char* verb;
    const char* method;
    const char* want;
  };
  for (const Case& c : {Case{"accept", "AcceptCluster", "cluster/edge accepted\n"},
                        Case{"reject", "RejectCluster", "cluster/edge rejected\n"},
                        Case{"cordon", "CordonCluster", "cluster/edge cordoned\n"},
                        Case{"uncordon", "UncordonCluster", "cluster/edge uncordoned\n"},
                        Case{"revoke", "RevokeCluster", "cluster/edge revoked\n"},
                        Case{"unlock", "UnlockCluster", "cluster/edge unlocked\n"}}) {
    auto answer = [](const auto&) { return EdgeRecord(); };
    cli.hub.On<v1::AcceptClusterRequest, v1::Cluster>(answer);
    cli.hub.On<v1::RejectClusterRequest, v1::Cluster>(answer);
    cli.hub.On<v1::CordonClusterRequest, v1::Cluster>(answer);
    cli.hub.On<v1::UncordonClusterRequest, v1::Cluster>(answer);
    cli.hub.On<v1::RevokeClusterRequest, v1::Cluster>(answer);
    cli.hub.On<v1::UnlockClusterRequest, v1::Cluster>(answer);
    EXPECT_EQ(cli.Run({"cluster", c.verb, "edge"}).out, c.want);
    EXPECT_THAT(cli.Run({"cluster", c.verb, "cluster/edge", "--dry-run"}).out,
                HasSubstr("(server dry run)"));
    EXPECT_THAT(cli.hub.CallsOf(c.method),
                ElementsAre(AllOf(HasSubstr("name: \"clusters/edge\""), HasSubstr("request_id")),
                            HasSubstr("validate_only: true")));
    EXPECT_THAT(cli.Run({"cluster", c.verb, "edge", "-o", "yaml"}).out, HasSubstr("kind: Cluster"));
  }
}

TEST(ClusterLife, AcceptingWhatIsAcceptedIsNoError) {
  CliRunner cli;
  v1::Cluster cluster = EdgeRecord();
  cluster.mutable_status()->set_admission(v1::CLUSTER_ADMISSION_ACCEPTED);
  cli.hub.Put(cluster);
  cli.hub.On<v1::AcceptClusterRequest, v1::Cluster>([](const auto&) -> absl::StatusOr<v1::Cluster> {
    return MakeError(Reason::kClusterStateConflict, "is accepted");
  });
  EXPECT_EQ(cli.Run({"cluster", "accept", "edge"}).out, "cluster/edge is accepted already\n");
  cluster.mutable_status()->set_revoked(true);
  cli.hub.Put(cluster);
  EXPECT_EQ(cli.Run({"cluster", "accept", "edge"}).code, 5);
}

TEST(ClusterLife, AcceptOfAnUnknownOne) {
  CliRunner cli;
  cli.hub.On<v1::AcceptClusterRequest, v1::Cluster>([](const auto&) { return EdgeRecord(); });
  cli.Run({"cluster", "accept", "edge", "--uid", "u-1", "--set", "eu"});
  EXPECT_THAT(cli.hub.CallsOf("AcceptCluster")[0],
              AllOf(HasSubstr("unknown_uid: \"u-1\""), HasSubstr("cluster_set: \"eu\"")));
}

TEST(ClusterLife, RemoveWaitsAndTellsWhy) {
  CliRunner cli;
  cli.hub.Put(EdgeRecord());
  cli.hub.On<v1::RemoveClusterRequest, v1::Cluster>([](const auto&) { return EdgeRecord(); });
  cli.hub.Then([&] {
    v1::Cluster cluster = EdgeRecord();
    cluster.mutable_status()->set_phase(v1::CLUSTER_PHASE_REMOVING);
    cluster.mutable_status()->set_reason("WaitingForAgent");
    cli.hub.Put(cluster);
  });
  cli.hub.Then([&] { cli.hub.Remove("clusters/edge"); });
  CliResult result = cli.Run({"cluster", "remove", "edge", "--confirm", "edge"});
  EXPECT_EQ(result.out, "cluster/edge removed\n") << result.err;
  EXPECT_THAT(result.err, HasSubstr("Removing: WaitingForAgent"));
  EXPECT_THAT(cli.hub.CallsOf("RemoveCluster")[0], HasSubstr("confirm: \"edge\""));
}

TEST(ClusterLife, ForgetNeedsTheName) {
  CliRunner cli;
  cli.hub.On<v1::ForgetClusterRequest, v1::ForgetClusterResponse>([](const auto&) {
    v1::ForgetClusterResponse answer;
    answer.add_left_behind("projects/default/bundles/web");
    answer.set_left_behind_total(1);
    return answer;
  });
  CliResult unconfirmed = cli.Run({"cluster", "forget", "edge"});
  EXPECT_EQ(unconfirmed.code, 5);
  EXPECT_THAT(unconfirmed.err, HasSubstr("navectl cluster forget edge --confirm edge"));
  EXPECT_THAT(cli.hub.CallsOf("ForgetCluster"), IsEmpty());
  CliResult done = cli.Run({"cluster", "forget", "edge", "--confirm", "edge"});
  EXPECT_EQ(done.out, "cluster/edge forgotten\n");
  EXPECT_THAT(done.err, HasSubstr("Left behind there: 1 bundle: projects/default/bundles/web"));
}

TEST(ClusterLife, Adopt) {
  CliRunner cli;
  cli.hub.On<v1::AdoptClusterRequest, v1::AdoptClusterResponse>([](const auto&) {
    v1::AdoptClusterResponse answer;
    answer.add_not_desired("web");
    answer.set_not_desired_total(1);
    return answer;
  });
  CliResult kept = cli.Run({"cluster", "adopt", "edge"});
  EXPECT_THAT(kept.out, HasSubstr("follows the hub's present state from now on"));
  EXPECT_THAT(kept.err, HasSubstr("Not known to the hub, and kept: 1 key: web"));
  cli.Run({"cluster", "adopt", "edge", "--remove-unclaimed", "--confirm=edge"});
  EXPECT_THAT(cli.hub.CallsOf("AdoptCluster")[1],
              AllOf(HasSubstr("remove_unclaimed: true"), HasSubstr("confirm: \"edge\"")));
}

}  // namespace
}  // namespace nave::cli
