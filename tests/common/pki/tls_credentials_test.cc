// Goal: over real TLS, every caller reaches its handler and is known there for what it is, and a
// rotation of the server's files needs no restart. Method: a gRPC server on a port of its own,
// stock channels, one bare TLS client.
#include "common/pki/tls_credentials.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/pki/certificate.h"
#include "nave/agent/v1/link.grpc.pb.h"
#include "tests/common/pki/test_pki.h"

namespace nave {
namespace {

namespace v1 = ::nave::agent::v1;

const char* NameOf(PeerOutcome outcome) {
  switch (outcome) {
    case PeerOutcome::kNone:
      return "none";
    case PeerOutcome::kUntrusted:
      return "untrusted";
    case PeerOutcome::kExpired:
      return "expired";
    case PeerOutcome::kVerified:
      return "verified";
  }
  return "";
}

// Answers Enroll with "<outcome> <name>" of the caller.
class WhoAmI final : public v1::AgentLink::CallbackService {
 public:
  explicit WhoAmI(std::string roots_pem) : roots_pem_(std::move(roots_pem)) {}
  grpc::ServerUnaryReactor* Enroll(grpc::CallbackServerContext* context,
                                   const v1::EnrollRequest* /*request*/,
                                   v1::EnrollResponse* response) override {
    Peer peer = PeerOf(*context, roots_pem_, absl::Now());
    response->set_cluster_name(absl::StrCat(NameOf(peer.outcome), " ", peer.uri.name));
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  std::string roots_pem_;
};

class TlsCredentialsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_.Write("ca.crt", ca_.certificate_pem);
    WritePair(IssueTo(ca_, ServerSpec(), absl::Now()));
    files_ = CertificateFiles::Open({directory_.File("tls.crt"), directory_.File("tls.key"),
                                     directory_.File("ca.crt")})
                 .value();
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", MakeServerCredentials(files_), &port_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    ASSERT_NE(port_, 0);
  }

  void WritePair(const TestIdentity& identity) {
    directory_.Write("tls.crt", identity.chain_pem);
    directory_.Write("tls.key", identity.key_pem);
  }

  std::shared_ptr<grpc::Channel> Dial(const std::string& roots, const std::string& certificate,
                                      const std::string& key) {
    // A pool of its own, else equal channels would share one connection.
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port_),
                                     MakeChannelCredentials(roots, certificate, key), arguments);
  }

  // What the server sees; the error when it was not reached.
  std::string Ask(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    v1::EnrollResponse response;
    grpc::Status status =
        v1::AgentLink::NewStub(channel)->Enroll(&context, v1::EnrollRequest(), &response);
    return status.ok() ? response.cluster_name() : "error: " + status.error_message();
  }
  std::string AskAs(const TestIdentity& identity) {
    return Ask(Dial(ca_.certificate_pem, identity.chain_pem, identity.key_pem));
  }

  TestCa ca_ = TestCa("hub CA", absl::Now());
  TestDirectory directory_;
  std::shared_ptr<CertificateFiles> files_;
  WhoAmI service_{ca_.certificate_pem};
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(TlsCredentialsTest, EveryCallerReachesItsHandlerAndIsKnown) {
  const absl::Time now = absl::Now();
  TestCa other("hub CA", now);
  TestCa self("edge-1", now);
  CertificateSpec self_spec = ClusterSpecOf();
  self_spec.public_key = PublicKeyOf(self.key_pem).value();
  TestIdentity self_signed = {
      self.key_pem, SplitCertificates(self.authority->Issue(self_spec, now).value())->front()};

  EXPECT_EQ(AskAs({}), "none ");
  EXPECT_EQ(AskAs(IssueTo(ca_, ClusterSpecOf(), now)), absl::StrCat("verified ", kTestClusterUid));
  EXPECT_EQ(AskAs(IssueTo(ca_, UserSpecOf("ann"), now)), "verified ann");
  EXPECT_EQ(AskAs(IssueTo(ca_, ClusterSpecOf(), now - absl::Hours(24 * 20))),
            absl::StrCat("expired ", kTestClusterUid));
  EXPECT_EQ(AskAs(IssueTo(other, ClusterSpecOf(), now)), "untrusted ");
  EXPECT_EQ(AskAs(self_signed), "untrusted ");
}

