// Goal: the key file comes back as written, and a damaged one is refused without showing any of it.
#include "hub/ca/encryption_keys.h"

#include <gtest/gtest.h>

#include "common/base/error.h"

namespace nave {
namespace {

TEST(EncryptionKeysTest, RoundTrip) {
  std::vector<EncryptionKey> keys = {RandomEncryptionKey(), RandomEncryptionKey()};
  EXPECT_EQ(keys[0].key.size(), 32u);
  EXPECT_NE(keys[0].key, keys[1].key);
  EXPECT_EQ(ParseEncryptionKeys(FormatEncryptionKeys(keys)).value(), keys);
}

TEST(EncryptionKeysTest, RefusesDamage) {
  const std::string key(64, 'a');
  struct Row {
    std::string text;
    const char* names;
  };
  const Row rows[] = {
      {"", "no key"},
      {"# only a comment\n", "no key"},
      {"01020304\n", "line 1"},
      {"\n0102030 " + key, "line 2"},
      {"0102030g " + key, "line 1"},
      {"01020304 " + key.substr(1), "line 1"},
      {"01020304 " + std::string(64, 'A'), "line 1"},
      {"01020304 " + key + " more", "line 1"},
      {"01020304 " + key + "\n01020304 " + key, "line 2"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.text);
    absl::Status status = ParseEncryptionKeys(row.text).status();
    EXPECT_EQ(ErrorReason(status), "CONFIG_INVALID");
    EXPECT_NE(status.message().find(row.names), std::string::npos) << status;
    EXPECT_EQ(status.message().find("aaaa"), std::string::npos) << status;
  }
}

}  // namespace
}  // namespace nave
