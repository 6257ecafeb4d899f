// The life of a cluster by its verbs, and join tokens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/pki/join_token.h"
#include "hub/records/codec.h"
#include "hub/records/keys.h"
#include "nave/v1/cluster.grpc.pb.h"
#include "nave/v1/join_token.grpc.pb.h"
#include "tests/hub/rpc/harness.h"

namespace nave {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Stub = v1::ClusterService::Stub;
using TokenStub = v1::JoinTokenService::Stub;

class ClusterTest : public testing::Test {
 protected:
  // A record as enrolment and sessions may have left it.
  void Put(const std::string& id, const std::function<void(Cluster*)>& change) {
    Cluster cluster;
    cluster.id = id;
    cluster.meta.uid = Uuid::Random();
    cluster.meta.generation = 1;
    change(&cluster);
    ControlTxn txn;
    txn.Put(ClusterKey(id), EncodeRecord(cluster));
    txn.Put(ByUidKey(UidKind::kCluster, cluster.meta.uid), EncodeText(id));
    hub_.Write(std::move(txn));
  }
  const Cluster& Stored(const std::string& id) {
    return (held_ = hub_.Snapshot()->ClusterById(id))->value;
  }

  template <typename Request>
  absl::Status Verb(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                 v1::Cluster*),
                    const std::string& id, v1::Cluster* cluster, const std::string& more = "") {
    return hub_.Call(stub_.get(), method,
                     Text<Request>(absl::StrCat("name: 'clusters/", id, "' ", more)), cluster);
  }

  ApiHarness hub_;
  std::unique_ptr<Stub> stub_ = hub_.Stub<v1::ClusterService>();
  std::unique_ptr<TokenStub> tokens_ = hub_.Stub<v1::JoinTokenService>();
  std::shared_ptr<const Versioned<Cluster>> held_;
};

TEST_F(ClusterTest, VerbsChangeTheRecordOrSayWhyNot) {
  v1::Cluster cluster;
  auto create = Text<v1::CreateClusterRequest>(
      "cluster_id: 'c' cluster { spec { taints { key: 'k' effect: TAINT_EFFECT_NO_SCHEDULE } } }");
  ASSERT_EQ(hub_.Call(stub_.get(), &Stub::CreateCluster, create, &cluster), absl::OkStatus());
  EXPECT_EQ(cluster.status().phase(), v1::CLUSTER_PHASE_PENDING);
  EXPECT_EQ(cluster.spec().cluster_set(), "default");
  EXPECT_TRUE(cluster.spec().taints(0).has_since());
  std::string etag = cluster.etag();
  EXPECT_EQ(ReasonOf(Verb(&Stub::RevokeCluster, "c", &cluster)), "CLUSTER_STATE_CONFLICT");
  ASSERT_EQ(Verb(&Stub::RejectCluster, "c", &cluster), absl::OkStatus());
  EXPECT_EQ(cluster.status().phase(), v1::CLUSTER_PHASE_REJECTED);
  EXPECT_EQ(ReasonOf(Verb(&Stub::AcceptCluster, "c", &cluster, absl::StrCat("etag: '", etag, "'"))),
            "ETAG_MISMATCH");
  ASSERT_EQ(Verb(&Stub::AcceptCluster, "c", &cluster), absl::OkStatus());
  EXPECT_EQ(cluster.status().admission(), v1::CLUSTER_ADMISSION_ACCEPTED);
  EXPECT_EQ(ReasonOf(Verb(&Stub::RejectCluster, "c", &cluster)), "CLUSTER_STATE_CONFLICT");
  ASSERT_EQ(Verb(&Stub::CordonCluster, "c", &cluster), absl::OkStatus());
  EXPECT_TRUE(cluster.spec().cordoned());
  EXPECT_EQ(cluster.metadata().generation(), 2u);
  std::string version = cluster.metadata().resource_version();
  ASSERT_EQ(Verb(&Stub::CordonCluster, "c", &cluster), absl::OkStatus());
  EXPECT_EQ(cluster.metadata().resource_version(), version);
  ASSERT_EQ(Verb(&Stub::UncordonCluster, "c", &cluster), absl::OkStatus());
  EXPECT_FALSE(cluster.spec().cordoned());
  EXPECT_EQ(ReasonOf(Verb(&Stub::UnlockCluster, "c", &cluster)), "CLUSTER_STATE_CONFLICT");
  EXPECT_EQ(ReasonOf(Verb(&Stub::RemoveCluster, "c", &cluster, "confirm: 'd'")),
            "CONFIRM_MISMATCH");
  ASSERT_EQ(Verb(&Stub::RemoveCluster, "c", &cluster, "confirm: 'c'"), absl::OkStatus());
  EXPECT_EQ(cluster.status().phase(), v1::CLUSTER_PHASE_REMOVING);
  EXPECT_TRUE(Stored("c").status.remove_confirmed);
  EXPECT_EQ(ReasonOf(Verb(&Stub::AcceptCluster, "c", &cluster)), "CLUSTER_STATE_CONFLICT");
  EXPECT_EQ(ReasonOf(Verb(&Stub::AcceptCluster, "none", &cluster)), "NOT_FOUND");
}

