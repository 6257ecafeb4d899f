#include "hub/core/link_backend.h"

#include <mutex>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/pki/certificate.h"
#include "common/pki/join_token.h"
#include "hub/ca/enroll.h"
#include "hub/ca/issue.h"
#include "hub/core/record_ports.h"
#include "hub/decide/desired.h"
#include "hub/records/keys.h"

namespace nave {
namespace {

// A transaction that lost its compare is decided again on what the store has then.
constexpr int kTriesMax = 8;
// Listings whose digests are remembered.
constexpr size_t kListingsMax = 512;

// The digests that listings name, remembered: a fleet fetches the same few.
class ListingIndex {
 public:
  explicit ListingIndex(BlobReader* blobs) : blobs_(blobs) {}

  absl::StatusOr<std::shared_ptr<const std::set<Digest>>> Find(const Digest& listing) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      auto found = listings_.find(listing);
      if (found != listings_.end()) return found->second;
    }
    ASSIGN_OR_RETURN(std::vector<Digest> digests, DigestsOfListing(blobs_, listing));
    auto set = std::make_shared<const std::set<Digest>>(digests.begin(), digests.end());
    std::lock_guard<std::mutex> lock(mutex_);
    if (listings_.size() >= kListingsMax) listings_.clear();
    listings_[listing] = set;
    return set;
  }

 private:
  BlobReader* const blobs_;
  std::mutex mutex_;  // Guards what follows.
  std::map<Digest, std::shared_ptr<const std::set<Digest>>> listings_;
};

class RecordLinkBackend : public LinkBackend {
 public:
  explicit RecordLinkBackend(LinkBackendParts parts)
      : parts_(std::move(parts)), listings_(parts_.blobs) {}

  absl::StatusOr<EnrollReply> Enroll(const EnrollCall& call) override;
  absl::StatusOr<RenewReply> Renew(const RenewCall& call) override;
  absl::StatusOr<std::vector<BlobPtr>> FetchBlobs(const Uuid& cluster,
                                                  const std::vector<Digest>& wants) override;
  std::string Roots() override { return parts_.ca->RootsPem(); }
  std::string HubId() override { return parts_.hub_id; }

 private:
  struct Found {
    std::optional<Versioned<JoinToken>> token;
    std::optional<Versioned<Cluster>> cluster;
  };
  absl::StatusOr<Found> Read(const std::string& token_id);
  // The decision once it is in the store; nullopt: a compare did not hold.
  absl::StatusOr<std::optional<EnrollDecision>> TryEnroll(const JoinTokenText& text, const Csr& csr,
                                                          const EnrollCall& call);
  absl::StatusOr<std::optional<RenewDecision>> TryRenew(const RenewCall& call);
  absl::StatusOr<std::string> Issue(const Cluster& cluster, uint32_t generation, const Csr& csr);

  const LinkBackendParts parts_;
  ListingIndex listings_;
};

Event ClusterEvent(const Cluster& cluster, Reason reason, std::string message, absl::Time now) {
  Event event;
  event.about = absl::StrCat("clusters/", cluster.id);
  event.reason = std::string(GetReasonInfo(reason).camel);
  event.message = std::move(message);
  event.last_time = now;
  return event;
}

absl::StatusOr<RecordLinkBackend::Found> RecordLinkBackend::Read(const std::string& token_id) {
  Found found;
  ASSIGN_OR_RETURN(found.token, FindRecord<JoinToken>(*parts_.records, JoinTokenKey(token_id)));
  if (!found.token.has_value()) return found;
  std::string id = EnrollClusterId(found.token->value);
  ASSIGN_OR_RETURN(found.cluster, FindRecord<Cluster>(*parts_.records, ClusterKey(id)));
  return found;
}

