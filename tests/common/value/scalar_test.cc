// YAML scalars: each row of the manifest table about what an unquoted word means, as kubectl reads
// it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/value/codec.h"
#include "tests/testing/status_matchers.h"

namespace nave {
namespace {

struct Case {
  const char* text;
  // Canonical JSON.
  const char* want;
};

const Case kCases[] = {
    // Booleans of YAML 1.1.
    {"yes", "true"},
    {"Yes", "true"},
    {"YES", "true"},
    {"y", "true"},
    {"Y", "true"},
    {"on", "true"},
    {"On", "true"},
    {"ON", "true"},
    {"true", "true"},
    {"True", "true"},
    {"TRUE", "true"},
    {"no", "false"},
    {"No", "false"},
    {"NO", "false"},
    {"n", "false"},
    {"N", "false"},
    {"off", "false"},
    {"Off", "false"},
    {"OFF", "false"},
    {"false", "false"},
    {"False", "false"},
    {"FALSE", "false"},
    {"tRue", "\"tRue\""},
    {"yEs", "\"yEs\""},
    // Quoted and tagged strings.
    {"'yes'", "\"yes\""},
    {"\"1e3\"", "\"1e3\""},
    {"!!str 123", "\"123\""},
    {"!!str yes", "\"yes\""},
    {"! 12", "\"12\""},
    {"!!str", "\"\""},
    {"!<tag:yaml.org,2002:str> 1", "\"1\""},
    // Integers.
    {"0777", "511"},
    {"0o777", "511"},
    {"0644", "420"},
    {"0888", "888"},
    {"007", "7"},
    {"0x1F", "31"},
    {"-0x1F", "-31"},
    {"0b101", "5"},
    {"-0b11", "-3"},
    {"1_000", "1000"},
    {"+1", "1"},
    {"1_", "1"},
    {"00", "0"},
    {"-0", "0"},
    {"!!int 5", "5"},
    {"!!int '5'", "5"},
    // Floats; what is a whole number is written as one.
    {"1.0", "1"},
    {"1e3", "1000"},
    {"1e9", "1000000000"},
    {"-0.0", "0"},
    {"1.10", "1.1"},
    {"1.", "1"},
    {".5", "0.5"},
    {"1.5e-3", "0.0015"},
    {"1E3", "1000"},
    {"!!float 1", "1"},
    {"1_000.5", "1000.5"},
    // The edges of 64 bits.
    {"9223372036854775807", "9223372036854775807"},
    {"-9223372036854775808", "-9223372036854775808"},
    {"9223372036854775808", "9223372036854775808"},
    {"18446744073709551615", "18446744073709551616"},
    {"0xFFFFFFFFFFFFFFFF", "18446744073709551616"},
    {"18446744073709551616", "18446744073709551616"},
    {"0x1FFFFFFFFFFFFFFFFF", "\"0x1FFFFFFFFFFFFFFFFF\""},
    // Strings that only look like something.
    {"1:30", "\"1:30\""},
    {"12:30:45", "\"12:30:45\""},
    {"2001-01-01", "\"2001-01-01\""},
    {"2001-12-14t21:59:43.10-05:00", "\"2001-12-14t21:59:43.10-05:00\""},
    {"0x", "\"0x\""},
    {"\"null\"", "\"null\""},
    {"'~'", "\"~\""},
    {"1.2.3", "\"1.2.3\""},
    {"500m", "\"500m\""},
    {"10Gi", "\"10Gi\""},
    {"-", nullptr},
    {"--", "\"--\""},
    {"0b2", "\"0b2\""},
    {"0o8", "\"0o8\""},
    {"1e", "\"1e\""},
    {"1e400", "\"1e400\""},
    {"._5", "\"._5\""},
    {"_1", "\"_1\""},
    {"nan", "\"nan\""},
    {"Infinity", "\"Infinity\""},
    {"=", "\"=\""},
    {"0x1.8p3", "\"0x1.8p3\""},
    // Null.
    {"~", "null"},
    {"null", "null"},
    {"Null", "null"},
    {"NULL", "null"},
    {"", "null"},
    {"!!null ''", "null"},
    // Refused.
    {".nan", nullptr},
    {".NaN", nullptr},
    {".inf", nullptr},
    {"-.INF", nullptr},
    {"+.Inf", nullptr},
    {"!!binary aGk=", nullptr},
    {"!!int abc", nullptr},
    {"!!bool 5", nullptr},
    {"!!float x", nullptr},
    {"!!float .inf", nullptr},
    // Escapes of double quotes, the two included that yaml-cpp writes as single bytes.
    {"\"\\x41\\u00e9\\U0001F600\\/\"", "\"A\xc3\xa9\xf0\x9f\x98\x80/\""},
    {"\"\xc3\xa9\\N\\_\"", "\"\xc3\xa9\\u0085\xc2\xa0\""},
    {"\"\\q\"", nullptr},
    {"\"\\ud83d\\ude00\"", nullptr},
};

TEST(ScalarTest, EveryWordMeansWhatKubectlReads) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.text);
    absl::StatusOr<std::vector<YamlDocument>> documents =
        ParseYamlStream(absl::StrCat("k: ", c.text, "\n"), nullptr);
    if (c.want == nullptr) {
      EXPECT_THAT(documents,
                  HasReason(Reason::kManifestInvalid, testing::HasSubstr("document 1: line 1: ")));
      continue;
    }
    ASSERT_THAT(documents, IsOk());
    ASSERT_EQ(documents->size(), 1u);
    EXPECT_EQ(FormatJson((*documents)[0].value), absl::StrCat("{\"k\":", c.want, "}"));
  }
}

TEST(ScalarTest, UnknownTagsAreIgnoredWithAWarning) {
  std::vector<std::string> warnings;
  absl::StatusOr<std::vector<YamlDocument>> documents =
      ParseYamlStream("a: !Ref 1\nb: !Map {c: 2}\n", &warnings);
  ASSERT_THAT(documents, IsOk());
  EXPECT_EQ(FormatJson((*documents)[0].value), "{\"a\":\"1\",\"b\":{\"c\":2}}");
  EXPECT_THAT(warnings, testing::ElementsAre("document 1, line 1: the tag !Ref is ignored",
                                             "document 1, line 2: the tag !Map is ignored"));
}

}  // namespace
}  // namespace nave
