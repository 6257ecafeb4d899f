// The digest of a bundle depends on what it says alone: not on the order of files, documents and
// keys, not on comments, line ends, syntax or how objects are spread over files. A change of any
// object changes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/backoff.h"
#include "common/manifest/parse.h"
#include "common/value/codec.h"
#include "tests/testing/status_matchers.h"

namespace nave {
namespace {

template <typename T>
void Shuffle(SplitMix& random, std::vector<T>* items) {
  for (size_t i = items->size(); i > 1; --i) std::swap((*items)[i - 1], (*items)[random.Below(i)]);
}

std::vector<Value> RandomObjects(SplitMix& random) {
  std::vector<Value> objects;
  uint64_t count = 1 + random.Below(6);
  for (uint64_t i = 0; i < count; ++i) {
    Value object;
    object["apiVersion"] = random.Below(2) == 0 ? "v1" : "apps/v1";
    object["kind"] = random.Below(2) == 0 ? "ConfigMap" : "Deployment";
    object["metadata"]["name"] = absl::StrCat("n", i);
    if (random.Below(3) == 0)
      object["metadata"]["labels"]["app"] = absl::StrCat("l", random.Below(4));
    for (uint64_t k = random.Below(4); k > 0; --k) {
      object["data"][absl::StrCat("k", k)] = random.Below(2) == 0 ? "yes" : "a\nb: # c\n";
    }
    for (uint64_t k = random.Below(3); k > 0; --k) {
      object["spec"][absl::StrCat("s", k)] =
          Array{static_cast<int64_t>(k), Object{{"b", 1.5}, {"a", Value()}}};
    }
    objects.push_back(std::move(object));
  }
  return objects;
}

// The same object in other words.
std::string Write(SplitMix& random, const Value& object) {
  switch (random.Below(4)) {
    case 0:
      return absl::StrCat(FormatJson(object), "\n---\n");
    case 1:
      return absl::StrCat("# a comment\n", FormatYaml(object), "--- # more\n");
    case 2: {
      // Keys of the top level in another order, after what the rules take out.
      std::vector<std::string> parts;
      for (const auto& [key, value] : *object.object())
        parts.push_back(FormatYaml(Value(Object{{key, value}})));
      parts.push_back("status: {x: 1}\n");
      Shuffle(random, &parts);
      std::string text;
      for (const std::string& part : parts) text += part;
      return text + "---\n";
    }
    default:
      return absl::StrReplaceAll(absl::StrCat(FormatYaml(object), "\n---\n"), {{"\n", "\r\n"}});
  }
}

std::vector<ManifestFile> Spread(SplitMix& random, std::vector<Value> objects) {
  Shuffle(random, &objects);
  std::vector<ManifestFile> files;
  for (const Value& object : objects) {
    if (files.empty() || random.Below(2) == 0)
      files.push_back({absl::StrCat("f", random.Next()), "---\n"});
    files.back().content += Write(random, object);
  }
  if (random.Below(3) == 0) files.push_back({"empty", "# nothing\n"});
  Shuffle(random, &files);
  return files;
}

absl::StatusOr<RenderedBundle> Render(const std::vector<ManifestFile>& files) {
  return RenderBundle(files, {}, /*create_namespace=*/true, /*allow_empty=*/false, nullptr);
}

TEST(RenderPropertyTest, TheDigestDependsOnTheContentAlone) {
  int changed = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SplitMix random(seed);
    std::vector<Value> objects = RandomObjects(random);
    absl::StatusOr<RenderedBundle> first = Render(Spread(random, objects));
    ASSERT_THAT(first, IsOk()) << "seed " << seed;
    for (int again = 0; again < 3; ++again) {
      absl::StatusOr<RenderedBundle> other = Render(Spread(random, objects));
      ASSERT_THAT(other, IsOk()) << "seed " << seed;
      ASSERT_EQ(other->listing, first->listing) << "seed " << seed;
    }
    objects[random.Below(objects.size())]["spec"]["changed"] = static_cast<int64_t>(seed);
    absl::StatusOr<RenderedBundle> other = Render(Spread(random, objects));
    ASSERT_THAT(other, IsOk()) << "seed " << seed;
    ASSERT_NE(other->listing_digest, first->listing_digest) << "seed " << seed;
    ++changed;
  }
  std::printf("bundles %d, each written five times\n", changed);
}

// Canonical objects are what is sent: reading them again must give the same objects.
TEST(RenderPropertyTest, RenderingIsIdempotent) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SplitMix random(seed);
    absl::StatusOr<RenderedBundle> first = Render(Spread(random, RandomObjects(random)));
    ASSERT_THAT(first, IsOk());
    std::vector<ManifestFile> files;
    for (const RenderedObject& object : first->objects)
      files.push_back({object.key.ToString(), object.json});
    absl::StatusOr<RenderedBundle> second = Render(files);
    ASSERT_THAT(second, IsOk());
    EXPECT_EQ(second->listing, first->listing) << "seed " << seed;
  }
}

}  // namespace
}  // namespace nave
