// Bundles: what a write stores, what is refused, what removals and confirmations do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/manifest/parse.h"
#include "hub/records/codec.h"
#include "hub/records/keys.h"
#include "nave/v1/bundle.grpc.pb.h"
#include "nave/v1/cluster.grpc.pb.h"
#include "tests/hub/rpc/harness.h"

namespace nave {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Stub = v1::BundleService::Stub;

constexpr char kName[] = "projects/default/bundles/web";

std::string ConfigMap(const std::string& name, const std::string& value = "v") {
  return absl::StrCat("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ", name,
                      "}\ndata: {k: ", value, "}\n");
}

void AddFile(const std::string& path, const std::string& content, v1::Bundle* bundle) {
  auto* manifest = bundle->mutable_spec()->add_manifests();
  manifest->set_path(path);
  manifest->set_content(content);
}

class BundleTest : public testing::Test {
 protected:
  absl::Status Create(const v1::Bundle& bundle, v1::Bundle* response) {
    v1::CreateBundleRequest request;
    request.set_parent("projects/default");
    request.set_bundle_id("web");
    *request.mutable_bundle() = bundle;
    return hub_.Call(stub_.get(), &Stub::CreateBundle, request, response);
  }
  absl::Status Apply(v1::Bundle bundle, v1::Bundle* response, const std::string& more = "") {
    auto request = Text<v1::UpdateBundleRequest>(absl::StrCat("allow_missing: true ", more));
    bundle.set_name(kName);
    *request.mutable_bundle() = std::move(bundle);
    return hub_.Call(stub_.get(), &Stub::UpdateBundle, request, response);
  }
  absl::Status Get(v1::Bundle* response, const std::string& view = "VIEW_BASIC") {
    return hub_.Call(stub_.get(), &Stub::GetBundle,
                     Text<v1::GetBundleRequest>(absl::StrCat("name: '", kName, "' view: ", view)),
                     response);
  }
  absl::Status Delete(const std::string& more, v1::Bundle* response) {
    return hub_.Call(stub_.get(), &Stub::DeleteBundle,
                     Text<v1::DeleteBundleRequest>(absl::StrCat("name: '", kName, "' ", more)),
                     response);
  }
  std::vector<std::string> Warnings(const v1::Bundle& bundle) {
    return {bundle.status().warnings().begin(), bundle.status().warnings().end()};
  }
  // A cluster that is accepted.
  void AddCluster(const std::string& id) {
    auto clusters = hub_.Stub<v1::ClusterService>();
    v1::Cluster cluster;
    ASSERT_EQ(
        hub_.Call(clusters.get(), &v1::ClusterService::Stub::CreateCluster,
                  Text<v1::CreateClusterRequest>(absl::StrCat("cluster_id: '", id, "'")), &cluster),
        absl::OkStatus());
    ASSERT_EQ(hub_.Call(clusters.get(), &v1::ClusterService::Stub::AcceptCluster,
                        Text<v1::AcceptClusterRequest>(absl::StrCat("name: 'clusters/", id, "'")),
                        &cluster),
              absl::OkStatus());
  }
  void Place(const std::string& placement, v1::Bundle* bundle) {
    *bundle->mutable_spec()->mutable_placement() = Text<v1::PlacementSpec>(placement);
  }
  // The agent of `id` reports on `revision` of the bundle.
  void Report(const std::string& id, Phase phase, const Digest& digest) {
    auto status = std::make_shared<AssignmentStatus>();
    status->key = hub_.Snapshot()->BundleById("default", "web")->value.meta.uid;
    status->name = kName;
    status->digest = digest;
    status->phase = phase;
    status->health = phase == Phase::kApplied ? Health::kHealthy : Health::kProgressing;
    ClusterLive live;
    live.connected = true;
    live.epoch = 1;
    live.status_complete = true;
    live.status_from_session = true;
    live.assignments[status->key] = std::move(status);
    hub_.SetLive(hub_.ClusterUid(id), std::move(live));
  }
  Digest Listing(uint64_t revision) {
    Uuid uid = hub_.Snapshot()->BundleById("default", "web")->value.meta.uid;
    return hub_.Snapshot()->revisions.Find(uid)->at(revision).listing;
  }

