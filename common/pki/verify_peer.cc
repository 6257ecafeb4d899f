#include "common/pki/verify_peer.h"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/error.h"
#include "common/base/uuid.h"
#include "common/pki/certificate.h"
#include "common/pki/openssl.h"

namespace nave {
namespace {

constexpr std::pair<PeerKind, absl::string_view> kKinds[] = {
    {PeerKind::kCluster, "cluster"}, {PeerKind::kUser, "user"}, {PeerKind::kHub, "hub"}};

// 128 bits of security or RSA of 2048 bits, and no SHA-1.
constexpr int kAuthLevel = 2;

using StorePtr = std::unique_ptr<X509_STORE, OpenSslFree<X509_STORE_free>>;
using StoreContextPtr = std::unique_ptr<X509_STORE_CTX, OpenSslFree<X509_STORE_CTX_free>>;

// Lets an expired leaf pass, so that everything else about it is still checked.
int AcceptExpiredLeaf(int ok, X509_STORE_CTX* context) {
  if (ok == 1) return 1;
  return X509_STORE_CTX_get_error(context) == X509_V_ERR_CERT_HAS_EXPIRED &&
         X509_STORE_CTX_get_error_depth(context) == 0;
}

bool IsUuid(absl::string_view text) {
  std::optional<Uuid> uuid = Uuid::Parse(text);
  return uuid.has_value() && uuid->ToString() == text;
}

bool IsPeerName(absl::string_view text) {
  auto allowed = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '@' ||
           c == '-';
  };
  return !text.empty() && text.size() <= 63 && std::all_of(text.begin(), text.end(), allowed);
}

// Empty when the chain holds up at `now`, the leaf's own end aside; else why not.
std::string VerifyChain(X509* leaf, const std::vector<X509Ptr>& chain,
                        const std::vector<X509Ptr>& roots, absl::Time now) {
  StorePtr store(X509_STORE_new());
  for (const X509Ptr& root : roots) X509_STORE_add_cert(store.get(), root.get());
  STACK_OF(X509)* untrusted = sk_X509_new_null();
  for (const X509Ptr& certificate : chain) sk_X509_push(untrusted, certificate.get());

  std::string problem;
  StoreContextPtr context(X509_STORE_CTX_new());
  if (X509_STORE_CTX_init(context.get(), store.get(), leaf, untrusted) == 1) {
    X509_VERIFY_PARAM* param = X509_STORE_CTX_get0_param(context.get());
    X509_VERIFY_PARAM_set_purpose(param, X509_PURPOSE_SSL_CLIENT);
    X509_VERIFY_PARAM_set_time(param, absl::ToTimeT(now));
    X509_VERIFY_PARAM_set_auth_level(param, kAuthLevel);
    // A supplied CA may itself be an intermediate one.
    X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_PARTIAL_CHAIN);
    X509_STORE_CTX_set_verify_cb(context.get(), AcceptExpiredLeaf);
    if (X509_verify_cert(context.get()) != 1) {
      problem = X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
    }
  } else {
    problem = "out of memory";
  }
  context.reset();
  sk_X509_free(untrusted);
  ERR_clear_error();
  return problem;
}

Peer Untrusted(absl::string_view detail) {
  Peer peer;
  peer.outcome = PeerOutcome::kUntrusted;
  peer.detail = std::string(detail);
  return peer;
}

}  // namespace

std::string FormatPeerUri(const PeerUri& uri) {
  absl::string_view word;
  for (const auto& [kind, kind_word] : kKinds) {
    if (kind == uri.kind) word = kind_word;
  }
  return absl::StrCat("spiffe://", uri.hub_id, "/", word, "/", uri.name);
}