TEST_F(ClusterTest, RevokeGoesAboveEverythingSeen) {
  Put("c", [](Cluster* c) {
    c->status.admission = Admission::kAccepted;
    c->status.certificate_generation = 2;
    c->status.certificate_generation_seen = 5;
  });
  v1::Cluster cluster;
  ASSERT_EQ(Verb(&Stub::RevokeCluster, "c", &cluster), absl::OkStatus());
  EXPECT_TRUE(cluster.status().revoked());
  EXPECT_EQ(cluster.status().certificate_generation(), 6u);
  ASSERT_EQ(Verb(&Stub::RevokeCluster, "c", &cluster), absl::OkStatus());
  EXPECT_EQ(cluster.status().certificate_generation(), 6u);
}

TEST_F(ClusterTest, UnlockAndForget) {
  Put("c", [](Cluster* c) {
    c->status.admission = Admission::kAccepted;
    c->status.locked = true;
    c->status.certificate_generation = 1;
  });
  v1::Cluster cluster;
  ASSERT_EQ(Verb(&Stub::UnlockCluster, "c", &cluster), absl::OkStatus());
  EXPECT_FALSE(cluster.status().locked());
  auto status = std::make_shared<AssignmentStatus>();
  status->key = Uuid::Random();
  status->name = "projects/default/bundles/left";
  ClusterLive live;
  live.connected = true;
  live.assignments[status->key] = status;
  Uuid uid = hub_.ClusterUid("c");
  hub_.SetLive(uid, live);
  v1::ForgetClusterResponse forgotten;
  v1::ForgetClusterRequest request;
  request.set_name("clusters/c");
  EXPECT_EQ(ReasonOf(hub_.Call(stub_.get(), &Stub::ForgetCluster, request, &forgotten)),
            "CONFIRM_MISMATCH");
  request.set_confirm("c");
  ASSERT_EQ(hub_.Call(stub_.get(), &Stub::ForgetCluster, request, &forgotten), absl::OkStatus());
  EXPECT_THAT(forgotten.left_behind(), ElementsAre("projects/default/bundles/left"));
  EXPECT_EQ(hub_.Snapshot()->ClusterById("c"), nullptr);
  EXPECT_NE(hub_.Snapshot()->retired.Find(uid), nullptr);
}

TEST_F(ClusterTest, AnUnknownClusterIsAcceptedUnderItsUid) {
  UnknownCluster unknown{Uuid::Random(), "lost", 4, "10.0.0.1", hub_.Now()};
  hub_.live()->NoteUnknown(unknown);
  v1::Cluster cluster;
  EXPECT_EQ(ReasonOf(Verb(&Stub::AcceptCluster, "lost", &cluster, "cluster_set: 'none'")),
            "INVALID_FIELD");
  ASSERT_EQ(Verb(&Stub::AcceptCluster, "lost", &cluster), absl::OkStatus());
  EXPECT_EQ(cluster.metadata().uid(), unknown.uid.ToString());
  EXPECT_EQ(cluster.status().certificate_generation(), 4u);
  EXPECT_EQ(ReasonOf(Verb(&Stub::AcceptCluster, "lost", &cluster,
                          absl::StrCat("unknown_uid: '", unknown.uid.ToString(), "'"))),
            "CLUSTER_STATE_CONFLICT");
}

