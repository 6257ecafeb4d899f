#include "hub/decide/admission.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/reasons.h"
#include "hub/records/history.h"

namespace nave {
namespace {

AdmissionVerdict Refuse(RefusalReason reason, std::string message, bool rests_on_record = true) {
  AdmissionVerdict verdict;
  verdict.refusal = Refusal{reason, std::move(message), std::nullopt};
  verdict.rests_on_record = rests_on_record;
  return verdict;
}

std::string WithNext(absl::string_view what, Reason reason) {
  return absl::StrCat(what, "; next: ", GetReasonInfo(reason).next);
}

AdmissionVerdict DecideWithoutRecord(const PeerIdentity& peer, const AdmissionRecords& records) {
  if (records.retired.has_value() && records.retired->value.removed) {
    return Refuse(RefusalReason::kRevoked,
                  absl::StrCat("cluster ", peer.cluster_id, " was removed from this hub"));
  }
  return Refuse(RefusalReason::kUnknownCluster,
                WithNext(absl::StrCat("cluster ", peer.cluster_id, " is not known here"),
                         Reason::kUnknownCluster));
}

std::optional<AdmissionVerdict> RefusalByRecord(const PeerIdentity& peer, const Hello& hello,
                                                const Cluster& cluster) {
  if (cluster.status.revoked || peer.generation < cluster.status.certificate_generation) {
    return Refuse(RefusalReason::kRevoked,
                  WithNext("the certificate is revoked", Reason::kRevoked));
  }
  switch (cluster.status.admission) {
    case Admission::kRejected:
      return Refuse(RefusalReason::kRejected,
                    WithNext("the cluster was rejected", Reason::kRejected));
    case Admission::kPending:
      return Refuse(RefusalReason::kNotAccepted,
                    WithNext("the cluster waits to be accepted", Reason::kNotAccepted));
    case Admission::kAccepted:
      break;
  }
  const std::string& recorded = cluster.status.kube_system_uid;
  if (!recorded.empty() && !hello.kube_system_uid.empty() && recorded != hello.kube_system_uid) {
    return Refuse(RefusalReason::kWrongCluster,
                  WithNext(absl::StrCat("the identity belongs to the cluster with kube-system uid ",
                                        recorded, ", this one has ", hello.kube_system_uid),
                           Reason::kWrongCluster));
  }
  return std::nullopt;
}

}  // namespace

AdmissionVerdict DecideAdmission(const PeerIdentity& peer, const Hello& hello,
                                 const AdmissionRecords& records) {
  if (hello.protocol_min > kProtocolVersion || hello.protocol_max < kProtocolVersion) {
    return Refuse(RefusalReason::kProtocolUnsupported,
                  absl::StrCat("the agent speaks protocol ", hello.protocol_min, " to ",
                               hello.protocol_max, ", the hub ", kProtocolVersion),
                  false);
  }
  if (!records.cluster.has_value()) return DecideWithoutRecord(peer, records);
  const Cluster& cluster = records.cluster->value;
  if (auto refused = RefusalByRecord(peer, hello, cluster); refused.has_value()) return *refused;

  AdmissionVerdict verdict;
  verdict.session.cluster = peer.cluster;
  verdict.session.instance_id = hello.instance_id;
  verdict.session.attempt = hello.attempt;
  verdict.session.epoch = 1;
  if (records.session.has_value()) {
    const SessionRecord& present = records.session->value;
    if (present.instance_id == hello.instance_id && hello.attempt <= present.attempt) {
      return Refuse(RefusalReason::kStaleAttempt, "a later dial of this agent has the session");
    }
    verdict.session.epoch = present.epoch + 1;
  }
  bool first_uid = cluster.status.kube_system_uid.empty() && !hello.kube_system_uid.empty();
  bool newer_certificate = peer.generation > cluster.status.certificate_generation_seen;
  if (first_uid || newer_certificate) {
    verdict.cluster_update = cluster;
    if (first_uid) verdict.cluster_update->status.kube_system_uid = hello.kube_system_uid;
    if (newer_certificate)
      verdict.cluster_update->status.certificate_generation_seen = peer.generation;
  }
  return verdict;
}

std::optional<Refusal> RefusalOfLive(const PeerIdentity& peer, const Hello& hello,
                                     const AdmissionRecords& records) {
  if (!records.cluster.has_value()) return DecideWithoutRecord(peer, records).refusal;
  auto refused = RefusalByRecord(peer, hello, records.cluster->value);
  return refused.has_value() ? refused->refusal : std::nullopt;
}

HistoryAnswer CheckHistory(const Hello& hello, const FleetSnapshot& snapshot) {
  if (hello.state_lost) return HistoryAnswer::kNotContained;
  // An agent that never committed lies in every history.
  if (hello.committed.IsNone()) return HistoryAnswer::kContained;
  if (hello.hub_id != snapshot.hub_id) return HistoryAnswer::kNotContained;
  if (HistoryContains(*snapshot.terms, hello.committed, snapshot.revision))
    return HistoryAnswer::kContained;
  if (hello.committed.revision > snapshot.revision) return HistoryAnswer::kSnapshotBehind;
  // A term begun by another replica may not be in the snapshot yet.
  bool newer_term = snapshot.terms->empty() || hello.committed.term > snapshot.terms->back().number;
  return newer_term ? HistoryAnswer::kSnapshotBehind : HistoryAnswer::kNotContained;
}

absl::Duration ReconnectSpread(size_t sessions) {
  constexpr double kSessionsPerSecond = 600;
  return std::clamp(absl::Seconds(static_cast<double>(sessions) / kSessionsPerSecond),
                    absl::Seconds(1), absl::Seconds(20));
}

}  // namespace nave
