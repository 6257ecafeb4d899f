// Who may do what: every refusal names the right that is missing, and is audited once a minute.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nave/v1/bundle.grpc.pb.h"
#include "nave/v1/cluster.grpc.pb.h"
#include "nave/v1/cluster_set.grpc.pb.h"
#include "nave/v1/hub.grpc.pb.h"
#include "nave/v1/join_token.grpc.pb.h"
#include "nave/v1/project.grpc.pb.h"
#include "nave/v1/role_binding.grpc.pb.h"
#include "tests/hub/rpc/harness.h"

namespace nave {
namespace {

using testing::HasSubstr;

class RightsTest : public testing::Test {
 protected:
  RightsTest() {
    Bind(
        "role_binding_id: 'devs' role_binding { spec { subjects: 'group:devs' role: ROLE_EDITOR "
        "project: 'default' } }");
    Bind(
        "role_binding_id: 'seers' role_binding { spec { subjects: 'user:seer' role: ROLE_VIEWER } "
        "}");
    Bind(
        "role_binding_id: 'setters' role_binding { spec { subjects: 'user:setter' role: ROLE_ADMIN "
        "cluster_set: 'default' } }");
    v1::Cluster cluster;
    EXPECT_EQ(hub_.Call(clusters_.get(), &v1::ClusterService::Stub::CreateCluster,
                        Text<v1::CreateClusterRequest>("cluster_id: 'c1'"), &cluster),
              absl::OkStatus());
    v1::Bundle bundle;
    EXPECT_EQ(hub_.Call(bundles_.get(), &v1::BundleService::Stub::CreateBundle, NewBundle("web"),
                        &bundle),
              absl::OkStatus());
  }

  void Bind(const std::string& text) {
    v1::RoleBinding binding;
    EXPECT_EQ(hub_.Call(bindings_.get(), &v1::RoleBindingService::Stub::CreateRoleBinding,
                        Text<v1::CreateRoleBindingRequest>(text), &binding),
              absl::OkStatus());
  }