  ApiHarness hub_;
  std::unique_ptr<Stub> stub_ = hub_.Stub<v1::BundleService>();
};

TEST_F(BundleTest, CreateStoresFilesAndARevision) {
  v1::Bundle wanted;
  AddFile("a.yaml", "# a comment\n" + ConfigMap("a"), &wanted);
  v1::Bundle made;
  ASSERT_EQ(Create(wanted, &made), absl::OkStatus());
  EXPECT_EQ(made.name(), kName);
  EXPECT_EQ(made.status().revision(), 1u);
  EXPECT_EQ(made.spec().default_namespace(), "default");
  EXPECT_TRUE(made.spec().create_namespace());
  ASSERT_EQ(made.spec().manifests_size(), 1);
  EXPECT_EQ(made.spec().manifests(0).content(), "");
  EXPECT_EQ(made.spec().manifests(0).digest(), Sha256(wanted.spec().manifests(0).content()).Hex());
  EXPECT_EQ(made.spec().manifests(0).size(), wanted.spec().manifests(0).content().size());
  EXPECT_THAT(Warnings(made), ElementsAre(HasSubstr("runs on no cluster")));
  v1::Bundle read;
  ASSERT_EQ(Get(&read), absl::OkStatus());
  EXPECT_EQ(read.spec().DebugString(), made.spec().DebugString());
  EXPECT_EQ(read.etag(), made.etag());
  ASSERT_EQ(Get(&read, "VIEW_FULL"), absl::OkStatus());
  EXPECT_EQ(read.spec().manifests(0).content(), wanted.spec().manifests(0).content());
  v1::BundleRevision revision;
  ASSERT_EQ(hub_.Call(stub_.get(), &Stub::GetBundleRevision,
                      Text<v1::GetBundleRevisionRequest>(
                          absl::StrCat("name: '", kName, "/revisions/1' view: VIEW_FULL")),
                      &revision),
            absl::OkStatus());
  EXPECT_EQ(revision.status().objects(), 1u);
  EXPECT_EQ(revision.spec().manifests(0).content(), wanted.spec().manifests(0).content());
  EXPECT_EQ(revision.spec().bundle_uid(), made.metadata().uid());
  // What agents fetch is there: the listing and what it names.
  std::string listing =
      hub_.store()->GetBlob(*Digest::FromHex(revision.status().listing_digest())).value();
  auto parsed = ParseListing(listing);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  for (const auto& entry : parsed->objects) EXPECT_TRUE(hub_.store()->GetBlob(entry.digest).ok());
  EXPECT_EQ(ReasonOf(Create(wanted, &made)), "ALREADY_EXISTS");
}

TEST_F(BundleTest, UpdateMakesARevisionOnlyForOtherContent) {
  v1::Bundle wanted;
  AddFile("a.yaml", ConfigMap("a"), &wanted);
  AddFile("b.yaml", ConfigMap("b"), &wanted);
  v1::Bundle bundle;
  ASSERT_EQ(Apply(wanted, &bundle), absl::OkStatus());
  struct Case {
    std::string name;
    std::function<void(v1::Bundle*)> change;
    uint64_t revision, generation;
  };
  const Case cases[] = {
      {"the same again", [](v1::Bundle*) {}, 1, 1},
      {"labels", [](v1::Bundle* b) { (*b->mutable_metadata()->mutable_labels())["a"] = "b"; }, 1,
       1},
      {"placement", [&](v1::Bundle* b) { Place("selector: ''", b); }, 1, 2},
      {"content",
       [](v1::Bundle* b) {
         b->mutable_spec()->mutable_manifests(0)->set_content(ConfigMap("a", "w"));
       },
       2, 3},
      {"a comment, because the file is kept",
       [](v1::Bundle* b) {
         b->mutable_spec()->mutable_manifests(0)->mutable_content()->append("# x\n");
       },
       3, 4},
      {"namespace", [](v1::Bundle* b) { b->mutable_spec()->set_default_namespace("shop"); }, 4, 5},
      {"back", [](v1::Bundle* b) { b->mutable_spec()->set_default_namespace("default"); }, 5, 6},
      {"one file less", [](v1::Bundle* b) { b->mutable_spec()->mutable_manifests()->RemoveLast(); },
       6, 7},
  };
  for (const Case& c : cases) {
    c.change(&wanted);
    ASSERT_EQ(Apply(wanted, &bundle), absl::OkStatus()) << c.name;
    EXPECT_EQ(bundle.status().revision(), c.revision) << c.name;
    EXPECT_EQ(bundle.metadata().generation(), c.generation) << c.name;
  }
  EXPECT_THAT(Warnings(bundle), testing::Contains(HasSubstr("removes 1 object")));
  v1::ListBundleRevisionsResponse revisions;
  ASSERT_EQ(hub_.Call(stub_.get(), &Stub::ListBundleRevisions,
                      Text<v1::ListBundleRevisionsRequest>(
                          absl::StrCat("parent: '", kName, "' page_size: 4")),
                      &revisions),
            absl::OkStatus());
  ASSERT_EQ(revisions.bundle_revisions_size(), 4);
  EXPECT_EQ(revisions.bundle_revisions(0).spec().number(), 6u);
  v1::ListBundleRevisionsRequest rest;
  rest.set_parent(kName);
  rest.set_page_token(revisions.next_page_token());
  ASSERT_EQ(hub_.Call(stub_.get(), &Stub::ListBundleRevisions, rest, &revisions), absl::OkStatus());
  ASSERT_EQ(revisions.bundle_revisions_size(), 2);
  EXPECT_EQ(revisions.bundle_revisions(1).spec().number(), 1u);
  EXPECT_EQ(revisions.next_page_token(), "");
}

TEST_F(BundleTest, WhatIsReadCanBeAppliedAgain) {
  v1::Bundle wanted;
  AddFile("a.yaml", ConfigMap("a"), &wanted);
  Place("names: 'c1' exclude: 'c2'", &wanted);
  v1::Bundle first;
  ASSERT_EQ(Apply(wanted, &first), absl::OkStatus());
  v1::Bundle again;
  ASSERT_EQ(Apply(first, &again), absl::OkStatus());
  EXPECT_EQ(again.metadata().DebugString(), first.metadata().DebugString());
  EXPECT_EQ(again.spec().DebugString(), first.spec().DebugString());
}

TEST_F(BundleTest, DigestsStandForContentOfTheSameBundleOnly) {
  v1::Bundle wanted;
  AddFile("a.yaml", ConfigMap("a"), &wanted);
  std::string digest = Sha256(ConfigMap("a")).Hex();
  v1::Bundle bundle;
  ASSERT_EQ(Apply(wanted, &bundle), absl::OkStatus());
  v1::Bundle by_digest;
  auto* manifest = by_digest.mutable_spec()->add_manifests();
  manifest->set_path("renamed.yaml");
  manifest->set_digest(digest);
  ASSERT_EQ(Apply(by_digest, &bundle), absl::OkStatus());
  EXPECT_EQ(bundle.spec().manifests(0).path(), "renamed.yaml");
  EXPECT_EQ(bundle.spec().manifests(0).size(), ConfigMap("a").size());
  // Another bundle cannot read it by its hash.
  v1::CreateBundleRequest other;
  other.set_parent("projects/default");
  other.set_bundle_id("thief");
  *other.mutable_bundle() = by_digest;
  EXPECT_EQ(ReasonOf(hub_.Call(stub_.get(), &Stub::CreateBundle, other, &bundle)),
            "UNKNOWN_DIGEST");
  manifest->set_digest(std::string(64, 'a'));
  EXPECT_EQ(ReasonOf(Apply(by_digest, &bundle)), "UNKNOWN_DIGEST");
}

TEST_F(BundleTest, ADryRunStoresNothing) {
  v1::Bundle wanted;
  AddFile("a.yaml", ConfigMap("a"), &wanted);
  v1::Bundle bundle;
  ASSERT_EQ(Apply(wanted, &bundle, "validate_only: true"), absl::OkStatus());
  EXPECT_EQ(bundle.status().revision(), 1u);
  EXPECT_EQ(bundle.spec().manifests_size(), 1);
  EXPECT_FALSE(hub_.store()->GetBlob(Sha256(ConfigMap("a"))).ok());
  EXPECT_EQ(ReasonOf(Get(&bundle)), "NOT_FOUND");
}

TEST_F(BundleTest, MasksReachIntoTheSpec) {
  v1::Bundle wanted;
  AddFile("a.yaml", ConfigMap("a"), &wanted);
  Place("names: 'c1'", &wanted);
  v1::Bundle bundle;
  ASSERT_EQ(Apply(wanted, &bundle), absl::OkStatus());
  v1::Bundle change;
  Place("names: 'c2'", &change);
  ASSERT_EQ(Apply(change, &bundle, "update_mask { paths: 'spec.placement.names' }"),
            absl::OkStatus());
  EXPECT_EQ(bundle.spec().placement().names(0), "c2");
  EXPECT_EQ(bundle.spec().manifests_size(), 1);
  EXPECT_EQ(bundle.status().revision(), 1u);
  ASSERT_EQ(Apply(v1::Bundle(), &bundle, "update_mask { paths: 'spec.placement' }"),
            absl::OkStatus());
  EXPECT_FALSE(bundle.spec().has_placement());
}

TEST_F(BundleTest, BadInputIsRefusedWithItsPlace) {
  std::string many;
  for (int i = 0; i < 5001; ++i) absl::StrAppend(&many, ConfigMap(absl::StrCat("m", i)), "---\n");
  struct Case {
    std::string name, content, reason, says;
  };
  const Case cases[] = {
      {"malformed", "apiVersion: v1\nkind: [\n", "MANIFEST_INVALID", "a.yaml"},
      {"tab", "apiVersion: v1\n\tkind: ConfigMap\n", "MANIFEST_INVALID", "a.yaml"},
      {"second document", ConfigMap("a") + "---\nkind: X\n", "MANIFEST_INVALID", "document 2"},
      {"duplicate key", "apiVersion: v1\nkind: ConfigMap\nkind: ConfigMap\nmetadata: {name: a}\n",
       "DUPLICATE_KEY", "a.yaml"},
      {"duplicate object", ConfigMap("a") + "---\n" + ConfigMap("a"), "DUPLICATE_OBJECT",
       "ConfigMap"},
      {"one object in two versions",
       "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n---\napiVersion: "
       "apps/v1beta1\nkind: Deployment\nmetadata: {name: d}\n",
       "DUPLICATE_OBJECT", "Deployment"},
      {"no name", "apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n", "MANIFEST_INVALID", "name"},
      {"generated name", "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n",
       "MANIFEST_INVALID", "a.yaml"},
      {"no kind", "apiVersion: v1\nmetadata: {name: a}\n", "MANIFEST_INVALID", "kind"},
      {"no apiVersion", "kind: ConfigMap\nmetadata: {name: a}\n", "MANIFEST_INVALID", "apiVersion"},
      {"not an object", "- 1\n", "MANIFEST_INVALID", "a.yaml"},
      {"only comments", "# nothing\n", "BUNDLE_EMPTY", "at least one object"},
      {"too many objects", many, "LIMIT_EXCEEDED", "5000"},
      {"too large an object", ConfigMap("a", std::string((1 << 20) + 1, 'x')), "OBJECT_TOO_LARGE",
       "a.yaml"},
      {"not UTF-8", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: \"\xff\"}\n",
       "MANIFEST_INVALID", "a.yaml"},
  };
  for (const Case& c : cases) {
    v1::Bundle wanted;
    AddFile("a.yaml", c.content, &wanted);
    v1::Bundle bundle;
    absl::Status status = Apply(wanted, &bundle);
    EXPECT_EQ(ReasonOf(status), c.reason) << c.name << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.says)) << c.name;
  }
  v1::Bundle bundle;
  EXPECT_EQ(ReasonOf(Get(&bundle)), "NOT_FOUND");
}

