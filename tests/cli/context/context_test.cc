// Goal: navectl calls the hub that the user means: flag before environment before context, and a
// bad file is told with its key. Method: tables; the file of a hub's first start read back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "cli/context/config.h"
#include "cli/context/settings.h"
#include "hub/ca/admin_context.h"
#include "tests/testing/status_matchers.h"

// Tables name the members that matter.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

namespace nave::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kFile[] = R"(apiVersion: nave.dev/v1
kind: Config
current-context: one
contexts:
- name: one
  context:
    hub: one.example:8443
    project: shop
    certificate-authority: ca.crt
    client-certificate-data: Q0VSVA==
    client-key-data: S0VZ
- name: two
  context:
    hub: two.example:8443
    certificate-authority: /etc/two/ca.crt
    token-file: two.token
)";

Environment Variables(std::map<std::string, std::string> values) {
  return [values = std::move(values)](absl::string_view name) {
    auto found = values.find(std::string(name));
    return found == values.end() ? std::string() : found->second;
  };
}

Config TestConfig() {
  auto config = ParseConfig("config.yaml", kFile);
  EXPECT_THAT(config, IsOk());
  return *config;
}

TEST(ConfigFile, RoundTrip) {
  Config config = TestConfig();
  EXPECT_EQ(config.contexts[0].certificate.data, "CERT");
  auto back = ParseConfig("x", FormatConfig(config));
  ASSERT_THAT(back, IsOk());
  EXPECT_EQ(*back, config);
}

TEST(ConfigFile, KeysAreNotShown) {
  std::string text = FormatConfig(TestConfig(), true);
  EXPECT_EQ(text.find("S0VZ"), std::string::npos);
  EXPECT_NE(text.find("REDACTED"), std::string::npos);
}

TEST(ConfigFile, OfAHubsFirstStart) {
  AdminContext admin;
  admin.hub = "[::1]:8443";
  admin.roots_pem = "-----BEGIN CERTIFICATE-----\nroot\n";
  admin.certificate_pem = "certificate";
  admin.key_pem = "key";
  auto config = ParseConfig("admin.yaml", FormatAdminContext(admin));
  ASSERT_THAT(config, IsOk());
  auto settings = ResolveSettings({}, Variables({}), *config, "/data/admin.yaml");
  ASSERT_THAT(settings, IsOk());
  EXPECT_EQ(settings->hub.value, "[::1]:8443");
  EXPECT_EQ(settings->authority.data, admin.roots_pem);
  EXPECT_EQ(settings->certificate.data, "certificate");
  EXPECT_EQ(settings->key.data, "key");
  EXPECT_THAT(CheckConnectable(*settings, "/data/admin.yaml"), IsOk());
}

