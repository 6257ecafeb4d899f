// Where settings come from, which source wins, and what each mistake is answered.
#include "hub/config/config.h"

#include <gtest/gtest.h>

#include "common/base/error.h"

namespace nave {
namespace {

TEST(HubConfig, LaterSourcesWin) {
  auto loaded =
      LoadHubConfig("hub.yaml", "dataDir: /a\nadvertise: [a.example, b.example]\nlogLevel: debug\n",
                    {{"NAVE_DATA_DIR", "/b"}, {"NAVE_LOG_LEVEL", "error"}}, {{"data-dir", "/c"}});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->config.data_dir, "/c");
  EXPECT_EQ(loaded->config.advertise, (std::vector<std::string>{"a.example", "b.example"}));
  EXPECT_EQ(loaded->config.log_level, LogLevel::kError);
  EXPECT_EQ(loaded->origins.at("dataDir"), "flag");
  EXPECT_EQ(loaded->origins.at("logLevel"), "environment");
  EXPECT_EQ(loaded->origins.at("advertise"), "file hub.yaml");
  EXPECT_EQ(loaded->origins.at("listenApi"), "default");
}

TEST(HubConfig, PrintedConfigReadsBackTheSame) {
  auto loaded = LoadHubConfig("", "", {}, {{"drain-delay", "3s"}, {"listen-api", "[::1]:0"}});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  std::string printed = FormatHubConfig(*loaded, /*origins=*/true);
  auto again = LoadHubConfig("f", printed, {}, {});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(FormatHubConfig(*again, false), FormatHubConfig(*loaded, false));
}

TEST(HubConfig, VariablesOfOthersAreLeftAlone) {
  // What Kubernetes sets for a Service named nave-hub, and a variable of a test run.
  auto loaded =
      LoadHubConfig("", "", {{"NAVE_HUB_SERVICE_HOST", "10.0.0.1"}, {"NAVE_MANIFESTS", "/m"}}, {});
  EXPECT_TRUE(loaded.ok()) << loaded.status();
}

struct BadCase {
  const char* name;
  const char* file;
  std::map<std::string, std::string> environment;
  std::map<std::string, std::string> flags;
  const char* message;
};

class HubConfigBad : public testing::TestWithParam<BadCase> {};

TEST_P(HubConfigBad, NamesThePlaceAndTheRule) {
  const BadCase& c = GetParam();
  auto loaded = LoadHubConfig("hub.yaml", c.file, c.environment, c.flags);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(ErrorReason(loaded.status()), "CONFIG_INVALID");
  EXPECT_EQ(loaded.status().message(), c.message);
}

INSTANTIATE_TEST_SUITE_P(
    All, HubConfigBad,
    testing::Values(
        BadCase{"UnknownKey",
                "dataDir: /a\ndatadir: /b\n",
                {},
                {},
                "hub.yaml: line 2: datadir: unknown key; did you mean 'dataDir'?"},
        BadCase{"FarKey", "zzz: 1\n", {}, {}, "hub.yaml: line 1: zzz: unknown key"},
        BadCase{"BadAddress",
                "listenApi: nowhere\n",
                {},
                {},
                "hub.yaml: line 1: listenApi: must be HOST:PORT, got 'nowhere'"},
        BadCase{"PortTooHigh",
                "",
                {},
                {{"listen-api", "0.0.0.0:70000"}},
                "--listen-api: must be HOST:PORT, got '0.0.0.0:70000'"},
        BadCase{"BadDuration",
                "",
                {{"NAVE_DRAIN_DELAY", "soon"}},
                {},
                "environment: NAVE_DRAIN_DELAY: must be a duration such as 5s, got 'soon'"},
        BadCase{"UnknownVariable",
                "",
                {{"NAVE_DATADIR", "/x"}},
                {},
                "environment: unknown variable NAVE_DATADIR; did you mean 'NAVE_DATA_DIR'?"},
        BadCase{"UnknownFlag",
                "",
                {},
                {{"data-dri", "/x"}},
                "unknown flag --data-dri; did you mean 'data-dir'?"},
        BadCase{"ZeroWorkers",
                "workerThreads: 0\n",
                {},
                {},
                "hub.yaml: line 1: workerThreads: must be a number from 1 to 64, got '0'"},
        BadCase{"BooleanInList",
                "advertise: [x, y]\n",
                {},
                {},
                "hub.yaml: line 1: advertise: items must be texts (quote yes, no, on, off, y, n)"},
        BadCase{"NotAMapping", "- a\n", {}, {}, "hub.yaml: must be one mapping of settings"},
        BadCase{"NestedValue",
                "dataDir: {a: b}\n",
                {},
                {},
                "hub.yaml: line 1: dataDir: must be a text, a number or a list of texts"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace nave