  static v1::CreateBundleRequest NewBundle(const std::string& id) {
    auto request = Text<v1::CreateBundleRequest>(
        absl::StrCat("parent: 'projects/default' bundle_id: '", id, "'"));
    auto* manifest = request.mutable_bundle()->mutable_spec()->add_manifests();
    manifest->set_path("a.yaml");
    manifest->set_content(
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {k: hush}\n");
    return request;
  }

  ApiHarness hub_;
  std::unique_ptr<v1::BundleService::Stub> bundles_ = hub_.Stub<v1::BundleService>();
  std::unique_ptr<v1::ClusterService::Stub> clusters_ = hub_.Stub<v1::ClusterService>();
  std::unique_ptr<v1::ClusterSetService::Stub> sets_ = hub_.Stub<v1::ClusterSetService>();
  std::unique_ptr<v1::HubService::Stub> hubs_ = hub_.Stub<v1::HubService>();
  std::unique_ptr<v1::JoinTokenService::Stub> tokens_ = hub_.Stub<v1::JoinTokenService>();
  std::unique_ptr<v1::ProjectService::Stub> projects_ = hub_.Stub<v1::ProjectService>();
  std::unique_ptr<v1::RoleBindingService::Stub> bindings_ = hub_.Stub<v1::RoleBindingService>();
};

TEST_F(RightsTest, EachCallNeedsItsRight) {
  using CallAs = std::function<absl::Status(const std::string&)>;
  auto call = [&](auto* stub, auto method, auto request, auto response) -> CallAs {
    return [this, stub, method, request, response](const std::string& user) mutable {
      return hub_.Call(stub, method, request, &response, user);
    };
  };
  struct Case {
    std::string name;
    CallAs run;
    std::string allowed;  // Of dev, seer, setter, nobody.
    std::string right;    // In the refusal.
  };
  google::protobuf::Empty empty;
  const Case cases[] = {
      {"get bundle",
       call(bundles_.get(), &v1::BundleService::Stub::GetBundle,
            Text<v1::GetBundleRequest>("name: 'projects/default/bundles/web'"), v1::Bundle()),
       "dev seer", "viewer of project \"default\""},
      {"get a bundle that is not there",
       call(bundles_.get(), &v1::BundleService::Stub::GetBundle,
            Text<v1::GetBundleRequest>("name: 'projects/other/bundles/web'"), v1::Bundle()),
       "", "viewer of project \"other\""},
      {"dry create of a bundle",
       call(
           bundles_.get(), &v1::BundleService::Stub::CreateBundle,
           [] {
             auto r = NewBundle("two");
             r.set_validate_only(true);
             return r;
           }(),
           v1::Bundle()),
       "dev", "editor of project \"default\""},
      {"assignments",
       call(bundles_.get(), &v1::BundleService::Stub::ListBundleAssignments,
            Text<v1::ListBundleAssignmentsRequest>("name: 'projects/default/bundles/web'"),
            v1::ListBundleAssignmentsResponse()),
       "dev seer", "viewer of project \"default\""},
      {"get cluster",
       call(clusters_.get(), &v1::ClusterService::Stub::GetCluster,
            Text<v1::GetClusterRequest>("name: 'clusters/c1'"), v1::Cluster()),
       "seer setter", "viewer of cluster set \"default\""},
      {"dry cordon",
       call(clusters_.get(), &v1::ClusterService::Stub::CordonCluster,
            Text<v1::CordonClusterRequest>("name: 'clusters/c1' validate_only: true"),
            v1::Cluster()),
       "setter", "editor of cluster set \"default\""},
      {"dry accept",
       call(clusters_.get(), &v1::ClusterService::Stub::AcceptCluster,
            Text<v1::AcceptClusterRequest>("name: 'clusters/c1' validate_only: true"),
            v1::Cluster()),
       "setter", "admin of cluster set \"default\""},
      {"dry token",
       call(tokens_.get(), &v1::JoinTokenService::Stub::CreateJoinToken,
            Text<v1::CreateJoinTokenRequest>("validate_only: true"), v1::CreateJoinTokenResponse()),
       "setter", "admin of cluster set \"default\""},
      {"dry project",
       call(projects_.get(), &v1::ProjectService::Stub::CreateProject,
            Text<v1::CreateProjectRequest>("project_id: 'p' validate_only: true"), v1::Project()),
       "", "admin of the hub"},
      {"dry set",
       call(sets_.get(), &v1::ClusterSetService::Stub::CreateClusterSet,
            Text<v1::CreateClusterSetRequest>("cluster_set_id: 's' validate_only: true"),
            v1::ClusterSet()),
       "", "admin of the hub"},
      {"dry binding of a project",
       call(bindings_.get(), &v1::RoleBindingService::Stub::CreateRoleBinding,
            Text<v1::CreateRoleBindingRequest>(
                "role_binding_id: 'b' validate_only: true role_binding { spec { subjects: 'user:x' "
                "role: ROLE_VIEWER project: 'default' } }"),
            v1::RoleBinding()),
       "", "admin of project \"default\""},
      {"binding of the hub",
       call(bindings_.get(), &v1::RoleBindingService::Stub::GetRoleBinding,
            Text<v1::GetRoleBindingRequest>("name: 'roleBindings/seers'"), v1::RoleBinding()),
       "", "admin of the hub"},
      {"dry hub adopt",
       call(hubs_.get(), &v1::HubService::Stub::AdoptHub,
            Text<v1::AdoptHubRequest>("validate_only: true"), v1::AdoptHubResponse()),
       "", "admin of the hub"},
      {"hub", call(hubs_.get(), &v1::HubService::Stub::GetHub, v1::GetHubRequest(), v1::Hub()),
       "dev seer setter nobody", ""},
      {"who am I",
       call(hubs_.get(), &v1::HubService::Stub::WhoAmI, v1::WhoAmIRequest(), v1::WhoAmIResponse()),
       "dev seer setter nobody", ""},
  };
  for (const Case& c : cases) {
    for (const std::string user : {"dev", "seer", "setter", "nobody"}) {
      absl::Status status = c.run(user);
      if (absl::StrContains(c.allowed, user)) {
        EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kNotFound)
            << c.name << " " << user << ": " << status;
      } else if (!(user == "seer" && status.code() == absl::StatusCode::kNotFound)) {
        EXPECT_EQ(ReasonOf(status), "PERMISSION_DENIED") << c.name << " " << user << ": " << status;
        EXPECT_THAT(std::string(status.message()), HasSubstr(c.right)) << c.name << " " << user;
      }
    }
    EXPECT_EQ(ReasonOf(c.run("")), "UNAUTHENTICATED") << c.name;
    EXPECT_EQ(ReasonOf(c.run("stranger")), "UNAUTHENTICATED") << c.name;
  }
}

TEST_F(RightsTest, ListsShowWhatTheCallerMayView) {
  auto clusters = [&](const std::string& user) {
    v1::ListClustersResponse response;
    EXPECT_EQ(hub_.Call(clusters_.get(), &v1::ClusterService::Stub::ListClusters,
                        v1::ListClustersRequest(), &response, user),
              absl::OkStatus());
    return response.clusters_size();
  };
  EXPECT_EQ(clusters("admin"), 1);
  EXPECT_EQ(clusters("setter"), 1);
  EXPECT_EQ(clusters("dev"), 0);
  auto bundles = [&](const std::string& user, const std::string& parent) {
    v1::ListBundlesRequest request;
    request.set_parent(parent);
    v1::ListBundlesResponse response;
    absl::Status status =
        hub_.Call(bundles_.get(), &v1::BundleService::Stub::ListBundles, request, &response, user);
    return status.ok() ? absl::StrCat(response.bundles_size()) : ReasonOf(status);
  };
  EXPECT_EQ(bundles("dev", "projects/-"), "1");
  EXPECT_EQ(bundles("nobody", "projects/-"), "0");
  EXPECT_EQ(bundles("nobody", "projects/default"), "PERMISSION_DENIED");
  EXPECT_EQ(bundles("admin", "projects/none"), "NOT_FOUND");
  EXPECT_EQ(bundles("admin", ""), "INVALID_FIELD");
}

TEST_F(RightsTest, ViewersSeeNoSecrets) {
  auto content = [&](const std::string& user) {
    v1::Bundle bundle;
    EXPECT_EQ(hub_.Call(bundles_.get(), &v1::BundleService::Stub::GetBundle,
                        Text<v1::GetBundleRequest>(
                            "name: 'projects/default/bundles/web' view: VIEW_FULL"),
                        &bundle, user),
              absl::OkStatus());
    return bundle.spec().manifests(0).content();
  };
  EXPECT_THAT(content("dev"), HasSubstr("hush"));
  EXPECT_THAT(content("seer"), testing::Not(HasSubstr("hush")));
  EXPECT_THAT(content("seer"), HasSubstr("kind: Secret"));
}

TEST_F(RightsTest, WhoAmINamesTheBindings) {
  v1::WhoAmIResponse me;
  ASSERT_EQ(hub_.Call(hubs_.get(), &v1::HubService::Stub::WhoAmI, v1::WhoAmIRequest(), &me, "dev"),
            absl::OkStatus());
  EXPECT_EQ(me.user(), "dev");
  EXPECT_THAT(me.groups(), testing::ElementsAre("devs"));
  EXPECT_EQ(me.authenticated_by(), "token");
  ASSERT_EQ(me.rights_size(), 1);
  EXPECT_EQ(me.rights(0).role_binding(), "roleBindings/devs");
  EXPECT_EQ(me.rights(0).role(), "editor");
  EXPECT_EQ(me.rights(0).scope(), "projects/default");
}

TEST(RefusedAttempts, AreAuditedOncePerCallerWhenTheIntervalEnds) {
  ApiOptions options;
  options.refusal_interval = absl::Milliseconds(1);
  ApiHarness hub(options);
  auto projects = hub.Stub<v1::ProjectService>();
  for (int i = 0; i < 3; ++i) {
    v1::Project project;
    EXPECT_EQ(
        ReasonOf(hub.Call(projects.get(), &v1::ProjectService::Stub::CreateProject,
                          Text<v1::CreateProjectRequest>("project_id: 'p'"), &project, "nobody")),
        "PERMISSION_DENIED");
  }
  uint32_t attempts = 0;
  while (attempts < 3) {
    attempts = 0;
    for (const AuditRecord& record : hub.Audit()) {
      EXPECT_EQ(record.user, "nobody");
      EXPECT_EQ(record.result, "PERMISSION_DENIED");
      EXPECT_EQ(record.method, "nave.v1.ProjectService/CreateProject");
      attempts += record.count;
    }
  }
  EXPECT_EQ(attempts, 3u);
}

}  // namespace
}  // namespace nave
