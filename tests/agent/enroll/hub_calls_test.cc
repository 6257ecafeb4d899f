// Goal: the whole way over real TLS: from a token's text to an identity, and on to a renewed one;
// and what the agent says when the other side is not the hub. Method: a gRPC server with the hub's
// decisions behind it, on a port of its own.
#include "agent/enroll/hub_calls.h"

#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/enroll/enrollment.h"
#include "agent/enroll/fetch_chain.h"
#include "common/base/error.h"
#include "common/pki/certificate.h"
#include "common/pki/tls_credentials.h"
#include "common/wire/grpc_status.h"
#include "hub/ca/data_directory.h"
#include "hub/ca/enroll.h"
#include "nave/agent/v1/link.grpc.pb.h"
#include "tests/common/pki/test_pki.h"

namespace nave {
namespace {

namespace v1 = ::nave::agent::v1;

// Enroll and Renew over one token and one cluster in memory.
class HubService final : public v1::AgentLink::CallbackService {
 public:
  HubService(std::string hub_id, std::shared_ptr<HubCa> ca)
      : hub_id_(std::move(hub_id)), ca_(std::move(ca)) {}

  grpc::ServerUnaryReactor* Enroll(grpc::CallbackServerContext* context,
                                   const v1::EnrollRequest* request,
                                   v1::EnrollResponse* response) override {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(ToGrpcStatus(DoEnroll(*request, response)));
    return reactor;
  }
  grpc::ServerUnaryReactor* Renew(grpc::CallbackServerContext* context,
                                  const v1::RenewRequest* request,
                                  v1::RenewResponse* response) override {
    auto* reactor = context->DefaultReactor();
    Peer peer = PeerOf(*context, ca_->RootsPem(), absl::Now());
    reactor->Finish(ToGrpcStatus(DoRenew(peer, *request, response)));
    return reactor;
  }

  JoinToken token;
  std::optional<Cluster> cluster;
  std::mutex mutex;

 private:
  absl::Status DoEnroll(const v1::EnrollRequest& request, v1::EnrollResponse* response) {
    std::lock_guard<std::mutex> lock(mutex);
    absl::StatusOr<Csr> csr = ParseCsr(request.csr_pem());
    if (!csr.ok()) return csr.status();
    absl::StatusOr<JoinTokenText> text = ParseJoinToken(request.token());
    if (!text.ok()) return text.status();
    EnrollInput input;
    if (text->id == token.id) input.token = &token;
    input.secret_hash = HashTokenSecret(text->secret);
    input.cluster = cluster.has_value() ? &*cluster : nullptr;
    input.key = csr->spki;
    input.kube_system_uid = request.kube_system_uid();
    input.now = absl::Now();
    input.new_uid = Uuid::Random();
    absl::StatusOr<EnrollDecision> decision = DecideEnroll(input);
    if (!decision.ok()) return decision.status();
    token = decision->token;
    cluster = decision->cluster;
    response->set_certificate_pem(IssueAgentCertificate(*ca_->Authority(), hub_id_, *cluster,
                                                        token.spent_generation, *csr, absl::Now())
                                      .value());
    response->set_ca_pem(ca_->RootsPem());
    response->set_cluster_uid(cluster->meta.uid.ToString());
    response->set_cluster_name(cluster->id);
    response->set_hub_id(hub_id_);
    return absl::OkStatus();
  }

  absl::Status DoRenew(const Peer& peer, const v1::RenewRequest& request,
                       v1::RenewResponse* response) {
    std::lock_guard<std::mutex> lock(mutex);
    RenewInput input;
    input.peer = peer;
    input.hub_id = hub_id_;
    input.cluster = cluster.has_value() ? &*cluster : nullptr;
    input.now = absl::Now();
    absl::StatusOr<RenewDecision> decision = DecideRenew(input);
    if (!decision.ok()) return decision.status();
    absl::StatusOr<Csr> csr = ParseCsr(request.csr_pem());
    if (!csr.ok()) return csr.status();
    response->set_certificate_pem(IssueAgentCertificate(*ca_->Authority(), hub_id_, *cluster,
                                                        decision->generation, *csr, absl::Now())
                                      .value());
    response->set_ca_pem(ca_->RootsPem());
    return absl::OkStatus();
  }

  const std::string hub_id_;
  const std::shared_ptr<HubCa> ca_;
};

class HubCallsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    DataDirectoryOptions options;
    options.path = directory_.File("hub");
    options.api_address = "localhost:8443";
    hub_ = OpenDataDirectory(options, std::nullopt, absl::Now()).value();
    service_ = std::make_unique<HubService>(hub_.hub_id, hub_.ca);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(
        "127.0.0.1:0", MakeServerCredentials(CertificateFiles::Open(hub_.server_paths).value()),
        &port);
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);

