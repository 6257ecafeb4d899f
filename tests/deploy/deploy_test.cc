// The files under deploy/ against the code that will meet them: the manifest parser, the hub's
// configuration, the names that the agent's manifest uses.
#include <fstream>
#include <map>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "common/joinmanifest/join_manifest.h"
#include "common/manifest/parse.h"
#include "common/value/codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hub/config/config.h"

namespace nave {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Read(absl::string_view path) {
  std::ifstream file(absl::StrCat(NAVE_SOURCE_DIR, "/deploy/", path));
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::map<std::string, Value> HubObjects() {
  std::vector<std::string> warnings;
  const absl::StatusOr<std::vector<ManifestObject>> objects =
      ParseManifestFile("hub.yaml", Read("kubernetes/hub.yaml"), &warnings);
  EXPECT_TRUE(objects.ok()) << objects.status();
  EXPECT_THAT(warnings, ElementsAre());
  std::map<std::string, Value> by_name;
  if (!objects.ok()) return by_name;
  for (const ManifestObject& object : *objects) by_name[object.key.ToString()] = object.object;
  return by_name;
}

TEST(Deploy, HubManifestIsRead) {
  std::vector<std::string> names;
  for (const auto& [name, object] : HubObjects()) names.push_back(name);
  EXPECT_THAT(
      names, ElementsAre("ConfigMap nave-hub/nave-hub", "Namespace nave-hub",
                         "Service nave-hub/nave-hub", "Service nave-hub/nave-hub-pods",
                         "ServiceAccount nave-hub/nave-hub", "apps/StatefulSet nave-hub/nave-hub"));
}

TEST(Deploy, HubConfigurationIsAccepted) {
  const std::map<std::string, Value> objects = HubObjects();
  const Value* text = objects.at("ConfigMap nave-hub/nave-hub").Find("data", "hub.yaml");
  ASSERT_TRUE(text != nullptr && text->is_string());
  const absl::StatusOr<EffectiveConfig> config = LoadHubConfig("hub.yaml", *text->string(), {}, {});
  ASSERT_TRUE(config.ok()) << config.status();
  const std::string hub = FormatJson(objects.at("apps/StatefulSet nave-hub/nave-hub"));
  EXPECT_THAT(hub, HasSubstr(absl::StrCat("{\"mountPath\":\"", config->config.data_dir,
                                          "\",\"name\":\"data\"}")));
  // Every port that the configuration opens is one of the container's, which probes and Services
  // name.
  for (const std::string& address :
       {config->config.listen_api, config->config.listen_agents, config->config.listen_health}) {
    const std::string port = address.substr(address.rfind(':') + 1);
    EXPECT_THAT(hub, HasSubstr(absl::StrCat("\"containerPort\":", port, ",")));
  }
  EXPECT_THAT(hub, HasSubstr("\"replicas\":1,"));
  const absl::Duration grace = absl::Seconds(45);
  EXPECT_THAT(hub, HasSubstr("\"terminationGracePeriodSeconds\":45"));
  EXPECT_LT(config->config.drain_delay + config->config.drain_timeout, grace);
}

TEST(Deploy, HubKeepsTheRestrictedLevelOfItsNamespace) {
  EXPECT_THAT(FormatJson(HubObjects().at("Namespace nave-hub")),
              HasSubstr(R"("pod-security.kubernetes.io/enforce":"restricted")"));
  const std::string hub = FormatJson(HubObjects().at("apps/StatefulSet nave-hub/nave-hub"));
  for (const char* rule :
       {R"("runAsNonRoot":true)", R"("seccompProfile":{"type":"RuntimeDefault"})",
        R"("allowPrivilegeEscalation":false)", R"("capabilities":{"drop":["ALL"]})",
        R"("readOnlyRootFilesystem":true)", R"("automountServiceAccountToken":false)"}) {
    EXPECT_THAT(hub, HasSubstr(rule));
  }
}

TEST(Deploy, ImagesAreNamedAlikeEverywhere) {
  EXPECT_EQ(HubConfig{}.agent_image, kDefaultAgentImage);
  const std::string dockerfile = Read("docker/Dockerfile");
  EXPECT_THAT(dockerfile, HasSubstr(absl::StrCat("-t ", kDefaultAgentImage, " .")));
  EXPECT_THAT(dockerfile, HasSubstr("-t nave/hub:0.1.0"));
  EXPECT_THAT(FormatJson(HubObjects().at("apps/StatefulSet nave-hub/nave-hub")),
              HasSubstr(R"("image":"nave/hub:0.1.0")"));
}

}  // namespace
}  // namespace nave