TEST_F(BundleTest, BadFieldsAreRefused) {
  struct Case {
    std::string name, bundle, reason, says;
  };
  const Case cases[] = {
      {"suspend", "spec { suspend: true }", "NOT_SUPPORTED_YET", "spec.suspend"},
      {"substitute", "spec { substitute: true }", "NOT_SUPPORTED_YET", "spec.substitute"},
      {"options", "spec { options {} }", "NOT_SUPPORTED_YET", "spec.options"},
      {"overrides", "spec { overrides {} }", "NOT_SUPPORTED_YET", "spec.overrides"},
      {"replica scheduling", "spec { replica_scheduling {} }", "NOT_SUPPORTED_YET",
       "spec.replicaScheduling"},
      {"strategy", "spec { strategy {} }", "NOT_SUPPORTED_YET", "spec.strategy"},
      {"depends on", "spec { depends_on {} }", "NOT_SUPPORTED_YET", "spec.dependsOn"},
      {"placement ref", "spec { placement_ref: 'p' }", "NOT_SUPPORTED_YET", "spec.placementRef"},
      {"adoption", "spec { adoption: ADOPTION_ALWAYS }", "NOT_SUPPORTED_YET", "spec.adoption"},
      {"empty placement", "spec { placement {} }", "INVALID_FIELD", "spec.placement"},
      {"bad selector", "spec { placement { selector: 'a=(' } }", "INVALID_FIELD",
       "spec.placement.selector"},
      {"bad name", "spec { placement { names: 'A' } }", "INVALID_FIELD", "spec.placement.names[0]"},
      {"bad namespace", "spec { default_namespace: 'A' }", "INVALID_FIELD",
       "spec.defaultNamespace"},
      {"no path", "spec { manifests { content: 'x' } }", "INVALID_FIELD", "spec.manifests[0].path"},
      {"no content", "spec { manifests { path: 'x' } }", "INVALID_FIELD", "spec.manifests[0]"},
      {"one path twice",
       "spec { manifests { path: 'x' content: 'y' } manifests { path: 'x' content: 'z' } }",
       "INVALID_FIELD", "spec.manifests[1].path"},
      {"bad digest", "spec { manifests { path: 'x' digest: 'y' } }", "INVALID_FIELD",
       "spec.manifests[0].digest"},
      {"no object", "", "BUNDLE_EMPTY", ""},
      {"bad label", "metadata { labels { key: '/' value: 'a' } }", "INVALID_FIELD",
       "metadata.labels"},
  };
  for (const Case& c : cases) {
    v1::Bundle bundle;
    absl::Status status = Apply(Text<v1::Bundle>(c.bundle), &bundle);
    EXPECT_EQ(ReasonOf(status), c.reason) << c.name << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.says)) << c.name;
  }
  v1::Bundle bundle;
  EXPECT_EQ(Apply(Text<v1::Bundle>("spec { allow_empty: true }"), &bundle), absl::OkStatus());
  auto nowhere = Text<v1::CreateBundleRequest>(
      "parent: 'projects/none' bundle_id: 'a' bundle { spec { allow_empty: true } }");
  EXPECT_EQ(ReasonOf(hub_.Call(stub_.get(), &Stub::CreateBundle, nowhere, &bundle)), "NOT_FOUND");
  nowhere.set_parent("projects/-");
  EXPECT_EQ(ReasonOf(hub_.Call(stub_.get(), &Stub::CreateBundle, nowhere, &bundle)),
            "INVALID_FIELD");
}

