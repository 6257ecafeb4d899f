// Goal: tables and states say what the record says, and never more. Method: golden tables of
// records in each state.
#include "cli/resources/columns.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "cli/resources/describe.h"
#include "cli/resources/print.h"
#include "cli/resources/words.h"
#include "common/wire/scalars.h"
#include "nave/v1/cluster_set.pb.h"
#include "nave/v1/event.pb.h"
#include "nave/v1/role_binding.pb.h"

namespace nave::cli {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1800000000);

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

std::string Ago(int64_t seconds) {
  return "{seconds: " + std::to_string(1800000000 - seconds) + "}";
}

std::string TableOf(const char* kind_word,
                    const std::vector<const google::protobuf::Message*>& messages,
                    bool wide = false) {
  const KindInfo& kind = *FindKind(kind_word);
  ColumnOptions options;
  options.now = kNow;
  options.wide = wide;
  Table table(Headers(kind, options));
  for (const auto* message : messages) table.Add(MakeRow(kind, *message, options));
  return table.Format(Style());
}

TEST(Columns, Clusters) {
  auto ready =
      Parse<v1::Cluster>("name: 'clusters/eu-01' metadata {create_time " + Ago(18144000) +
                         "} spec {cluster_set: 'eu' cordoned: true} status {phase: "
                         "CLUSTER_PHASE_READY connected: true "
                         "last_seen " +
                         Ago(2) +
                         " facts {kubernetes_version: 'v1.32.4' nodes: 48 nodes_ready: 48} "
                         "bundles: 31 bundles_ready: 31}");
  auto gone = Parse<v1::Cluster>("name: 'clusters/edge-17' metadata {create_time " + Ago(259200) +
                                 "} spec {cluster_set: 'edge'} status {phase: "
                                 "CLUSTER_PHASE_DISCONNECTED reason: 'SessionLost' "
                                 "last_seen " +
                                 Ago(840) +
                                 " facts {nodes: 3 nodes_ready: 3} bundles: 2 bundles_ready: 2}");
  auto fresh = Parse<v1::Cluster>("name: 'clusters/new' metadata {create_time " + Ago(5) +
                                  "} spec {cluster_set: 'edge'} status {phase: "
                                  "CLUSTER_PHASE_PENDING reason: 'NeverConnected'}");
  EXPECT_EQ(
      TableOf("cluster", {&ready, &gone, &fresh}),
      "NAME     STATE           SET   K8S      NODES  BUNDLES  LAST SEEN  AGE   REASON\n"
      "eu-01    Ready,Cordoned  eu    v1.32.4  48/48  31/31    2s         210d  -\n"
      "edge-17  Disconnected    edge  -        ?      2/2?     14m        3d    SessionLost\n"
      "new      Pending         edge  -        ?      0/0?     never      5s    NeverConnected\n");
  EXPECT_EQ(Summary(*FindKind("cluster"), {&ready, &gone, &fresh}),
            "3 clusters: 1 Disconnected, 1 Pending, 1 Ready.\n");
}

TEST(Columns, UnknownClusterFitsTheTable) {
  auto unknown = Parse<v1::UnknownCluster>(
      "uid: 'u-1' certificate_name: 'lost' address: '10.0.0.9' last_seen " + Ago(3));
  for (bool wide : {false, true}) {
    ColumnOptions options;
    options.now = kNow;
    options.wide = wide;
    options.show_labels = wide;
    Row row = MakeRow(unknown, options);
    EXPECT_EQ(row.size(), Headers(*FindKind("cluster"), options).size());
    EXPECT_EQ(row[1].text, "Pending");
  }
}

TEST(Columns, BundleStates) {
  struct Case {
    const char* name;
    std::string text;
    const char* word;
  };
  const std::string yes = "conditions {type: 'Ready' status: CONDITION_STATUS_TRUE}";
  const std::string no =
      "conditions {type: 'Ready' status: CONDITION_STATUS_FALSE reason: 'ApplyFailed'}";
  const Case cases[] = {
      {"ready", "status {health: HEALTH_HEALTHY " + yes + "}", "Ready"},
      {"being deleted outweighs ready", "metadata {delete_time {seconds: 1}} status {" + yes + "}",
       "Deleting"},
      {"held outweighs ready", "status {held_hash: 'h' " + yes + "}", "RemovalHeld"},
      {"degraded", "status {health: HEALTH_DEGRADED " + no + "}", "Degraded"},
      {"progressing", "status {health: HEALTH_PROGRESSING " + no + "}", "Progressing"},
      {"healthy but not ready is not ready", "status {health: HEALTH_HEALTHY " + no + "}",
       "NotReady"},
      {"nothing said", "status {}", "Unknown"},
      {"healthy without a condition", "status {health: HEALTH_HEALTHY}", "Unknown"},
  };
  for (const Case& c : cases) EXPECT_EQ(StateOf(Parse<v1::Bundle>(c.text)).word, c.word) << c.name;
}

