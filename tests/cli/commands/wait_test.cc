// Goal: wait ends when it should, with an exit code that scripts can use. Method: a hub in memory
// whose records change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/view/wait_for.h"
#include "nave/v1/bundle.pb.h"
#include "nave/v1/cluster.pb.h"
#include "tests/cli/testing/run_cli.h"
#include "tests/testing/status_matchers.h"

namespace nave::cli {
namespace {

using testing::HasSubstr;

constexpr char kWeb[] = "projects/default/bundles/web";

v1::Bundle Web(bool ready, uint64_t generation = 2, uint64_t observed = 2) {
  v1::Bundle bundle;
  bundle.set_name(kWeb);
  bundle.mutable_metadata()->set_generation(generation);
  bundle.mutable_status()->set_observed_generation(observed);
  bundle.mutable_status()->set_health(ready ? v1::HEALTH_HEALTHY : v1::HEALTH_DEGRADED);
  auto* condition = bundle.mutable_status()->add_conditions();
  condition->set_type("Ready");
  condition->set_status(ready ? v1::CONDITION_STATUS_TRUE : v1::CONDITION_STATUS_FALSE);
  condition->set_reason(ready ? "Healthy" : "ApplyFailed");
  condition->set_observed_generation(observed);
  return bundle;
}

TEST(WaitCondition, Holds) {
  struct Case {
    const char* wait;
    v1::Bundle bundle;
    bool want;
  };
  v1::Bundle deleting = Web(true);
  deleting.mutable_metadata()->mutable_delete_time()->set_seconds(1);
  const Case cases[] = {
      {"Ready", Web(true), true},
      {"ready", Web(true), true},
      {"Ready", Web(false), false},
      {"Ready", Web(true, 3, 2), false},
      {"Ready", deleting, false},
      {"Degraded", Web(false), true},
      {"Deleting", deleting, true},
      {"condition=Ready", Web(true), true},
      {"condition=Ready=False", Web(false), true},
      {"condition=Ready=False", Web(false, 3, 2), false},
      {"condition=Placed", Web(true), false},
      {"condition=Placed=Unknown", Web(true), true},
      {"jsonpath={.status.observedGeneration}=2", Web(true), true},
      {"jsonpath={.status.observedGeneration}=3", Web(true), false},
      {"jsonpath=.status.conditions[0].reason=Healthy", Web(true), true},
      {"jsonpath={.status.heldHash}", Web(true), false},
      {"jsonpath={.status.health}", Web(true), true},
      {"create", Web(false), true},
      {"delete", Web(true), false},
  };
  for (const Case& c : cases) {
    auto wait = ParseWaitFor(c.wait);
    ASSERT_THAT(wait, IsOk());
    EXPECT_EQ(Holds(*wait, c.bundle), c.want) << c.wait << c.bundle.ShortDebugString();
  }
}

TEST(Wait, UntilItHolds) {
  CliRunner cli;
  cli.hub.Put(Web(false));
  cli.hub.Then([&] { cli.hub.Put(Web(true)); });
  CliResult result = cli.Run({"wait", "bundle/web", "--for=condition=Ready"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "bundle/web is Ready=True\n");
}

TEST(Wait, TimeRunsOutWithTheStateAndTheNextStep) {
  CliRunner cli;
  cli.hub.Put(Web(false));
  CliResult result = cli.Run({"wait", "bundle/web", "--for=Ready", "--timeout=1s"});
  EXPECT_EQ(result.code, 7);
  EXPECT_THAT(result.err,
              HasSubstr("bundle/web is not Ready in time, it is Degraded (ApplyFailed)"));
  EXPECT_THAT(result.err, HasSubstr("Next:  navectl why bundle/web"));
}

TEST(Wait, ZeroLooksOnce) {
  CliRunner cli;
  cli.hub.Put(Web(false));
  EXPECT_EQ(cli.Run({"wait", "bundle/web", "--for=Ready", "--timeout=0"}).code, 7);
  EXPECT_TRUE(cli.hub.CallsOf("WatchBundles").empty());
}

TEST(Wait, NegativeIsAWeek) {
  CliRunner cli;
  cli.hub.Put(Web(false));
  cli.hub.Then([&] { cli.now += absl::Hours(24), cli.hub.Put(Web(true)); });
  EXPECT_EQ(cli.Run({"wait", "bundle/web", "--for=Ready", "--timeout", "-1s"}).code, 0);
}

TEST(Wait, WhatDoesNotExist) {
  CliRunner cli;
  EXPECT_EQ(cli.Run({"wait", "bundle/web", "--for=Ready"}).code, 4);
  EXPECT_EQ(cli.Run({"wait", "bundle/web", "--for=delete"}).code, 0);
  cli.hub.Then([&] { cli.hub.Put(Web(false)); });
  EXPECT_EQ(cli.Run({"wait", "bundle/web", "--for=create"}).code, 0);
}

TEST(Wait, DeletedMeanwhile) {
  CliRunner cli;
  cli.hub.Put(Web(false));
  cli.hub.Then([&] { cli.hub.Remove(kWeb); });
  CliResult gone = cli.Run({"wait", "bundle/web", "--for=Ready"});
  EXPECT_EQ(gone.code, 4);
  EXPECT_THAT(gone.err, HasSubstr("was deleted while waiting"));
  cli.hub.Put(Web(false));
  cli.hub.Then([&] { cli.hub.Remove(kWeb); });
  EXPECT_EQ(cli.Run({"wait", "bundle/web", "--for=delete"}).out, "bundle/web is gone\n");
}

TEST(Wait, All) {
  CliRunner cli;
  for (const char* id : {"a", "b"}) {
    v1::Cluster cluster;
    cluster.set_name(std::string("clusters/") + id);
    cluster.mutable_status()->set_phase(v1::CLUSTER_PHASE_READY);
    cli.hub.Put(cluster);
  }
  EXPECT_EQ(cli.Run({"wait", "clusters", "--all", "--for=Ready"}).out,
            "cluster/a is Ready\ncluster/b is Ready\n");
  EXPECT_EQ(cli.Run({"wait", "projects", "--all", "--for=create"}).code, 4);
}

}  // namespace
}  // namespace nave::cli
