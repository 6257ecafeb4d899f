// Listings: one text per listing, and nothing else is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "common/manifest/parse.h"
#include "tests/testing/status_matchers.h"

namespace nave {
namespace {

using testing::HasSubstr;

Listing Example() {
  Listing listing;
  listing.options = {"Always", "shop"};
  listing.objects.push_back({{"", "Service", "", "web"}, Sha256("a")});
  listing.objects.push_back({{"apps", "Deployment", "shop", "web"}, Sha256("b")});
  return listing;
}

// The bytes that hub and agent have agreed on: a change of them would re-apply every fleet.
constexpr char kGolden[] =
    "{\"objects\":[[\"\",\"Service\",\"\",\"web\","
    "\"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb\"],"
    "[\"apps\",\"Deployment\",\"shop\",\"web\","
    "\"3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d\"]],"
    "\"options\":{\"adoption\":\"Always\",\"default_namespace\":\"shop\"},\"v\":1}";

TEST(ListingTest, Golden) { EXPECT_EQ(FormatListing(Example()), kGolden); }

TEST(ListingTest, ReadsWhatItWrote) {
  absl::StatusOr<Listing> listing = ParseListing(kGolden);
  ASSERT_THAT(listing, IsOk());
  EXPECT_EQ(*listing, Example());
  Listing empty;
  listing = ParseListing(FormatListing(empty));
  ASSERT_THAT(listing, IsOk());
  EXPECT_EQ(*listing, empty);
}

TEST(ListingTest, RefusesEverythingElse) {
  struct Case {
    const char* from;
    const char* to;
    const char* message;
  };
  const Case cases[] = {
      {"\"v\":1", "\"v\":2", "unknown format"},
      {"\"v\":1", "\"w\":1", "unknown format"},
      {"\"v\":1", "\"v\":1,\"x\":0", "not in canonical form"},
      {"\"v\":1}", "\"v\":1} ", "not in canonical form"},
      {"\"v\":1}", "\"v\":1", "want ',' or '}'"},
      {"Always", "Sometimes", "unknown adoption"},
      {"\"default_namespace\":\"shop\"", "\"default_namespace\":\"\"",
       "default_namespace is missing"},
      {"\"adoption\"", "\"adoptiom\"", "unknown adoption"},
      {"\"options\"", "\"optional\"", "options are missing"},
      {"\"objects\":[[", "\"objects\":[5,[", "an object is not a list of five"},
      {"[\"\",\"Service\"", "[\"Service\"", "an object is not a list of five"},
      {"\"Service\"", "7", "an object has a part that is no string"},
      {"\"Service\"", "\"\"", "an object has no kind or no name"},
      {"\"ca97", "\"xx97", "an object has no digest"},
      {"\"ca97", "\"97", "an object has no digest"},
      {"\"ca97", "\"CA97", "not in canonical form"},
      {"\"\",\"Service\"", "\"zzz\",\"Service\"",
       "objects are not sorted at apps/Deployment shop/web"},
      {"[\"apps\",\"Deployment\",\"shop\",\"web\"", "[\"\",\"Service\",\"\",\"web\"",
       "objects are not sorted"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.to);
    std::string text = absl::StrReplaceAll(kGolden, {{c.from, c.to}});
    ASSERT_NE(text, kGolden);
    EXPECT_THAT(ParseListing(text), HasReason(Reason::kContentInvalid, HasSubstr(c.message)));
  }
  for (const char* text : {"", "[]", "5", "null", "{}", "{\"v\":1}"}) {
    EXPECT_THAT(ParseListing(text), HasReason(Reason::kContentInvalid, HasSubstr("listing: ")))
        << text;
  }
}

}  // namespace
}  // namespace nave