    text_.hub_address = absl::StrCat("127.0.0.1:", port);
    text_.id = RandomJoinTokenId();
    text_.secret = RandomJoinTokenSecret();
    text_.ca_pin = hub_.ca->Authority()->pin();
    service_->token.id = text_.id;
    service_->token.cluster = "edge-1";
    service_->token.secret_hash = HashTokenSecret(text_.secret);
    service_->token.expire_time = absl::Now() + absl::Minutes(30);
  }

  // Runs a call with a callback to its answer.
  template <typename T, typename F>
  absl::StatusOr<T> Await(F call) {
    std::promise<absl::StatusOr<T>> promise;
    call([&](absl::StatusOr<T> answer) { promise.set_value(std::move(answer)); });
    return promise.get_future().get();
  }
  absl::StatusOr<std::string> FetchCa(std::string address, Digest pin) {
    return Await<std::string>([&](HubCalls::Callback<std::string> done) {
      calls_->FetchCa(address, pin, std::move(done));
    });
  }
  absl::StatusOr<AgentIdentity> EnrollWith(const JoinTokenText& text, const std::string& key) {
    absl::StatusOr<std::string> ca = FetchCa(text.hub_address, text.ca_pin);
    if (!ca.ok()) return ca.status();
    EnrollRequestData request;
    request.hub_address = text.hub_address;
    request.ca_pem = *ca;
    request.token = FormatJoinToken(text);
    request.csr_pem = MakeCsr(key, "agent").value();
    request.kube_system_uid = "kube-system";
    absl::StatusOr<EnrollAnswer> answer = Await<EnrollAnswer>(
        [&](HubCalls::Callback<EnrollAnswer> done) { calls_->Enroll(request, std::move(done)); });
    if (!answer.ok()) return answer.status();
    AgentIdentity pending;
    pending.pending_key_pem = key;
    return TakeEnrollAnswer(pending, text, *answer);
  }
  absl::StatusOr<RenewAnswer> Renew(const AgentIdentity& identity, const std::string& key) {
    return Await<RenewAnswer>([&](HubCalls::Callback<RenewAnswer> done) {
      calls_->Renew(identity, MakeCsr(key, "agent").value(), std::move(done));
    });
  }

  TestDirectory directory_;
  DataDirectory hub_;
  std::unique_ptr<HubService> service_;
  std::unique_ptr<grpc::Server> server_;
  JoinTokenText text_;
  std::unique_ptr<Executor> loop_ = MakeThreadExecutor();
  std::unique_ptr<HubCalls> calls_ = MakeGrpcHubCalls(*loop_);

  // Both belong to the loop thread.
  void TearDown() override {
    std::promise<void> gone;
    loop_->Post([&] {
      calls_.reset();
      gone.set_value();
    });
    gone.get_future().get();
  }
};

TEST_F(HubCallsTest, FromATokenToARenewedIdentity) {
  const std::string key = GenerateKey().value();
  absl::StatusOr<AgentIdentity> identity = EnrollWith(text_, key);
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_EQ(identity->cluster_name, "edge-1");
  EXPECT_EQ(service_->cluster->status.kube_system_uid, "kube-system");
  absl::StatusOr<AgentIdentity> again = EnrollWith(text_, key);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->cluster_uid, identity->cluster_uid);

  const std::string next_key = GenerateKey().value();
  absl::StatusOr<RenewAnswer> renewed = Renew(*identity, next_key);
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  EXPECT_TRUE(CheckKeyMatches(renewed->certificate_pem, next_key).ok());
  EXPECT_EQ(ParseCertificate(renewed->certificate_pem)->uri_sans,
            ParseCertificate(identity->certificate_pem)->uri_sans);
}

