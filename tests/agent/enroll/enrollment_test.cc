// Goal: an agent gets exactly one identity for its token, whatever is cut off on the way, and never
// loses one that works. Method: the enrolment over a hub and a store in memory, on a loop that is
// stepped by hand.
#include "agent/enroll/enrollment.h"

#include <gtest/gtest.h>

#include <memory>

#include "common/pki/authority.h"
#include "common/pki/certificate.h"
#include "tests/agent/enroll/fakes.h"

namespace nave {
namespace {

class EnrollmentTest : public ::testing::Test {
 protected:
  // A new process with the same disk.
  void StartAgent() {
    store_ = std::make_unique<FakeIdentityStore>(loop_, disk_);
    enrollment_ = std::make_unique<Enrollment>(
        loop_, *store_, hub_, [this] { return token_text_; },
        EnrollmentOptions{"1.0.0", "kube-system", 7},
        [this](const absl::Status& status) { errors_.push_back(ErrorReason(status)); });
    identity_.reset();
    errors_.clear();
    enrollment_->Start([this](AgentIdentity identity) { identity_ = std::move(identity); });
  }
  void Use(const JoinTokenText& token) { token_text_ = FormatJoinToken(token); }

  ManualExecutor loop_{TestNow()};
  FakeDisk disk_;
  FakeHub hub_{loop_};
  absl::StatusOr<std::string> token_text_ = std::string();
  std::unique_ptr<FakeIdentityStore> store_;
  std::unique_ptr<Enrollment> enrollment_;
  std::optional<AgentIdentity> identity_;
  std::vector<std::string> errors_;
};

TEST_F(EnrollmentTest, TokenBecomesAnIdentity) {
  JoinTokenText token = hub_.AddToken("edge-1");
  Use(token);
  StartAgent();
  loop_.RunAll();
  ASSERT_TRUE(identity_.has_value());
  EXPECT_EQ(identity_->cluster_name, "edge-1");
  EXPECT_EQ(identity_->cluster_uid, hub_.clusters["edge-1"].meta.uid.ToString());
  EXPECT_EQ(identity_->hub_id, kTestHubId);
  EXPECT_EQ(identity_->hub_address, token.hub_address);
  EXPECT_EQ(identity_->ca_pem, hub_.ca.certificate_pem);
  EXPECT_TRUE(CheckKeyMatches(identity_->certificate_pem, identity_->key_pem).ok());
  EXPECT_EQ(identity_->pending_key_pem, "");
  EXPECT_EQ(disk_.identity, identity_);
  EXPECT_EQ(hub_.clusters["edge-1"].status.kube_system_uid, "kube-system");

  StartAgent();
  loop_.RunAll();
  EXPECT_EQ(identity_, disk_.identity);
  EXPECT_EQ(hub_.enrolls, 1) << "an identity that stands must not be asked for again";
}

TEST_F(EnrollmentTest, ACrashAnywhereRepeatsWithTheSameKey) {
  int steps = 0;
  for (bool done = false; !done; ++steps) {
    ASSERT_LT(steps, 20);
    SCOPED_TRACE(steps);
    disk_ = FakeDisk();
    hub_.keys.clear();
    const std::string name = "edge-" + std::to_string(steps);
    Use(hub_.AddToken(name));
    StartAgent();
    for (int i = 0; i < steps; ++i) done = !loop_.RunOne();
    enrollment_.reset();
    store_.reset();
    // What was under way ends without the agent.
    StartAgent();
    loop_.RunAll();
    ASSERT_TRUE(identity_.has_value());
    EXPECT_EQ(identity_->cluster_name, name);
    ASSERT_FALSE(hub_.keys.empty());
    for (const Digest& key : hub_.keys) EXPECT_EQ(key, hub_.keys.front());
    EXPECT_EQ(errors_, std::vector<std::string>());
  }
  EXPECT_GT(steps, 5) << "the steps were not cut apart";
}

TEST_F(EnrollmentTest, ALostAnswerIsAskedForAgain) {
  Use(hub_.AddToken("edge-1"));
  hub_.lose_answers = true;
  StartAgent();
  loop_.RunAll();
  loop_.Advance(absl::Minutes(5));
  EXPECT_FALSE(identity_.has_value());
  EXPECT_EQ(hub_.enrolls, 0) << "without the CA's answer nothing is sent";
  hub_.lose_answers = false;
  loop_.Advance(absl::Seconds(60));
  ASSERT_TRUE(identity_.has_value());
  EXPECT_EQ(hub_.enrolls, 1);
}

TEST_F(EnrollmentTest, AHubThatIsDownIsAskedMoreAndMoreSeldom) {
  Use(hub_.AddToken("edge-1"));
  hub_.down = true;
  StartAgent();
  loop_.Advance(absl::Minutes(10));
  EXPECT_GE(errors_.size(), 10u);
  EXPECT_LE(errors_.size(), 30u);
  for (const std::string& error : errors_) EXPECT_EQ(error, "HUB_UNREACHABLE");
  hub_.down = false;
  loop_.Advance(absl::Seconds(60));
  EXPECT_TRUE(identity_.has_value());
}

TEST_F(EnrollmentTest, SaysWhatAPersonHasToDoAndTakesTheNextToken) {
  struct Row {
    const char* name;
    std::function<void()> prepare;
    const char* want;
  };
  const Row rows[] = {
      {"no token", [&] { token_text_ = std::string(); }, "NOT_ENROLLED"},
      {"white space", [&] { token_text_ = std::string(" \n"); }, "NOT_ENROLLED"},
      {"garbage", [&] { token_text_ = std::string("garbage"); }, "TOKEN_MALFORMED"},
      {"unreadable file", [&] { token_text_ = MakeError(Reason::kConfigInvalid, "no such file"); },
       "CONFIG_INVALID"},
      {"unknown token",
       [&] {
         JoinTokenText token = hub_.AddToken("x");
         hub_.tokens.clear();
         Use(token);
       },
       "TOKEN_INVALID"},
      {"wrong secret",
       [&] {
         JoinTokenText token = hub_.AddToken("x");
         token.secret = RandomJoinTokenSecret();
         Use(token);
       },
       "TOKEN_INVALID"},
      {"another hub's pin",
       [&] {
         JoinTokenText token = hub_.AddToken("x");
         token.ca_pin = Sha256("another");
         Use(token);
       },
       "CA_PIN_MISMATCH"},
      {"expired",
       [&] {
         Use(hub_.AddToken("x"));
         loop_.Advance(absl::Hours(1));
       },
       "TOKEN_EXPIRED"},
      {"spent by another",
       [&] {
         JoinTokenText token = hub_.AddToken("x");
         hub_.tokens[token.id].spent_by_key = Sha256("another key");
         Use(token);
       },
       "TOKEN_SPENT"},
      {"name taken",
       [&] {
         hub_.clusters["taken"].id = "taken";
         hub_.clusters["taken"].status.certificate_generation = 1;
         Use(hub_.AddToken("taken"));
       },
       "ALREADY_ENROLLED"},
  };
  int number = 0;
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    disk_ = FakeDisk();
    row.prepare();
    StartAgent();
    loop_.RunAll();
    EXPECT_FALSE(identity_.has_value());
    EXPECT_EQ(errors_, std::vector<std::string>{row.want});
    const std::string name = "good-" + std::to_string(++number);
    Use(hub_.AddToken(name));
    loop_.Advance(absl::Minutes(1));
    ASSERT_TRUE(identity_.has_value()) << "a new token must be taken without a restart";
    EXPECT_EQ(identity_->cluster_name, name);
    enrollment_.reset();
  }
}

TEST_F(EnrollmentTest, ARejoinTokenReplacesTheIdentity) {
  Use(hub_.AddToken("edge-1"));
  StartAgent();
  loop_.RunAll();
  AgentIdentity first = identity_.value();
  hub_.clusters["edge-1"].status.revoked = true;
  Use(hub_.AddToken("edge-1", /*rejoin=*/true));
  StartAgent();
  loop_.RunAll();
  ASSERT_TRUE(identity_.has_value());
  EXPECT_EQ(identity_->cluster_uid, first.cluster_uid);
  EXPECT_NE(identity_->key_pem, first.key_pem);
  EXPECT_EQ(ParseCertificate(identity_->certificate_pem)->generation, 2u);
  EXPECT_FALSE(hub_.clusters["edge-1"].status.revoked);
}

TEST_F(EnrollmentTest, AnIdentityThatWorksOutlivesATokenThatDoesNot) {
  Use(hub_.AddToken("edge-1"));
  StartAgent();
  loop_.RunAll();
  AgentIdentity first = identity_.value();
  for (bool down : {false, true}) {
    hub_.down = down;
    Use(hub_.AddToken("edge-1", /*rejoin=*/false));
    StartAgent();
    loop_.RunAll();
    ASSERT_TRUE(identity_.has_value());
    EXPECT_EQ(identity_->key_pem, first.key_pem);
    EXPECT_EQ(identity_->certificate_pem, first.certificate_pem);
    EXPECT_EQ(errors_, std::vector<std::string>{down ? "HUB_UNREACHABLE" : "ALREADY_ENROLLED"});
  }
}

TEST_F(EnrollmentTest, WritesNothingOverAnIdentityThatItCannotRead) {
  Use(hub_.AddToken("edge-1"));
  StartAgent();
  store_->load_error = MakeError(Reason::kIdentityInvalid, "damaged");
  loop_.RunAll();
  loop_.Advance(absl::Minutes(30));
  EXPECT_FALSE(identity_.has_value());
  EXPECT_EQ(disk_.saves, 0);
  EXPECT_EQ(hub_.enrolls, 0);
}

TEST_F(EnrollmentTest, OfTwoAgentsTheSecondTakesTheFirstOnesKey) {
  JoinTokenText token = hub_.AddToken("edge-1");
  Use(token);
  StartAgent();
  ASSERT_TRUE(loop_.RunOne());  // Loaded: there is none.
  // Meanwhile the other agent stored its key, so this one's write is refused.
  AgentIdentity other;
  other.pending_key_pem = GenerateKey().value();
  other.pending_token_id = token.id;
  disk_.identity = other;
  store_->next_save_error = MakeError(Reason::kEtagMismatch, "changed");
  loop_.RunAll();
  loop_.Advance(absl::Seconds(5));
  ASSERT_TRUE(identity_.has_value());
  EXPECT_EQ(identity_->key_pem, other.pending_key_pem);
}

TEST_F(EnrollmentTest, RefusesAnAnswerForAnotherKeyOrCluster) {
  JoinTokenText token = hub_.AddToken("edge-1");
  AgentIdentity pending;
  pending.pending_key_pem = GenerateKey().value();
  CertificateSpec spec = ClusterSpecOf();
  spec.public_key = PublicKeyOf(pending.pending_key_pem).value();
  EnrollAnswer good;
  good.certificate_pem = hub_.ca.authority->Issue(spec, TestNow()).value();
  good.ca_pem = hub_.ca.certificate_pem;
  good.cluster_uid = kTestClusterUid;
  good.cluster_name = "edge-1";
  good.hub_id = kTestHubId;
  EXPECT_TRUE(TakeEnrollAnswer(pending, token, good).ok());
  EnrollAnswer other_key = good;
  other_key.certificate_pem = IssueTo(hub_.ca, ClusterSpecOf()).chain_pem;
  EnrollAnswer other_uid = good;
  other_uid.cluster_uid = kTestHubId;
  EnrollAnswer no_certificate = good;
  no_certificate.certificate_pem = "";
  EnrollAnswer no_ca = good;
  no_ca.ca_pem = "";
  for (const EnrollAnswer& answer : {other_key, other_uid, no_certificate, no_ca}) {
    EXPECT_EQ(ErrorReason(TakeEnrollAnswer(pending, token, answer).status()), "INTERNAL");
  }
}

}  // namespace
}  // namespace nave
