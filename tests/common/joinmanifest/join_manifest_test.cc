// The join manifest against golden files (UPDATE_GOLDEN=1 rewrites them: read the difference),
// against the parser of bundles, and for what it must promise: no more rights than it says, the
// restricted pod security level.
#include "common/joinmanifest/join_manifest.h"

#include <stdio.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/manifest/parse.h"
#include "common/pki/join_token.h"
#include "common/value/codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nave {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Token(absl::string_view hub = "hub.example:8444") {
  JoinTokenText token;
  token.hub_address = std::string(hub);
  token.id = "abcdefghij";
  token.secret = std::string(32, 's');
  token.ca_pin = Sha256("pin");
  return FormatJoinToken(token);
}

JoinManifestOptions Minimal() {
  JoinManifestOptions options;
  options.token = Token();
  return options;
}

JoinManifestOptions Everything() {
  JoinManifestOptions options;
  options.token = absl::StrCat("  ", Token("[2001:db8::1]:8444"), "\n");
  options.cluster = "edge-17";
  options.agent_namespace = "fleet";
  options.image = "registry.example/nave/nave-agent@sha256:0000";
  options.image_pull_secret = "registry";
  options.replicas = 1;
  options.https_proxy = "http://proxy.example:3128";
  options.no_proxy = "10.0.0.0/8,.svc,.cluster.local";
  return options;
}

std::string Manifest(const JoinManifestOptions& options) {
  const absl::StatusOr<std::string> manifest = FormatJoinManifest(options);
  EXPECT_TRUE(manifest.ok()) << manifest.status();
  return manifest.value_or("");
}

std::map<std::string, Value> ObjectsByKind(absl::string_view manifest) {
  std::vector<std::string> warnings;
  const absl::StatusOr<std::vector<ManifestObject>> objects =
      ParseManifestFile("join.yaml", manifest, &warnings);
  EXPECT_TRUE(objects.ok()) << objects.status();
  EXPECT_THAT(warnings, ElementsAre());
  std::map<std::string, Value> by_kind;
  if (!objects.ok()) return by_kind;
  for (const ManifestObject& object : *objects) by_kind.emplace(object.key.kind, object.object);
  EXPECT_EQ(by_kind.size(), objects->size());
  return by_kind;
}

void ExpectGolden(absl::string_view name, const std::string& actual) {
  const std::string path = absl::StrCat(NAVE_SOURCE_DIR, "/tests/golden/", name);
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << actual;
    return;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  std::ostringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(actual, expected.str()) << path;
}

TEST(JoinManifest, Golden) {
  ExpectGolden("join_manifest_minimal.yaml", Manifest(Minimal()));
  ExpectGolden("join_manifest_everything.yaml", Manifest(Everything()));
}

TEST(JoinManifest, SameOptionsGiveTheSameBytes) {
  EXPECT_EQ(Manifest(Everything()), Manifest(Everything()));
}

TEST(JoinManifest, IsReadByTheParserOfBundles) {
  for (const JoinManifestOptions& options : {Minimal(), Everything()}) {
    std::vector<std::string> kinds;
    for (const auto& [kind, object] : ObjectsByKind(Manifest(options))) kinds.push_back(kind);
    EXPECT_THAT(kinds, ElementsAre("ClusterRole", "ClusterRoleBinding", "Deployment", "Namespace",
                                   "Secret", "ServiceAccount"));
  }
}

TEST(JoinManifest, SecretHoldsTheTokenAsGiven) {
  const std::map<std::string, Value> objects = ObjectsByKind(Manifest(Everything()));
  const std::string json = FormatJson(objects.at("Secret"));
  EXPECT_THAT(json, HasSubstr(absl::Base64Escape(Token("[2001:db8::1]:8444"))));
  EXPECT_THAT(json, HasSubstr("\"namespace\":\"fleet\""));
  EXPECT_THAT(json, HasSubstr("\"name\":\"nave-join-token\""));
}

// Anything more than this is a decision to be taken on purpose.
TEST(JoinManifest, RightsAreThoseOfTheProfile) {
  const std::map<std::string, Value> objects = ObjectsByKind(Manifest(Minimal()));
  EXPECT_THAT(
      FormatJson(objects.at("ClusterRole")),
      HasSubstr(
          R"("rules":[{"apiGroups":["*"],"resources":["*"],)"
          R"("verbs":["get","list","watch","create","update","patch","delete"]},)"
          R"({"apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles","roles"],)"
          R"("verbs":["escalate","bind"]}])"));
  EXPECT_THAT(
      FormatJson(objects.at("ClusterRoleBinding")),
      HasSubstr(
          R"("subjects":[{"kind":"ServiceAccount","name":"nave-agent","namespace":"nave-system"}])"));
}

// The namespace enforces the level, so a pod that misses a rule of it would never start.
TEST(JoinManifest, PodKeepsTheRestrictedLevel) {
  const std::map<std::string, Value> objects = ObjectsByKind(Manifest(Minimal()));
  EXPECT_THAT(FormatJson(objects.at("Namespace")),
              HasSubstr(R"("pod-security.kubernetes.io/enforce":"restricted")"));
  const std::string pod = FormatJson(objects.at("Deployment"));
  for (const char* rule :
       {R"("runAsNonRoot":true)", R"("seccompProfile":{"type":"RuntimeDefault"})",
        R"("allowPrivilegeEscalation":false)", R"("capabilities":{"drop":["ALL"]})",
        R"("readOnlyRootFilesystem":true)"}) {
    EXPECT_THAT(pod, HasSubstr(rule));
  }
  EXPECT_THAT(pod, Not(HasSubstr("hostPath")));
  EXPECT_THAT(pod, Not(HasSubstr("hostPort")));
}

