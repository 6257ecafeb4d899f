// Rules that hold for records of every kind: names, pages, etags, masks, dry runs, repeated
// requests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "nave/v1/cluster_set.grpc.pb.h"
#include "nave/v1/project.grpc.pb.h"
#include "nave/v1/role_binding.grpc.pb.h"
#include "tests/hub/rpc/harness.h"

namespace nave {
namespace {

using SetStub = v1::ClusterSetService::Stub;
using ProjectStub = v1::ProjectService::Stub;

constexpr char kRequestId[] = "9b2f4a52-33d5-4a3c-9a8e-0a8f3a5d7e11";

class RecordTest : public testing::Test {
 protected:
  absl::Status Create(const std::string& id, v1::ClusterSet* set, const std::string& more = "") {
    auto request =
        Text<v1::CreateClusterSetRequest>(absl::StrCat("cluster_set_id: '", id, "' ", more));
    return hub_.Call(sets_.get(), &SetStub::CreateClusterSet, request, set);
  }
  absl::Status Update(const std::string& text, v1::ClusterSet* set) {
    return hub_.Call(sets_.get(), &SetStub::UpdateClusterSet,
                     Text<v1::UpdateClusterSetRequest>(text), set);
  }
  absl::Status Get(const std::string& id, v1::ClusterSet* set) {
    return hub_.Call(sets_.get(), &SetStub::GetClusterSet,
                     Text<v1::GetClusterSetRequest>(absl::StrCat("name: 'clusterSets/", id, "'")),
                     set);
  }

