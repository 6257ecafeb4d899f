// Goal: the file form and the messages say the same in both directions, and bad files get an error
// that helps. Method: a full message of each kind through YAML and back; tables of files that must
// be refused.
#include "common/wire/file_form.h"

#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "common/base/error.h"
#include "common/value/codec.h"
#include "common/wire/api.h"
#include "common/wire/kinds.h"
#include "common/wire/reserved.h"
#include "nave/v1/bundle.pb.h"
#include "nave/v1/cluster.pb.h"
#include "nave/v1/event.pb.h"
#include "nave/v1/hub.pb.h"
#include "nave/v1/join_token.pb.h"
#include "nave/v1/role_binding.pb.h"

namespace nave {
namespace {

using google::protobuf::Message;
using google::protobuf::util::MessageDifferencer;

Value Yaml(absl::string_view text) {
  auto documents = ParseYamlStream(text, nullptr);
  EXPECT_TRUE(documents.ok()) << documents.status();
  return documents.ok() && documents->size() == 1 ? documents->at(0).value : Value();
}

// What the hub's answer says once it is applied again: everything but etag and status.
void DropOutput(Message* message) {
  message->GetReflection()->ClearField(message,
                                       message->GetDescriptor()->FindFieldByName("status"));
  message->GetReflection()->ClearField(message, message->GetDescriptor()->FindFieldByName("etag"));
}

void ExpectRoundTrip(const Message& message) {
  Value file = ToFile(message);
  Value parsed = Yaml(FormatYaml(file));
  EXPECT_EQ(FormatJson(parsed), FormatJson(file));
  auto back = FromFile(parsed, "");
  ASSERT_TRUE(back.ok()) << back.status() << FormatYaml(file);
  std::unique_ptr<Message> want(message.New());
  want->CopyFrom(message);
  DropOutput(want.get());
  std::string difference;
  MessageDifferencer differ;
  differ.ReportDifferencesToString(&difference);
  EXPECT_TRUE(differ.Compare(*want, **back)) << difference;
}

ObjectMeta SampleMeta() {
  ObjectMeta meta;
  meta.uid.bytes.fill(7);
  meta.labels = {{"env", "prod"}, {"on", "yes"}};
  meta.annotations = {{"note", "a\nb: 'c'"}};
  meta.generation = 3;
  meta.resource_version = 99;
  meta.create_time = absl::FromUnixSeconds(1700000000);
  meta.update_time = absl::FromUnixMillis(1700000001500);
  return meta;
}

Bundle SampleBundle() {
  Bundle bundle;
  bundle.project = "shop";
  bundle.id = "web";
  bundle.meta = SampleMeta();
  std::string content = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";
  bundle.spec.manifests = {{"a.yaml", content, Sha256(content), content.size()},
                           {"b.yaml", "", Sha256("b"), 1}};
  bundle.spec.default_namespace = "shop";
  bundle.spec.create_namespace = false;
  PlacementSpec& placement = bundle.spec.placement.emplace();
  placement.selector = "";
  placement.names = {"eu-1"};
  bundle.status.revision = 4;
  bundle.status.conditions.push_back(
      {"Ready", ConditionStatus::kFalse, "ApplyFailed", "x", SampleMeta().create_time, 3});
  return bundle;
}

TEST(FileForm, EveryKindSurvives) {
  v1::Bundle bundle;
  ToProto(SampleBundle(), &bundle);
  ExpectRoundTrip(bundle);

  Cluster cluster;
  cluster.id = "eu-1";
  cluster.meta = SampleMeta();
  cluster.spec.taints.push_back(
      {"a", "b", TaintEffect::kPreferNoSchedule, absl::FromUnixSeconds(5)});
  cluster.status.facts.node_versions["v1"] = 2;
  v1::Cluster cluster_proto;
  ToProto(cluster, &cluster_proto);
  ExpectRoundTrip(cluster_proto);

  RoleBinding binding{"r", SampleMeta(), {"user:a"}, Role::kEditor, "shop", ""};
  v1::RoleBinding binding_proto;
  ToProto(binding, &binding_proto);
  ExpectRoundTrip(binding_proto);
  EXPECT_EQ(ToFile(binding_proto).StringAt("spec", "role"), "editor");

  JoinToken token;
  token.id = "t1";
  token.meta = SampleMeta();
  token.ttl = absl::Minutes(90);
  v1::JoinToken token_proto;
  ToProto(token, absl::FromUnixSeconds(0), &token_proto);
  ExpectRoundTrip(token_proto);
  EXPECT_EQ(ToFile(token_proto).StringAt("spec", "ttl"), "1h30m");

  Event event;
  event.id = "e1";
  event.meta = SampleMeta();
  v1::Event event_proto;
  ToProto(event, &event_proto);
  ExpectRoundTrip(event_proto);
  event.project = "shop";
  ToProto(event, &event_proto);
  ExpectRoundTrip(event_proto);

  BundleRevision revision;
  revision.project = "shop";
  revision.bundle = "web";
  revision.number = 12;
  revision.meta = SampleMeta();
  v1::BundleRevision revision_proto;
  ToProto(revision, &revision_proto);
  ExpectRoundTrip(revision_proto);
}

TEST(FileForm, TheModelSurvivesTheWholeWay) {
  Bundle bundle = SampleBundle();
  v1::Bundle proto;
  ToProto(bundle, &proto);
  auto file = FromFile(Yaml(FormatYaml(ToFile(proto))), "");
  ASSERT_TRUE(file.ok()) << file.status();
  Bundle back;
  ASSERT_TRUE(FromProto(static_cast<const v1::Bundle&>(**file), &back).ok());
  EXPECT_EQ(back.project, bundle.project);
  EXPECT_EQ(back.id, bundle.id);
  EXPECT_EQ(back.meta.labels, bundle.meta.labels);
  EXPECT_EQ(back.meta.annotations, bundle.meta.annotations);
  bundle.spec.manifests[1].size = 0;  // Output only: the hub knows it from the digest.
  EXPECT_EQ(back.spec, bundle.spec);
}

TEST(FileForm, Shape) {
  v1::Bundle proto;
  ToProto(SampleBundle(), &proto);
  Value file = ToFile(proto);
  EXPECT_EQ(file.StringAt("apiVersion"), "nave.dev/v1");
  EXPECT_EQ(file.StringAt("kind"), "Bundle");
  EXPECT_EQ(file.StringAt("metadata", "project"), "shop");
  EXPECT_EQ(file.StringAt("metadata", "name"), "web");
  EXPECT_EQ(file.Find("metadata", "etag"), nullptr);
  EXPECT_EQ(file.StringAt("spec", "adoption"), "IfNoDiff");
  EXPECT_FALSE(file.Find("spec", "createNamespace")->BoolOr(true));
  EXPECT_EQ(file.Find("status", "counts", "failed")->IntOr(-1), 0);
  EXPECT_EQ(file.Find("status", "conditions")->array()->at(0).StringAt("status"), "False");
  EXPECT_EQ(file.StringAt("metadata", "updateTime"), "2023-11-14T22:13:21.5Z");
}

TEST(FileForm, BothSpellingsAndLooseEnums) {
  auto read = FromFile(Yaml(R"(
apiVersion: nave.dev/v1
kind: Bundle
metadata: {name: web}
spec:
  default_namespace: x
  createNamespace: true
  adoption: ADOPTION_IF_NO_DIFF
  suspend: false
  allowEmpty: null
  placement: {cluster_sets: [a], selector: ''}
status: {whatever: 1}
)"),
                       "shop");
  ASSERT_TRUE(read.ok()) << read.status();
  const auto& bundle = static_cast<const v1::Bundle&>(**read);
  EXPECT_EQ(bundle.name(), "projects/shop/bundles/web");
  EXPECT_EQ(bundle.spec().default_namespace(), "x");
  EXPECT_TRUE(bundle.spec().placement().has_selector());
  EXPECT_EQ(bundle.spec().adoption(), v1::ADOPTION_IF_NO_DIFF);
}

TEST(FileForm, Refused) {
  struct Case {
    const char* name;
    const char* spec;
    const char* reason;
    const char* says;
  };
  const Case kCases[] = {
      {"unknown", "manifest: []", "UNKNOWN_FIELD",
       "`spec.manifest`: is not a field; did you mean 'manifests'?"},
      {"unknown deep", "placement: {selectr: a}", "UNKNOWN_FIELD", "`spec.placement.selectr`"},
      {"no near name", "xyzzyfoo: 1", "UNKNOWN_FIELD",
       "must be one of manifests, defaultNamespace"},
      {"overrides", "overrides: [{target: {}}]", "NOT_SUPPORTED_YET", "`spec.overrides`"},
      {"strategy", "strategy: {waves: []}", "NOT_SUPPORTED_YET", "`spec.strategy`"},
      {"depends", "dependsOn: [a]", "NOT_SUPPORTED_YET", "`spec.dependsOn`"},
      {"replicas", "replica_scheduling: []", "NOT_SUPPORTED_YET", "replica_scheduling"},
      {"suspend", "suspend: true", "NOT_SUPPORTED_YET", "`spec.suspend`"},
      {"placement ref", "placementRef: x", "NOT_SUPPORTED_YET", "`spec.placementRef`"},
      {"tolerations", "placement: {tolerations: []}", "NOT_SUPPORTED_YET",
       "`spec.placement.tolerations`"},
      {"spread", "placement: {spreadConstraints: []}", "NOT_SUPPORTED_YET", "spreadConstraints"},
      {"type", "defaultNamespace: 5", "INVALID_FIELD",
       "must be a string, got a number; put it in quotes"},
      {"list", "manifests: {}", "INVALID_FIELD", "`spec.manifests`: must be a list, got a mapping"},
      {"element", "manifests: [{path: 1}]", "INVALID_FIELD", "`spec.manifests[0].path`"},
      {"enum", "adoption: Sometimes", "INVALID_FIELD", "must be one of IfNoDiff, Always, Never"},
      {"bool", "allowEmpty: maybe", "INVALID_FIELD", "must be true or false"},
      {"both spellings", "allowEmpty: true\n  allow_empty: true", "INVALID_FIELD",
       "both spellings"},
      {"bytes", "manifests: [{content: {base64: '%'}}]", "INVALID_FIELD",
       "`spec.manifests[0].content`"},
      {"integer", "manifests: [{size: -1}]", "INVALID_FIELD", "must be from 0"},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    std::string text =
        std::string(
            "apiVersion: nave.dev/v1\nkind: Bundle\nmetadata: {name: web, project: p}\nspec:\n  ") +
        c.spec;
    auto read = FromFile(Yaml(text), "");
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(ErrorReason(read.status()), c.reason);
    EXPECT_NE(read.status().message().find(c.says), absl::string_view::npos) << read.status();
  }
}

TEST(FileForm, RefusedAtTheTop) {
  struct Case {
    const char* text;
    const char* says;
  };
  const Case kCases[] = {
      {"[]", "must be a mapping"},
      {"kind: Bundle", "`apiVersion`: must be 'nave.dev/v1'"},
      {"{apiVersion: v1, kind: Bundle, metadata: {name: a}}", "got 'v1'"},
      {"{apiVersion: nave.dev/v1, kind: Bundel, metadata: {name: a}}", "did you mean 'Bundle'"},
      {"{apiVersion: nave.dev/v1, kind: Bundle}", "`metadata`: must be set"},
      {"{apiVersion: nave.dev/v1, kind: Bundle, metadata: {}}", "`metadata.name`: must be set"},
      {"{apiVersion: nave.dev/v1, kind: Bundle, metadata: {nmae: a}}", "did you mean 'name'"},
      {"{apiVersion: nave.dev/v1, kind: Cluster, metadata: {name: a, project: b}}",
       "`metadata.project`"},
      {"{apiVersion: nave.dev/v1, kind: Bundle, metadata: {name: a}, specs: {}}",
       "did you mean 'spec'"},
      {"{apiVersion: nave.dev/v1, kind: Bundle, metadata: {name: a, labels: {x: 1}}}",
       "`metadata.labels[x]`"},
  };
  for (const Case& c : kCases) {
    auto read = FromFile(Yaml(c.text), "p");
    ASSERT_FALSE(read.ok()) << c.text;
    EXPECT_NE(read.status().message().find(c.says), absl::string_view::npos) << read.status();
  }
}

TEST(FileForm, BytesThatAreNoText) {
  v1::Bundle bundle;
  bundle.set_name("projects/p/bundles/b");
  bundle.mutable_metadata();
  bundle.mutable_spec()->add_manifests()->set_content("\xff\xfe");
  ExpectRoundTrip(bundle);
}

TEST(FileForm, AnswersThatAreNoResources) {
  v1::WhoAmIResponse who;
  who.set_user("alice");
  EXPECT_EQ(FormatJson(ToValue(who)), R"({"user":"alice"})");
  v1::Hub hub;
  EXPECT_EQ(ToValue(hub).Find("sessions")->IntOr(-1), 0);
}

TEST(Reserved, SetFieldsAreFoundOnTheWire) {
  v1::Bundle bundle;
  bundle.mutable_spec()->add_overrides();
  EXPECT_EQ(ErrorReason(CheckSupported("", bundle)), "NOT_SUPPORTED_YET");
  v1::BundleSpec spec;
  EXPECT_TRUE(CheckSupported("spec", spec).ok());
  spec.set_suspend(true);
  absl::Status status = CheckSupported("spec", spec);
  EXPECT_NE(status.message().find("`spec.suspend`"), absl::string_view::npos) << status;
  // A field of a later client inside the placement: field 9, a number.
  v1::BundleSpec later;
  ASSERT_TRUE(later.mutable_placement()->ParseFromString("\x48\x01"));
  status = CheckSupported("spec", later);
  EXPECT_EQ(ErrorReason(status), "NOT_SUPPORTED_YET");
  EXPECT_NE(status.message().find("spec.placement.#9"), absl::string_view::npos) << status;
}

TEST(Api, AdoptionOtherThanIfNoDiffIsRefused) {
  v1::Bundle proto;
  proto.mutable_spec()->set_adoption(v1::ADOPTION_ALWAYS);
  Bundle bundle;
  EXPECT_EQ(ErrorReason(FromProto(proto, &bundle)), "NOT_SUPPORTED_YET");
}

TEST(Api, EtagFollowsDecisionsOnly) {
  Bundle bundle = SampleBundle();
  std::string etag = EtagOf(bundle);
  bundle.meta.resource_version++;
  bundle.status.revision++;
  EXPECT_EQ(EtagOf(bundle), etag);
  bundle.meta.labels["x"] = "y";
  EXPECT_NE(EtagOf(bundle), etag);
  Cluster cluster;
  etag = EtagOf(cluster);
  cluster.status.connected = true;
  EXPECT_EQ(EtagOf(cluster), etag);
  cluster.status.revoked = true;
  EXPECT_NE(EtagOf(cluster), etag);
}

TEST(Kinds, AreFoundByAnyWord) {
  EXPECT_EQ(FindKind("BUNDLES")->kind, "Bundle");
  EXPECT_EQ(FindKind("set")->kind, "ClusterSet");
  EXPECT_EQ(FindKind("clusterSets")->kind, "ClusterSet");
  EXPECT_EQ(FindKind("pod"), nullptr);
}

}  // namespace
}  // namespace nave