absl::StatusOr<std::optional<EnrollDecision>> RecordLinkBackend::TryEnroll(
    const JoinTokenText& text, const Csr& csr, const EnrollCall& call) {
  ASSIGN_OR_RETURN(Found found, Read(text.id));
  EnrollInput input;
  if (found.token.has_value()) input.token = &found.token->value;
  if (found.cluster.has_value()) input.cluster = &found.cluster->value;
  input.secret_hash = HashTokenSecret(text.secret);
  input.key = csr.spki;
  input.kube_system_uid = call.kube_system_uid;
  input.now = parts_.now();
  input.new_uid = Uuid::Random();
  ASSIGN_OR_RETURN(EnrollDecision decision, DecideEnroll(input));
  if (!decision.changed) return std::optional<EnrollDecision>(std::move(decision));

  RecordTxn txn;
  txn.Compare(JoinTokenKey(text.id), found.token->mod_revision);
  txn.Compare(ClusterKey(decision.cluster.id),
              found.cluster.has_value() ? found.cluster->mod_revision : 0);
  txn.Put(JoinTokenKey(text.id), EncodeRecord(decision.token));
  txn.Put(ClusterKey(decision.cluster.id), EncodeRecord(decision.cluster));
  if (decision.created) {
    txn.Put(ByUidKey(UidKind::kCluster, decision.cluster.meta.uid),
            EncodeText(decision.cluster.id));
  }
  txn.events.push_back(ClusterEvent(
      decision.cluster, Reason::kEnrolled,
      absl::StrCat("an agent enrolled from ", call.address, " with token ", text.id), input.now));
  AuditRecord audit;
  audit.time = input.now;
  audit.user = absl::StrCat("token:", text.id);
  audit.from = call.address;
  audit.method = "nave.agent.v1.AgentLink/Enroll";
  audit.resource = absl::StrCat("clusters/", decision.cluster.id);
  audit.result = "OK";
  txn.audit = std::move(audit);
  ASSIGN_OR_RETURN(std::optional<Revision> revision, parts_.records->Commit(std::move(txn)));
  if (!revision.has_value()) return std::optional<EnrollDecision>();
  return std::optional<EnrollDecision>(std::move(decision));
}

absl::StatusOr<std::string> RecordLinkBackend::Issue(const Cluster& cluster, uint32_t generation,
                                                     const Csr& csr) {
  return IssueAgentCertificate(*parts_.ca->Authority(), parts_.hub_id, cluster, generation, csr,
                               parts_.now());
}

absl::StatusOr<EnrollReply> RecordLinkBackend::Enroll(const EnrollCall& call) {
  ASSIGN_OR_RETURN(JoinTokenText text, ParseJoinToken(call.token));
  ASSIGN_OR_RETURN(Csr csr, ParseCsr(call.csr_pem));
  for (int tries = 0; tries < kTriesMax; ++tries) {
    ASSIGN_OR_RETURN(std::optional<EnrollDecision> decision, TryEnroll(text, csr, call));
    if (!decision.has_value()) continue;
    EnrollReply answer;
    ASSIGN_OR_RETURN(answer.certificate_pem,
                     Issue(decision->cluster, decision->token.spent_generation, csr));
    answer.ca_pem = parts_.ca->RootsPem();
    answer.cluster_uid = decision->cluster.meta.uid;
    answer.cluster_name = decision->cluster.id;
    answer.hub_id = parts_.hub_id;
    LogInfo("agent enrolled",
            {{"cluster", answer.cluster_name}, {"from", call.address}, {"token", text.id}});
    return answer;
  }
  return MakeError(Reason::kStoreUnavailable,
                   "the cluster's record is changed by others again and again");
}