TEST(Columns, EveryKindHasAsManyCellsAsHeaders) {
  for (const KindInfo& kind : Kinds()) {
    for (int bits = 0; bits < 8; ++bits) {
      ColumnOptions options{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, kNow};
      std::unique_ptr<google::protobuf::Message> message(kind.make());
      EXPECT_EQ(MakeRow(kind, *message, options).size(), Headers(kind, options).size())
          << kind.kind << bits;
    }
  }
}

TEST(Columns, RoleBindingsAndEvents) {
  auto binding = Parse<v1::RoleBinding>(
      "name: 'roleBindings/ops' metadata {create_time " + Ago(60) +
      "} spec {role: ROLE_EDITOR project: 'shop' subjects: 'user:eve' subjects: 'group:ops'}");
  EXPECT_EQ(TableOf("rolebinding", {&binding}),
            "NAME  ROLE    SCOPE         SUBJECTS            AGE\n"
            "ops   editor  project/shop  user:eve,group:ops  60s\n");
  auto event = Parse<v1::Event>(
      "name: 'events/e1' spec {type: EVENT_TYPE_WARNING about: 'clusters/a' reason: 'SessionLost' "
      "message: 'gone\\nnow'} status {count: 3 last_time " +
      Ago(9) + "}");
  EXPECT_EQ(TableOf("event", {&event}),
            "LAST  TYPE     REASON       ABOUT       CLUSTER  MESSAGE\n"
            "9s    Warning  SessionLost  clusters/a  -        gone now (x3)\n");
}

TEST(Assignments, NotRightObjectsAreBelowTheTable) {
  auto assignment = Parse<v1::Assignment>(
      "bundle: 'projects/p/bundles/web' cluster: 'eu-1' revision: 7 phase: ASSIGNMENT_PHASE_FAILED "
      "health: "
      "HEALTH_DEGRADED "
      "counts {total: 3 healthy: 2} reason: 'NotOwned' message: 'x' connected: true status_time " +
      Ago(4) +
      " not_ok_total: 1 not_ok {group: 'apps' kind: 'Deployment' namespace: 'shop' name: 'web' "
      "health: HEALTH_DEGRADED "
      "reason: 'NotOwned' message: 'exists'}");
  EXPECT_EQ(FormatAssignments({assignment}, true, Style(), kNow),
            "  CLUSTER  STATE   HEALTH    REVISION  OBJECTS  STATUS  REASON\n"
            "  eu-1     Failed  Degraded  r7        2/3      4s ago  NotOwned: x\n"
            "  Not right on eu-1 (1):\n"
            "    x  apps/Deployment shop/web  Degraded  NotOwned: exists\n");
}

TEST(Assignments, AppliedAndHealthyOfAnotherVersionIsNotGood) {
  auto assignment = Parse<v1::Assignment>(
      "phase: ASSIGNMENT_PHASE_APPLIED health: HEALTH_HEALTHY desired_digest: 'a' reported_digest: "
      "'b'");
  EXPECT_EQ(StateOf(assignment).tone, Tone::kBusy);
  assignment.set_reported_digest("a");
  EXPECT_EQ(StateOf(assignment).tone, Tone::kGood);
}

TEST(Print, FormsThatCanBeAppliedAgain) {
  auto set = Parse<v1::ClusterSet>("name: 'clusterSets/eu' spec {description: 'Europe'} etag: 'x'");
  EXPECT_EQ(FormatAsYaml({&set, &set}),
            "apiVersion: nave.dev/v1\nkind: ClusterSet\nmetadata:\n  name: eu\nspec:\n  "
            "description: Europe\n---\n"
            "apiVersion: nave.dev/v1\nkind: ClusterSet\nmetadata:\n  name: eu\nspec:\n  "
            "description: Europe\n");
  EXPECT_EQ(FormatAsJson({&set}, true).substr(0, 4), "{\n  ");
  EXPECT_NE(FormatAsJson({&set}, false).find("\"kind\": \"List\""), std::string::npos);
  EXPECT_EQ(FormatAsNames({&set}, "shop"), "clusterset/eu\n");
}

}  // namespace
}  // namespace nave::cli
