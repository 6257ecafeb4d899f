// The engine against real API servers, the oldest and the newest that are supported.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/agent/apply/real_spoke.h"
#include "tests/agent/apply/spoke.h"

namespace nave {
namespace {

bool IsHealthy(const AssignmentStatus& status) {
  return status.phase == Phase::kApplied && status.health == Health::kHealthy;
}
bool IsRemoved(const AssignmentStatus& status) { return status.phase == Phase::kRemoved; }

std::string Say(const AssignmentStatus& status) {
  std::string text = absl::StrCat(FormatPhase(status.phase), " ", FormatHealth(status.health), " ",
                                  status.reason, ": ", status.message);
  for (const ObjectStatus& object : status.not_ok) {
    absl::StrAppend(&text, "\n  ", object.kind, " ", object.ns, "/", object.name, " ",
                    FormatHealth(object.health), " ", object.reason, ": ", object.message);
  }
  return text;
}

// Of NAVE_MANIFESTS when it is set; empty otherwise.
std::string Sample(const std::string& path) {
  const char* folder = std::getenv("NAVE_MANIFESTS");
  if (folder == nullptr || *folder == '\0') return "";
  std::ifstream file(absl::StrCat(folder, "/", path));
  return {std::istreambuf_iterator<char>(file), {}};
}

// A namespace of its own for each run: servers are used by several tests.
std::string Fresh(const std::string& name) {
  static int count = 0;
  return absl::StrCat(name, "-", ++count);
}

class RealServer : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    const std::vector<std::string> servers = RealServers();
    if (static_cast<size_t>(GetParam()) >= servers.size()) GTEST_SKIP() << "no server";
    spoke_ = std::make_unique<RealSpoke>(servers[static_cast<size_t>(GetParam())]);
    spoke_->StartAgent();
  }

  void Cycle(const std::vector<std::string>& versions, size_t objects) {
    const std::string ns = Fresh("app");
    for (const std::string& yaml : versions) {
      spoke_->Bundle(Key(1), yaml, ns);
      ASSERT_TRUE(spoke_->WaitFor(Key(1), IsHealthy)) << Say(spoke_->StatusOf(Key(1)));
    }
    if (objects > 0) {
      EXPECT_EQ(spoke_->StatusOf(Key(1)).counts.total, objects);
    }
    const auto before = spoke_->Owned();
    spoke_->StopAgent();
    spoke_->StartAgent();
    ASSERT_TRUE(spoke_->WaitFor(Key(1), IsHealthy)) << Say(spoke_->StatusOf(Key(1)));
    EXPECT_EQ(spoke_->Owned(), before) << "written although it was right";
    spoke_->Remove(Key(1));
    ASSERT_TRUE(spoke_->WaitFor(Key(1), IsRemoved)) << Say(spoke_->StatusOf(Key(1)));
    EXPECT_EQ(spoke_->Get("Namespace", "", ns).error.error_class, KubeErrorClass::kNotFound);
  }

  std::unique_ptr<RealSpoke> spoke_;
};

INSTANTIATE_TEST_SUITE_P(All, RealServer, testing::Values(0, 1));

TEST_P(RealServer, OwnApplicationFromFirstApplyToRemoval) {
  const std::string one =
      Docs({ConfigMapYaml("settings", "1"), ServiceYaml("web"), DeploymentYaml("web", "nginx:1"),
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData: {k: v}\n",
            "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: web\n",
            "apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: c\nspec:\n  schedule: '1 1 1 "
            "1 1'\n  "
            "jobTemplate:\n    spec:\n      template:\n        spec:\n          restartPolicy: "
            "Never\n    "
            "      containers:\n          - {name: c, image: x}\n"});
  Cycle({one, absl::StrReplaceAll(one, {{"nginx:1", "nginx:2"}})}, 7);
}

TEST_P(RealServer, Guestbook) {
  const std::string yaml = Sample("guestbook/guestbook-all-in-one.yaml");
  if (yaml.empty()) GTEST_SKIP() << "NAVE_MANIFESTS is not set";
  Cycle({yaml}, 0);
}

TEST_P(RealServer, OnlineBoutiqueAndItsUpdate) {
  const std::string old_version = Sample("online-boutique/v0.10.5.yaml");
  if (old_version.empty()) GTEST_SKIP() << "NAVE_MANIFESTS is not set";
  Cycle({old_version, Sample("online-boutique/v0.10.6.yaml")}, 0);
}

TEST_P(RealServer, LargeCrdsAndTheirObjects) {
  const std::string group = Fresh("group") + ".example.org";
  std::string crd = CrdYaml("things", "Thing", group);
  // Nearly as large as an object may be.
  absl::StrAppend(&crd, "        description: \"", std::string(900 << 10, 'd'), "\"\n");
  std::vector<std::string> documents = {
      crd, absl::StrCat("apiVersion: ", group,
                        "/v1\nkind: Thing\nmetadata:\n  name: t\nspec: {a: 1}\n")};
  for (const char* file : {"clusterclasses", "clusters", "machinedeployments", "machines"}) {
    const std::string yaml =
        Sample(absl::StrCat("cluster-api-crds/cluster.x-k8s.io_", file, ".yaml"));
    if (!yaml.empty()) documents.push_back(yaml);
  }
  Cycle({Docs(documents)}, 0);
}

