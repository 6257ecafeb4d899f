// Goal: whatever is typed wrongly gets one clear error with the nearest right word, exit code 2,
// and no call of the hub. Method: a table of command lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/testing/run_cli.h"

namespace nave::cli {
namespace {

using testing::HasSubstr;

TEST(BadInput, CommandLines) {
  struct Case {
    std::vector<std::string> arguments;
    const char* want;
  };
  const Case cases[] = {
      {{"gett", "clusters"}, "there is no command 'gett'; did you mean 'get'?"},
      {{"cluster", "ad", "x"}, "there is no command 'cluster ad'; did you mean 'cluster add'?"},
      {{"cluster"}, "a command must be given: navectl cluster "},
      {{"accept", "x"}, "did you mean 'cluster accept'?"},
      {{"xyzzyplugh"}, "there is no command 'xyzzyplugh'"},
      {{"--context", "test"}, "a command must be given"},
      {{"get"}, "'get' needs KIND[/NAME]"},
      {{"get", "clusterz"}, "there is no kind 'clusterz'; did you mean 'cluster'?"},
      {{"get", "clusters", "--watchh"}, "'get' has no flag '--watchh'; did you mean '--watch'?"},
      {{"get", "clusters", "--selektor=a"},
       "'get' has no flag '--selektor'; did you mean '--selector'?"},
      {{"get", "clusters", "-o", "jsn"}, "did you mean 'json'?"},
      {{"get", "clusters", "-o"}, "'get': "},
      {{"get", "clusters", "--color=blue"}, "must be one of auto, always, never; got 'blue'"},
      {{"get", "cluster/a", "-l", "a=b"}, "names and a selector cannot be given together"},
      {{"get", "cluster/UPPER"}, "'UPPER' cannot be the name of a cluster"},
      {{"get", "revisions"}, "get revisions BUNDLE"},
      {{"get", "clusters", "--request-timeout=soon"}, "`--request-timeout`: must be a duration"},
      {{"get", "clusters", "--request-timeout=-1s"}, "must be more than 0"},
      {{"cluster", "add"}, "'cluster add' needs NAME"},
      {{"cluster", "add", "a", "b"}, "'b' is one argument too many for 'cluster add'"},
      {{"cluster", "add", "Bad_Name"}, "'Bad_Name' cannot be the name of a cluster"},
      {{"cluster", "add", "a", "-l", "novalue"}, "'novalue': must be KEY=VALUE"},
      {{"cluster", "add", "a", "-l", "-bad=x"}, "`--labels`: '-bad=x'"},
      {{"cluster", "add", "a", "--auto-accept", "--manual-accept"}, "cannot be given together"},
      {{"token", "create", "--rejoin"}, "`--rejoin`: needs --cluster NAME"},
      {{"token", "create", "--ttl", "a while"}, "`--ttl`: must be a duration"},
      {{"apply"}, "nothing to apply"},
      {{"apply", "-f", "missing.yaml"}, "cannot read missing.yaml: it does not exist"},
      {{"apply", "-f", "-", "--dry-run=client"}, "`--dry-run`: must be server or none"},
      {{"delete"}, "a kind must be given"},
      {{"delete", "bundle"}, "what to delete must be named"},
      {{"delete", "cluster/a"}, "removed or forgotten, not deleted"},
      {{"delete", "event/a"}, "cannot be deleted"},
      {{"delete", "bundle/a", "bundle/b", "--confirm", "a"}, "confirms one name"},
      {{"delete", "project/a", "--orphan"}, "are for bundles"},
      {{"delete", "bundle/a", "--wait=maybe"}, "`--wait`: must be true or false"},
      {{"wait", "cluster/a"}, "`--for`: must be"},
      {{"wait", "clusters", "--for=Ready"}, "KIND with -l or --all"},
      {{"wait", "cluster/a", "--for=Ready", "--timeout=x"}, "`--timeout`: must be a duration"},
      {{"why", "project/a"}, "only clusters and bundles"},
      {{"why", "bundles"}, "one cluster or bundle must be named"},
      {{"events", "project/a"}, "events are about bundles, clusters and the hub"},
      {{"get", "bundles", "--context", "tset"}, "did you mean \"test\"?"},
      {{"get", "bundles", "--config", "/nowhere/c.yaml"}, "cannot read /nowhere/c.yaml"},
      {{"config", "use-context", "tset"}, "did you mean \"test\"?"},
  };
  for (const Case& c : cases) {
    CliRunner runner;
    CliResult result = runner.Run(c.arguments);
    std::string line = testing::PrintToString(c.arguments);
    EXPECT_EQ(result.code, 2) << line << result.err;
    EXPECT_EQ(result.out, "") << line;
    EXPECT_THAT(result.err, HasSubstr(c.want)) << line;
    EXPECT_THAT(result.err, HasSubstr("  Next:  ")) << line;
    EXPECT_TRUE(runner.hub.calls().empty()) << line << runner.hub.calls()[0];
  }
}

TEST(BadInput, ErrorsAreJsonWithJson) {
  CliRunner runner;
  CliResult result = runner.Run({"get", "cluster/a", "-o", "json"});
  EXPECT_EQ(result.code, 4);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("\"reason\": \"NOT_FOUND\""));
}

TEST(BadInput, HelpNeedsNoHub) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"--help"},
                                             {"help"},
                                             {"get", "--help"},
                                             {"cluster", "-h"},
                                             {"help", "cluster", "add"},
                                             {"apply", "-f", "x", "-h"}}) {
    CliRunner runner;
    CliResult result = runner.Run(arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("Usage: navectl"));
    EXPECT_THAT(result.out, HasSubstr("Exit codes:"));
    EXPECT_EQ(result.err, "");
  }
}

TEST(BadInput, ErrorsOfTheHubBecomeExitCodes) {
  struct Case {
    absl::StatusCode code;
    int want;
  };
  for (const Case& c :
       {Case{absl::StatusCode::kUnauthenticated, 3}, Case{absl::StatusCode::kPermissionDenied, 3},
        Case{absl::StatusCode::kNotFound, 4}, Case{absl::StatusCode::kFailedPrecondition, 5},
        Case{absl::StatusCode::kUnavailable, 6}, Case{absl::StatusCode::kDeadlineExceeded, 7},
        Case{absl::StatusCode::kInternal, 70}}) {
    CliRunner runner;
    runner.hub.FailAll(absl::Status(c.code, "the text"));
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"get", "clusters"},
                                               {"get", "cluster/a"},
                                               {"status"},
                                               {"why", "bundle/a"},
                                               {"describe", "cluster/a"},
                                               {"cluster", "accept", "a"},
                                               {"token", "create"},
                                               {"token", "revoke", "a"},
                                               {"hub", "adopt"},
                                               {"events"},
                                               {"get", "bundles", "-w"},
                                               {"confirm", "a"},
                                               {"whoami"}}) {
      CliResult result = runner.Run(arguments);
      EXPECT_EQ(result.code, c.want) << arguments[0] << result.err;
      EXPECT_THAT(result.err, HasSubstr("the text")) << arguments[0];
    }
  }
}

}  // namespace
}  // namespace nave::cli
