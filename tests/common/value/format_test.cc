// YAML for people: readable, and read back as the same value.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/value/codec.h"
#include "tests/testing/status_matchers.h"

namespace nave {
namespace {

TEST(FormatYamlTest, LooksLikeWhatKubectlPrints) {
  absl::StatusOr<Value> value = ParseJson(R"({
    "apiVersion":"v1","empty":{},"none":[],"nothing":null,
    "spec":{"args":["--v=2","-x","yes",""],"image":"nginx:1.27","ports":[{"name":"http","port":80}],
            "script":"#!/bin/sh\necho a\n\n  b\n","lists":[[1,2],[{"a":1,"b":2}]],"version":"1.10"}})");
  ASSERT_THAT(value, IsOk());
  EXPECT_EQ(FormatYaml(*value), R"(apiVersion: v1
empty: {}
none: []
nothing: null
spec:
  args:
  - "--v=2"
  - "-x"
  - "yes"
  - ""
  image: nginx:1.27
  lists:
  - - 1
    - 2
  - - a: 1
      b: 2
  ports:
  - name: http
    port: 80
  script: |
    #!/bin/sh
    echo a

      b
  version: "1.10"
)");
}

TEST(FormatYamlTest, StringsStayStrings) {
  const char* texts[] = {"",
                         "yes",
                         "null",
                         "~",
                         "1",
                         "1.5",
                         "0x10",
                         "1_000",
                         "12:30",
                         "2001-01-01",
                         " a",
                         "a ",
                         "a: b",
                         "a #b",
                         "#a",
                         "- a",
                         "-",
                         "--- a",
                         "?",
                         "&a",
                         "*a",
                         "!a",
                         "%a",
                         "@a",
                         "`a`",
                         "\"a\"",
                         "'a'",
                         "[a",
                         "{a",
                         "a:",
                         ":a",
                         "a\tb",
                         "a\nb",
                         "a\n",
                         "\n",
                         "\n\n",
                         "a\n\n",
                         " a\nb",
                         "a\n b ",
                         "\na",
                         "a\r\nb",
                         "\x7f",
                         "\xe2\x80\xa8",
                         "\xef\xbb\xbf",
                         "<<",
                         "=",
                         ".",
                         "..",
                         ".inf",
                         ".5",
                         "<a",
                         "...",
                         "a, b",
                         "a]b",
                         "|",
                         ">",
                         "on",
                         "0o17",
                         "-.inf",
                         "1e3",
                         "a\n---\nb",
                         "...\n---\n",
                         "a\n\n\n b\n",
                         "\ttab\nx",
                         "x\n\ty",
                         "a\n \nb",
                         "1:2:3\n4"};
  for (const char* text : texts) {
    SCOPED_TRACE(text);
    for (const Value& value :
         {Value(text), Value(Array{Value(text), Value(Array{Value(text)})}),
          Value(Object{{"k", text}, {"z", Object{{text, 1}, {"a", Array{Value(text)}}}}})}) {
      std::string yaml = FormatYaml(value);
      absl::StatusOr<std::vector<YamlDocument>> back = ParseYamlStream(yaml, nullptr);
      ASSERT_THAT(back, IsOk()) << yaml;
      ASSERT_EQ(back->size(), 1u) << yaml;
      EXPECT_EQ((*back)[0].value, value) << yaml << FormatJson((*back)[0].value);
    }
  }
}

}  // namespace
}  // namespace nave