TEST_P(RealServer, DriftIsHealedWithinSeconds) {
  const std::string ns = Fresh("drift");
  spoke_->Bundle(
      Key(1),
      Docs({ConfigMapYaml("settings", "1"), ServiceYaml("web"), DeploymentYaml("web", "nginx:1")}),
      ns);
  ASSERT_TRUE(spoke_->WaitFor(Key(1), IsHealthy)) << Say(spoke_->StatusOf(Key(1)));
  absl::Duration worst;
  for (int i = 0; i < 10; ++i) {
    absl::Time start = absl::Now();
    ASSERT_TRUE(
        spoke_->Edit("Deployment", ns, "web", absl::StrCat(R"({"spec":{"replicas":)", 3 + i, "}}"))
            .error.ok());
    ASSERT_TRUE(spoke_->WaitUntil([&] {
      return spoke_->Get("Deployment", ns, "web").object.Find("spec", "replicas")->IntOr(0) == 2;
    }));
    worst = std::max(worst, absl::Now() - start);
    start = absl::Now();
    ASSERT_TRUE(spoke_->Delete("Service", ns, "web").error.ok());
    ASSERT_TRUE(spoke_->WaitUntil([&] { return spoke_->Get("Service", ns, "web").error.ok(); }));
    worst = std::max(worst, absl::Now() - start);
    start = absl::Now();
    ASSERT_TRUE(spoke_->Edit("ConfigMap", ns, "settings", R"({"data":{"key":"x"}})").error.ok());
    ASSERT_TRUE(spoke_->WaitUntil([&] {
      return spoke_->Get("ConfigMap", ns, "settings").object.StringAt("data", "key") == "1";
    }));
    worst = std::max(worst, absl::Now() - start);
  }
  std::printf("healed within %s (worst of 30)\n", absl::FormatDuration(worst).c_str());
  ASSERT_TRUE(spoke_->WaitFor(Key(1), IsHealthy)) << Say(spoke_->StatusOf(Key(1)));
  spoke_->Remove(Key(1));
  ASSERT_TRUE(spoke_->WaitFor(Key(1), IsRemoved)) << Say(spoke_->StatusOf(Key(1)));
}

TEST_P(RealServer, ObjectsAndFieldsOfOthers) {
  const std::string ns = Fresh("others");
  ASSERT_TRUE(
      spoke_
          ->Create("", absl::StrCat(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")",
                                    ns, R"("}})"))
          .error.ok());
  ASSERT_TRUE(
      spoke_
          ->Create(
              ns,
              R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"theirs"},"data":{"key":"theirs"}})")
          .error.ok());
  ASSERT_TRUE(
      spoke_
          ->Create(
              ns,
              R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"same"},"data":{"key":"1"}})")
          .error.ok());
  const std::string before =
      spoke_->Get("ConfigMap", ns, "theirs").object.StringAt("metadata", "resourceVersion");
  spoke_->Bundle(Key(1),
                 Docs({ConfigMapYaml("theirs", "ours"), ConfigMapYaml("same", "1"),
                       DeploymentYaml("web", "nginx:1")}),
                 ns);
  ASSERT_TRUE(spoke_->WaitFor(Key(1), [](const AssignmentStatus& s) {
    return s.phase == Phase::kFailed && s.counts.applied == 3;
  })) << Say(spoke_->StatusOf(Key(1)));
  EXPECT_EQ(spoke_->StatusOf(Key(1)).reason, "NotOwned") << Say(spoke_->StatusOf(Key(1)));
  spoke_->Remove(Key(1));
  ASSERT_TRUE(spoke_->WaitFor(Key(1), IsRemoved)) << Say(spoke_->StatusOf(Key(1)));
  EXPECT_EQ(spoke_->Get("ConfigMap", ns, "theirs").object.StringAt("metadata", "resourceVersion"),
            before);
  EXPECT_TRUE(spoke_->Get("Namespace", "", ns).error.ok())
      << "a namespace that was there before stays";
  EXPECT_EQ(spoke_->Get("ConfigMap", ns, "same").error.error_class, KubeErrorClass::kNotFound)
      << "adopted";
}

TEST_P(RealServer, RefusedObjectHoldsUpNoOther) {
  const std::string ns = Fresh("bad");
  spoke_->Bundle(
      Key(1),
      Docs({"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: bad\ndta: {}\n",
            ConfigMapYaml("good", "1"),
            "apiVersion: example.org/v1\nkind: Nothing\nmetadata:\n  name: x\n",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: bad\nspec: {}\n"}),
      ns);
  ASSERT_TRUE(spoke_->WaitFor(Key(1), [](const AssignmentStatus& s) {
    return s.phase == Phase::kFailed && s.counts.applied == 2 && s.counts.not_ok == 3;
  })) << Say(spoke_->StatusOf(Key(1)));
  std::printf("%s\n", Say(spoke_->StatusOf(Key(1))).c_str());
  spoke_->Bundle(Key(1), ConfigMapYaml("good", "1"), ns);
  ASSERT_TRUE(spoke_->WaitFor(Key(1), IsHealthy)) << Say(spoke_->StatusOf(Key(1)));
  spoke_->Remove(Key(1));
  ASSERT_TRUE(spoke_->WaitFor(Key(1), IsRemoved)) << Say(spoke_->StatusOf(Key(1)));
}

}  // namespace
}  // namespace nave
