// YAML streams: encodings, documents, keys, anchors, and that bad input is refused with its place.
// Each row of the manifest table that is about text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/value/codec.h"
#include "tests/testing/status_matchers.h"

namespace nave {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The documents as canonical JSON, one a line.
absl::StatusOr<std::string> Read(absl::string_view text,
                                 std::vector<std::string>* warnings = nullptr) {
  absl::StatusOr<std::vector<YamlDocument>> documents = ParseYamlStream(text, warnings);
  if (!documents.ok()) return documents.status();
  std::string out;
  for (const YamlDocument& document : *documents)
    absl::StrAppend(&out, FormatJson(document.value), "\n");
  return out;
}

struct Case {
  const char* name;
  std::string text;
  std::string want;
};

TEST(YamlTest, Reads) {
  const std::string utf16_le(
      "\xff\xfe"
      "a\0:\0 \0\xe9\0\n\0",
      12);
  const std::string utf16_be("\xfe\xff\0a\0:\0 \xd8\x3d\xde\x00\0\n", 14);
  const Case cases[] = {
      {"empty", "", ""},
      {"comments only", "# a\n\n  # b\n", ""},
      {"null document", "null\n---\n~\n---\n", ""},
      {"separator with spaces and comment", "a: 1\n---  \nb: 2\n--- # c\nc: 3\n---\n",
       "{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n"},
      {"blank documents first", "---\n\n---\n# x\n---\na: 1\n", "{\"a\":1}\n"},
      {"end mark", "a: 1\n...\n---\nb: 2\n...\n", "{\"a\":1}\n{\"b\":2}\n"},
      {"separator in an indented block", "a: |\n  x\n  ---\n  y\n", "{\"a\":\"x\\n---\\ny\\n\"}\n"},
      {"CRLF", "a: |\r\n  x\r\n  y\r\nb: 1\r\n---\r\nc: 2\r\n",
       "{\"a\":\"x\\ny\\n\",\"b\":1}\n{\"c\":2}\n"},
      {"CR only", "a: 1\rb: 2\r---\rc: 3\r", "{\"a\":1,\"b\":2}\n{\"c\":3}\n"},
      {"CR in an escape is content", "a: \"x\\r\\n\"\n", "{\"a\":\"x\\r\\n\"}\n"},
      {"byte-order marks",
       "\xef\xbb\xbf"
       "a: 1\n---\n\xef\xbb\xbf"
       "b: 2\n\xef\xbb\xbf---\nc: 3\n",
       "{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n"},
      {"UTF-16 little endian", utf16_le, "{\"a\":\"\xc3\xa9\"}\n"},
      {"UTF-16 big endian with surrogates", utf16_be, "{\"a\":\"\xf0\x9f\x98\x80\"}\n"},
      {"no final line end", "a: |\n  x", "{\"a\":\"x\"}\n"},
      {"block chomping", "a: |-\n  x\n\n\nb: |+\n  y\n\nc: |\n  z\n\n",
       "{\"a\":\"x\",\"b\":\"y\\n\\n\",\"c\":\"z\\n\"}\n"},
      {"folded", "a: >\n  x\n  y\n\n    z\n  w\nb: >+\n  k\n\n\nc: 1\n",
       "{\"a\":\"x y\\n\\n  z\\nw\\n\",\"b\":\"k\\n\\n\\n\",\"c\":1}\n"},
      {"folded that keeps, anchored", "a: &x >+\n  k\n   \n\nb: *x\n",
       "{\"a\":\"k\\n \\n\\n\",\"b\":\"k\\n \\n\\n\"}\n"},
      {"flow", "{a: [1, {b: c}], \"d\":e}\n", "{\"a\":[1,{\"b\":\"c\"}],\"d\":\"e\"}\n"},
      {"concatenated JSON", "{\"a\":1}{\"b\":2}\n{\"c\":\n3}", "{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n"},
      {"JSON, then YAML", "{\"a\": \"\\/\\ud83d\\ude00\"}\n---\nb: 2\n",
       "{\"a\":\"/\xf0\x9f\x98\x80\"}\n{\"b\":2}\n"},
      {"JSON indented by tabs", "{\n\t\"a\": 1\n}\n", "{\"a\":1}\n"},
      {"scalars and lists at the top", "word\n---\n- 1\n---\n[2]\n", "\"word\"\n[1]\n[2]\n"},
      {"anchor", "a: &x {b: [1, 2]}\nc: *x\n", "{\"a\":{\"b\":[1,2]},\"c\":{\"b\":[1,2]}}\n"},
      {"anchor redefined", "a: &x 1\nb: *x\nc: &x 2\nd: *x\n",
       "{\"a\":1,\"b\":1,\"c\":2,\"d\":2}\n"},
      {"alias as key", "a: &x k\n*x : v\n", "{\"a\":\"k\",\"k\":\"v\"}\n"},
      {"merge map, explicit keys win", "a: &x {b: 1, c: 1}\nd:\n  b: 2\n  <<: *x\n  e: 3\n",
       "{\"a\":{\"b\":1,\"c\":1},\"d\":{\"b\":2,\"c\":1,\"e\":3}}\n"},
      {"merge list, the earlier wins", "a: &x {b: 1}\nc: &y {b: 2, z: 3}\nd: {<<: [*x, *y]}\n",
       "{\"a\":{\"b\":1},\"c\":{\"b\":2,\"z\":3},\"d\":{\"b\":1,\"z\":3}}\n"},
      {"quoted merge key is a key", "a: {\"<<\": 1}\n", "{\"a\":{\"<<\":1}}\n"},
      {"number and bool keys", "1: a\n0x10: b\ntrue: c\n1.5: d\n",
       "{\"1\":\"a\",\"1.5\":\"d\",\"16\":\"b\",\"true\":\"c\"}\n"},
      {"NUL by escape", "a: \"x\\0y\"\n", "{\"a\":\"x\\u0000y\"}\n"},
      {"colon inside a word", "a: http://x:80/y\nb:c: d\n",
       "{\"a\":\"http://x:80/y\",\"b:c\":\"d\"}\n"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    absl::StatusOr<std::string> got = Read(c.text);
    ASSERT_THAT(got, IsOk());
    EXPECT_EQ(*got, c.want);
  }
}

TEST(YamlTest, Refuses) {
  const Case cases[] = {
      {"text behind a separator", "a: 1\n--- {b: 2}\n", "line 2: nothing but a comment may follow"},
      {"four dashes", "----\n", "line 1: nothing but a comment may follow"},
      {"separator inside quotes splits", "a: 'x\n---\ny'\n", "document 1: line "},
      {"directive", "%YAML 1.2\n---\na: 1\n",
       "document 1: line 1: directives (%YAML) are not supported"},
      {"second content after the end mark", "a: 1\n...\nb: 2\n",
       "document 1: line 3: text after the end"},
      {"second content after a flow map", "{a: 1} b: 2\n", "document 1: "},
      {"tab indentation", "a: 1\n---\nb:\n\tc: 1\n", "document 2: line 4: "},
      {"bad indentation", "a:\n  b: 1\n c: 2\n", "document 1: line 3: "},
      {"open quote", "a: \"x\nb: 1\n", "document 1: line "},
      {"open quote, no line end", "a: 'x", "document 1: line "},
      {"folded that keeps, with an indentation", "a: &x >2+\n   k\n   \n\n",
       "line 1: the block header >2+ is not supported"},
      {"open flow", "a: [1\n", "document 1: line "},
      {"missing item", "a: [b, , c]\n", "document 1: line 1: want an item before ','"},
      {"null key", "a: 1\n~: 2\n", "document 1: line 2: null cannot be a key"},
      {"list key", "? [a]\n: b\n", "a mapping or a sequence cannot be a key"},
      {"map key", "{{a: b}: c}\n", "a mapping or a sequence cannot be a key"},
      {"alias of a map as key", "a: &x {}\n*x : v\n", "only a string can be a key"},
      {"nan", "a:\n  b: [1, .nan]\n",
       "document 1: line 2: .a.b[1]: .nan is a number that JSON does not have"},
      {"binary", "data:\n  k: !!binary |\n    aGk=\n", ".data.k: !!binary is not supported"},
      {"JSON overflow", "{\"a\": 1E400}",
       "document 1: line 1 column 12: .a: the number is out of range"},
      {"JSON broken", "{\"a\": 1}\n{\"b\": \n", "document 2: line "},
      {"unknown anchor", "a: *x\n", "document 1: line 1: "},
      {"anchor of another document", "a: &x 1\n---\nb: *x\n", "document 2: line 3: "},
      {"anchor inside itself", "a: &x [*x]\n",
       "line 1: .a[0]: an alias stands inside what it names"},
      {"merge of a scalar", "a: {<<: 1}\n", "a merge key wants a mapping"},
      {"not UTF-8", "a: 1\nb: \xff\n", "line 2: byte 0xff is not UTF-8"},
      {"raw control", "a: 1\nb: x\x01y\n", "line 2: raw control character 0x01"},
      {"end of transmission", "a: x\x04\nb: 1\n", "line 1: raw control character 0x04"},
      {"raw NUL", std::string("a: x\0y\n", 7), "line 1: raw control character 0x00"},
      {"raw DEL", "a: 1\nb: \"\x7f\"\n", "line 2: raw control character U+007f"},
      {"raw C1", "b: \"\xc2\x80\"\n", "line 1: raw control character U+0080"},
      {"half a UTF-16 character",
       std::string("\xff\xfe"
                   "a\0:",
                   5),
       "half a character"},
      {"lone UTF-16 surrogate", std::string("\xfe\xff\xd8\x3d\0a", 6), "not well-formed UTF-16"},
      {"deep flow", std::string(100000, '['), "document 1: "},
      {"deep maps", "a: " + std::string(100000, '{'), "document 1: "},
      {"deep dashes",
       [] {
         std::string s;
         for (int i = 0; i < 50000; ++i) s += "- ";
         return s;
       }(),
       "nested too deep"},
      {"deep JSON",
       [] {
         std::string s;
         for (int i = 0; i < 50000; ++i) s += "{\"a\":";
         return s;
       }(),
       "document 1: "},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_THAT(Read(c.text), HasReason(Reason::kManifestInvalid, HasSubstr(c.want)));
  }
}

TEST(YamlTest, DuplicateKeysAreRefusedWithTheirPath) {
  const Case cases[] = {
      {"block", "a: 1\nb:\n  c: 1\n  c: 2\n", "document 1: line 4: .b.c: the key is there twice"},
      {"flow in a list", "a: [{x: 1}, {x: 1, x: 2}]\n", ".a[1].x: the key is there twice"},
      {"quoted and plain", "'a': 1\na: 2\n", "line 2: .a: the key is there twice"},
      {"same bool twice", "on: 1\non: 2\n", "line 2: .true: the key is there twice"},
      {"number and its quoted form", "\"1\": a\n1: b\n", "line 2: .1: the key is there twice"},
      {"JSON", "{\"a\":1}{\"b\":{\"c\":1,\"c\":2}}",
       "document 2: line 1 column 23: .b.c: the key is there twice"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_THAT(Read(c.text), HasReason(Reason::kDuplicateKey, HasSubstr(c.want)));
  }
}

TEST(YamlTest, SuspiciousKeysAreAcceptedWithAWarning) {
  std::vector<std::string> warnings;
  EXPECT_EQ(*Read("on: 1\nyes: 2\n", &warnings), "{\"true\":2}\n");
  EXPECT_THAT(warnings, testing::Contains(
                            "document 1, line 2: the keys on and yes are both read as \"true\"; "
                            "the last one wins"));
  warnings.clear();
  EXPECT_EQ(*Read("a: 0\n---\n1: a\n1.0: b\n", &warnings), "{\"a\":0}\n{\"1\":\"b\"}\n");
  EXPECT_THAT(
      warnings,
      ElementsAre(
          "document 2, line 4: the key 1.0 is read as \"1\"; quote it if it is a word",
          "document 2, line 4: the keys 1 and 1.0 are both read as \"1\"; the last one wins"));
  warnings.clear();
  EXPECT_EQ(*Read("8080: a\nb: yes\n", &warnings), "{\"8080\":\"a\",\"b\":true}\n");
  EXPECT_THAT(warnings, IsEmpty());
}

TEST(YamlTest, AliasesAreBounded) {
  // Each line names the one before nine times.
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 12; ++i) {
    absl::StrAppend(&bomb, "a", i, ": &a", i, " [");
    for (int j = 0; j < 9; ++j) absl::StrAppend(&bomb, "*a", i - 1, ", ");
    absl::StrAppend(&bomb, "1]\n");
  }
  EXPECT_THAT(Read(bomb), HasReason(Reason::kManifestInvalid, HasSubstr("too much")));
  // One long string, named often.
  std::string strings = "a: &x \"" + std::string(1 << 20, 'x') + "\"\n";
  for (int i = 0; i < 100; ++i) absl::StrAppend(&strings, "b", i, ": *x\n");
  EXPECT_THAT(Read(strings), HasReason(Reason::kManifestInvalid, HasSubstr("too much")));
  // Depth that adds up over aliases.
  std::string deep = "a0: &a0 " + std::string(400, '[') + std::string(400, ']') + "\n";
  for (int i = 1; i < 4; ++i) {
    absl::StrAppend(&deep, "a", i, ": &a", i, " ", std::string(400, '['), "*a", i - 1,
                    std::string(400, ']'), "\n");
  }
  EXPECT_THAT(Read(deep),
              HasReason(Reason::kManifestInvalid, HasSubstr("nested deeper than 1000")));
  // What people write stays far below.
  std::string plain = "env: &env [{name: A, value: b}, {name: C, value: d}]\n";
  for (int i = 0; i < 500; ++i) absl::StrAppend(&plain, "c", i, ": {env: *env}\n");
  EXPECT_THAT(Read(plain), IsOk());
}

TEST(YamlTest, DocumentsKnowTheirLine) {
  absl::StatusOr<std::vector<YamlDocument>> documents = ParseYamlStream(
      "# head\n\na: 1\n---\n# c\nb: 2\n--- # x\n{\"c\":1}\n{\"d\":\n2}{\"e\":3}\n", nullptr);
  ASSERT_THAT(documents, IsOk());
  std::vector<int> lines;
  for (const YamlDocument& document : *documents) lines.push_back(document.line);
  EXPECT_THAT(lines, ElementsAre(3, 6, 8, 9, 10));
}

}  // namespace
}  // namespace nave
