// Who the other side is: the only source of identity. Everything a message claims about its sender
// is ignored.
//
// The TLS handshake asks for a client certificate and lets any through, because a failed handshake
// tells the peer nothing; so this runs before every handler, and its four outcomes let the hub
// answer with a typed refusal.
#ifndef NAVE_COMMON_PKI_VERIFY_PEER_H_
#define NAVE_COMMON_PKI_VERIFY_PEER_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/digest.h"

namespace nave {

enum class PeerOutcome {
  // No certificate was presented.
  kNone,
  // Not by a trusted CA, not for a client, not yet valid, or without exactly one URI of a known
  // form.
  kUntrusted,
  // Everything holds but the end of the certificate's life has passed: the identity is true, but
  // only Renew may use it.
  kExpired,
  kVerified,
};

enum class PeerKind { kCluster, kUser, kHub };

// spiffe://<hub id>/cluster/<cluster uid>, …/user/<name>, …/hub/<replica>.
struct PeerUri {
  std::string hub_id;
  PeerKind kind = PeerKind::kUser;
  // UUID of a cluster; name of a user or a replica: 1 to 63 of a-z A-Z 0-9 . _ @ -
  std::string name;
  bool operator==(const PeerUri&) const = default;
};

std::string FormatPeerUri(const PeerUri& uri);
// nullopt for anything but the three forms, exactly.
std::optional<PeerUri> ParsePeerUri(absl::string_view text);

struct Peer {
  PeerOutcome outcome = PeerOutcome::kNone;
  // For logs and refusals: why it is not verified. Empty when it is.
  std::string detail;

  // What follows is set for kVerified and kExpired only.
  PeerUri uri;
  std::string common_name;
  uint32_t generation = 0;
  absl::Time not_before = absl::InfinitePast();
  absl::Time not_after = absl::InfinitePast();
  // SHA-256 of the SubjectPublicKeyInfo.
  Digest spki;
};

// `leaf_pem`: what the peer proved to hold the key of; empty when it sent none. `chain_pem`:
// further certificates that it sent, may be empty. `roots_pem`: the CAs that are trusted; two while
// one replaces the other.
Peer VerifyPeer(absl::string_view leaf_pem, absl::string_view chain_pem,
                absl::string_view roots_pem, absl::Time now);

// OK for a verified peer of hub `hub_id` whose kind is one of `kinds`. UNAUTHENTICATED when it
// presented nothing, CERT_EXPIRED, CERT_UNTRUSTED.
absl::Status CheckPeer(const Peer& peer, absl::string_view hub_id,
                       std::initializer_list<PeerKind> kinds);

}  // namespace nave

#endif  // NAVE_COMMON_PKI_VERIFY_PEER_H_
