// Paths, queries and bodies of requests.
#include "agent/kube/rest.h"

#include "gtest/gtest.h"

namespace nave {
namespace {

const ResourceType kConfigMap = {"", "v1", "ConfigMap", "configmaps", true, {}};
const ResourceType kDeployment = {"apps", "v1", "Deployment", "deployments", true, {}};
const ResourceType kRole = {
    "rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", false, {}};

TEST(Rest, ObjectPaths) {
  struct Case {
    const ResourceType& type;
    const char* ns;
    const char* name;
    const char* want;  // Null: refused.
  };
  const Case cases[] = {
      {kConfigMap, "shop", "a", "/api/v1/namespaces/shop/configmaps/a"},
      {kDeployment, "shop", "a.b", "/apis/apps/v1/namespaces/shop/deployments/a.b"},
      {kRole, "", "system:a b", "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Aa%20b"},
      {NamespaceType(), "", "shop", "/api/v1/namespaces/shop"},
      // No name would be the whole collection.
      {kConfigMap, "shop", "", nullptr},
      {kRole, "", "", nullptr},
      {kConfigMap, "", "a", nullptr},
      {kRole, "shop", "a", nullptr},
      {kConfigMap, "shop", "..", nullptr},
      {kConfigMap, "..", "a", nullptr},
      {kConfigMap, "shop", "a/b", nullptr},
      {kConfigMap, "shop", "a%2fb", nullptr},
      {{"", "v1", "X", "", true, {}}, "shop", "a", nullptr},
  };
  for (const Case& c : cases) {
    const absl::StatusOr<std::string> path = ObjectPath(c.type, c.ns, c.name);
    ASSERT_EQ(path.ok(), c.want != nullptr) << c.ns << "/" << c.name << path.status();
    if (path.ok()) {
      EXPECT_EQ(*path, c.want);
    }
  }
}

TEST(Rest, Queries) {
  EXPECT_EQ(CollectionPath(kConfigMap, ""), "/api/v1/configmaps");
  EXPECT_EQ(CollectionPath(kRole, "ignored"), "/apis/rbac.authorization.k8s.io/v1/clusterroles");
  ListRequest list;
  list.type = kConfigMap;
  list.resource_version = "0";
  list.limit = 2;
  EXPECT_EQ(ListPath(list), "/api/v1/configmaps?limit=2&resourceVersion=0");
  list.continue_token = "a+b/=";
  EXPECT_EQ(ListPath(list), "/api/v1/configmaps?limit=2&continue=a%2Bb%2F%3D");
  list.limit = 0;
  list.continue_token = "";
  list.resource_version = "";
  EXPECT_EQ(ListPath(list), "/api/v1/configmaps");
  WatchRequest watch;
  watch.type = kConfigMap;
  watch.ns = "shop";
  watch.label_selector = "nave.dev/assignment";
  watch.resource_version = "12";
  EXPECT_EQ(WatchPath(watch, absl::Seconds(300)),
            "/api/v1/namespaces/shop/configmaps?watch=1&allowWatchBookmarks=true"
            "&timeoutSeconds=300&labelSelector=nave.dev%2Fassignment&resourceVersion=12");
  ApplyRequest apply;
  apply.type = kConfigMap;
  apply.ns = "shop";
  apply.name = "a";
  apply.field_manager = "m";
  EXPECT_EQ(*ApplyPath(apply),
            "/api/v1/namespaces/shop/configmaps/a?fieldManager=m&force=false"
            "&fieldValidation=Strict");
  PatchRequest patch;
  patch.type = kConfigMap;
  patch.ns = "shop";
  patch.name = "a";
  EXPECT_EQ(*PatchPath(patch), "/api/v1/namespaces/shop/configmaps/a");
  patch.dry_run = true;
  EXPECT_EQ(*PatchPath(patch), "/api/v1/namespaces/shop/configmaps/a?dryRun=All");
}

TEST(Rest, DeleteOptions) {
  DeleteRequest request;
  EXPECT_EQ(DeleteBody(request),
            R"({"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Background"})");
  request.propagation = DeletePropagation::kForeground;
  request.uid = "u";
  EXPECT_EQ(DeleteBody(request),
            R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u"},)"
            R"("propagationPolicy":"Foreground"})");
}

}  // namespace
}  // namespace nave
