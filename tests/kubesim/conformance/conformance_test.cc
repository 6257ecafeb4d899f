// Cases of `cases/*.yaml`, each compared with what a real API server answered (`golden/`). With
// NAVE_CONFORMANCE_RECORD set, what this stand answers becomes that.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "common/value/codec.h"
#include "gtest/gtest.h"
#include "tests/kubesim/conformance/engine.h"
#include "tests/kubesim/conformance/normalizer.h"

namespace nave::kubesim {
namespace {

const char kFolder[] = NAVE_SOURCE_DIR "/tests/kubesim/conformance";

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Case {
  std::string name;
  Value content;
};

std::vector<Case> LoadCases() {
  std::vector<Case> out;
  for (const auto& entry : std::filesystem::directory_iterator(absl::StrCat(kFolder, "/cases"))) {
    absl::StatusOr<std::vector<YamlDocument>> documents =
        ParseYamlStream(ReadFile(entry.path()), nullptr);
    if (!documents.ok()) {
      out.push_back({absl::StrCat("unreadable_", entry.path().stem().string()),
                     Value(std::string(documents.status().message()))});
      continue;
    }
    for (YamlDocument& document : *documents) {
      std::string name =
          absl::StrCat(entry.path().stem().string(), "_", document.value.StringAt("case"));
      out.push_back(
          {absl::StrReplaceAll(name, {{"-", "_"}, {" ", "_"}}), std::move(document.value)});
    }
  }
  std::sort(out.begin(), out.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
  return out;
}

// The golden file of a case; a version's own where it answers otherwise than the newest.
std::filesystem::path GoldenPath(const std::string& stand, const std::string& name) {
  std::filesystem::path folder = absl::StrCat(kFolder, "/golden");
  std::filesystem::path own = folder / stand / (name + ".yaml");
  if (std::filesystem::exists(own)) return own;
  return folder / (name + ".yaml");
}

struct Param {
  std::string stand;
  Case test;
};

void PrintTo(const Param& param, std::ostream* out) { *out << param.test.name; }

std::vector<Param> Params() {
  std::vector<Param> out;
  for (const std::string& stand : StandNames()) {
    for (const Case& test : LoadCases()) out.push_back({stand, test});
  }
  return out;
}

class Conformance : public testing::TestWithParam<Param> {};

TEST_P(Conformance, Case) {
  const Case& test = GetParam().test;
  const Value* steps = test.content.Find("steps");
  ASSERT_TRUE(steps != nullptr && steps->is_array()) << FormatJson(test.content);
  ConformanceStand& stand = Stand(GetParam().stand);
  const Value* needs = test.content.Find("controllers");
  if (needs != nullptr && needs->BoolOr(false) && !stand.has_controllers()) {
    GTEST_SKIP() << "needs controllers";
  }
  static int64_t number = absl::ToUnixMillis(absl::Now()) % 100000000;
  std::string own = absl::StrCat("conf-", ++number);

  Value before(Array{Value(Object{
      {"create", Value(Object{{"resource", Value("namespaces/v1")},
                              {"body", Value(Object{{"metadata",
                                                     Value(Object{{"name", Value(own)}})}})}})}})});
  Value after(Array{Value(Object{
      {"delete", Value(Object{{"resource", Value("namespaces/v1")}, {"name", Value(own)}})}})});
  Value seen;
  {
    Engine around(&stand, own);
    Value made = around.Run(before);
    ASSERT_EQ((*made.array())[0].Find("error"), nullptr) << FormatJson(made);
    Engine engine(&stand, own);
    seen = engine.Run(*steps);
    around.Run(after);
  }
  for (const Value& step : *seen.array()) {
    EXPECT_NE(step.StringOr("").substr(0, 1), "!") << step.StringOr("");
  }
  std::filesystem::path path = GoldenPath(GetParam().stand, test.name);
  std::string text = FormatYaml(seen);
  if (const char* folder = std::getenv("NAVE_CONFORMANCE_RECORD")) {
    if (!HasFailure()) {
      std::ofstream(std::filesystem::path(folder) / (test.name + ".yaml")) << text;
    }
    return;
  }
  // Step by step, so that a difference says where it is.
  absl::StatusOr<std::vector<YamlDocument>> golden = ParseYamlStream(ReadFile(path), nullptr);
  ASSERT_TRUE(golden.ok() && golden->size() == 1) << path;
  const Array& wanted = *(*golden)[0].value.array();
  ASSERT_EQ(wanted.size(), seen.array()->size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(FormatYaml(Comparable((*seen.array())[i])), FormatYaml(Comparable(wanted[i])))
        << "step " << i + 1 << ": " << FormatJson((*steps->array())[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(, Conformance, testing::ValuesIn(Params()),
                         [](const testing::TestParamInfo<Param>& info) {
                           return absl::StrCat(info.param.stand, "_", info.param.test.name);
                         });

}  // namespace
}  // namespace nave::kubesim