TEST_F(BundleTest, DeleteMarksAndTheNameIsNotFree) {
  v1::Bundle wanted;
  AddFile("a.yaml", ConfigMap("a"), &wanted);
  v1::Bundle bundle;
  ASSERT_EQ(Apply(wanted, &bundle), absl::OkStatus());
  EXPECT_EQ(ReasonOf(Delete("confirm: 'wb'", &bundle)), "CONFIRM_MISMATCH");
  EXPECT_EQ(ReasonOf(Delete("etag: '\"x\"'", &bundle)), "ETAG_MISMATCH");
  ASSERT_EQ(Delete("validate_only: true", &bundle), absl::OkStatus());
  ASSERT_EQ(Get(&bundle), absl::OkStatus());
  EXPECT_FALSE(bundle.metadata().has_delete_time());
  ASSERT_EQ(Delete("confirm: 'web'", &bundle), absl::OkStatus());
  EXPECT_TRUE(bundle.metadata().has_delete_time());
  EXPECT_TRUE(hub_.Snapshot()->BundleById("default", "web")->value.status.delete_confirmed);
  EXPECT_EQ(ReasonOf(Apply(wanted, &bundle)), "BUNDLE_DELETING");
  EXPECT_EQ(ReasonOf(Create(wanted, &bundle)), "BUNDLE_DELETING");
  EXPECT_EQ(Delete("", &bundle), absl::OkStatus());
  EXPECT_EQ(ReasonOf(Delete("orphan: true", &bundle)), "BUNDLE_DELETING");
  hub_.RunControllers();
  EXPECT_EQ(ReasonOf(Get(&bundle)), "NOT_FOUND");
  ASSERT_EQ(Create(wanted, &bundle), absl::OkStatus());
  EXPECT_EQ(bundle.status().revision(), 1u);
}

