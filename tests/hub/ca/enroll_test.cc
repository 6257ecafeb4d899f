// Goal: a token lets in one key for one cluster, a repeat brings back nothing that was taken away,
// and only the agent that a cluster has now gets a new certificate. Method: tables of records and
// clocks.
#include "hub/ca/enroll.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "common/base/error.h"
#include "common/pki/certificate.h"
#include "common/pki/join_token.h"
#include "hub/ca/issue.h"
#include "tests/common/pki/test_pki.h"

namespace nave {
namespace {

const Uuid kNewUid = *Uuid::Parse("11111111-1111-4111-8111-111111111111");
const Uuid kOldUid = *Uuid::Parse("22222222-2222-4222-8222-222222222222");
const Digest kKey = Sha256("key of the agent");
const Digest kOtherKey = Sha256("another key");
const Digest kSecret = HashTokenSecret("secret");

JoinToken Token() {
  JoinToken token;
  token.id = "abc";
  token.cluster = "edge-1";
  token.secret_hash = kSecret;
  token.expire_time = TestNow() + absl::Minutes(30);
  token.labels = {{"env", "prod"}, {"region", "eu"}};
  token.cluster_set = "eu-edge";
  return token;
}

// As `cluster add` makes it: no certificate was ever issued.
Cluster Added() {
  Cluster cluster;
  cluster.id = "edge-1";
  cluster.meta.uid = kOldUid;
  cluster.meta.generation = 1;
  cluster.meta.labels = {{"env", "test"}};
  cluster.spec.cluster_set = "default";
  return cluster;
}

Cluster Enrolled() {
  Cluster cluster = Added();
  cluster.status.admission = Admission::kAccepted;
  cluster.status.certificate_generation = 3;
  cluster.status.certificate_generation_seen = 3;
  cluster.status.certificate_not_after = TestNow() + absl::Hours(100);
  cluster.status.kube_system_uid = "old kube-system";
  return cluster;
}

EnrollInput Input(const JoinToken* token, const Cluster* cluster) {
  EnrollInput input;
  input.token = token;
  input.secret_hash = kSecret;
  input.cluster = cluster;
  input.key = kKey;
  input.kube_system_uid = "kube-system";
  input.now = TestNow();
  input.new_uid = kNewUid;
  return input;
}

TEST(DecideEnrollTest, MakesARecordFromTheToken) {
  JoinToken token = Token();
  EnrollDecision decision = DecideEnroll(Input(&token, nullptr)).value();
  EXPECT_TRUE(decision.changed);
  EXPECT_TRUE(decision.created);
  const Cluster& cluster = decision.cluster;
  EXPECT_EQ(cluster.id, "edge-1");
  EXPECT_EQ(cluster.meta.uid, kNewUid);
  EXPECT_EQ(cluster.meta.labels, token.labels);
  EXPECT_EQ(cluster.meta.generation, 1u);
  EXPECT_EQ(cluster.meta.create_time, TestNow());
  EXPECT_EQ(cluster.spec.cluster_set, "eu-edge");
  EXPECT_EQ(cluster.status.admission, Admission::kPending);
  EXPECT_EQ(cluster.status.certificate_generation, 1u);
  EXPECT_EQ(cluster.status.kube_system_uid, "kube-system");
  EXPECT_EQ(decision.token.spent_by_key, kKey);
  EXPECT_EQ(decision.token.spent_for_cluster, kNewUid);
  EXPECT_EQ(decision.token.spent_generation, 1u);
}

TEST(DecideEnrollTest, TakesTheRecordThatWasAdded) {
  JoinToken token = Token();
  token.auto_accept = true;
  Cluster added = Added();
  EnrollDecision decision = DecideEnroll(Input(&token, &added)).value();
  EXPECT_FALSE(decision.created);
  EXPECT_EQ(decision.cluster.meta.uid, kOldUid);
  EXPECT_EQ(decision.cluster.spec.cluster_set, "default") << "the record's set is the admin's";
  EXPECT_EQ(decision.cluster.meta.labels, (StringMap{{"env", "test"}, {"region", "eu"}}));
  EXPECT_EQ(decision.cluster.status.admission, Admission::kAccepted);
  EXPECT_EQ(decision.cluster.status.certificate_generation, 1u);
}

TEST(DecideEnrollTest, TokenWithoutAClusterNamesOne) {
  JoinToken token = Token();
  token.cluster = "";
  EXPECT_EQ(DecideEnroll(Input(&token, nullptr))->cluster.id, "cluster-abc");
}

TEST(DecideEnrollTest, AutoAcceptDoesNotOverruleARejection) {
  JoinToken token = Token();
  token.auto_accept = true;
  Cluster rejected = Added();
  rejected.status.admission = Admission::kRejected;
  EXPECT_EQ(DecideEnroll(Input(&token, &rejected))->cluster.status.admission, Admission::kRejected);
}

TEST(DecideEnrollTest, RejoinReplacesTheIdentityAndNothingElse) {
  JoinToken token = Token();
  token.rejoin = true;
  Cluster revoked = Enrolled();
  revoked.status.revoked = true;
  revoked.status.locked = true;
  revoked.status.certificate_generation_seen = 5;
  EnrollDecision decision = DecideEnroll(Input(&token, &revoked)).value();
  const Cluster& cluster = decision.cluster;
  EXPECT_FALSE(decision.created);
  EXPECT_EQ(cluster.meta.uid, kOldUid);
  EXPECT_EQ(cluster.status.admission, Admission::kAccepted);
  EXPECT_FALSE(cluster.status.revoked);
  EXPECT_FALSE(cluster.status.locked);
  EXPECT_EQ(cluster.status.certificate_generation, 6u) << "above the highest seen";
  EXPECT_EQ(cluster.status.certificate_generation_seen, 6u);
  EXPECT_EQ(cluster.status.certificate_not_after, absl::InfinitePast());
  EXPECT_EQ(cluster.status.kube_system_uid, "kube-system");
  EXPECT_EQ(decision.token.spent_generation, 6u);

  EnrollInput silent = Input(&token, &revoked);
  silent.kube_system_uid = "";
  EXPECT_EQ(DecideEnroll(silent)->cluster.status.kube_system_uid, "") << "the old one is cleared";
}

TEST(DecideEnrollTest, Refusals) {
  struct Row {
    const char* name;
    std::function<void(JoinToken*, Cluster*, EnrollInput*)> change;
    const char* want;
  };
  using T = JoinToken*;
  using C = Cluster*;
  using I = EnrollInput*;
  const Row rows[] = {
      {"unknown token", [](T, C, I input) { input->token = nullptr; }, "TOKEN_INVALID"},
      {"wrong secret", [](T, C, I input) { input->secret_hash = Sha256("x"); }, "TOKEN_INVALID"},
      {"voided", [](T token, C, I) { token->voided = true; }, "TOKEN_INVALID"},
      {"being deleted", [](T token, C, I) { token->meta.delete_time = TestNow(); },
       "TOKEN_INVALID"},
      {"last moment", [](T, C, I input) { input->now += absl::Minutes(30) - absl::Seconds(1); },
       ""},
      {"expired", [](T, C, I input) { input->now += absl::Minutes(30); }, "TOKEN_EXPIRED"},
      {"spent by another key", [](T token, C, I) { token->spent_by_key = kOtherKey; },
       "TOKEN_SPENT"},
      {"wrong secret of an expired token",
       [](T, C, I input) {
         input->now += absl::Hours(1);
         input->secret_hash = Sha256("x");
       },
       "TOKEN_INVALID"},
      {"enrolled", [](T, C cluster, I) { *cluster = Enrolled(); }, "ALREADY_ENROLLED"},
      {"enrolled, rejoin",
       [](T token, C cluster, I) {
         *cluster = Enrolled();
         token->rejoin = true;
       },
       ""},
      {"revoked",
       [](T, C cluster, I) {
         *cluster = Enrolled();
         cluster->status.revoked = true;
       },
       "ALREADY_ENROLLED"},
      {"being removed",
       [](T token, C cluster, I) {
         *cluster = Enrolled();
         cluster->status.removing = true;
         token->rejoin = true;
       },
       "CLUSTER_STATE_CONFLICT"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    JoinToken token = Token();
    Cluster cluster = Added();
    EnrollInput input = Input(&token, &cluster);
    row.change(&token, &cluster, &input);
    EXPECT_EQ(ErrorReason(DecideEnroll(input).status()), row.want);
  }
}

TEST(DecideEnrollTest, TheSameKeyGetsTheSameAnswer) {
  JoinToken token = Token();
  EnrollDecision first = DecideEnroll(Input(&token, nullptr)).value();
  EnrollInput again = Input(&first.token, &first.cluster);
  again.now += absl::Minutes(29);
  again.new_uid = Uuid::Random();
  EnrollDecision second = DecideEnroll(again).value();
  EXPECT_FALSE(second.changed);
  EXPECT_EQ(second.cluster, first.cluster);
  EXPECT_EQ(second.token, first.token);

  again.key = kOtherKey;
  EXPECT_EQ(ErrorReason(DecideEnroll(again).status()), "TOKEN_SPENT");
  again.key = kKey;
  again.now = token.expire_time;
  EXPECT_EQ(ErrorReason(DecideEnroll(again).status()), "TOKEN_EXPIRED");
}

TEST(DecideEnrollTest, ARepeatBringsBackNothingThatWasTakenAway) {
  JoinToken token = Token();
  EnrollDecision first = DecideEnroll(Input(&token, nullptr)).value();
  struct Row {
    const char* name;
    std::function<void(Cluster*)> since;
    const char* want;
  };
  const Row rows[] = {
      {"nothing", [](Cluster*) {}, ""},
      {"accepted", [](Cluster* c) { c->status.admission = Admission::kAccepted; }, ""},
      {"revoked",
       [](Cluster* c) {
         c->status.revoked = true;
         c->status.certificate_generation = 2;
       },
       "REVOKED"},
      {"replaced by a rejoin", [](Cluster* c) { c->status.certificate_generation = 2; }, "REVOKED"},
      {"another cluster of that name", [](Cluster* c) { c->meta.uid = kOldUid; }, "TOKEN_SPENT"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Cluster cluster = first.cluster;
    row.since(&cluster);
    EXPECT_EQ(ErrorReason(DecideEnroll(Input(&first.token, &cluster)).status()), row.want);
  }
  EXPECT_EQ(ErrorReason(DecideEnroll(Input(&first.token, nullptr)).status()), "TOKEN_SPENT");
}

class DecideRenewTest : public ::testing::Test {
 protected:
  // What the agent holds: generation 3, issued an hour ago.
  RenewInput Input(const Cluster* cluster) {
    RenewInput input;
    input.peer.outcome = PeerOutcome::kVerified;
    input.peer.uri = {kTestHubId, PeerKind::kCluster, kOldUid.ToString()};
    input.peer.common_name = "edge-1";
    input.peer.generation = 3;
    input.peer.not_after = TestNow() + absl::Hours(100);
    input.hub_id = kTestHubId;
    input.cluster = cluster;
    input.now = TestNow();
    return input;
  }
  static void ExpireBy(RenewInput* input, absl::Duration age) {
    input->peer.outcome = PeerOutcome::kExpired;
    input->now = input->peer.not_after + age;
  }
};

TEST_F(DecideRenewTest, Outcomes) {
  struct Row {
    const char* name;
    std::function<void(Cluster*, RenewInput*)> change;
    const char* want;
  };
  using C = Cluster*;
  using I = RenewInput*;
  const absl::Duration day = absl::Hours(24);
  const Row rows[] = {
      {"good", [](C, I) {}, ""},
      {"no certificate", [](C, I input) { input->peer = Peer(); }, "UNAUTHENTICATED"},
      {"untrusted", [](C, I input) { input->peer.outcome = PeerOutcome::kUntrusted; },
       "CERT_UNTRUSTED"},
      {"a person", [](C, I input) { input->peer.uri.kind = PeerKind::kUser; }, "CERT_UNTRUSTED"},
      {"of another hub", [](C, I input) { input->hub_id = "another"; }, "CERT_UNTRUSTED"},
      {"expired of another hub",
       [&](C, I input) {
         ExpireBy(input, day);
         input->hub_id = "another";
       },
       "CERT_UNTRUSTED"},
      {"unknown", [](C, I input) { input->cluster = nullptr; }, "UNKNOWN_CLUSTER"},
      {"forgotten",
       [](C, I input) {
         input->cluster = nullptr;
         input->retirement = Retirement::kForgotten;
       },
       "UNKNOWN_CLUSTER"},
      {"removed",
       [](C, I input) {
         input->cluster = nullptr;
         input->retirement = Retirement::kRemoved;
       },
       "REVOKED"},
      {"being removed", [](C cluster, I) { cluster->status.removing = true; }, ""},
      {"revoked", [](C cluster, I) { cluster->status.revoked = true; }, "REVOKED"},
      {"older generation", [](C, I input) { input->peer.generation = 2; }, "REVOKED"},
      {"generation above the record's", [](C, I input) { input->peer.generation = 4; }, ""},
      {"expired yesterday", [&](C, I input) { ExpireBy(input, day); }, ""},
      {"expired 90 days ago", [&](C, I input) { ExpireBy(input, 90 * day); }, ""},
      {"expired longer ago", [&](C, I input) { ExpireBy(input, 90 * day + absl::Seconds(1)); },
       "CERT_EXPIRED"},
      {"expired and revoked",
       [&](C cluster, I input) {
         ExpireBy(input, day);
         cluster->status.revoked = true;
       },
       "REVOKED"},
      {"expired, of an older generation",
       [&](C, I input) {
         ExpireBy(input, day);
         input->peer.generation = 2;
       },
       "REVOKED"},
      {"expired, a newer one was seen",
       [&](C cluster, I input) {
         ExpireBy(input, day);
         cluster->status.certificate_not_after = input->peer.not_after + absl::Seconds(1);
       },
       "CERT_EXPIRED"},
      {"expired, a newer generation was seen",
       [&](C cluster, I input) {
         ExpireBy(input, day);
         cluster->status.certificate_generation_seen = 4;
       },
       "CERT_EXPIRED"},
      {"expired, unknown",
       [&](C, I input) {
         ExpireBy(input, day);
         input->cluster = nullptr;
       },
       "UNKNOWN_CLUSTER"},
      {"a newer one was seen, but this one is still good",
       [](C cluster, I input) {
         cluster->status.certificate_not_after = input->peer.not_after + absl::Hours(1);
       },
       ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Cluster cluster = Enrolled();
    RenewInput input = Input(&cluster);
    row.change(&cluster, &input);
    absl::StatusOr<RenewDecision> decision = DecideRenew(input);
    EXPECT_EQ(ErrorReason(decision.status()), row.want) << decision.status();
    if (decision.ok()) {
      EXPECT_EQ(decision->generation, std::max(3u, input.peer.generation));
    }
  }
}

TEST_F(DecideRenewTest, ALostAnswerLocksNobodyOut) {
  Cluster cluster = Enrolled();
  cluster.status.certificate_not_after = absl::InfinitePast();
  RenewDecision first = DecideRenew(Input(&cluster)).value();
  EXPECT_TRUE(first.changed);
  EXPECT_EQ(first.cluster.status.certificate_not_after, Input(&cluster).peer.not_after)
      << "what was presented counts as seen, what is issued does not";
  RenewInput late = Input(&first.cluster);
  ExpireBy(&late, absl::Hours(24 * 30));
  RenewDecision second = DecideRenew(late).value();
  EXPECT_FALSE(second.changed);
}

TEST(IssueAgentCertificateTest, IsVerifiedAsThatCluster) {
  TestCa ca;
  Cluster cluster = Enrolled();
  Csr csr = ParseCsr(MakeCsr(GenerateKey().value(), "anything").value()).value();
  std::string chain =
      IssueAgentCertificate(*ca.authority, kTestHubId, cluster, 3, csr, TestNow()).value();
  Peer peer = VerifyPeer(chain, "", ca.certificate_pem, TestNow());
  EXPECT_EQ(peer.outcome, PeerOutcome::kVerified) << peer.detail;
  EXPECT_EQ(peer.uri, (PeerUri{kTestHubId, PeerKind::kCluster, kOldUid.ToString()}));
  EXPECT_EQ(peer.common_name, "edge-1");
  EXPECT_EQ(peer.generation, 3u);
  EXPECT_EQ(peer.spki, csr.spki);
  EXPECT_EQ(peer.not_after, TestNow() + absl::Hours(24 * 7));
}

}  // namespace
}  // namespace nave
