// JSON in and out: what is read, what is refused and where, and how text is written for a YAML 1.1
// reader.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "common/value/codec.h"
#include "tests/testing/status_matchers.h"

namespace nave {
namespace {

using testing::HasSubstr;

TEST(JsonTest, ReadsEveryKindOfValue) {
  absl::StatusOr<Value> value = ParseJson(
      " {\"n\": null, \"t\": true, \"f\": false, \"i\": -7, \"d\": 1.5, \"s\": \"x\", \"a\": [1, "
      "[], {}]}\n ");
  ASSERT_THAT(value, IsOk());
  EXPECT_EQ(FormatJson(*value),
            "{\"a\":[1,[],{}],\"d\":1.5,\"f\":false,\"i\":-7,\"n\":null,\"s\":\"x\",\"t\":true}");
}

TEST(JsonTest, NumbersKeepTheirValue) {
  struct Case {
    const char* text;
    Value want;
  };
  const Case cases[] = {
      {"0", 0},
      {"-0", 0},
      {"9223372036854775807", std::numeric_limits<int64_t>::max()},
      {"-9223372036854775808", std::numeric_limits<int64_t>::min()},
      {"9223372036854775808", 9223372036854775808.0},
      {"1.0", 1},
      {"1e3", 1000},
      {"-0.0", 0},
      {"1.10", 1.1},
      {"1e400e", Value("error")},
      {"123456789012345678901234567890", 123456789012345678901234567890.0},
      {"1e-400", 0},
      {"0.1e-1", 0.01},
      {"2.5E+2", 250},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    absl::StatusOr<Value> value = ParseJson(c.text);
    if (c.want.is_string()) {
      EXPECT_FALSE(value.ok());
    } else {
      ASSERT_THAT(value, IsOk());
      EXPECT_EQ(*value, c.want) << FormatJson(*value);
    }
  }
}

TEST(JsonTest, RefusesWithPlace) {
  struct Case {
    const char* name;
    std::string text;
    Reason reason;
    const char* message;
  };
  const Case cases[] = {
      {"empty", "", Reason::kManifestInvalid, "line 1 column 1: the text ends too early"},
      {"duplicate key", "{\"a\":{\"b\":1,\n\"b\":2}}", Reason::kDuplicateKey,
       "line 2 column 4: .a.b: the key is there twice"},
      {"duplicate by escape", "{\"a\":1,\"\\u0061\":2}", Reason::kDuplicateKey,
       ".a: the key is there twice"},
      {"overflow", "[0, 1E400]", Reason::kManifestInvalid, "[1]: the number is out of range"},
      {"trailing", "{} x", Reason::kManifestInvalid, "text after the end"},
      {"trailing comma", "[1,]", Reason::kManifestInvalid, "no JSON value"},
      {"leading zero", "01", Reason::kManifestInvalid, "text after the end"},
      {"bare point", "1.", Reason::kManifestInvalid, "no digits after the point"},
      {"bare exponent", "1e", Reason::kManifestInvalid, "no digits in its exponent"},
      {"plus", "+1", Reason::kManifestInvalid, "no JSON value"},
      {"word", "nul", Reason::kManifestInvalid, "no JSON value"},
      {"raw control", "\"a\nb\"", Reason::kManifestInvalid, "raw control character"},
      {"open string", "\"abc", Reason::kManifestInvalid, "does not end"},
      {"open object", "{\"a\":1", Reason::kManifestInvalid, "want ',' or '}'"},
      {"open array", "[1", Reason::kManifestInvalid, "want ',' or ']'"},
      {"open escape", "\"\\", Reason::kManifestInvalid, "unknown escape"},
      {"bad escape", "\"\\x41\"", Reason::kManifestInvalid, "unknown escape"},
      {"short hex", "\"\\u12\"", Reason::kManifestInvalid, "four hexadecimal digits"},
      {"lone high surrogate", "\"\\ud83d\"", Reason::kManifestInvalid, "half of a surrogate pair"},
      {"lone low surrogate", "\"\\ude00\"", Reason::kManifestInvalid, "half of a surrogate pair"},
      {"two high surrogates", "\"\\ud83d\\ud83d\"", Reason::kManifestInvalid,
       "half of a surrogate pair"},
      {"not UTF-8", "{\"k\": \"\xff\"}", Reason::kManifestInvalid, ".k: the text is not UTF-8"},
      {"overlong", "\"\xc0\x80\"", Reason::kManifestInvalid, "not UTF-8"},
      {"surrogate in UTF-8", "\"\xed\xa0\x80\"", Reason::kManifestInvalid, "not UTF-8"},
      {"cut character", "\"\xe2\x82\"", Reason::kManifestInvalid, "not UTF-8"},
      {"beyond Unicode", "\"\xf4\x90\x80\x80\"", Reason::kManifestInvalid, "not UTF-8"},
      {"key no string", "{1:2}", Reason::kManifestInvalid, "want a key in double quotes"},
      {"single quotes", "{'a':2}", Reason::kManifestInvalid, "want a key in double quotes"},
      {"too deep", std::string(1001, '[') + std::string(1001, ']'), Reason::kManifestInvalid,
       "nested deeper than 1000"},
      {"far too deep", std::string(1 << 20, '['), Reason::kManifestInvalid,
       "nested deeper than 1000"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_THAT(ParseJson(c.text), HasReason(c.reason, HasSubstr(c.message)));
  }
}

TEST(JsonTest, NestingUpToTheLimitIsRead) {
  EXPECT_THAT(ParseJson(std::string(1000, '[') + std::string(1000, ']')), IsOk());
}

TEST(JsonTest, EscapesAreRead) {
  absl::StatusOr<Value> value =
      ParseJson("\"\\/\\b\\f\\n\\r\\t\\\\\\\"\\u00e9\\ud83d\\ude00\\u0000\"");
  ASSERT_THAT(value, IsOk());
  EXPECT_EQ(*value->string(), std::string("/\b\f\n\r\t\\\"\xc3\xa9\xf0\x9f\x98\x80\0", 15));
}

TEST(JsonTest, LenientTakesWhatAServerMaySend) {
  absl::StatusOr<Value> value =
      ParseJsonLenient("{\"a\":1,\"a\":{\"b\":2},\"bad\":\"x\xff y\",\"half\":\"\\ud83d!\"}");
  ASSERT_THAT(value, IsOk());
  EXPECT_EQ(value->Find("a", "b")->IntOr(0), 2);
  EXPECT_EQ(value->StringAt("bad"), "x\xef\xbf\xbd y");
  EXPECT_EQ(value->StringAt("half"), "\xef\xbf\xbd!");
  EXPECT_FALSE(ParseJsonLenient("{\"a\":").ok());
  EXPECT_FALSE(ParseJsonLenient("{} {}").ok());
}

TEST(JsonTest, WritesOnlyWhatAYamlParserReadsBack) {
  struct Case {
    const char* name;
    std::string text;
    const char* want;
  };
  const Case cases[] = {
      {"slash stays", "a/b", "\"a/b\""},
      {"quotes and backslash", "\"\\", "\"\\\"\\\\\""},
      {"controls", std::string("\0\x01\x1f", 3), "\"\\u0000\\u0001\\u001f\""},
      {"short escapes", "\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\""},
      {"delete", "\x7f", "\"\\u007f\""},
      {"C1 and next line", "\xc2\x80\xc2\x85\xc2\x9f", "\"\\u0080\\u0085\\u009f\""},
      {"no-break space stays", "\xc2\xa0", "\"\xc2\xa0\""},
      {"line separators", "\xe2\x80\xa8\xe2\x80\xa9", "\"\\u2028\\u2029\""},
      {"byte-order mark", "\xef\xbb\xbf", "\"\\ufeff\""},
      {"noncharacters", "\xef\xbf\xbe\xef\xbf\xbf", "\"\\ufffe\\uffff\""},
      {"beyond the BMP raw", "\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""},
      {"ill-formed replaced",
       "a\xff"
       "b",
       "\"a\xef\xbf\xbd"
       "b\""},
      {"word stays a string", "yes", "\"yes\""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(FormatJson(Value(c.text)), c.want);
  }
}

TEST(JsonTest, WritesNumbersThatReadBack) {
  EXPECT_EQ(FormatJson(Value(1000.0)), "1000");
  EXPECT_EQ(FormatJson(Value(-0.0)), "0");
  EXPECT_EQ(FormatJson(Value(1.1)), "1.1");
  EXPECT_EQ(FormatJson(Value(1e300)), "1e+300");
  EXPECT_EQ(FormatJson(Value(std::numeric_limits<double>::infinity())), "null");
  EXPECT_EQ(FormatJson(Value(std::numeric_limits<int64_t>::min())), "-9223372036854775808");
}

TEST(JsonTest, KeysAreSortedBytewise) {
  Value value;
  value["b"] = 1;
  value["a"] = 2;
  value["B"] = 3;
  value["\xc3\xa9"] = 4;
  EXPECT_EQ(FormatJson(value), "{\"B\":3,\"a\":2,\"b\":1,\"\xc3\xa9\":4}");
}

TEST(JsonTest, PrettyIndentsByTwo) {
  absl::StatusOr<Value> value = ParseJson("{\"a\":[1,{\"b\":{}}],\"c\":[]}");
  ASSERT_THAT(value, IsOk());
  EXPECT_EQ(FormatJsonPretty(*value),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": {}\n    }\n  ],\n  \"c\": []\n}");
}

}  // namespace
}  // namespace nave
