// Order and waiting, what the API server refuses, and what a bad object does to others: nothing.
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/agent/apply/spoke.h"

namespace nave {
namespace {

using kubesim::SimFault;
using kubesim::SimRequest;
using Errors = Spoke;

TEST_F(Errors, StagesAreAppliedInOrder) {
  StartAgent();
  Bundle(
      Key(1),
      Docs({DeploymentYaml("web", "nginx:1"), ServiceYaml("web"), ConfigMapYaml("a", "1"),
            NamespaceYaml("shop"), "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: web\n",
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: web\nrules: "
            "[]\n"}),
      "shop");
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  std::map<std::string, int> place;
  int n = 0;
  for (const kubesim::AuditRecord& record : sim_.audit()) {
    if (record.user == kAgentUser) place[record.resource] = n++;
  }
  EXPECT_EQ(place.at("namespaces"), 0);
  EXPECT_GT(place.at("deployments.apps"), place.at("configmaps"));
  EXPECT_GT(place.at("deployments.apps"), place.at("serviceaccounts"));
  EXPECT_GT(place.at("deployments.apps"), place.at("roles.rbac.authorization.k8s.io"));
  EXPECT_GT(place.at("services"), place.at("configmaps"));
}

TEST_F(Errors, CrdAndItsObjectInOneVersion) {
  StartAgent();
  Bundle(Key(1),
         Docs({"apiVersion: example.org/v1\nkind: Thing\nmetadata:\n  name: t\nspec: {a: 1}\n",
               CrdYaml("things", "Thing", "example.org")}));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied, absl::Seconds(10)));
  EXPECT_TRUE(Exists("things.example.org", "default", "t"));
  Run(absl::Seconds(5));
  Delete("things.example.org", "default", "t");
  Run(absl::Seconds(2));
  EXPECT_TRUE(Exists("things.example.org", "default", "t"));
}

TEST_F(Errors, CrdThatOthersInstallLaterIsNoticed) {
  StartAgent();
  Bundle(Key(1), "apiVersion: example.org/v1\nkind: Thing\nmetadata:\n  name: t\n");
  ASSERT_TRUE(RunUntil(Key(1), Phase::kFailed));
  EXPECT_EQ(NotOk(Key(1), "Thing", "t").reason, "UnknownKind");
  Bundle(Key(2), CrdYaml("things", "Thing", "example.org"));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
}

TEST_F(Errors, BadObjectHoldsUpNoOther) {
  StartAgent();
  Bundle(Key(1), Docs({"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: bad\ndta: {}\n",
                       ConfigMapYaml("good", "1"),
                       "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: bad\nspec: {}\n",
                       DeploymentYaml("web", "nginx:1")}));
  Bundle(Key(2), ConfigMapYaml("neighbour", "1"));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kFailed));
  ASSERT_TRUE(RunUntil(Key(2), Phase::kApplied));
  EXPECT_TRUE(Exists("configmaps", "default", "good"));
  EXPECT_TRUE(Exists("deployments.apps", "default", "web"));
  const ObjectStatus object = NotOk(Key(1), "ConfigMap", "bad");
  EXPECT_EQ(object.reason, "ApplyFailed");
  EXPECT_TRUE(absl::StrContains(object.message, "dta")) << object.message;
  EXPECT_EQ(StatusOf(Key(1)).counts.applied, 2u);
  EXPECT_EQ(StatusOf(Key(1)).health, Health::kDegraded);
}

// A structural error is not tried again and again.
TEST_F(Errors, DuplicateListKeysAreAPermanentError) {
  StartAgent();
  std::string yaml = DeploymentYaml("web", "nginx:1");
  absl::StrAppend(
      &yaml,
      "        env:\n        - {name: A, value: \"1\"}\n        - {name: A, value: \"2\"}\n");
  Bundle(Key(1), yaml);
  ASSERT_TRUE(RunUntil(Key(1), Phase::kFailed));
  EXPECT_TRUE(absl::StrContains(NotOk(Key(1), "Deployment", "web").message, "duplicate"))
      << NotOk(Key(1), "Deployment", "web").message;
  Run(absl::Minutes(9));
  EXPECT_LE(WritesTo("deployments.apps", "web"), 3u);
}

