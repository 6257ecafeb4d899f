#include "common/pki/join_token.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/error.h"
#include "common/base/uuid.h"

namespace nave {
namespace {

constexpr absl::string_view kVersionPrefix = "nave1.";
constexpr absl::string_view kAnyVersionPrefix = "nave";
constexpr size_t kChecksumBytes = 4;
constexpr size_t kPinBytes = 32;
constexpr size_t kIdBytesMax = 63;

absl::Status Malformed(absl::string_view why) {
  return MakeError(Reason::kTokenMalformed, absl::StrCat("join token: ", why));
}

std::string Checksum(absl::string_view body) {
  return std::string(Sha256(body).View().substr(0, kChecksumBytes));
}

bool IsId(absl::string_view id) {
  auto allowed = [](char c) {
    return absl::ascii_islower(static_cast<unsigned char>(c)) ||
           absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '-';
  };
  return !id.empty() && id.size() <= kIdBytesMax && std::all_of(id.begin(), id.end(), allowed);
}

}  // namespace

std::string FormatJoinToken(const JoinTokenText& token) {
  std::string body =
      absl::StrCat(token.secret, token.ca_pin.View(),
                   std::string(1, static_cast<char>(token.id.size())), token.id, token.hub_address);
  body += Checksum(body);
  return absl::StrCat(kVersionPrefix, absl::WebSafeBase64Escape(body));
}

absl::StatusOr<JoinTokenText> ParseJoinToken(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (!absl::ConsumePrefix(&text, kVersionPrefix)) {
    return Malformed(absl::StartsWith(text, kAnyVersionPrefix)
                         ? "of a version that this program does not know"
                         : "want a text that begins with nave1.");
  }
  std::string raw;
  if (!absl::WebSafeBase64Unescape(text, &raw)) return Malformed("not base64url after nave1.");
  constexpr size_t kLeast = kJoinTokenSecretBytes + kPinBytes + 1 + kChecksumBytes;
  if (raw.size() < kLeast) return Malformed("cut short");
  absl::string_view body = absl::string_view(raw).substr(0, raw.size() - kChecksumBytes);
  if (Checksum(body) != absl::string_view(raw).substr(body.size())) {
    return Malformed("cut short or mistyped: the checksum does not fit");
  }
  JoinTokenText token;
  token.secret = std::string(body.substr(0, kJoinTokenSecretBytes));
  body.remove_prefix(kJoinTokenSecretBytes);
  token.ca_pin = *Digest::FromBytes(body.substr(0, kPinBytes));
  body.remove_prefix(kPinBytes);
  size_t id_size = static_cast<uint8_t>(body.front());
  body.remove_prefix(1);
  if (body.size() <= id_size || !IsId(body.substr(0, id_size))) {
    return Malformed("id and hub address cannot be read");
  }
  token.id = std::string(body.substr(0, id_size));
  token.hub_address = std::string(body.substr(id_size));
  bool printable = std::all_of(token.hub_address.begin(), token.hub_address.end(), [](char c) {
    return absl::ascii_isgraph(static_cast<unsigned char>(c));
  });
  if (!printable) return Malformed("the hub address cannot be read");
  return token;
}

Digest HashTokenSecret(absl::string_view secret) { return Sha256(secret); }

std::string RandomJoinTokenId() {
  constexpr absl::string_view kLetters = "abcdefghijklmnopqrstuvwxyz234567";
  std::string id = RandomBytes(10);
  for (char& c : id) c = kLetters[static_cast<uint8_t>(c) % kLetters.size()];
  return id;
}

std::string RandomJoinTokenSecret() { return RandomBytes(kJoinTokenSecretBytes); }

}  // namespace nave
