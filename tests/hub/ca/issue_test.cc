// Goal: a hub's server certificate names exactly what the hub is called by.
#include "hub/ca/issue.h"

#include <gtest/gtest.h>

#include "common/base/error.h"
#include "common/pki/certificate.h"
#include "common/pki/verify_peer.h"
#include "tests/common/pki/test_pki.h"

namespace nave {
namespace {

TEST(ServerNamesTest, SortsNamesFromAddresses) {
  ServerNames names = ServerNamesOf({"Hub.Example.org:8444", "10.0.0.1", "[2001:DB8::1]:8444",
                                     "2001:db8:0::2", "hub.example.org", "*.apps.example.org"})
                          .value();
  EXPECT_EQ(names.dns,
            (std::vector<std::string>{"*.apps.example.org", "hub.example.org", "localhost"}));
  EXPECT_EQ(names.ip, (std::vector<std::string>{"10.0.0.1", "127.0.0.1", "2001:db8::1",
                                                "2001:db8::2", "::1"}));
}

TEST(ServerNamesTest, RefusesWhatIsNoName) {
  for (const char* name :
       {"", "hub example", "https://hub.example.org", "-hub", "hub..org", ":1"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(ErrorReason(ServerNamesOf({name}).status()), "INVALID_FIELD");
  }
}

TEST(IssueTest, ServerAndUser) {
  TestCa ca;
  std::string key = GenerateKey().value();
  ServerNames names = ServerNamesOf({"hub.example.org"}).value();
  std::string server = IssueServerCertificate(*ca.authority, names, key, TestNow()).value();
  CertificateInfo info = ParseCertificate(server).value();
  EXPECT_EQ(info.dns_sans, names.dns);
  EXPECT_EQ(info.ip_sans, names.ip);
  EXPECT_EQ(info.not_after, TestNow() + kServerCertificateValidity);
  EXPECT_EQ(VerifyPeer(server, "", ca.certificate_pem, TestNow()).outcome, PeerOutcome::kUntrusted)
      << "a server's certificate is nobody's identity";

  std::string user = IssueUserCertificate(*ca.authority, kTestHubId, "ann", key, TestNow()).value();
  Peer peer = VerifyPeer(user, "", ca.certificate_pem, TestNow());
  EXPECT_EQ(peer.outcome, PeerOutcome::kVerified);
  EXPECT_EQ(peer.uri, (PeerUri{kTestHubId, PeerKind::kUser, "ann"}));
  EXPECT_EQ(
      ErrorReason(IssueUserCertificate(*ca.authority, kTestHubId, "a/b", key, TestNow()).status()),
      "INVALID_FIELD");
}

}  // namespace
}  // namespace nave