TEST_F(Errors, NewVersionDoesNotSleepOutTheOldBackOff) {
  StartAgent();
  Bundle(Key(1), "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndta: {}\n");
  ASSERT_TRUE(RunUntil(Key(1), Phase::kFailed));
  Run(absl::Hours(3));
  Bundle(Key(1), ConfigMapYaml("a", "1"));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied, absl::Seconds(2)));
}

TEST_F(Errors, RightsThatAreMissingAreSaid) {
  sim_.deny = [](const SimRequest& request) -> std::optional<std::string> {
    if (request.user == kAgentUser && request.verb == SimRequest::Verb::kPatch &&
        request.plural == "configmaps") {
      return "User \"agent\" cannot patch resource \"configmaps\"";
    }
    return std::nullopt;
  };
  StartAgent();
  Bundle(Key(1), Docs({ConfigMapYaml("a", "1"), ServiceYaml("web")}));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kFailed));
  EXPECT_EQ(NotOk(Key(1), "ConfigMap", "a").reason, "Forbidden");
  Run(absl::Minutes(10));
  EXPECT_LT(WritesTo("configmaps", "a"), 20u);
  sim_.deny = nullptr;
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied, absl::Minutes(6)));
}

TEST_F(Errors, OverloadedServerIsGivenTheTimeItAsksFor) {
  int answers = 0;
  sim_.fault = [&](const SimRequest& request) {
    SimFault fault;
    if (request.user == kAgentUser && request.verb == SimRequest::Verb::kPatch && answers < 3) {
      ++answers;
      fault.kind = SimFault::Kind::kAnswer;
      fault.answer = kubesim::MakeStatus(429, "TooManyRequests", "slow down");
      fault.answer.retry_after_s = 20;
    }
    return fault;
  };
  StartAgent();
  Bundle(Key(1), ConfigMapYaml("a", "1"));
  Run(absl::Seconds(55));
  EXPECT_FALSE(Exists("configmaps", "default", "a"));
  EXPECT_EQ(NotOk(Key(1), "ConfigMap", "a").reason, "ApiServerUnavailable");
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
}

TEST_F(Errors, LostAnswersLeadToOneObject) {
  int lost = 0;
  sim_.fault = [&](const SimRequest& request) {
    SimFault fault;
    if (request.user == kAgentUser && request.IsWrite() && ++lost % 2 == 1)
      fault.kind = SimFault::Kind::kDropAfter;
    return fault;
  };
  StartAgent();
  Bundle(Key(1),
         Docs({NamespaceYaml("shop"), ConfigMapYaml("a", "1"), DeploymentYaml("web", "nginx:1")}),
         "shop");
  Run(absl::Seconds(30));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  EXPECT_EQ(Owned().size(), 3u);
  Remove(Key(1));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kRemoved));
  EXPECT_TRUE(Owned().empty());
}

// One dead APIService: its group is unknown, everything else goes on, and nothing of it counts as
// gone.
TEST_F(Errors, DeadApiServiceStopsNothingElse) {
  StartAgent();
  Bundle(Key(1), CrdYaml("things", "Thing", "example.org"));
  Bundle(Key(2), "apiVersion: example.org/v1\nkind: Thing\nmetadata:\n  name: t\n");
  ASSERT_TRUE(RunUntil(Key(2), Phase::kApplied));
  alter_discovery_ = [](KubeClient::Discovery& found) {
    std::erase_if(found.types,
                  [](const ResourceType& type) { return type.group == "example.org"; });
    found.failed_groups = {"example.org"};
  };
  RestartAgent();
  Bundle(Key(3), Docs({NamespaceYaml("shop"), ConfigMapYaml("a", "1")}), "shop");
  ASSERT_TRUE(RunUntil(Key(3), Phase::kApplied));
  Remove(Key(2));
  Run(absl::Minutes(10));
  EXPECT_TRUE(reconciler_->HasInventory(Key(2))) << "a kind that cannot be seen is not gone";
  EXPECT_EQ(StatusOf(Key(2)).phase, Phase::kRemoving);
  // A namespace that cannot be looked through is not deleted either.
  Remove(Key(3));
  Run(absl::Minutes(1));
  EXPECT_TRUE(Exists("namespaces", "", "shop"));
  alter_discovery_ = nullptr;
  ASSERT_TRUE(RunUntil(Key(2), Phase::kRemoved));
  EXPECT_FALSE(Exists("things.example.org", "default", "t"));
}

