// Authentication of API callers: a client certificate for a person, or a bearer token.
#ifndef NAVE_HUB_AUTH_AUTHENTICATE_H_
#define NAVE_HUB_AUTH_AUTHENTICATE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/digest.h"
#include "common/pki/verify_peer.h"
#include "hub/auth/caller.h"

namespace nave {

// Bearer tokens by the SHA-256 of their text; the texts themselves are nowhere. Immutable.
class TokenTable {
 public:
  // One token a line: USER GROUPS SHA256, separated by white space. GROUPS: names with commas
  // between, or "-" for none. SHA256: 64 hexadecimal digits. Empty lines and those that begin with
  // '#' are skipped. CONFIG_INVALID names the line.
  static absl::StatusOr<TokenTable> Parse(absl::string_view text);

  struct Entry {
    std::string user;
    std::vector<std::string> groups;
  };
  // nullptr when no such token is known.
  const Entry* Find(absl::string_view token) const;
  size_t size() const { return entries_.size(); }

 private:
  std::map<Digest, Entry> entries_;
};

// A token file that is read again when it changes; what was good stays in use until something good
// takes its place. Thread-safe.
class TokenFile {
 public:
  // `path` empty: no tokens. CONFIG_INVALID when the file cannot be read now.
  static absl::StatusOr<std::unique_ptr<TokenFile>> Open(std::string path);

  std::shared_ptr<const TokenTable> Current();
  // Changes that were bad and are not in use. For a metric.
  uint64_t failures() const;

 private:
  explicit TokenFile(std::string path) : path_(std::move(path)) {}
  // Size, inode and time of change; tells one state of the file from another.
  std::string Stamp() const;
  absl::StatusOr<TokenTable> Read() const;

  const std::string path_;
  mutable std::mutex mutex_;  // Guards what follows.
  std::string stamp_;
  std::shared_ptr<const TokenTable> table_ = std::make_shared<TokenTable>();
  uint64_t failures_ = 0;
};

// `authorization`: the header of that name, nullopt when there is none. A token, when given,
// decides alone; else the certificate does. UNAUTHENTICATED, CERT_EXPIRED, CERT_UNTRUSTED.
absl::StatusOr<Caller> Authenticate(const Peer& peer, absl::string_view hub_id,
                                    std::optional<absl::string_view> authorization,
                                    const TokenTable& tokens);

}  // namespace nave

#endif  // NAVE_HUB_AUTH_AUTHENTICATE_H_
