#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "hub/rpc/bundle_content.h"

namespace nave {
namespace {

TEST(MaskSecrets, LeavesFilesWithoutSecretsAsTheyCame) {
  std::string file = "# mine\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n";
  EXPECT_EQ(MaskSecrets("a.yaml", file), file);
}

TEST(MaskSecrets, HidesValuesWhereverTheyStand) {
  struct Case {
    std::string name, file;
  };
  const Case cases[] = {
      {"data", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {k: aHVzaA==}\n"},
      {"stringData", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {k: hush}\n"},
      {"second document",
       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Secret\n"
       "metadata: {name: s}\nstringData: {k: hush}\n"},
      {"list",
       R"({"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},)"
       R"("stringData":{"k":"hush"}}]})"},
      {"comment",
       "# hush\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {k: hush}\n"},
      {"cannot be read", "kind: Secret\nstringData: {k: hush\n"},
  };
  for (const Case& c : cases) {
    std::string masked = MaskSecrets("s.yaml", c.file);
    EXPECT_FALSE(absl::StrContains(masked, "hush")) << c.name << "\n" << masked;
    EXPECT_FALSE(absl::StrContains(masked, "aHVzaA")) << c.name << "\n" << masked;
    EXPECT_TRUE(absl::StrContains(masked, "****")) << c.name << "\n" << masked;
  }
}

}  // namespace
}  // namespace nave
