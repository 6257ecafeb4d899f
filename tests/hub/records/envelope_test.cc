// Envelopes: what goes in comes out, and what was changed, moved, cut or written by a newer hub is
// refused.
#include "hub/records/envelope.h"

#include <gtest/gtest.h>

#include "common/base/error.h"

namespace nave {
namespace {

std::string Key(char digit) { return std::string(64, digit); }

EncryptionKeys Keys(const std::string& text) {
  absl::StatusOr<EncryptionKeys> keys = EncryptionKeys::Parse(text);
  EXPECT_TRUE(keys.ok()) << keys.status();
  return *keys;
}

TEST(EnvelopeTest, PlainRoundTrip) {
  for (size_t size : {size_t{0}, size_t{1}, kCompressAbove, kCompressAbove + 1, size_t{100000}}) {
    std::string payload(size, 'x');
    std::string value = WrapPlain(payload);
    EXPECT_EQ(*UnwrapPlain(value), payload);
    EXPECT_EQ(value[1], size > kCompressAbove ? 1 : 0);
  }
}

TEST(EnvelopeTest, SealedRoundTrip) {
  EncryptionKeys keys = Keys("1 " + Key('a') + "\n");
  for (size_t size : {0, 1, 1000000}) {
    std::string payload(size, 'p');
    std::string value = Seal(keys, "/k", payload);
    EXPECT_EQ(value.size(), payload.size() + kSealedOverhead);
    EXPECT_EQ(value.find("pppp"), std::string::npos);
    EXPECT_NE(Seal(keys, "/k", payload), value) << "a nonce must not repeat";
    EXPECT_EQ(*Unseal(keys, "/k", value), payload);
  }
}

TEST(EnvelopeTest, EveryChangedByteIsNoticed) {
  EncryptionKeys keys = Keys("1 " + Key('a'));
  std::string value = Seal(keys, "/k", "payload");
  for (size_t i = 0; i < value.size(); ++i) {
    std::string changed = value;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    absl::StatusOr<std::string> got = Unseal(keys, "/k", changed);
    ASSERT_FALSE(got.ok()) << i;
    std::string reason = ErrorReason(got.status());
    EXPECT_TRUE(reason == "STORE_CORRUPT" || (i >= 2 && i < 6 && reason == "KEY_MISSING"))
        << i << reason;
  }
  for (size_t size = 0; size < value.size(); ++size) {
    EXPECT_EQ(ErrorReason(Unseal(keys, "/k", value.substr(0, size)).status()), "STORE_CORRUPT")
        << size;
  }
  EXPECT_EQ(ErrorReason(Unseal(keys, "/other", value).status()), "STORE_CORRUPT") << "moved";
}

TEST(EnvelopeTest, NewerFormatIsRefused) {
  EncryptionKeys keys = Keys("1 " + Key('a'));
  std::string plain = WrapPlain("x");
  plain[0] = 2;
  EXPECT_EQ(ErrorReason(UnwrapPlain(plain).status()), "STORE_TOO_NEW");
  std::string sealed = Seal(keys, "/k", "x");
  sealed[0] = 2;
  EXPECT_EQ(ErrorReason(Unseal(keys, "/k", sealed).status()), "STORE_TOO_NEW");
}

TEST(EnvelopeTest, BadPlainValues) {
  EXPECT_EQ(ErrorReason(UnwrapPlain("").status()), "STORE_CORRUPT");
  EXPECT_EQ(ErrorReason(UnwrapPlain(std::string("\1\0\0\0\0", 5)).status()), "STORE_CORRUPT");
  EXPECT_EQ(ErrorReason(UnwrapPlain(std::string("\0\0\0\0\0\0", 6)).status()), "STORE_CORRUPT");
  EXPECT_EQ(ErrorReason(UnwrapPlain(std::string("\1\2\0\0\0\0", 6)).status()), "STORE_CORRUPT");
  EXPECT_EQ(ErrorReason(UnwrapPlain(std::string("\1\1\0\0\0\0zz", 8)).status()), "STORE_CORRUPT");
  EXPECT_EQ(ErrorReason(UnwrapPlain(std::string("\1\0\0\0\0\7zz", 8)).status()), "STORE_CORRUPT");
}

TEST(EncryptionKeysTest, SeveralReadOneWrites) {
  EncryptionKeys old_keys = Keys("7 " + Key('a'));
  EncryptionKeys both = Keys("# newest first\n\n 9 " + Key('b') + "\r\n7 " + Key('a') + "\n");
  EXPECT_EQ(both.writing_id(), 9u);
  EXPECT_EQ(*Unseal(both, "/k", Seal(old_keys, "/k", "old")), "old");
  EXPECT_EQ(ErrorReason(Unseal(old_keys, "/k", Seal(both, "/k", "new")).status()), "KEY_MISSING");
  EncryptionKeys wrong = Keys("7 " + Key('c'));
  EXPECT_EQ(ErrorReason(Unseal(wrong, "/k", Seal(old_keys, "/k", "old")).status()),
            "STORE_CORRUPT");
}

TEST(EncryptionKeysTest, BadFiles) {
  struct Case {
    const char* name;
    std::string text;
    const char* message;
  } const cases[] = {
      {"empty", "", "encryption keys: the file has no key"},
      {"no id", Key('a'), "encryption keys: line 1: want a number from 1 on, and a key"},
      {"id 0", "0 " + Key('a'), "encryption keys: line 1: want a number from 1 on, and a key"},
      {"too large", "4294967296 " + Key('a'),
       "encryption keys: line 1: want a number from 1 on, and a key"},
      {"short", "\n1 abcd", "encryption keys: line 2: want a key of 64 hexadecimal digits"},
      {"not hex", "1 " + Key('x'), "encryption keys: line 1: want a key of 64 hexadecimal digits"},
      {"twice", "1 " + Key('a') + "\n1 " + Key('b'), "encryption keys: line 2: key 1 stands twice"},
  };
  for (const Case& c : cases) {
    absl::Status status = EncryptionKeys::Parse(c.text).status();
    EXPECT_EQ(ErrorReason(status), "CONFIG_INVALID") << c.name;
    EXPECT_EQ(status.message(), c.message) << c.name;  // Which holds nothing of a key.
  }
}

TEST(EncryptionKeysTest, ANewFileHasAKeyAndAnIdOfItsOwn) {
  EncryptionKeys one = Keys(EncryptionKeys::NewFileText());
  EncryptionKeys two = Keys(EncryptionKeys::NewFileText());
  EXPECT_NE(one, two);
  EXPECT_NE(one.writing_id(), two.writing_id());
  EXPECT_NE(*one.Find(one.writing_id()), *two.Find(two.writing_id()));
  EXPECT_EQ(ErrorReason(Unseal(two, "/k", Seal(one, "/k", "x")).status()), "KEY_MISSING");
}

}  // namespace
}  // namespace nave
