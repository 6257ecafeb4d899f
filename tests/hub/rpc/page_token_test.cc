#include "hub/rpc/page_token.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "common/base/error.h"

namespace nave {
namespace {

TEST(PageToken, GivesTheLastNameBackForTheSameArgumentsOnly) {
  for (const std::string& last :
       {std::string("a"), std::string("projects/p/bundles/b"), std::string(300, 'x')}) {
    std::string token = MakePageToken("secret", "list\nargs", last);
    EXPECT_EQ(ReadPageToken("secret", "list\nargs", token).value(), last);
    EXPECT_EQ(ErrorReason(ReadPageToken("secret", "list\nother", token).status()),
              "INVALID_PAGE_TOKEN");
    EXPECT_EQ(ErrorReason(ReadPageToken("another", "list\nargs", token).status()),
              "INVALID_PAGE_TOKEN");
  }
}

TEST(PageToken, IsOpaqueAndUrlSafe) {
  std::string token = MakePageToken("secret", "args", "projects/shop/bundles/web");
  EXPECT_FALSE(absl::StrContains(token, "shop"));
  EXPECT_EQ(
      token.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_="),
      std::string::npos);
  // The same name under other arguments looks another way.
  EXPECT_NE(token.substr(20),
            MakePageToken("secret", "args2", "projects/shop/bundles/web").substr(20));
}

TEST(PageToken, RefusesWhatItDidNotMake) {
  std::string token = MakePageToken("secret", "args", "name");
  std::string changed = token;
  changed[5] = changed[5] == 'A' ? 'B' : 'A';
  for (const std::string& bad :
       {std::string("x"), std::string("????"), changed, token.substr(0, 8), token + token}) {
    EXPECT_EQ(ErrorReason(ReadPageToken("secret", "args", bad).status()), "INVALID_PAGE_TOKEN")
        << bad;
  }
  EXPECT_EQ(ReadPageToken("secret", "args", "").value(), "");
}

TEST(PageSize, HasDefaultAndMaximum) {
  EXPECT_EQ(PageSize(0).value(), 100u);
  EXPECT_EQ(PageSize(7).value(), 7u);
  EXPECT_EQ(PageSize(1000000).value(), 1000u);
  EXPECT_EQ(ErrorReason(PageSize(-1).status()), "INVALID_FIELD");
}

}  // namespace
}  // namespace nave
