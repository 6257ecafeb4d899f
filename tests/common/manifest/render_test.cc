// What a bundle delivers: objects, the namespace that is added, the listing, and the limits of a
// bundle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/manifest/parse.h"
#include "tests/testing/status_matchers.h"

namespace nave {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string ConfigMap(absl::string_view name, absl::string_view data = "x") {
  return absl::StrCat("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ", name,
                      "}\ndata: {k: ", data, "}\n---\n");
}

struct Options {
  std::string default_namespace = "shop";
  bool create_namespace = true;
  bool allow_empty = false;
};

absl::StatusOr<RenderedBundle> Render(const std::vector<ManifestFile>& files,
                                      const Options& options = {}) {
  return RenderBundle(files, {"IfNoDiff", options.default_namespace}, options.create_namespace,
                      options.allow_empty, nullptr);
}

std::vector<std::string> Keys(const absl::StatusOr<RenderedBundle>& bundle) {
  std::vector<std::string> keys;
  if (!bundle.ok()) return {std::string(bundle.status().message())};
  for (const RenderedObject& object : bundle->objects) keys.push_back(object.key.ToString());
  return keys;
}

TEST(RenderTest, ObjectsAreSortedAndNamedByTheirDigest) {
  absl::StatusOr<RenderedBundle> bundle =
      Render({{"b.yaml", ConfigMap("b")}, {"a.yaml", ConfigMap("a")}});
  ASSERT_THAT(bundle, IsOk());
  EXPECT_THAT(Keys(bundle), ElementsAre("ConfigMap a", "ConfigMap b", "Namespace shop"));
  const RenderedObject& first = bundle->objects[0];
  EXPECT_EQ(first.json,
            "{\"apiVersion\":\"v1\",\"data\":{\"k\":\"x\"},\"kind\":\"ConfigMap\",\"metadata\":{"
            "\"name\":\"a\"}}");
  EXPECT_EQ(first.digest, Sha256(first.json));
  EXPECT_EQ(bundle->listing_digest, Sha256(bundle->listing));
  uint64_t bytes = bundle->listing.size();
  for (const RenderedObject& object : bundle->objects) bytes += object.json.size();
  EXPECT_EQ(bundle->bytes, bytes);
  absl::StatusOr<Listing> listing = ParseListing(bundle->listing);
  ASSERT_THAT(listing, IsOk());
  EXPECT_EQ(listing->options.default_namespace, "shop");
  EXPECT_EQ(listing->objects.size(), 3u);
}

TEST(RenderTest, GoldenDigestOfFeatureLevelOne) {
  absl::StatusOr<RenderedBundle> bundle = Render({{"a.yaml", ConfigMap("a")}});
  ASSERT_THAT(bundle, IsOk());
  EXPECT_EQ(bundle->listing_digest.Hex(),
            "e8c2efbad3277cfa86fbe65ef541de8afa13332910701ce901a5380f727ae390");
}

TEST(RenderTest, TheNamespaceIsAddedWhenItIsWantedAndNotThere) {
  EXPECT_THAT(Keys(Render({{"a", ConfigMap("a")}}, {"default"})), ElementsAre("ConfigMap a"));
  EXPECT_THAT(Keys(Render({{"a", ConfigMap("a")}}, {"kube-public"})), ElementsAre("ConfigMap a"));
  EXPECT_THAT(Keys(Render({{"a", ConfigMap("a")}}, {"shop", false})), ElementsAre("ConfigMap a"));
  // The bundle's own, with its labels, stays as it is.
  absl::StatusOr<RenderedBundle> own = Render(
      {{"a", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {team: x}}\n"}});
  EXPECT_THAT(Keys(own), ElementsAre("Namespace shop"));
  EXPECT_THAT(own->objects[0].json, HasSubstr("\"team\":\"x\""));
  // Another namespace of the bundle is not it.
  EXPECT_THAT(Keys(Render({{"a", "apiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n"}})),
              ElementsAre("Namespace other", "Namespace shop"));
}

TEST(RenderTest, EmptinessMustBeMeant) {
  EXPECT_THAT(Render({}), HasReason(Reason::kBundleEmpty, HasSubstr("got none")));
  EXPECT_THAT(Render({{"a", "# nothing\n---\nnull\n"}, {"b", ""}}),
              HasReason(Reason::kBundleEmpty, testing::_));
  absl::StatusOr<RenderedBundle> bundle = Render({{"a", ""}}, {"shop", true, true});
  EXPECT_THAT(Keys(bundle), IsEmpty());
  EXPECT_EQ(bundle->listing,
            "{\"objects\":[],\"options\":{\"adoption\":\"IfNoDiff\",\"default_namespace\":\"shop\"}"
            ",\"v\":1}");
}

TEST(RenderTest, DuplicatesOverFilesAreRefused) {
  EXPECT_THAT(
      Render({{"a.yaml", ConfigMap("a")}, {"b.yaml", ConfigMap("c") + ConfigMap("a")}}),
      HasReason(Reason::kDuplicateObject, HasSubstr("ConfigMap a is there twice: a.yaml document 1 "
                                                    "(line 1) and b.yaml document 2 (line 6)")));
  // With the default namespace written out it is the same object.
  EXPECT_THAT(Render({{"a.yaml", ConfigMap("a")}, {"b.yaml", ConfigMap("a, namespace: shop")}}),
              HasReason(Reason::kDuplicateObject, HasSubstr("ConfigMap shop/a is there twice")));
  EXPECT_THAT(
      Keys(Render({{"a.yaml", ConfigMap("a")}, {"b.yaml", ConfigMap("a, namespace: other")}})),
      ElementsAre("ConfigMap a", "ConfigMap other/a", "Namespace shop"));
}

TEST(RenderTest, ErrorsNameTheFile) {
  EXPECT_THAT(Render({{"good.yaml", ConfigMap("a")}, {"bad.yaml", "kind: Pod\n"}}),
              HasReason(Reason::kManifestInvalid,
                        HasSubstr("bad.yaml document 1 (line 1): apiVersion is missing")));
  EXPECT_THAT(
      Render({{"a", ConfigMap("a")}}, {"No_Namespace"}),
      HasReason(Reason::kInvalidField, HasSubstr("default_namespace: want an RFC 1123 label")));
}

TEST(RenderTest, LimitsOfABundle) {
  std::string many;
  for (int i = 0; i < 5000; ++i) {
    absl::StrAppend(&many,
                    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a", i,
                    "\"}}");
  }
  EXPECT_THAT(Render({{"a", many}}, {"default"}), IsOk());
  EXPECT_THAT(Render({{"a", many}}),
              HasReason(Reason::kLimitExceeded, HasSubstr("want at most 5000 objects, got 5001")));
  std::string big(1000 << 10, 'x');
  std::vector<ManifestFile> files;
  for (int i = 0; i < 17; ++i) {
    files.push_back(
        {absl::StrCat("f", i),
         absl::StrCat("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a", i,
                      "\"},\"data\":{\"k\":\"", big, "\"}}")});
  }
  EXPECT_THAT(Render(files), HasReason(Reason::kLimitExceeded,
                                       HasSubstr("want at most 16777216 bytes of JSON, got 17")));
  files.pop_back();
  EXPECT_THAT(Render(files), IsOk());
}

}  // namespace
}  // namespace nave