TEST_F(HubCallsTest, TheHubsReasonArrives) {
  JoinTokenText wrong = text_;
  wrong.secret = RandomJoinTokenSecret();
  EXPECT_EQ(ErrorReason(EnrollWith(wrong, GenerateKey().value()).status()), "TOKEN_INVALID");
  AgentIdentity identity = EnrollWith(text_, GenerateKey().value()).value();
  EXPECT_EQ(ErrorReason(EnrollWith(text_, GenerateKey().value()).status()), "TOKEN_SPENT");

  // A certificate that ended is let through the handshake, and renewed.
  CertificateSpec expired = ClusterSpecOf();
  expired.uri_sans = ParseCertificate(identity.certificate_pem)->uri_sans;
  expired.public_key = PublicKeyOf(identity.key_pem).value();
  AgentIdentity late = identity;
  late.certificate_pem =
      hub_.ca->Authority()->Issue(expired, absl::Now() - absl::Hours(24 * 30)).value();
  EXPECT_TRUE(Renew(late, late.key_pem).ok());
  late.certificate_pem =
      hub_.ca->Authority()->Issue(expired, absl::Now() - absl::Hours(24 * 100)).value();
  EXPECT_EQ(ErrorReason(Renew(late, late.key_pem).status()), "CERT_EXPIRED");

  service_->cluster->status.revoked = true;
  EXPECT_EQ(ErrorReason(Renew(identity, identity.key_pem).status()), "REVOKED");
  service_->cluster.reset();
  EXPECT_EQ(ErrorReason(Renew(identity, identity.key_pem).status()), "UNKNOWN_CLUSTER");
}

TEST_F(HubCallsTest, KnowsTheHubByItsPin) {
  EXPECT_EQ(FetchCa(text_.hub_address, text_.ca_pin).value(), hub_.ca->RootsPem());
  EXPECT_EQ(ErrorReason(FetchCa(text_.hub_address, Sha256("x")).status()), "CA_PIN_MISMATCH");
}

TEST_F(HubCallsTest, SaysWhenThereIsNoHub) {
  // A port that is bound and does not listen refuses for as long as this test runs.
  int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in bound = {};
  bound.sin_family = AF_INET;
  bound.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(bound);
  ASSERT_EQ(bind(descriptor, reinterpret_cast<sockaddr*>(&bound), size), 0);
  ASSERT_EQ(getsockname(descriptor, reinterpret_cast<sockaddr*>(&bound), &size), 0);
  const std::string address = absl::StrCat("127.0.0.1:", ntohs(bound.sin_port));
  EXPECT_EQ(ErrorReason(FetchCa(address, text_.ca_pin).status()), "HUB_UNREACHABLE");
  AgentIdentity identity;
  identity.hub_address = address;
  identity.ca_pem = hub_.ca->RootsPem();
  EXPECT_EQ(ErrorReason(Renew(identity, GenerateKey().value()).status()), "HUB_UNREACHABLE");
  close(descriptor);
  EXPECT_EQ(ErrorReason(FetchCa("no-port", text_.ca_pin).status()), "INVALID_FIELD");
}

TEST_F(HubCallsTest, StopsInTheMiddleOfACall) {
  // A server that takes the connection and never speaks.
  int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in bound = {};
  bound.sin_family = AF_INET;
  bound.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(bound);
  ASSERT_EQ(bind(descriptor, reinterpret_cast<sockaddr*>(&bound), size), 0);
  ASSERT_EQ(listen(descriptor, 8), 0);
  ASSERT_EQ(getsockname(descriptor, reinterpret_cast<sockaddr*>(&bound), &size), 0);
  AgentIdentity identity;
  identity.hub_address = absl::StrCat("127.0.0.1:", ntohs(bound.sin_port));
  identity.ca_pem = hub_.ca->RootsPem();
  std::atomic<bool> called = false;
  for (bool renew : {false, true}) {
    std::unique_ptr<HubCalls> calls = MakeGrpcHubCalls(*loop_);
    if (renew) {
      calls->Renew(identity, MakeCsr(GenerateKey().value(), "agent").value(),
                   [&](absl::StatusOr<RenewAnswer>) { called = true; });
    } else {
      calls->FetchCa(identity.hub_address, text_.ca_pin,
                     [&](absl::StatusOr<std::string>) { called = true; });
    }
    // The peer has the connection: the call is under way.
    int peer = accept(descriptor, nullptr, nullptr);
    std::promise<void> gone;
    loop_->Post([&] {
      calls.reset();
      gone.set_value();
    });
    gone.get_future().get();
    close(peer);
  }
  close(descriptor);
  EXPECT_FALSE(called);
}

TEST(SplitHostPortTest, Forms) {
  EXPECT_EQ(SplitHostPort("hub:8444").value(), (HostPort{"hub", "8444"}));
  EXPECT_EQ(SplitHostPort("[2001:db8::1]:8444").value(), (HostPort{"2001:db8::1", "8444"}));
  for (const char* bad : {"", "hub", "hub:", ":8444", "hub:0", "hub:65536", "hub:x", "::1:8444",
                          "2001:db8::1", "[]:1"}) {
    SCOPED_TRACE(bad);
    EXPECT_EQ(ErrorReason(SplitHostPort(bad).status()), "INVALID_FIELD");
  }
}

}  // namespace
}  // namespace nave