TEST_F(ClusterTest, AdoptNamesWhatIsNotDesired) {
  Put("c", [](Cluster* c) { c->status.admission = Admission::kAccepted; });
  Put("d", [](Cluster* c) { c->status.admission = Admission::kAccepted; });
  auto status = std::make_shared<AssignmentStatus>();
  status->key = Uuid::Random();
  status->name = "projects/default/bundles/old";
  ClusterLive live;
  live.connected = true;
  live.hold_reason = "HistoryDiverged";
  live.assignments[status->key] = status;
  hub_.SetLive(hub_.ClusterUid("c"), live);
  v1::AdoptClusterResponse adopted;
  auto request = Text<v1::AdoptClusterRequest>("name: 'clusters/c' remove_unclaimed: true");
  ASSERT_EQ(hub_.Call(stub_.get(), &Stub::AdoptCluster, request, &adopted), absl::OkStatus());
  EXPECT_THAT(adopted.not_desired(), ElementsAre("projects/default/bundles/old"));
  EXPECT_EQ(adopted.cluster().name(), "clusters/c");
  EXPECT_TRUE(hub_.Snapshot()->Adopted(hub_.ClusterUid("c")));
  EXPECT_FALSE(hub_.Snapshot()->Adopted(hub_.ClusterUid("d")));
  EXPECT_EQ(hub_.Snapshot()->tombstones.Find(hub_.ClusterUid("c"))->count(status->key), 1u);
  // A second one adds to the first.
  ASSERT_EQ(hub_.Call(stub_.get(), &Stub::AdoptCluster,
                      Text<v1::AdoptClusterRequest>("name: 'clusters/d'"), &adopted),
            absl::OkStatus());
  EXPECT_TRUE(hub_.Snapshot()->Adopted(hub_.ClusterUid("c")));
  EXPECT_TRUE(hub_.Snapshot()->Adopted(hub_.ClusterUid("d")));
}

TEST_F(ClusterTest, DiagnosisHasAReasonAndANextStep) {
  Put("pending", [](Cluster*) {});
  Put("revoked", [](Cluster* c) {
    c->status.admission = Admission::kAccepted;
    c->status.revoked = true;
  });
  Put("away", [](Cluster* c) { c->status.admission = Admission::kAccepted; });
  struct Case {
    std::string id, state, reason, step;
  };
  const Case cases[] = {
      {"pending", "Pending", "NeverConnected", "navectl token create --cluster pending"},
      {"revoked", "Revoked", "Revoked", "navectl token create --cluster revoked --rejoin"},
      {"away", "Disconnected", "NeverConnected", "navectl cluster manifest"},
  };
  for (const Case& c : cases) {
    v1::Diagnosis why;
    ASSERT_EQ(
        hub_.Call(stub_.get(), &Stub::DiagnoseCluster,
                  Text<v1::DiagnoseClusterRequest>(absl::StrCat("name: 'clusters/", c.id, "'")),
                  &why),
        absl::OkStatus());
    EXPECT_EQ(why.state(), c.state);
    EXPECT_EQ(why.reason(), c.reason);
    EXPECT_FALSE(why.cause().empty()) << c.id;
    EXPECT_THAT(why.DebugString(), HasSubstr(c.step)) << c.id;
    EXPECT_GT(why.evidence_size(), 1);
  }
}

