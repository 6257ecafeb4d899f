// Goal: a certificate is renewed in time, a failure costs nothing but another attempt, and a box
// that was off for a month comes back. Method: a loop whose clock is moved by hand.
#include "agent/enroll/renewal.h"

#include <gtest/gtest.h>

#include "common/pki/certificate.h"
#include "tests/agent/enroll/fakes.h"

namespace nave {
namespace {

constexpr absl::Duration kDay = absl::Hours(24);

TEST(RenewTimeTest, TwoThirdsAndUpToATenthLater) {
  const absl::Time from = TestNow();
  const absl::Time to = from + 30 * kDay;
  EXPECT_EQ(RenewTime(from, to, 0), from + 20 * kDay);
  EXPECT_EQ(RenewTime(from, to, 0.5), from + 20 * kDay + 1.5 * kDay);
  EXPECT_LT(RenewTime(from, to, 0.999), from + 23 * kDay);
}

class RenewalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Cluster& cluster = hub_.clusters["edge-1"];
    cluster.id = "edge-1";
    cluster.meta.uid = *Uuid::Parse(kTestClusterUid);
    cluster.status.certificate_generation = 1;
    cluster.status.certificate_generation_seen = 1;
    TestIdentity issued = IssueTo(hub_.ca, ClusterSpecOf());
    AgentIdentity identity;
    identity.key_pem = issued.key_pem;
    identity.certificate_pem = issued.chain_pem;
    identity.ca_pem = hub_.ca.certificate_pem;
    identity.cluster_uid = kTestClusterUid;
    identity.cluster_name = "edge-1";
    identity.hub_id = kTestHubId;
    identity.hub_address = "hub:8444";
    disk_.identity = identity;
  }
  void StartAgent() {
    renewal_ = std::make_unique<Renewal>(
        loop_, store_, hub_, *disk_.identity, 7,
        [this](const AgentIdentity& identity) { renewed_.push_back(identity); },
        [this](const absl::Status& status) { errors_.push_back(ErrorReason(status)); });
    renewal_->Start();
    loop_.RunAll();
  }
  absl::Time NotAfter() { return ParseCertificate(disk_.identity->certificate_pem)->not_after; }

  ManualExecutor loop_{TestNow()};
  FakeDisk disk_;
  FakeHub hub_{loop_};
  FakeIdentityStore store_{loop_, disk_};
  std::unique_ptr<Renewal> renewal_;
  std::vector<AgentIdentity> renewed_;
  std::vector<std::string> errors_;
};

TEST_F(RenewalTest, RenewsForEver) {
  StartAgent();
  loop_.Advance(4.5 * kDay);
  EXPECT_EQ(hub_.renewals, 0);
  loop_.Advance(kDay);
  EXPECT_EQ(hub_.renewals, 1);
  ASSERT_EQ(renewed_.size(), 1u);
  EXPECT_EQ(renewed_[0], *disk_.identity);
  EXPECT_TRUE(CheckKeyMatches(renewed_[0].certificate_pem, renewed_[0].key_pem).ok());
  EXPECT_EQ(renewed_[0].cluster_uid, kTestClusterUid);
  for (int day = 0; day < 100; ++day) {
    loop_.Advance(kDay);
    ASSERT_GT(NotAfter(), loop_.Now() + kDay);
  }
  EXPECT_GE(hub_.renewals, 18);
  EXPECT_LE(hub_.renewals, 24);
  EXPECT_TRUE(errors_.empty());
}

TEST_F(RenewalTest, AFailureKeepsTheOldOneAndIsTriedAgain) {
  StartAgent();
  const AgentIdentity before = *disk_.identity;
  hub_.down = true;
  loop_.Advance(6 * kDay);
  EXPECT_EQ(*disk_.identity, before);
  EXPECT_GT(errors_.size(), 20u);
  EXPECT_LT(errors_.size(), 400u);
  hub_.down = false;
  loop_.Advance(absl::Minutes(10));
  EXPECT_EQ(renewed_.size(), 1u);
}

TEST_F(RenewalTest, LostAnswersLockNobodyOut) {
  StartAgent();
  hub_.lose_answers = true;
  loop_.Advance(7.1 * kDay);
  EXPECT_GT(hub_.renewals, 10);
  EXPECT_LT(NotAfter(), loop_.Now());
  hub_.lose_answers = false;
  loop_.Advance(absl::Minutes(10));
  EXPECT_EQ(renewed_.size(), 1u);
  EXPECT_GT(NotAfter(), loop_.Now());
}

TEST_F(RenewalTest, ABoxThatWasOffForAMonthComesBack) {
  loop_.Advance(30 * kDay);
  StartAgent();
  ASSERT_EQ(renewed_.size(), 1u);
  EXPECT_GT(NotAfter(), loop_.Now());
}

TEST_F(RenewalTest, AfterTheGraceItSaysSo) {
  loop_.Advance(98 * kDay);
  StartAgent();
  EXPECT_TRUE(renewed_.empty());
  EXPECT_EQ(errors_, std::vector<std::string>{"CERT_EXPIRED"});
}

TEST_F(RenewalTest, RenewNowDoesNotPile) {
  StartAgent();
  renewal_->RenewNow();
  renewal_->RenewNow();
  loop_.RunAll();
  EXPECT_EQ(hub_.renewals, 1);
  EXPECT_EQ(renewed_.size(), 1u);
  hub_.down = true;
  renewal_->RenewNow();
  loop_.RunAll();
  for (int i = 0; i < 10; ++i) renewal_->RenewNow();
  loop_.RunAll();
  EXPECT_EQ(errors_.size(), 1u) << "a failure's delay must not be jumped";
}

TEST_F(RenewalTest, AnIdentityThatSomeoneElseStoredIsTaken) {
  StartAgent();
  renewal_->RenewNow();
  AgentIdentity other = *disk_.identity;
  TestIdentity issued = IssueTo(hub_.ca, ClusterSpecOf(), TestNow() + kDay);
  other.key_pem = issued.key_pem;
  other.certificate_pem = issued.chain_pem;
  disk_.identity = other;
  store_.next_save_error = MakeError(Reason::kEtagMismatch, "changed");
  loop_.RunAll();
  ASSERT_EQ(renewed_.size(), 1u);
  EXPECT_EQ(renewed_[0], other);
  EXPECT_EQ(*disk_.identity, other);
}

TEST_F(RenewalTest, AFailedWriteKeepsTheOldOne) {
  StartAgent();
  const AgentIdentity before = *disk_.identity;
  store_.next_save_error = MakeError(Reason::kDiskFull, "full");
  renewal_->RenewNow();
  loop_.RunAll();
  EXPECT_EQ(*disk_.identity, before);
  EXPECT_TRUE(renewed_.empty());
  EXPECT_EQ(errors_, std::vector<std::string>{"DISK_FULL"});
  loop_.Advance(absl::Minutes(1));
  EXPECT_EQ(renewed_.size(), 1u);
}

TEST_F(RenewalTest, RefusesAnAnswerForAnotherKey) {
  RenewAnswer answer = {IssueTo(hub_.ca, ClusterSpecOf()).chain_pem, hub_.ca.certificate_pem};
  EXPECT_EQ(ErrorReason(TakeRenewAnswer(*disk_.identity, GenerateKey().value(), answer).status()),
            "INTERNAL");
}

TEST_F(RenewalTest, GoneWhileACallIsUnderWay) {
  StartAgent();
  renewal_->RenewNow();
  renewal_.reset();
  loop_.RunAll();
  EXPECT_TRUE(renewed_.empty());
}

}  // namespace
}  // namespace nave