  ApiHarness hub_;
  std::unique_ptr<SetStub> sets_ = hub_.Stub<v1::ClusterSetService>();
  std::unique_ptr<ProjectStub> projects_ = hub_.Stub<v1::ProjectService>();
};

TEST_F(RecordTest, LivesFromCreateToDelete) {
  v1::ClusterSet made;
  ASSERT_EQ(Create("eu", &made,
                   "cluster_set { spec { description: 'Europe' } metadata { labels { key: 'a' "
                   "value: 'b' } } }"),
            absl::OkStatus());
  EXPECT_EQ(made.name(), "clusterSets/eu");
  EXPECT_EQ(made.metadata().generation(), 1u);
  EXPECT_FALSE(made.metadata().uid().empty());
  EXPECT_FALSE(made.metadata().resource_version().empty());
  EXPECT_EQ(made.metadata().labels().at("a"), "b");
  EXPECT_TRUE(absl::StartsWith(made.etag(), "\"")) << made.etag();
  v1::ClusterSet read;
  ASSERT_EQ(Get("eu", &read), absl::OkStatus());
  EXPECT_EQ(read.DebugString(), made.DebugString());
  EXPECT_EQ(ReasonOf(Create("eu", &read)), "ALREADY_EXISTS");
  google::protobuf::Empty empty;
  auto remove = Text<v1::DeleteClusterSetRequest>("name: 'clusterSets/eu'");
  remove.set_etag("\"other\"");
  EXPECT_EQ(ReasonOf(hub_.Call(sets_.get(), &SetStub::DeleteClusterSet, remove, &empty)),
            "ETAG_MISMATCH");
  remove.set_etag(made.etag());
  EXPECT_EQ(hub_.Call(sets_.get(), &SetStub::DeleteClusterSet, remove, &empty), absl::OkStatus());
  EXPECT_EQ(ReasonOf(Get("eu", &read)), "NOT_FOUND");
  EXPECT_EQ(ReasonOf(hub_.Call(sets_.get(), &SetStub::DeleteClusterSet, remove, &empty)),
            "NOT_FOUND");
  std::vector<std::string> audited;
  for (const AuditRecord& record : hub_.Audit())
    audited.push_back(absl::StrCat(record.user, " ", record.method, " ", record.resource));
  EXPECT_THAT(audited, testing::ElementsAre(
                           "admin nave.v1.ClusterSetService/CreateClusterSet clusterSets/eu",
                           "admin nave.v1.ClusterSetService/DeleteClusterSet clusterSets/eu"));
}

TEST_F(RecordTest, UpdateFollowsMaskAndEtag) {
  v1::ClusterSet set;
  ASSERT_EQ(
      Create(
          "eu", &set,
          "cluster_set { spec { description: 'a' } metadata { labels { key: 'k' value: 'v' } } }"),
      absl::OkStatus());
  std::string first = set.etag();
  // A field by mask leaves the rest; the spec changed, so the generation rises.
  ASSERT_EQ(Update("cluster_set { name: 'clusterSets/eu' spec { description: 'b' } } update_mask { "
                   "paths: 'spec.description' }",
                   &set),
            absl::OkStatus());
  EXPECT_EQ(set.spec().description(), "b");
  EXPECT_EQ(set.metadata().labels().size(), 1u);
  EXPECT_EQ(set.metadata().generation(), 2u);
  EXPECT_NE(set.etag(), first);
  // Labels alone do not raise it.
  ASSERT_EQ(
      Update("cluster_set { name: 'clusterSets/eu' } update_mask { paths: 'metadata.labels' }",
             &set),
      absl::OkStatus());
  EXPECT_EQ(set.metadata().generation(), 2u);
  EXPECT_EQ(set.metadata().labels().size(), 0u);
  // No mask: everything that users own.
  ASSERT_EQ(
      Update(
          "cluster_set { name: 'clusterSets/eu' metadata { annotations { key: 'n' value: '1' } } }",
          &set),
      absl::OkStatus());
  EXPECT_EQ(set.spec().description(), "");
  EXPECT_EQ(set.metadata().annotations().at("n"), "1");
  // The same again writes nothing.
  std::string version = set.metadata().resource_version();
  ASSERT_EQ(
      Update(
          "cluster_set { name: 'clusterSets/eu' metadata { annotations { key: 'n' value: '1' } } }",
          &set),
      absl::OkStatus());
  EXPECT_EQ(set.metadata().resource_version(), version);
  EXPECT_EQ(set.metadata().generation(), 3u);

  absl::Status stale =
      Update(absl::StrCat("cluster_set { name: 'clusterSets/eu' etag: '", first, "' }"), &set);
  EXPECT_EQ(stale.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(ReasonOf(stale), "ETAG_MISMATCH");
  EXPECT_EQ(
      ReasonOf(Update(
          "cluster_set { name: 'clusterSets/eu' } update_mask { paths: 'spec.descripton' }", &set)),
      "UNKNOWN_FIELD");
  EXPECT_EQ(ReasonOf(Update(
                "cluster_set { name: 'clusterSets/eu' } update_mask { paths: 'status' }", &set)),
            "INVALID_FIELD");
}

TEST_F(RecordTest, AllowMissingMakesIt) {
  v1::ClusterSet set;
  std::string apply = "cluster_set { name: 'clusterSets/us' spec { description: 'a' } }";
  EXPECT_EQ(ReasonOf(Update(apply, &set)), "NOT_FOUND");
  ASSERT_EQ(Update(absl::StrCat(apply, " allow_missing: true"), &set), absl::OkStatus());
  EXPECT_EQ(set.metadata().generation(), 1u);
  ASSERT_EQ(Update(absl::StrCat(apply, " allow_missing: true"), &set), absl::OkStatus());
  EXPECT_EQ(set.metadata().generation(), 1u);
  EXPECT_EQ(ReasonOf(Update(
                "cluster_set { name: 'clusterSets/x' etag: '\"1\"' } allow_missing: true", &set)),
            "ETAG_MISMATCH");
}

TEST_F(RecordTest, ValidateOnlyChecksAndWritesNothing) {
  v1::ClusterSet set;
  ASSERT_EQ(Create("eu", &set, "validate_only: true cluster_set { spec { description: 'a' } }"),
            absl::OkStatus());
  EXPECT_EQ(set.spec().description(), "a");
  EXPECT_EQ(set.metadata().resource_version(), "");
  EXPECT_EQ(ReasonOf(Get("eu", &set)), "NOT_FOUND");
  EXPECT_EQ(ReasonOf(Create("Bad!", &set, "validate_only: true")), "INVALID_FIELD");
  EXPECT_TRUE(hub_.Audit().empty());
  // It is not remembered either.
  ASSERT_EQ(Create("eu", &set, absl::StrCat("validate_only: true request_id: '", kRequestId, "'")),
            absl::OkStatus());
  ASSERT_EQ(Create("eu", &set, absl::StrCat("request_id: '", kRequestId, "'")), absl::OkStatus());
}

TEST_F(RecordTest, ARepeatedRequestGetsTheFirstAnswer) {
  std::string id = absl::StrCat("request_id: '", kRequestId, "'");
  v1::ClusterSet first;
  ASSERT_EQ(Create("eu", &first, id), absl::OkStatus());
  v1::ClusterSet changed;
  ASSERT_EQ(
      Update("cluster_set { name: 'clusterSets/eu' spec { description: 'later' } }", &changed),
      absl::OkStatus());
  v1::ClusterSet again;
  ASSERT_EQ(Create("eu", &again, id), absl::OkStatus());
  EXPECT_EQ(again.DebugString(), first.DebugString());
  EXPECT_EQ(ReasonOf(Create("us", &again, id)), "REQUEST_ID_REUSED");
  EXPECT_EQ(ReasonOf(Create("us", &again, "request_id: 'mine'")), "INVALID_FIELD");
  EXPECT_EQ(ReasonOf(Get("us", &again)), "NOT_FOUND");
}

TEST_F(RecordTest, PagesCoverEverythingOnce) {
  std::set<std::string> all = {"clusterSets/default"};
  for (int i = 0; i < 12; ++i) {
    v1::ClusterSet set;
    std::string id = absl::StrCat("set-", i);
    ASSERT_EQ(Create(id, &set, "cluster_set { metadata { labels { key: 'a' value: 'b' } } }"),
              absl::OkStatus());
    all.insert(set.name());
  }
  v1::ListClusterSetsRequest request;
  request.set_page_size(5);
  std::vector<std::string> seen;
  std::string second_token;
  int pages = 0;
  do {
    v1::ListClusterSetsResponse page;
    ASSERT_EQ(hub_.Call(sets_.get(), &SetStub::ListClusterSets, request, &page), absl::OkStatus());
    EXPECT_LE(page.cluster_sets_size(), 5);
    for (const auto& set : page.cluster_sets()) seen.push_back(set.name());
    request.set_page_token(page.next_page_token());
    if (pages == 0) second_token = page.next_page_token();
    // What was there before stays on its page when something comes in between.
    if (pages == 0) {
      v1::ClusterSet early;
      ASSERT_EQ(Create("aaa", &early), absl::OkStatus());
    }
    ++pages;
  } while (!request.page_token().empty());
  EXPECT_EQ(pages, 3);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()), all);
  EXPECT_EQ(seen.size(), all.size());

