// Goal: a token's text comes back as it went in, and any damage to it is seen before anything is
// dialled.
#include "common/pki/join_token.h"

#include <gtest/gtest.h>

#include "common/base/error.h"

namespace nave {
namespace {

JoinTokenText Example() {
  JoinTokenText token;
  token.hub_address = "hub.example.org:8444";
  token.id = "abcdefg234";
  token.secret = std::string(31, '\x7f') + '\0';
  token.ca_pin = Sha256("a CA");
  return token;
}

TEST(JoinTokenTest, RoundTrip) {
  std::string text = FormatJoinToken(Example());
  EXPECT_EQ(text.substr(0, 6), "nave1.");
  EXPECT_EQ(text.find_first_of("+/= \n"), std::string::npos) << text;
  EXPECT_EQ(ParseJoinToken(text).value(), Example());
  EXPECT_EQ(ParseJoinToken("\n " + text + "\r\n").value(), Example());
  JoinTokenText v6 = Example();
  v6.hub_address = "[2001:db8::1]:8444";
  EXPECT_EQ(ParseJoinToken(FormatJoinToken(v6)).value(), v6);
}

TEST(JoinTokenTest, EveryCutAndEveryChangeIsSeen) {
  std::string text = FormatJoinToken(Example());
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(ErrorReason(ParseJoinToken(text.substr(0, size)).status()), "TOKEN_MALFORMED")
        << size;
  }
  // Bits of the last letter may lie beyond the last byte; all others count.
  for (size_t at = 0; at + 1 < text.size(); ++at) {
    std::string changed = text;
    changed[at] = changed[at] == 'x' ? 'y' : 'x';
    EXPECT_EQ(ErrorReason(ParseJoinToken(changed).status()), "TOKEN_MALFORMED") << at;
  }
}

TEST(JoinTokenTest, RefusesFieldsThatCannotBeUsed) {
  JoinTokenText no_address = Example();
  no_address.hub_address = "";
  JoinTokenText spaced = Example();
  spaced.hub_address = "hub example:8444";
  JoinTokenText bad_id = Example();
  bad_id.id = "a/b";
  JoinTokenText no_id = Example();
  no_id.id = "";
  for (const JoinTokenText& token : {no_address, spaced, bad_id, no_id}) {
    EXPECT_EQ(ErrorReason(ParseJoinToken(FormatJoinToken(token)).status()), "TOKEN_MALFORMED");
  }
}

TEST(JoinTokenTest, TellsALaterVersionFromGarbage) {
  EXPECT_NE(ParseJoinToken("nave2.AAAA").status().message().find("version"), std::string::npos);
  EXPECT_EQ(ParseJoinToken("hello").status().message().find("version"), std::string::npos);
}

TEST(JoinTokenTest, ErrorsDoNotRepeatTheText) {
  std::string text = FormatJoinToken(Example());
  std::string cut = text.substr(0, text.size() - 3);
  EXPECT_EQ(ParseJoinToken(cut).status().message().find(cut.substr(6, 20)), std::string::npos);
}

TEST(JoinTokenTest, RandomPartsDiffer) {
  EXPECT_NE(RandomJoinTokenId(), RandomJoinTokenId());
  EXPECT_EQ(RandomJoinTokenId().size(), 10u);
  EXPECT_NE(RandomJoinTokenSecret(), RandomJoinTokenSecret());
  EXPECT_EQ(RandomJoinTokenSecret().size(), kJoinTokenSecretBytes);
}

}  // namespace
}  // namespace nave
