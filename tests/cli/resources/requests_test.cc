// Goal: every kind can be read, listed, watched, written and deleted as its service says. Method:
// the requests of all kinds, and the methods that take them.
#include "cli/resources/requests.h"

#include <gtest/gtest.h>

#include "cli/client/hub_client.h"
#include "nave/v1/bundle.pb.h"
#include "nave/v1/cluster.pb.h"
#include "nave/v1/event.pb.h"

namespace nave::cli {
namespace {

std::string PathFor(const MessagePtr& request) {
  return request == nullptr ? "none" : MethodPath(*MethodOf(*request));
}

TEST(Requests, EveryKindHasItsMethods) {
  struct Case {
    const char* kind;
    const char* list;
    const char* watch;
    const char* remove;
  };
  const Case cases[] = {
      {"Project", "/nave.v1.ProjectService/ListProjects", "/nave.v1.ProjectService/WatchProjects",
       "/nave.v1.ProjectService/DeleteProject"},
      {"ClusterSet", "/nave.v1.ClusterSetService/ListClusterSets",
       "/nave.v1.ClusterSetService/WatchClusterSets",
       "/nave.v1.ClusterSetService/DeleteClusterSet"},
      {"Cluster", "/nave.v1.ClusterService/ListClusters", "/nave.v1.ClusterService/WatchClusters",
       "none"},
      {"RoleBinding", "/nave.v1.RoleBindingService/ListRoleBindings",
       "/nave.v1.RoleBindingService/WatchRoleBindings",
       "/nave.v1.RoleBindingService/DeleteRoleBinding"},
      {"JoinToken", "/nave.v1.JoinTokenService/ListJoinTokens",
       "/nave.v1.JoinTokenService/WatchJoinTokens", "/nave.v1.JoinTokenService/DeleteJoinToken"},
      {"Bundle", "/nave.v1.BundleService/ListBundles", "/nave.v1.BundleService/WatchBundles",
       "/nave.v1.BundleService/DeleteBundle"},
      {"BundleRevision", "/nave.v1.BundleService/ListBundleRevisions", "none", "none"},
      {"Event", "/nave.v1.EventService/ListEvents", "/nave.v1.EventService/WatchEvents", "none"},
  };
  ASSERT_EQ(std::size(cases), Kinds().size());
  for (const Case& c : cases) {
    const KindInfo& kind = *FindKind(c.kind);
    std::string get = PathFor(MakeGetRequest(kind, "x"));
    EXPECT_EQ(get.substr(get.rfind('/') + 1), std::string("Get") + c.kind);
    EXPECT_EQ(PathFor(MakeListRequest(kind, {}, "")), c.list);
    EXPECT_EQ(PathFor(MakeWatchRequest(kind, {}, "")), c.watch) << c.kind;
    EXPECT_EQ(PathFor(MakeDeleteRequest(kind, "x", {})), c.remove) << c.kind;
  }
}

TEST(Requests, FieldsAreSetWhereTheyExist) {
  ListOptions options{"projects/shop", "a=b", "bundles/x", 7};
  auto bundles = MakeListRequest(*FindKind("Bundle"), options, "next");
  const auto& list = static_cast<const v1::ListBundlesRequest&>(*bundles);
  EXPECT_EQ(list.parent(), "projects/shop");
  EXPECT_EQ(list.label_selector(), "a=b");
  EXPECT_EQ(list.page_size(), 7);
  EXPECT_EQ(list.page_token(), "next");
  auto events = MakeWatchRequest(*FindKind("Event"), options, "99");
  EXPECT_EQ(static_cast<const v1::WatchEventsRequest&>(*events).about(), "bundles/x");
  EXPECT_EQ(static_cast<const v1::WatchEventsRequest&>(*events).resource_version(), "99");
  auto full = MakeGetRequest(*FindKind("Bundle"), "projects/p/bundles/b", true);
  EXPECT_EQ(static_cast<const v1::GetBundleRequest&>(*full).view(), v1::VIEW_FULL);
  DeleteOptions how{true, "id", "etag", true, "b"};
  auto removal = MakeDeleteRequest(*FindKind("Bundle"), "projects/p/bundles/b", how);
  EXPECT_EQ(removal->ShortDebugString(),
            "name: \"projects/p/bundles/b\" etag: \"etag\" validate_only: true request_id: \"id\" "
            "orphan: true "
            "confirm: \"b\"");
}

TEST(Requests, UpdateAllowsMissingAndMasksOnlyWhenTold) {
  v1::Bundle bundle;
  bundle.set_name("projects/p/bundles/b");
  auto whole = MakeUpdateRequest(*FindKind("Bundle"), bundle, {}, {false, "id"});
  const auto& update = static_cast<const v1::UpdateBundleRequest&>(*whole);
  EXPECT_TRUE(update.allow_missing());
  EXPECT_FALSE(update.has_update_mask());
  EXPECT_EQ(update.bundle().name(), bundle.name());
  auto part = MakeUpdateRequest(*FindKind("Bundle"), bundle, {"spec.manifests"}, {true, "id"});
  EXPECT_EQ(static_cast<const v1::UpdateBundleRequest&>(*part).update_mask().paths(0),
            "spec.manifests");
  EXPECT_TRUE(static_cast<const v1::UpdateBundleRequest&>(*part).validate_only());
}

TEST(Requests, WatchEvents) {
  v1::WatchClustersResponse response;
  response.set_type(v1::WATCH_EVENT_TYPE_SYNCED);
  response.set_resource_version("5");
  WatchEvent synced = WatchEventOf(response);
  EXPECT_EQ(synced.type, WatchEvent::Type::kSynced);
  EXPECT_EQ(synced.item, nullptr);
  EXPECT_EQ(synced.resource_version, "5");
  response.set_type(v1::WATCH_EVENT_TYPE_DELETED);
  response.mutable_cluster()->set_name("clusters/a");
  WatchEvent deleted = WatchEventOf(response);
  EXPECT_EQ(deleted.type, WatchEvent::Type::kDeleted);
  EXPECT_EQ(NameOf(*deleted.item), "clusters/a");
}

}  // namespace
}  // namespace nave::cli