TEST_F(Errors, RenamedKeyOfStringDataLeavesNothingBehind) {
  StartAgent();
  Bundle(Key(1), "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData: {old: x}\n");
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  Bundle(Key(1), "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData: {new: x}\n");
  Run(absl::Seconds(5));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  const kubesim::ObjectPtr secret = Live("secrets", "default", "s");
  EXPECT_EQ(secret->StringAt("data", "new"), "eA==");
  EXPECT_EQ(secret->Find("data", "old"), nullptr);
}

// Our own first write must not conflict with our later ones.
TEST_F(Errors, ManagerDoesNotConflictWithItself) {
  StartAgent();
  for (int i = 0; i < 5; ++i) {
    Bundle(Key(1), Docs({DeploymentYaml("web", absl::StrCat("nginx:", i), i + 1),
                         ConfigMapYaml("a", absl::StrCat(i))}));
    Run(absl::Seconds(10));
    ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
  }
  for (const kubesim::AuditRecord& record : sim_.audit()) {
    if (record.user != kAgentUser) continue;
    EXPECT_LT(record.code, 300) << record.verb << " " << record.name;
  }
}

// Only the spoke knows that a kind has no namespaces, and that two listed objects are therefore
// one.
TEST_F(Errors, SameObjectTwiceOnceTheScopeIsKnown) {
  StartAgent();
  std::string crd = CrdYaml("things", "Thing", "example.org");
  crd.replace(crd.find("Namespaced"), 10, "Cluster");
  Bundle(
      Key(1),
      Docs({crd, "apiVersion: example.org/v1\nkind: Thing\nmetadata:\n  name: t\n  namespace: n1\n",
            "apiVersion: example.org/v1\nkind: Thing\nmetadata:\n  name: t\n  namespace: n2\n",
            ConfigMapYaml("b", "1")}));
  ASSERT_TRUE(RunUntil(Key(1), Phase::kFailed));
  Run(absl::Seconds(10));
  bool told = false;
  for (const ObjectStatus& object : StatusOf(Key(1)).not_ok)
    told |= object.reason == "DuplicateObject";
  EXPECT_TRUE(told);
  EXPECT_TRUE(Exists("configmaps", "default", "b"));
  EXPECT_TRUE(Exists("things.example.org", "", "t"));
  const size_t writes = Writes();
  Run(absl::Hours(1));
  EXPECT_EQ(Writes(), writes) << "the two must not fight";
}

TEST_F(Errors, NoWriteWithoutLeadership) {
  StartAgent();
  may_write_ = false;
  Bundle(Key(1), ConfigMapYaml("a", "1"));
  Run(absl::Minutes(5));
  EXPECT_EQ(Writes(), 0u);
  may_write_ = true;
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied, absl::Seconds(5)));
}

TEST_F(Errors, FencedStoreStopsTheEngine) {
  StartAgent();
  store_.write_error = absl::FailedPreconditionError("another agent");
  Bundle(Key(1), ConfigMapYaml("a", "1"));
  Run(absl::Minutes(1));
  EXPECT_TRUE(fenced_);
  EXPECT_EQ(Writes(), 0u);
}

TEST_F(Errors, ManyBundlesShareTheRequestsFairly) {
  StartAgent();
  std::vector<std::string> documents;
  for (int i = 0; i < 400; ++i) documents.push_back(ConfigMapYaml(absl::StrCat("big-", i), "1"));
  Bundle(Key(1), Docs(documents));
  Run(absl::Milliseconds(20));
  Bundle(Key(2), ConfigMapYaml("small", "1"));
  ASSERT_TRUE(RunUntil(Key(2), Phase::kApplied));
  EXPECT_NE(StatusOf(Key(1)).phase, Phase::kApplied);
  ASSERT_TRUE(RunUntil(Key(1), Phase::kApplied));
}

}  // namespace
}  // namespace nave