TEST_F(ClusterTest, TokensAreShownOnce) {
  v1::CreateJoinTokenResponse made;
  auto request = Text<v1::CreateJoinTokenRequest>(
      "join_token { spec { cluster: 'edge' ttl { seconds: 600 } } } request_id: "
      "'9b2f4a52-33d5-4a3c-9a8e-0a8f3a5d7e11'");
  ASSERT_EQ(hub_.Call(tokens_.get(), &TokenStub::CreateJoinToken, request, &made),
            absl::OkStatus());
  auto text = ParseJoinToken(made.token());
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(text->hub_address, "hub.example:8444");
  EXPECT_EQ(text->ca_pin, Sha256("pin"));
  EXPECT_EQ(made.join_token().name(), absl::StrCat("joinTokens/", text->id));
  auto stored = DecodeRecord<JoinToken>(hub_.store()->Get(JoinTokenKey(text->id)).value()->bytes);
  EXPECT_EQ(stored->secret_hash, HashTokenSecret(text->secret));
  EXPECT_EQ(stored->expire_time, hub_.Now() + absl::Minutes(10));
  EXPECT_EQ(ReasonOf(hub_.Call(tokens_.get(), &TokenStub::CreateJoinToken, request, &made)),
            "REQUEST_ID_REUSED");

  v1::GetJoinTokenRequest get;
  get.set_name(absl::StrCat("joinTokens/", text->id));
  v1::JoinToken token;
  ASSERT_EQ(hub_.Call(tokens_.get(), &TokenStub::GetJoinToken, get, &token), absl::OkStatus());
  EXPECT_EQ(token.status().state(), v1::JOIN_TOKEN_STATE_UNUSED);
  hub_.Advance(absl::Minutes(11));
  ASSERT_EQ(hub_.Call(tokens_.get(), &TokenStub::GetJoinToken, get, &token), absl::OkStatus());
  EXPECT_EQ(token.status().state(), v1::JOIN_TOKEN_STATE_EXPIRED);
  v1::ListJoinTokensResponse list;
  ASSERT_EQ(
      hub_.Call(tokens_.get(), &TokenStub::ListJoinTokens, v1::ListJoinTokensRequest(), &list),
      absl::OkStatus());
  EXPECT_EQ(list.join_tokens_size(), 1);
  google::protobuf::Empty empty;
  v1::DeleteJoinTokenRequest remove;
  remove.set_name(get.name());
  ASSERT_EQ(hub_.Call(tokens_.get(), &TokenStub::DeleteJoinToken, remove, &empty),
            absl::OkStatus());
  EXPECT_EQ(ReasonOf(hub_.Call(tokens_.get(), &TokenStub::GetJoinToken, get, &token)), "NOT_FOUND");
}

TEST_F(ClusterTest, TokensAreRefusedForWhatCannotJoin) {
  Put("enrolled", [](Cluster* c) { c->status.certificate_generation = 1; });
  Put("leaving", [](Cluster* c) {
    c->status.certificate_generation = 1;
    c->status.removing = true;
  });
  Put("fresh", [](Cluster*) {});
  struct Case {
    std::string name, spec, reason;
  };
  const Case cases[] = {
      {"anything", "", ""},
      {"a record without identity", "cluster: 'fresh'", ""},
      {"with an identity", "cluster: 'enrolled'", "ALREADY_ENROLLED"},
      {"rejoin", "cluster: 'enrolled' rejoin: true", ""},
      {"rejoin of nothing", "cluster: 'none' rejoin: true", "NOT_FOUND"},
      {"rejoin without a name", "rejoin: true", "INVALID_FIELD"},
      {"being removed", "cluster: 'leaving' rejoin: true", "CLUSTER_STATE_CONFLICT"},
      {"too short", "ttl { seconds: 59 }", "INVALID_FIELD"},
      {"too long", "ttl { seconds: 604801 }", "INVALID_FIELD"},
      {"no such set", "cluster_set: 'none'", "INVALID_FIELD"},
      {"bad label", "labels { key: '?' value: '' }", "INVALID_FIELD"},
  };
  for (const Case& c : cases) {
    v1::CreateJoinTokenResponse made;
    auto request = Text<v1::CreateJoinTokenRequest>(
        absl::StrCat("validate_only: true join_token { spec { ", c.spec, " } }"));
    EXPECT_EQ(ReasonOf(hub_.Call(tokens_.get(), &TokenStub::CreateJoinToken, request, &made)),
              c.reason)
        << c.name;
    EXPECT_EQ(made.token(), "") << c.name;
  }
}

}  // namespace
}  // namespace nave