absl::StatusOr<std::optional<RenewDecision>> RecordLinkBackend::TryRenew(const RenewCall& call) {
  RenewInput input;
  input.peer = call.peer;
  input.hub_id = parts_.hub_id;
  input.now = parts_.now();
  std::optional<Versioned<Cluster>> cluster;
  if (std::optional<Uuid> uid = Uuid::Parse(call.peer.uri.name); uid.has_value()) {
    ASSIGN_OR_RETURN(cluster, FindCluster(*parts_.records, *uid));
    if (cluster.has_value()) input.cluster = &cluster->value;
    ASSIGN_OR_RETURN(std::optional<Versioned<RetiredRecord>> retired,
                     FindRecord<RetiredRecord>(*parts_.records, RetiredKey(*uid)));
    if (retired.has_value())
      input.retirement = retired->value.removed ? Retirement::kRemoved : Retirement::kForgotten;
  }
  absl::StatusOr<RenewDecision> decision = DecideRenew(input);
  if (!decision.ok()) {
    std::optional<Uuid> uid = Uuid::Parse(call.peer.uri.name);
    if (ErrorReason(decision.status()) == GetReasonInfo(Reason::kUnknownCluster).upper &&
        uid.has_value()) {
      parts_.live->NoteUnknown(
          {*uid, call.peer.common_name, call.peer.generation, call.address, input.now});
    }
    return decision.status();
  }
  if (!decision->changed) return std::optional<RenewDecision>(*std::move(decision));
  RecordTxn txn;
  txn.Compare(ClusterKey(decision->cluster.id), cluster->mod_revision);
  txn.Put(ClusterKey(decision->cluster.id), EncodeRecord(decision->cluster));
  ASSIGN_OR_RETURN(std::optional<Revision> revision, parts_.records->Commit(std::move(txn)));
  if (!revision.has_value()) return std::optional<RenewDecision>();
  return std::optional<RenewDecision>(*std::move(decision));
}

absl::StatusOr<RenewReply> RecordLinkBackend::Renew(const RenewCall& call) {
  ASSIGN_OR_RETURN(Csr csr, ParseCsr(call.csr_pem));
  for (int tries = 0; tries < kTriesMax; ++tries) {
    ASSIGN_OR_RETURN(std::optional<RenewDecision> decision, TryRenew(call));
    if (!decision.has_value()) continue;
    RenewReply answer;
    ASSIGN_OR_RETURN(answer.certificate_pem, Issue(decision->cluster, decision->generation, csr));
    answer.ca_pem = parts_.ca->RootsPem();
    LogInfo("certificate renewed", {{"cluster", decision->cluster.id}, {"from", call.address}});
    return answer;
  }
  return MakeError(Reason::kStoreUnavailable,
                   "the cluster's record is changed by others again and again");
}

absl::StatusOr<std::vector<BlobPtr>> RecordLinkBackend::FetchBlobs(
    const Uuid& cluster, const std::vector<Digest>& wants) {
  FleetSnapshotPtr snapshot = parts_.snapshot();
  std::shared_ptr<const ClusterLive> live = parts_.live->Find(cluster);
  if (snapshot == nullptr || live == nullptr || !live->connected) {
    return MakeError(Reason::kNoSession,
                     "content is given only beside a live session of the cluster");
  }
  DesiredSet desired = ComputeDesired(*snapshot, cluster);
  std::vector<std::shared_ptr<const std::set<Digest>>> allowed;
  for (const auto& [bundle, assignment] : desired.assignments) {
    absl::StatusOr<std::shared_ptr<const std::set<Digest>>> digests =
        listings_.Find(assignment.digest);
    // Another bundle's content must not keep this one's from the agent.
    if (digests.ok()) allowed.push_back(*std::move(digests));
  }
  std::vector<BlobPtr> blobs;
  blobs.reserve(wants.size());
  for (const Digest& want : wants) {
    bool assigned = false;
    for (const auto& digests : allowed) assigned = assigned || digests->count(want) > 0;
    if (!assigned) {
      blobs.push_back(nullptr);
      continue;
    }
    ASSIGN_OR_RETURN(BlobPtr blob, parts_.blobs->GetCompressed(want));
    blobs.push_back(std::move(blob));
  }
  return blobs;
}

}  // namespace

std::unique_ptr<LinkBackend> MakeLinkBackend(LinkBackendParts parts) {
  return std::make_unique<RecordLinkBackend>(std::move(parts));
}

}  // namespace nave