TEST_F(TlsCredentialsTest, AChannelTrustsItsRootsOnly) {
  TestCa other("hub CA", absl::Now());
  EXPECT_EQ(Ask(Dial(other.certificate_pem, "", "")).substr(0, 6), "error:");
}

TEST_F(TlsCredentialsTest, RotationNeedsNoRestart) {
  TestIdentity agent = IssueTo(ca_, ClusterSpecOf(), absl::Now());
  auto standing = Dial(ca_.certificate_pem, agent.chain_pem, agent.key_pem);
  const std::string verified = absl::StrCat("verified ", kTestClusterUid);
  EXPECT_EQ(Ask(standing), verified);

  TestCa next("next CA", absl::Now());
  TestIdentity next_server = IssueTo(next, ServerSpec(), absl::Now());
  directory_.Write("tls.crt", next_server.chain_pem);
  EXPECT_EQ(AskAs(agent), verified) << "half of a pair must change nothing";
  EXPECT_EQ(files_->failures(), 1u);
  directory_.Write("tls.key", next_server.key_pem);
  EXPECT_EQ(Ask(Dial(next.certificate_pem, agent.chain_pem, agent.key_pem)), verified);
  EXPECT_EQ(AskAs(agent).substr(0, 6), "error:") << "the old certificate is still served";
  EXPECT_EQ(Ask(standing), verified) << "a connection that stands must not be cut";
}

TEST_F(TlsCredentialsTest, EachPortTakesTheRotation) {
  int second_port = 0;
  WhoAmI second_service(ca_.certificate_pem);
  grpc::ServerBuilder builder;
  auto credentials = MakeServerCredentials(files_);
  int third_port = 0;
  builder.AddListeningPort("127.0.0.1:0", credentials, &second_port);
  builder.AddListeningPort("127.0.0.1:0", credentials, &third_port);
  builder.RegisterService(&second_service);
  std::unique_ptr<grpc::Server> second = builder.BuildAndStart();
  ASSERT_NE(second, nullptr);
  credentials.reset();
  TestCa next("next CA", absl::Now());
  WritePair(IssueTo(next, ServerSpec(), absl::Now()));
  for (int port : {port_, second_port, third_port}) {
    port_ = port;
    EXPECT_EQ(Ask(Dial(next.certificate_pem, "", "")), "none ");
  }
}

int CountSession(SSL* ssl, SSL_SESSION* /*session*/) {
  ++*static_cast<int*>(SSL_get_app_data(ssl));
  return 0;
}

TEST_F(TlsCredentialsTest, SendsNoTickets) {
  for (int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    SCOPED_TRACE(version);
    int tickets = 0;
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_max_proto_version(context, version);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT);
    SSL_CTX_sess_set_new_cb(context, CountSession);
    BIO* bio = BIO_new_ssl_connect(context);
    BIO_set_conn_hostname(bio, absl::StrCat("127.0.0.1:", port_).c_str());
    SSL* ssl = nullptr;
    BIO_get_ssl(bio, &ssl);
    SSL_set_app_data(ssl, &tickets);
    const unsigned char kAlpn[] = {2, 'h', '2'};
    SSL_set_alpn_protos(ssl, kAlpn, sizeof(kAlpn));
    ASSERT_EQ(BIO_do_connect(bio), 1);
    // The server's first frame comes after any ticket.
    char byte = 0;
    ASSERT_EQ(BIO_read(bio, &byte, 1), 1);
    EXPECT_EQ(SSL_version(ssl), version);
    bool ticket = version == TLS1_3_VERSION ? tickets > 0
                                            : SSL_SESSION_has_ticket(SSL_get0_session(ssl)) == 1;
    EXPECT_FALSE(ticket);
    BIO_free_all(bio);
    SSL_CTX_free(context);
  }
}

}  // namespace
}  // namespace nave
