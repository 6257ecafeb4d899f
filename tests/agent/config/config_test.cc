// Which value wins, and what a slip is answered.
#include "agent/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace nave {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(AgentConfig, FlagsWinOverEnvironmentOverFile) {
  AgentConfigInput input;
  input.file_path = "agent.yaml";
  input.file_content = "namespace: a\npodName: a\ntokenFile: a\napplyConcurrency: 3\n";
  input.environment = {{"NAVE_NAMESPACE", "b"}, {"NAVE_POD_NAME", "b"}};
  input.flags = {{"namespace", "c"}, {"hub-endpoint", "hub.example:8444"}};
  absl::StatusOr<AgentConfig> config = LoadAgentConfig(input, nullptr);
  ASSERT_THAT(config, IsOk());
  EXPECT_EQ(config->ns, "c");
  EXPECT_EQ(config->pod_name, "b");
  EXPECT_EQ(config->token_file, "a");
  EXPECT_EQ(config->apply_concurrency, 3u);
  EXPECT_EQ(config->hub_endpoint, "hub.example:8444");
  EXPECT_EQ(config->health_address, "0.0.0.0:8081");
}

TEST(AgentConfig, EverySettingHasThreeNames) {
  for (const AgentSetting& setting : AgentSettings()) {
    EXPECT_EQ(setting.environment.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_"),
              std::string::npos);
    EXPECT_EQ(setting.flag.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string::npos);
    EXPECT_FALSE(setting.help.empty());
  }
}

TEST(AgentConfig, SlipsAreNamed) {
  struct Case {
    AgentConfigInput input;
    std::vector<std::string> in_message;
  };
  const Case cases[] = {
      {{"f", "namespce: a\n", {}, {}}, {"f: namespce", "did you mean 'namespace'"}},
      {{"f", "namespace: [a]\n", {}, {}}, {"f: namespace", "text or a number"}},
      {{"f", "- a\n", {}, {}}, {"one mapping"}},
      {{"", "", {{"NAVE_LOG_LEVEL", "loud"}}, {}}, {"NAVE_LOG_LEVEL", "'loud'"}},
      {{"", "", {}, {{"health-address", "8081"}}}, {"--health-address", "HOST:PORT"}},
      {{"", "", {}, {{"hub-endpoint", "hub:0"}}}, {"--hub-endpoint", "HOST:PORT"}},
      {{"", "", {}, {{"apply-concurrency", "0"}}}, {"1 to 64"}},
      {{"", "", {}, {{"hub-ca-pin", "abc"}}}, {"64 hexadecimal"}},
      {{"", "", {}, {{"log-format", "xml"}}}, {"json or text"}},
  };
  for (const Case& c : cases) {
    absl::StatusOr<AgentConfig> config = LoadAgentConfig(c.input, nullptr);
    for (const std::string& text : c.in_message) {
      EXPECT_THAT(config, HasReason(Reason::kConfigInvalid, HasSubstr(text)));
    }
  }
}

TEST(AgentConfig, ForeignVariablesAreLeftAlone) {
  AgentConfigInput input;
  input.environment = {
      {"NAVE_HUB_SERVICE_HOST", "10.0.0.1"}, {"NAVE_TOKEN_FIEL", "x"}, {"NAVE_KUBECONFIG", ""}};
  std::vector<std::string> warnings;
  EXPECT_THAT(LoadAgentConfig(input, &warnings), IsOk());
  EXPECT_THAT(warnings,
              ElementsAre(AllOf(HasSubstr("NAVE_TOKEN_FIEL"), HasSubstr("NAVE_TOKEN_FILE"))));
}

}  // namespace
}  // namespace nave
