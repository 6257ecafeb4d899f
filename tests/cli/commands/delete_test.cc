// Goal: delete removes only what was meant, asks a person, and ends when it is gone. Method: a hub
// in memory whose bundles go when the test says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/error.h"
#include "nave/v1/bundle.pb.h"
#include "nave/v1/cluster.pb.h"
#include "nave/v1/project.pb.h"
#include "tests/cli/testing/run_cli.h"

namespace nave::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kWeb[] = "projects/default/bundles/web";

v1::Bundle Web(const char* uid = "u1") {
  v1::Bundle bundle;
  bundle.set_name(kWeb);
  bundle.mutable_metadata()->set_uid(uid);
  bundle.mutable_status()->mutable_counts()->set_clusters(3);
  return bundle;
}

TEST(Delete, WaitsUntilTheBundleIsGone) {
  CliRunner cli;
  cli.hub.Put(Web());
  cli.hub.Then([&] {
    v1::Bundle bundle = Web();
    bundle.mutable_status()->mutable_counts()->set_removing(2);
    cli.hub.Put(bundle);
  });
  cli.hub.Then([&] { cli.hub.Remove(kWeb); });
  CliResult result = cli.Run({"delete", "bundle/web", "--confirm=web"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "bundle/web deleted\n");
  EXPECT_THAT(result.err, HasSubstr("Waiting: 2 clusters to go"));
  EXPECT_THAT(cli.hub.CallsOf("DeleteBundle"), ElementsAre(HasSubstr("confirm: \"web\"")));
}

TEST(Delete, ABundleOfThatNameMadeAnewIsAnother) {
  CliRunner cli;
  cli.hub.Put(Web("u1"));
  cli.hub.Then([&] { cli.hub.Put(Web("u2")); });
  EXPECT_EQ(cli.Run({"delete", "bundle/web"}).code, 0);
}

TEST(Delete, ABrokenWatchIsTakenUpAgain) {
  CliRunner cli;
  cli.hub.Put(Web());
  cli.hub.ThenBreak(MakeError(Reason::kHubUnreachable, "gone"));
  // What happens between a stream and the next that starts anew is not missed.
  cli.hub.ThenBreak(MakeError(Reason::kRevisionCompacted, "compacted"),
                    [&] { cli.hub.Remove(kWeb); });
  CliResult result = cli.Run({"delete", "bundle/web"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("The hub does not answer; trying again."));
  EXPECT_THAT(cli.hub.CallsOf("WatchBundles"),
              ElementsAre(Not(HasSubstr("resource_version")), HasSubstr("resource_version"),
                          Not(HasSubstr("resource_version"))));
}

TEST(Delete, TimeRunsOut) {
  CliRunner cli;
  cli.hub.Put(Web());
  CliResult result = cli.Run({"delete", "bundle/web", "--timeout=1s"});
  EXPECT_EQ(result.code, 7);
  EXPECT_THAT(result.err, HasSubstr("navectl wait bundle/web --for=delete"));
}

TEST(Delete, OnATerminalThePersonTypesTheName) {
  struct Case {
    const char* typed;
    int code;
    size_t calls;
  };
  for (const Case& c :
       {Case{"web\n", 0, 1}, Case{"wbe\n", 2, 0}, Case{"\n", 5, 0}, Case{"", 5, 0}}) {
    CliRunner cli;
    cli.terminal = true;
    cli.hub.Put(Web());
    cli.hub.Then([&] { cli.hub.Remove(kWeb); });
    CliResult result = cli.Run({"delete", "bundle/web"}, c.typed);
    EXPECT_EQ(result.code, c.code) << c.typed << result.err;
    EXPECT_THAT(result.err, HasSubstr("Type \"web\" to go on"));
    EXPECT_EQ(cli.hub.CallsOf("DeleteBundle").size(), c.calls) << c.typed;
  }
}

TEST(Delete, NothingIsAskedWhenNothingIsLost) {
  CliRunner cli;
  cli.terminal = true;
  cli.hub.Put(Web());
  EXPECT_EQ(cli.Run({"delete", "bundle/web", "--orphan", "--no-wait"}).out,
            "bundle/web is being deleted\n");
  EXPECT_THAT(cli.hub.CallsOf("DeleteBundle"), ElementsAre(HasSubstr("orphan: true")));
  EXPECT_EQ(cli.Run({"delete", "bundle/web", "--dry-run=server"}).out,
            "bundle/web deleted (server dry run)\n");
}

TEST(Delete, WrongConfirmationCallsNothing) {
  CliRunner cli;
  cli.hub.Put(Web());
  CliResult result = cli.Run({"delete", "bundle/web", "--confirm=other"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("CONFIRM_MISMATCH"));
  EXPECT_THAT(cli.hub.CallsOf("DeleteBundle"), IsEmpty());
}

TEST(Delete, SeveralAndMissing) {
  CliRunner cli;
  v1::Project project;
  project.set_name("projects/a");
  cli.hub.Put(project);
  CliResult some = cli.Run({"delete", "project", "a", "b"});
  EXPECT_EQ(some.code, 8);
  EXPECT_EQ(some.out, "project/a deleted\n");
  EXPECT_THAT(some.err, HasSubstr("NOT_FOUND"));
  EXPECT_EQ(cli.Run({"delete", "project/b"}).code, 4);
  EXPECT_EQ(cli.Run({"delete", "project/b", "--ignore-not-found"}).code, 0);
}

TEST(Delete, OfFilesInReverse) {
  CliRunner cli;
  v1::Project project;
  project.set_name("projects/default");
  cli.hub.Put(project);
  cli.hub.Put(Web());
  cli.hub.Then([&] { cli.hub.Remove(kWeb); });
  std::string text =
      "apiVersion: nave.dev/v1\nkind: Project\nmetadata: {name: default}\n---\n"
      "apiVersion: nave.dev/v1\nkind: Bundle\nmetadata: {name: web}\nspec: {allowEmpty: true}\n";
  EXPECT_EQ(cli.Run({"delete", "-f", "-"}, text).out,
            "bundle/web deleted\nproject/default deleted\n");
}

}  // namespace
}  // namespace nave::cli