  struct Case {
    std::string name, request, reason;
  };
  const Case cases[] = {
      {"another size is fine", absl::StrCat("page_size: 2 page_token: '", second_token, "'"), ""},
      {"another selector is not",
       absl::StrCat("label_selector: 'a=b' page_token: '", second_token, "'"),
       "INVALID_PAGE_TOKEN"},
      {"a name is no token", "page_token: 'set-3'", "INVALID_PAGE_TOKEN"},
      {"negative size", "page_size: -1", "INVALID_FIELD"},
      {"size over the maximum", "page_size: 100000", ""},
      {"bad selector", "label_selector: 'a in ('", "INVALID_FIELD"},
      {"selector", "label_selector: 'a in (b,c)'", ""},
  };
  for (const Case& c : cases) {
    v1::ListClusterSetsResponse page;
    EXPECT_EQ(ReasonOf(hub_.Call(sets_.get(), &SetStub::ListClusterSets,
                                 Text<v1::ListClusterSetsRequest>(c.request), &page)),
              c.reason)
        << c.name;
    if (c.name == "selector") {
      EXPECT_EQ(page.cluster_sets_size(), 12);
    }
    if (c.name == "size over the maximum") {
      EXPECT_EQ(page.cluster_sets_size(), 14);
    }
  }
  v1::ListProjectsResponse other;
  EXPECT_EQ(
      ReasonOf(hub_.Call(
          projects_.get(), &ProjectStub::ListProjects,
          Text<v1::ListProjectsRequest>(absl::StrCat("page_token: '", second_token, "'")), &other)),
      "INVALID_PAGE_TOKEN");
}

TEST_F(RecordTest, BadInputIsNamed) {
  struct Case {
    std::string name, request, reason, field;
  };
  const Case cases[] = {
      {"no id", "", "INVALID_FIELD", "cluster_set_id"},
      {"bad id", "cluster_set_id: 'A_b'", "INVALID_FIELD", "cluster_set_id"},
      {"long id", absl::StrCat("cluster_set_id: '", std::string(64, 'a'), "'"), "INVALID_FIELD",
       "cluster_set_id"},
      {"bad label",
       "cluster_set_id: 'a' cluster_set { metadata { labels { key: 'k' value: '-' } } }",
       "INVALID_FIELD", "metadata.labels[k]"},
      {"long description",
       absl::StrCat("cluster_set_id: 'a' cluster_set { spec { description: '",
                    std::string(600, 'a'), "' } }"),
       "INVALID_FIELD", "spec.description"},
  };
  for (const Case& c : cases) {
    v1::ClusterSet set;
    absl::Status status = hub_.Call(sets_.get(), &SetStub::CreateClusterSet,
                                    Text<v1::CreateClusterSetRequest>(c.request), &set);
    EXPECT_EQ(ReasonOf(status), c.reason) << c.name;
    bool named = false;
    for (const auto& [key, value] : ErrorMetadataOf(status))
      named |= key == absl::StrCat("field:", c.field);
    EXPECT_TRUE(named) << c.name << ": " << status;
  }
  v1::ClusterSet set;
  for (const char* name :
       {"", "eu", "clusterSets/", "clusterSets/A", "clusterSets/a/b", "projects/a"}) {
    v1::GetClusterSetRequest request;
    request.set_name(name);
    EXPECT_EQ(ReasonOf(hub_.Call(sets_.get(), &SetStub::GetClusterSet, request, &set)),
              "INVALID_FIELD")
        << name;
  }
}

TEST_F(RecordTest, FieldsOfALaterReleaseAreRefused) {
  // A field that this hub does not know: number 99 of the request and of the record.
  for (bool in_record : {false, true}) {
    v1::CreateClusterSetRequest request;
    request.set_cluster_set_id("a");
    google::protobuf::Message* target = &request;
    if (in_record) target = request.mutable_cluster_set()->mutable_spec();
    target->GetReflection()->MutableUnknownFields(target)->AddVarint(99, 1);
    v1::ClusterSet set;
    EXPECT_EQ(ReasonOf(hub_.Call(sets_.get(), &SetStub::CreateClusterSet, request, &set)),
              "NOT_SUPPORTED_YET");
  }
}

TEST_F(RecordTest, EveryErrorHasOneErrorInfo) {
  grpc::ClientContext context;
  ApiHarness::Identify("admin", &context);
  v1::GetClusterSetRequest request;
  request.set_name("clusterSets/none");
  v1::ClusterSet set;
  grpc::Status status = sets_->GetClusterSet(&context, request, &set);
  google::rpc::Status wire;
  ASSERT_TRUE(wire.ParseFromString(status.error_details()));
  int infos = 0;
  bool request_id = false;
  for (const auto& detail : wire.details()) {
    google::rpc::ErrorInfo info;
    if (detail.UnpackTo(&info)) {
      ++infos;
      EXPECT_EQ(info.reason(), "NOT_FOUND");
      EXPECT_EQ(info.domain(), "nave.dev");
      EXPECT_EQ(info.metadata().at("resource"), "clusterSets/none");
    }
    request_id |= detail.Is<google::rpc::RequestInfo>();
  }
  EXPECT_EQ(infos, 1);
  EXPECT_TRUE(request_id);
}

TEST_F(RecordTest, ReferencesAreKept) {
  v1::ClusterSet set;
  ASSERT_EQ(Create("eu", &set), absl::OkStatus());
  v1::Project project;
  auto create = [&](const std::string& text) {
    return hub_.Call(projects_.get(), &ProjectStub::CreateProject,
                     Text<v1::CreateProjectRequest>(text), &project);
  };
  EXPECT_EQ(ReasonOf(create("project_id: 'shop' project { spec { cluster_sets: 'us' } }")),
            "INVALID_FIELD");
  ASSERT_EQ(create("project_id: 'shop' project { spec { cluster_sets: 'eu' } }"), absl::OkStatus());
  google::protobuf::Empty empty;
  auto remove = [&](const std::string& name) {
    v1::DeleteClusterSetRequest request;
    request.set_name(name);
    return hub_.Call(sets_.get(), &SetStub::DeleteClusterSet, request, &empty);
  };
  EXPECT_EQ(ReasonOf(remove("clusterSets/eu")), "SET_IN_USE");
  EXPECT_EQ(ReasonOf(remove("clusterSets/default")), "SET_IN_USE");
  ASSERT_EQ(hub_.Call(projects_.get(), &ProjectStub::DeleteProject,
                      Text<v1::DeleteProjectRequest>("name: 'projects/shop'"), &empty),
            absl::OkStatus());
  EXPECT_EQ(remove("clusterSets/eu"), absl::OkStatus());
}

}  // namespace
}  // namespace nave
