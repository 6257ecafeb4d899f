// The text of a join token: all that an agent needs to find the hub, to know that it is the right
// one, and to be let in.
//
//   nave1.<base64url of: secret 32 bytes | CA pin 32 bytes | length of id 1 byte | id | hub address
//   | checksum 4 bytes>
//
// The checksum (of everything before it) tells a text that was cut short or mistyped from one that
// the hub does not know.
#ifndef NAVE_COMMON_PKI_JOIN_TOKEN_H_
#define NAVE_COMMON_PKI_JOIN_TOKEN_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/digest.h"

namespace nave {

inline constexpr size_t kJoinTokenSecretBytes = 32;

struct JoinTokenText {
  // host:port of the hub's port for agents.
  std::string hub_address;
  // Public: the id of the hub's record.
  std::string id;
  // 32 random bytes. Never logged; the hub stores only HashTokenSecret of it.
  std::string secret;
  // SHA-256 of the CA's SubjectPublicKeyInfo.
  Digest ca_pin;
  bool operator==(const JoinTokenText&) const = default;
};

// The id must be 1 to 63 bytes, the secret 32, the address not empty.
std::string FormatJoinToken(const JoinTokenText& token);

// White space around the text is allowed. TOKEN_MALFORMED; the error never repeats any of the text.
absl::StatusOr<JoinTokenText> ParseJoinToken(absl::string_view text);

// What the hub keeps of a secret.
Digest HashTokenSecret(absl::string_view secret);

// A new record id (10 of a-z 2-7) and a new secret. Thread-safe.
std::string RandomJoinTokenId();
std::string RandomJoinTokenSecret();

}  // namespace nave

#endif  // NAVE_COMMON_PKI_JOIN_TOKEN_H_
