// Who gets a certificate: the decisions behind Enroll and Renew. Pure: records in, records out; the
// caller reads them from the store, writes what changed in one transaction that compares them, and
// then issues the certificate.
#ifndef NAVE_HUB_CA_ENROLL_H_
#define NAVE_HUB_CA_ENROLL_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/digest.h"
#include "common/base/uuid.h"
#include "common/model/cluster.h"
#include "common/model/tenancy.h"
#include "common/pki/verify_peer.h"

namespace nave {

// How long after its end a certificate may still be renewed.
inline constexpr absl::Duration kRenewGrace = absl::Hours(24 * 90);

// Id of the cluster that `token` lets in: the one it is bound to, else one made from its own id.
std::string EnrollClusterId(const JoinToken& token);

struct EnrollInput {
  // Record of the id in the token's text; nullptr: there is none. Borrowed.
  const JoinToken* token = nullptr;
  // HashTokenSecret of what the agent presented.
  Digest secret_hash;
  // Record of EnrollClusterId(*token); nullptr: there is none. Borrowed.
  const Cluster* cluster = nullptr;
  // SHA-256 of the SubjectPublicKeyInfo in the request.
  Digest key;
  // As the agent says; may be empty.
  std::string kube_system_uid;
  absl::Time now;
  // For a record that has to be made.
  Uuid new_uid;
};

struct EnrollDecision {
  // Both as they must be stored before the certificate is issued for `cluster` in
  // token.spent_generation.
  JoinToken token;
  Cluster cluster;
  // False: a repeat of what was decided before; nothing to write.
  bool changed = false;
  // The cluster's record is new.
  bool created = false;
};

// TOKEN_INVALID, TOKEN_EXPIRED, TOKEN_SPENT, ALREADY_ENROLLED, REVOKED, CLUSTER_STATE_CONFLICT. An
// error spends nothing.
absl::StatusOr<EnrollDecision> DecideEnroll(const EnrollInput& input);

// What is kept of a cluster whose record is gone.
enum class Retirement {
  kNone,
  // Its agent is told UNKNOWN_CLUSTER, and keeps what runs.
  kForgotten,
  // Removed cleanly: its agent is told REVOKED.
  kRemoved,
};

struct RenewInput {
  Peer peer;
  absl::string_view hub_id;
  // Record of the uid in the certificate; nullptr: there is none. Borrowed.
  const Cluster* cluster = nullptr;
  Retirement retirement = Retirement::kNone;
  absl::Time now;
};

struct RenewDecision {
  // Generation to issue the new certificate in.
  uint32_t generation = 0;
  // The record, with what the presented certificate shows.
  Cluster cluster;
  bool changed = false;
};

// UNAUTHENTICATED, CERT_UNTRUSTED, CERT_EXPIRED, REVOKED, UNKNOWN_CLUSTER (the caller lists it).
absl::StatusOr<RenewDecision> DecideRenew(const RenewInput& input);

}  // namespace nave

#endif  // NAVE_HUB_CA_ENROLL_H_
