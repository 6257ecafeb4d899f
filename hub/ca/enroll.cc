#include "hub/ca/enroll.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"

namespace nave {
namespace {

// A generation of 0 is the record of a cluster that was added and never joined.
bool HasIdentity(const Cluster& cluster) { return cluster.status.certificate_generation > 0; }

absl::Status CheckToken(const EnrollInput& input) {
  // One answer for an unknown id and a wrong secret: it must not tell which ids exist.
  if (input.token == nullptr || input.token->secret_hash != input.secret_hash) {
    return MakeError(Reason::kTokenInvalid, "join token: not known to this hub");
  }
  const JoinToken& token = *input.token;
  if (token.voided || token.meta.deleting()) {
    return MakeError(Reason::kTokenInvalid, absl::StrCat("join token ", token.id, ": withdrawn"));
  }
  if (input.now >= token.expire_time) {
    return MakeError(Reason::kTokenExpired,
                     absl::StrCat("join token ", token.id, ": expired at ",
                                  absl::FormatTime(token.expire_time, absl::UTCTimeZone())));
  }
  if (!token.spent_by_key.IsNone() && token.spent_by_key != input.key) {
    return MakeError(Reason::kTokenSpent,
                     absl::StrCat("join token ", token.id, ": used by another key"));
  }
  return absl::OkStatus();
}

// The same key again: its first call's answer may have been lost. It must bring back nothing that
// was taken away since.
absl::StatusOr<EnrollDecision> RepeatEnroll(const EnrollInput& input) {
  const JoinToken& token = *input.token;
  if (input.cluster == nullptr || input.cluster->meta.uid != token.spent_for_cluster) {
    return MakeError(Reason::kTokenSpent,
                     absl::StrCat("join token ", token.id, ": the cluster that it let in is gone"));
  }
  const ClusterStatus& status = input.cluster->status;
  if (status.revoked || status.certificate_generation != token.spent_generation) {
    return MakeError(Reason::kRevoked, absl::StrCat("cluster ", input.cluster->id,
                                                    ": what this token gave was revoked"));
  }
  return EnrollDecision{token, *input.cluster};
}

Cluster NewCluster(const EnrollInput& input) {
  const JoinToken& token = *input.token;
  Cluster cluster;
  cluster.id = EnrollClusterId(token);
  cluster.meta.uid = input.new_uid;
  cluster.meta.labels = token.labels;
  cluster.meta.generation = 1;
  cluster.meta.create_time = input.now;
  cluster.spec.cluster_set = token.cluster_set;
  return cluster;
}

}  // namespace

std::string EnrollClusterId(const JoinToken& token) {
  return token.cluster.empty() ? absl::StrCat("cluster-", token.id) : token.cluster;
}

absl::StatusOr<EnrollDecision> DecideEnroll(const EnrollInput& input) {
  RETURN_IF_ERROR(CheckToken(input));
  const JoinToken& token = *input.token;
  if (!token.spent_by_key.IsNone()) return RepeatEnroll(input);

  EnrollDecision decision;
  decision.created = input.cluster == nullptr;
  decision.cluster = decision.created ? NewCluster(input) : *input.cluster;
  Cluster& cluster = decision.cluster;
  if (cluster.status.removing || cluster.meta.deleting()) {
    return MakeError(Reason::kClusterStateConflict,
                     absl::StrCat("cluster ", cluster.id, ": is being removed"));
  }
  if (HasIdentity(cluster) && !token.rejoin) {
    return MakeError(Reason::kAlreadyEnrolled,
                     absl::StrCat("cluster ", cluster.id, ": has an identity already"),
                     {{"cluster", cluster.id}});
  }

  ClusterStatus& status = cluster.status;
  // Above all that were seen, so that the identity this one replaces is refused from now on.
  status.certificate_generation =
      std::max(status.certificate_generation, status.certificate_generation_seen) + 1;
  status.certificate_generation_seen = status.certificate_generation;
  status.certificate_not_after = absl::InfinitePast();
  status.revoked = false;
  // Of two agents that fought over the old identity neither has the new one.
  status.locked = false;
  status.kube_system_uid = input.kube_system_uid;
  if (token.auto_accept && status.admission == Admission::kPending) {
    status.admission = Admission::kAccepted;
  }
  // What an admin set on the record since the token was made stays.
  cluster.meta.labels.insert(token.labels.begin(), token.labels.end());
  cluster.meta.update_time = input.now;

  decision.token = token;
  decision.token.spent_by_key = input.key;
  decision.token.spent_for_cluster = cluster.meta.uid;
  decision.token.spent_generation = status.certificate_generation;
  decision.token.meta.update_time = input.now;
  decision.changed = true;
  return decision;
}

absl::StatusOr<RenewDecision> DecideRenew(const RenewInput& input) {
  const Peer& peer = input.peer;
  absl::Status known = CheckPeer(peer, input.hub_id, {PeerKind::kCluster});
  // Expired is the last thing that CheckPeer looks for: all else about the peer is right then.
  if (!known.ok() && ErrorReason(known) != GetReasonInfo(Reason::kCertExpired).upper) return known;

  if (input.cluster == nullptr) {
    if (input.retirement == Retirement::kRemoved) {
      return MakeError(Reason::kRevoked, absl::StrCat("cluster ", peer.common_name, ": removed"));
    }
    return MakeError(Reason::kUnknownCluster,
                     absl::StrCat("cluster ", peer.common_name, ": no record of it here"));
  }
  const Cluster& cluster = *input.cluster;
  if (cluster.status.revoked || peer.generation < cluster.status.certificate_generation) {
    return MakeError(Reason::kRevoked,
                     absl::StrCat("cluster ", cluster.id, ": this certificate is revoked"));
  }
  if (peer.outcome == PeerOutcome::kExpired) {
    if (input.now - peer.not_after > kRenewGrace) {
      return MakeError(
          Reason::kCertExpired,
          absl::StrCat("cluster ", cluster.id, ": the certificate ended more than 90 days ago"));
    }
    // A newer one in use means that whoever has this one is not the agent, or is a copy of its
    // past.
    bool superseded = peer.generation == cluster.status.certificate_generation_seen &&
                      peer.not_after < cluster.status.certificate_not_after;
    if (superseded || peer.generation < cluster.status.certificate_generation_seen) {
      return MakeError(Reason::kCertExpired,
                       absl::StrCat("cluster ", cluster.id,
                                    ": a newer certificate of it is in use than this one"));
    }
  }

  RenewDecision decision;
  decision.cluster = cluster;
  ClusterStatus& status = decision.cluster.status;
  decision.generation = std::max(status.certificate_generation, peer.generation);
  if (peer.generation > status.certificate_generation_seen) {
    status.certificate_generation_seen = peer.generation;
    status.certificate_not_after = absl::InfinitePast();
  }
  if (peer.generation == status.certificate_generation_seen) {
    status.certificate_not_after = std::max(status.certificate_not_after, peer.not_after);
  }
  decision.changed = !(decision.cluster == cluster);
  return decision;
}

}  // namespace nave