TEST_F(BundleTest, AssignmentsAndObjectsFollowWhatAgentsReport) {
  AddCluster("c1");
  AddCluster("c2");
  v1::Bundle wanted;
  AddFile("a.yaml", ConfigMap("a") + "---\n" + ConfigMap("b"), &wanted);
  Place("names: 'c1' names: 'c2'", &wanted);
  v1::Bundle bundle;
  ASSERT_EQ(Apply(wanted, &bundle), absl::OkStatus());
  hub_.RunControllers();
  Report("c1", Phase::kApplied, Listing(1));
  v1::ListBundleAssignmentsResponse page;
  ASSERT_EQ(hub_.Call(stub_.get(), &Stub::ListBundleAssignments,
                      Text<v1::ListBundleAssignmentsRequest>(
                          absl::StrCat("name: '", kName, "' page_size: 1")),
                      &page),
            absl::OkStatus());
  ASSERT_EQ(page.assignments_size(), 1);
  EXPECT_EQ(page.assignments(0).cluster(), "c1");
  EXPECT_EQ(page.assignments(0).phase(), v1::ASSIGNMENT_PHASE_APPLIED);
  EXPECT_EQ(page.assignments(0).health(), v1::HEALTH_HEALTHY);
  EXPECT_TRUE(page.assignments(0).connected());
  v1::ListBundleAssignmentsRequest rest;
  rest.set_name(kName);
  rest.set_page_token(page.next_page_token());
  ASSERT_EQ(hub_.Call(stub_.get(), &Stub::ListBundleAssignments, rest, &page), absl::OkStatus());
  ASSERT_EQ(page.assignments_size(), 1);
  EXPECT_EQ(page.assignments(0).cluster(), "c2");
  EXPECT_FALSE(page.assignments(0).connected());
  EXPECT_EQ(page.assignments(0).reason(), "NeverConnected");

  std::vector<std::string> objects;
  v1::ListBundleObjectsRequest request;
  request.set_name(kName);
  request.set_page_size(3);
  do {
    v1::ListBundleObjectsResponse answer;
    ASSERT_EQ(hub_.Call(stub_.get(), &Stub::ListBundleObjects, request, &answer), absl::OkStatus());
    for (const auto& object : answer.objects()) {
      objects.push_back(absl::StrCat(object.cluster(), " ", object.name(), " ",
                                     v1::Health_Name(object.health())));
    }
    EXPECT_THAT(answer.unreachable(), ElementsAre("c2"));
    request.set_page_token(answer.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_THAT(objects, ElementsAre("c1 a HEALTH_HEALTHY", "c1 b HEALTH_HEALTHY",
                                   "c2 a HEALTH_UNKNOWN", "c2 b HEALTH_UNKNOWN"));

  v1::Diagnosis why;
  ASSERT_EQ(hub_.Call(stub_.get(), &Stub::DiagnoseBundle,
                      Text<v1::DiagnoseBundleRequest>(absl::StrCat("name: '", kName, "'")), &why),
            absl::OkStatus());
  EXPECT_EQ(why.subject(), kName);
  EXPECT_EQ(why.reason(), "NeverConnected");
  EXPECT_FALSE(why.cause().empty());
  EXPECT_THAT(why.DebugString(), HasSubstr("navectl cluster why c2"));
}

TEST_F(BundleTest, HeldRemovalsAreConfirmedByWhatWasShown) {
  for (int i = 0; i < 5; ++i) AddCluster(absl::StrCat("c", i));
  v1::Bundle wanted;
  AddFile("a.yaml", ConfigMap("a"), &wanted);
  Place("selector: ''", &wanted);
  v1::Bundle bundle;
  ASSERT_EQ(Apply(wanted, &bundle), absl::OkStatus());
  hub_.RunControllers();
  auto confirm = [&](const std::string& more) {
    return hub_.Call(stub_.get(), &Stub::ConfirmBundle,
                     Text<v1::ConfirmBundleRequest>(absl::StrCat("name: '", kName, "' ", more)),
                     &bundle);
  };
  EXPECT_EQ(ReasonOf(confirm("shown: 'x'")), "NOTHING_TO_CONFIRM");
  EXPECT_EQ(ReasonOf(confirm("")), "INVALID_FIELD");
  // Three of five would leave: held.
  Place("selector: 'none=such'", &wanted);
  Place("selector: '' exclude: 'c0' exclude: 'c1' exclude: 'c2'", &wanted);
  ASSERT_EQ(Apply(wanted, &bundle), absl::OkStatus());
  EXPECT_THAT(Warnings(bundle), ElementsAre(HasSubstr("waits for a confirm: c0, c1, c2")));
  hub_.RunControllers();
  ASSERT_EQ(Get(&bundle), absl::OkStatus());
  EXPECT_THAT(bundle.status().held_clusters(), ElementsAre("c0", "c1", "c2"));
  EXPECT_EQ(ReasonOf(confirm(absl::StrCat("shown: '", std::string(64, 'a'), "'"))),
            "CONFIRMATION_STALE");
  ASSERT_EQ(confirm(absl::StrCat("shown: '", bundle.status().held_hash(), "'")), absl::OkStatus());
  hub_.RunControllers();
  ASSERT_EQ(Get(&bundle), absl::OkStatus());
  EXPECT_EQ(bundle.status().held_clusters_size(), 0);
  EXPECT_EQ(bundle.status().counts().clusters(), 2u);
  EXPECT_EQ(bundle.status().counts().removing(), 3u);
}

}  // namespace
}  // namespace nave