TEST(ConfigFile, BadOnesAreToldWithTheirKey) {
  struct Case {
    const char* text;
    const char* want;
  };
  const Case cases[] = {
      {"a: [", "f.yaml: "},
      {"- a", "must be a mapping"},
      {"kind: Config\n---\nkind: Config\n", "must be one document"},
      {"apiVersion: nave.dev/v2\n", "`apiVersion`: must be 'nave.dev/v1'"},
      {"current-contxt: x\n", "did you mean 'current-context'?"},
      {"contexts: {}\n", "`contexts`: must be a list"},
      {"contexts: [{context: {}}]\n", "`contexts[0].name`: must be set"},
      {"contexts: [{name: a, contxt: {}}]\n", "did you mean 'context'?"},
      {"contexts: [{name: a, context: {hubb: x}}]\n",
       "`contexts[0].context.hubb`: is not a key; did you mean 'hub'?"},
      {"contexts: [{name: a, context: {hub: 3}}]\n", "`contexts[0].context.hub`: must be a string"},
      {"contexts: [{name: a, context: {client-key-data: '!'}}]\n",
       "`contexts[0].context.client-key-data`: must be base64"},
      {"contexts: [{name: a}, {name: a}]\n", "'a' is there twice"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(ParseConfig("f.yaml", c.text), HasReason(Reason::kConfigInvalid, HasSubstr(c.want)))
        << c.text;
  }
  EXPECT_THAT(ParseConfig("f.yaml", ""), IsOk());
}

TEST(ConfigFile, ImportKeepsWhatIsThere) {
  Config config = TestConfig();
  Config from;
  from.current_context = "nave";
  from.contexts.push_back({.name = "nave", .hub = "new:8443"});
  ASSERT_THAT(MergeConfig(from, "", false, &config), IsOk());
  EXPECT_EQ(config.current_context, "nave");
  EXPECT_EQ(config.contexts.size(), 3u);
  ASSERT_THAT(MergeConfig(from, "", false, &config), IsOk());  // The same again.
  EXPECT_EQ(config.contexts.size(), 3u);
  from.contexts[0].hub = "other:8443";
  Config before = config;
  EXPECT_THAT(MergeConfig(from, "", false, &config),
              HasReason(Reason::kAlreadyExists, HasSubstr("nave")));
  EXPECT_EQ(config, before);
  ASSERT_THAT(MergeConfig(from, "", true, &config), IsOk());
  EXPECT_EQ(config.Find("nave")->hub, "other:8443");
  ASSERT_THAT(MergeConfig(from, "mine", false, &config), IsOk());
  EXPECT_EQ(config.current_context, "mine");
  from.contexts.push_back({.name = "second"});
  EXPECT_THAT(MergeConfig(from, "mine", true, &config),
              HasReason(Reason::kUsageInvalid, HasSubstr("2 contexts")));
}

TEST(SettingsOrder, FlagThenEnvironmentThenContextThenDefault) {
  struct Case {
    const char* name;
    ConnectionFlags flags;
    std::map<std::string, std::string> variables;
    std::string hub;
    std::string hub_origin;
    std::string project;
  };
  const Case cases[] = {
      {"current context", {}, {}, "one.example:8443", "context one", "shop"},
      {"other context", {.context = "two"}, {}, "two.example:8443", "context two", "default"},
      {"context by environment",
       {},
       {{"NAVECTL_CONTEXT", "two"}},
       "two.example:8443",
       "context two",
       "default"},
      {"flag beats environment",
       {.context = "one"},
       {{"NAVECTL_CONTEXT", "two"}},
       "one.example:8443",
       "context one",
       "shop"},
      {"hub by environment",
       {},
       {{"NAVECTL_HUB", "e:1"}},
       "e:1",
       "environment NAVECTL_HUB",
       "shop"},
      {"hub by flag", {.hub = "f:1"}, {{"NAVECTL_HUB", "e:1"}}, "f:1", "flag --hub", "shop"},
      {"project by environment",
       {},
       {{"NAVECTL_PROJECT", "e"}},
       "one.example:8443",
       "context one",
       "e"},
      {"project by flag",
       {.project = "f"},
       {{"NAVECTL_PROJECT", "e"}},
       "one.example:8443",
       "context one",
       "f"},
  };
  for (const Case& c : cases) {
    auto settings =
        ResolveSettings(c.flags, Variables(c.variables), TestConfig(), "/etc/a/config.yaml");
    ASSERT_THAT(settings, IsOk()) << c.name;
    EXPECT_EQ(settings->hub.value, c.hub) << c.name;
    EXPECT_EQ(settings->hub.origin, c.hub_origin) << c.name;
    EXPECT_EQ(settings->project.value, c.project) << c.name;
  }
}

TEST(SettingsOrder, FilesOfAContextAreBesideTheConfiguration) {
  auto one = ResolveSettings({}, Variables({}), TestConfig(), "/etc/a/config.yaml");
  EXPECT_EQ(one->authority.file, "/etc/a/ca.crt");
  auto two = ResolveSettings({.context = "two"}, Variables({}), TestConfig(), "/etc/a/config.yaml");
  EXPECT_EQ(two->authority.file, "/etc/two/ca.crt");
  EXPECT_EQ(two->token_file.value, "/etc/a/two.token");
  auto flag =
      ResolveSettings({.ca_file = "ca.pem"}, Variables({}), TestConfig(), "/etc/a/config.yaml");
  EXPECT_EQ(flag->authority.file, "ca.pem");
}

TEST(SettingsOrder, SecretsAreNotAmongTheRows) {
  auto settings = ResolveSettings({}, Variables({}), TestConfig(), "/etc/a/config.yaml");
  for (const auto& row : settings->Rows()) EXPECT_EQ(row[1].find("KEY"), std::string::npos);
}

TEST(SettingsOrder, UnknownContext) {
  EXPECT_THAT(ResolveSettings({.context = "tow"}, Variables({}), TestConfig(), "c.yaml"),
              HasReason(Reason::kNoContext, AllOf(HasSubstr("\"tow\" (flag --context)"),
                                                  HasSubstr("did you mean \"two\"?"))));
}

TEST(SettingsOrder, WhatIsMissingToConnect) {
  Settings settings;
  EXPECT_THAT(CheckConnectable(settings, "c"),
              HasReason(Reason::kNoContext, HasSubstr("no hub is named")));
  settings.hub.value = "h:1";
  EXPECT_THAT(CheckConnectable(settings, "c"),
              HasReason(Reason::kNoContext, HasSubstr("no CA certificate")));
  settings.authority.data = "ca";
  EXPECT_THAT(CheckConnectable(settings, "c"), IsOk());
  settings.certificate.data = "c";
  EXPECT_THAT(CheckConnectable(settings, "c"), HasReason(Reason::kNoContext, HasSubstr("no key")));
}

TEST(SettingsOrder, PlaceOfTheConfiguration) {
  EXPECT_EQ(ConfigPath({}, Variables({{"HOME", "/h"}})).value, "/h/.config/navectl/config.yaml");
  EXPECT_EQ(ConfigPath({}, Variables({{"HOME", "/h"}, {"XDG_CONFIG_HOME", "/x"}})).value,
            "/x/navectl/config.yaml");
  EXPECT_EQ(ConfigPath({}, Variables({{"NAVECTL_CONFIG", "/n"}, {"HOME", "/h"}})).value, "/n");
  EXPECT_EQ(ConfigPath({.config = "/f"}, Variables({{"NAVECTL_CONFIG", "/n"}})).value, "/f");
}

}  // namespace
}  // namespace nave::cli