TEST(JoinManifest, ProxiesAreSetOnlyWhenGiven) {
  EXPECT_THAT(Manifest(Minimal()), Not(HasSubstr("PROXY")));
  EXPECT_THAT(FormatJson(ObjectsByKind(Manifest(Everything())).at("Deployment")),
              HasSubstr(R"({"name":"HTTPS_PROXY","value":"http://proxy.example:3128"})"));
}

TEST(JoinManifest, NothingIsLeftToReplace) {
  const std::string manifest = Manifest(Everything());
  EXPECT_THAT(manifest, Not(HasSubstr("@N")));
  EXPECT_THAT(
      manifest,
      HasSubstr(
          "# Joins this Kubernetes cluster to the hub at [2001:db8::1]:8444 as \"edge-17\".\n"));
}

struct Refusal {
  const char* name;
  void (*change)(JoinManifestOptions&);
  const char* reason;
  const char* contains;
};

class JoinManifestRefusal : public ::testing::TestWithParam<Refusal> {};

TEST_P(JoinManifestRefusal, IsTyped) {
  JoinManifestOptions options = Minimal();
  GetParam().change(options);
  const absl::Status status = FormatJoinManifest(options).status();
  EXPECT_EQ(ErrorReason(status), GetParam().reason) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().contains));
}

INSTANTIATE_TEST_SUITE_P(
    All, JoinManifestRefusal,
    ::testing::Values(
        Refusal{"Token", [](auto& o) { o.token = "nave1.AAAA"; }, "TOKEN_MALFORMED", ""},
        Refusal{"NoToken", [](auto& o) { o.token = ""; }, "TOKEN_MALFORMED", ""},
        Refusal{"Namespace", [](auto& o) { o.agent_namespace = "A b"; }, "INVALID_FIELD",
                "`agent_namespace`"},
        Refusal{"KubeNamespace", [](auto& o) { o.agent_namespace = "kube-system"; },
                "INVALID_FIELD", "'kube-system'"},
        Refusal{"DefaultNamespace", [](auto& o) { o.agent_namespace = "default"; }, "INVALID_FIELD",
                "'default'"},
        Refusal{"Cluster", [](auto& o) { o.cluster = "x\ny"; }, "INVALID_FIELD", "`cluster`"},
        Refusal{"ImageEmpty", [](auto& o) { o.image = ""; }, "INVALID_FIELD", "`image`"},
        Refusal{"ImageInjects", [](auto& o) { o.image = "a\"\n- b"; }, "INVALID_FIELD", "`image`"},
        Refusal{"PullSecret", [](auto& o) { o.image_pull_secret = "a: b"; }, "INVALID_FIELD",
                "`image_pull_secret`"},
        Refusal{"Replicas", [](auto& o) { o.replicas = 0; }, "INVALID_FIELD",
                "must be 1 to 10, got '0'"},
        Refusal{"Proxy", [](auto& o) { o.https_proxy = "http://user:secret@p\n"; }, "INVALID_FIELD",
                "`https_proxy`"},
        Refusal{"NoProxy", [](auto& o) { o.no_proxy = "a, b"; }, "INVALID_FIELD", "`no_proxy`"},
        Refusal{"Namespaced", [](auto& o) { o.profile = "namespaced"; }, "NOT_SUPPORTED_YET",
                "`profile`"},
        Refusal{"Profile", [](auto& o) { o.profile = "root"; }, "INVALID_FIELD",
                "must be 'full', got 'root'"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(JoinManifest, RefusalsRepeatNoSecret) {
  JoinManifestOptions options = Minimal();
  options.https_proxy = "http://user:hunter2@proxy\n";
  EXPECT_THAT(std::string(FormatJoinManifest(options).status().message()),
              Not(HasSubstr("hunter2")));
}

// Run by a real shell with real base64 and gunzip.
TEST(JoinManifest, PasteLineUnpacksToTheManifest) {
  const std::string manifest = Manifest(Everything());
  const std::string line = FormatPasteLine(manifest);
  EXPECT_EQ(line, FormatPasteLine(manifest));
  constexpr char kApply[] = " | kubectl apply -f -";
  ASSERT_TRUE(absl::EndsWith(line, kApply));
  EXPECT_THAT(line, Not(HasSubstr("\n")));
  FILE* shell = popen(line.substr(0, line.size() - sizeof(kApply) + 1).c_str(), "r");
  ASSERT_NE(shell, nullptr);
  std::string unpacked;
  char buffer[4096];
  for (size_t got; (got = fread(buffer, 1, sizeof(buffer), shell)) > 0;)
    unpacked.append(buffer, got);
  EXPECT_EQ(pclose(shell), 0);
  EXPECT_EQ(unpacked, manifest);
}

}  // namespace
}  // namespace nave