std::optional<PeerUri> ParsePeerUri(absl::string_view text) {
  PeerUri uri;
  if (!absl::ConsumePrefix(&text, "spiffe://")) return std::nullopt;
  size_t slash = text.find('/');
  if (slash == absl::string_view::npos || !IsUuid(text.substr(0, slash))) return std::nullopt;
  uri.hub_id = std::string(text.substr(0, slash));
  text.remove_prefix(slash + 1);
  slash = text.find('/');
  if (slash == absl::string_view::npos) return std::nullopt;
  absl::string_view word = text.substr(0, slash);
  absl::string_view name = text.substr(slash + 1);
  const auto* found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                   [&](const auto& kind) { return kind.second == word; });
  if (found == std::end(kKinds)) return std::nullopt;
  uri.kind = found->first;
  bool name_ok = uri.kind == PeerKind::kCluster ? IsUuid(name) : IsPeerName(name);
  if (!name_ok) return std::nullopt;
  uri.name = std::string(name);
  return uri;
}

Peer VerifyPeer(absl::string_view leaf_pem, absl::string_view chain_pem,
                absl::string_view roots_pem, absl::Time now) {
  if (leaf_pem.empty()) {
    Peer peer;
    peer.detail = "no client certificate was presented";
    return peer;
  }
  std::vector<X509Ptr> leaf = ReadCertificates(leaf_pem);
  if (leaf.empty()) return Untrusted("the certificate cannot be read");
  std::vector<X509Ptr> roots = ReadCertificates(roots_pem);
  if (roots.empty()) return Untrusted("no CA to check the certificate against");

  std::string problem = VerifyChain(leaf.front().get(), ReadCertificates(chain_pem), roots, now);
  if (!problem.empty()) return Untrusted(problem);
  absl::StatusOr<CertificateInfo> info = ParseCertificate(leaf_pem);
  if (!info.ok()) return Untrusted("the certificate cannot be read");
  if (info->uri_sans.size() != 1) {
    return Untrusted(absl::StrCat("want exactly one URI among the subject's names, got ",
                                  info->uri_sans.size()));
  }
  std::optional<PeerUri> uri = ParsePeerUri(info->uri_sans.front());
  if (!uri.has_value())
    return Untrusted("the URI among the subject's names is not of a known form");

  Peer peer;
  peer.uri = *std::move(uri);
  peer.common_name = info->common_name;
  peer.generation = info->generation;
  peer.not_before = info->not_before;
  peer.not_after = info->not_after;
  peer.spki = info->spki;
  // `>=`, as OpenSSL has it: the callback above let exactly these pass.
  peer.outcome = now >= info->not_after ? PeerOutcome::kExpired : PeerOutcome::kVerified;
  if (peer.outcome == PeerOutcome::kExpired) {
    peer.detail = absl::StrCat("the certificate ended at ",
                               absl::FormatTime(info->not_after, absl::UTCTimeZone()));
  }
  return peer;
}

absl::Status CheckPeer(const Peer& peer, absl::string_view hub_id,
                       std::initializer_list<PeerKind> kinds) {
  switch (peer.outcome) {
    case PeerOutcome::kNone:
      return MakeError(Reason::kUnauthenticated, peer.detail);
    case PeerOutcome::kUntrusted:
      return MakeError(Reason::kCertUntrusted, peer.detail);
    case PeerOutcome::kExpired:
    case PeerOutcome::kVerified:
      break;
  }
  // Another hub may share a supplied CA; its identities count for nothing here.
  if (peer.uri.hub_id != hub_id) {
    return MakeError(Reason::kCertUntrusted, absl::StrCat("the certificate is of hub ",
                                                          peer.uri.hub_id, ", this is ", hub_id));
  }
  if (std::find(kinds.begin(), kinds.end(), peer.uri.kind) == kinds.end()) {
    return MakeError(Reason::kCertUntrusted,
                     absl::StrCat("this port does not serve ", FormatPeerUri(peer.uri)));
  }
  if (peer.outcome == PeerOutcome::kExpired) return MakeError(Reason::kCertExpired, peer.detail);
  return absl::OkStatus();
}

}  // namespace nave
