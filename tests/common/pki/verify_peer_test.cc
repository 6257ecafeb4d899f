// Goal: nobody is taken for someone else. Each row is a certificate that someone might present,
// with the outcome.
#include "common/pki/verify_peer.h"

#include <gtest/gtest.h>

#include <functional>

#include "common/base/error.h"
#include "common/pki/certificate.h"
#include "tests/common/pki/test_pki.h"

namespace nave {
namespace {

std::string LeafOf(const TestIdentity& identity) {
  return SplitCertificates(identity.chain_pem).value().front();
}

// A certificate signed by its own key, with any names.
TestIdentity SelfSigned(CertificateSpec spec) {
  TestCa self(spec.common_name);
  spec.public_key = PublicKeyOf(self.key_pem).value();
  return {self.key_pem, self.authority->Issue(spec, TestNow()).value()};
}

TEST(VerifyPeerTest, TellsWhoAVerifiedPeerIs) {
  TestCa ca;
  TestIdentity agent = IssueTo(ca, ClusterSpecOf(kTestClusterUid, 7));
  Peer peer = VerifyPeer(LeafOf(agent), ca.certificate_pem, ca.certificate_pem, TestNow());
  EXPECT_EQ(peer.outcome, PeerOutcome::kVerified) << peer.detail;
  EXPECT_EQ(peer.uri, (PeerUri{kTestHubId, PeerKind::kCluster, kTestClusterUid}));
  EXPECT_EQ(peer.common_name, "edge-1");
  EXPECT_EQ(peer.generation, 7u);
  EXPECT_EQ(peer.not_before, TestNow() - absl::Hours(1));
  EXPECT_EQ(peer.not_after, TestNow() + absl::Hours(7 * 24));
  EXPECT_EQ(peer.spki, Sha256(PublicKeyOf(agent.key_pem).value()));
}

TEST(VerifyPeerTest, Outcomes) {
  TestCa ca("hub CA");
  TestCa other("other CA");
  TestCa impostor("hub CA");  // The same name, another key.
  TestCa expired_ca("old CA", TestNow(), absl::Hours(24));
  const absl::Time now = TestNow();
  const absl::Duration week = absl::Hours(7 * 24);
  auto spec_with = [](std::function<void(CertificateSpec*)> change) {
    CertificateSpec spec = ClusterSpecOf();
    change(&spec);
    return spec;
  };
  const std::string user_uri = FormatPeerUri({kTestHubId, PeerKind::kUser, "ann"});

  struct Row {
    const char* name;
    std::string leaf;
    std::string chain;
    std::string roots;
    absl::Time now;
    PeerOutcome want;
  };
  std::string good = LeafOf(IssueTo(ca, ClusterSpecOf()));
  const std::string& root = ca.certificate_pem;
  const Row rows[] = {
      {"nothing presented", "", "", root, now, PeerOutcome::kNone},
      {"good", good, "", root, now, PeerOutcome::kVerified},
      {"good, root sent along", good, root, root, now, PeerOutcome::kVerified},
      {"good, damaged chain sent along", good, "garbage", root, now, PeerOutcome::kVerified},
      {"two roots, ours second", good, "", other.certificate_pem + root, now,
       PeerOutcome::kVerified},
      {"last second", good, "", root, now + week - absl::Seconds(1), PeerOutcome::kVerified},
      {"ended", good, "", root, now + week, PeerOutcome::kExpired},
      {"ended long ago", good, "", root, now + 20 * week, PeerOutcome::kExpired},
      {"an hour early", good, "", root, now - absl::Hours(1), PeerOutcome::kVerified},
      {"not yet valid", good, "", root, now - absl::Hours(2), PeerOutcome::kUntrusted},
      {"garbage", "garbage", "", root, now, PeerOutcome::kUntrusted},
      {"no roots", good, "", "", now, PeerOutcome::kUntrusted},
      {"unreadable roots", good, "", "garbage", now, PeerOutcome::kUntrusted},
      {"another CA", LeafOf(IssueTo(other, ClusterSpecOf())), "", root, now,
       PeerOutcome::kUntrusted},
      {"another CA, sent along", LeafOf(IssueTo(other, ClusterSpecOf())), other.certificate_pem,
       root, now, PeerOutcome::kUntrusted},
      {"another CA of the same name", LeafOf(IssueTo(impostor, ClusterSpecOf())),
       impostor.certificate_pem, root, now, PeerOutcome::kUntrusted},
      {"another CA and ended", LeafOf(IssueTo(other, ClusterSpecOf())), "", root, now + 2 * week,
       PeerOutcome::kUntrusted},
      {"self-signed with a valid-looking name", LeafOf(SelfSigned(ClusterSpecOf())), "", root, now,
       PeerOutcome::kUntrusted},
      {"self-signed, sent as its own chain", LeafOf(SelfSigned(ClusterSpecOf())),
       LeafOf(SelfSigned(ClusterSpecOf())), root, now, PeerOutcome::kUntrusted},
      {"self-signed and ended", LeafOf(SelfSigned(ClusterSpecOf())), "", root, now + 2 * week,
       PeerOutcome::kUntrusted},
      {"the CA itself", root, "", root, now, PeerOutcome::kUntrusted},
      {"CA ended", LeafOf(IssueTo(expired_ca, ClusterSpecOf())), "", expired_ca.certificate_pem,
       now + week, PeerOutcome::kUntrusted},
      {"server's certificate", LeafOf(IssueTo(ca, ServerSpec())), "", root, now,
       PeerOutcome::kUntrusted},
      {"identity, but for servers", LeafOf(IssueTo(ca, spec_with([](CertificateSpec* s) {
                                                     s->client = false;
                                                     s->server = true;
                                                   }))),
       "", root, now, PeerOutcome::kUntrusted},
      {"no URI", LeafOf(IssueTo(ca, spec_with([](CertificateSpec* s) { s->uri_sans.clear(); }))),
       "", root, now, PeerOutcome::kUntrusted},
      {"two URIs",
       LeafOf(IssueTo(ca, spec_with([&](CertificateSpec* s) { s->uri_sans.push_back(user_uri); }))),
       "", root, now, PeerOutcome::kUntrusted},
      {"URI of no known form", LeafOf(IssueTo(ca, spec_with([](CertificateSpec* s) {
                                                s->uri_sans = {"spiffe://example.org/cluster/x"};
                                              }))),
       "", root, now, PeerOutcome::kUntrusted},
      {"URI with a zero byte",
       LeafOf(IssueTo(ca, spec_with([&](CertificateSpec* s) {
                        s->uri_sans = {user_uri + std::string("\0.evil", 6)};
                      }))),
       "", root, now, PeerOutcome::kUntrusted},
      {"a DNS name beside the URI",
       LeafOf(IssueTo(ca, spec_with([](CertificateSpec* s) { s->dns_sans = {"edge-1"}; }))), "",
       root, now, PeerOutcome::kVerified},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Peer peer = VerifyPeer(row.leaf, row.chain, row.roots, row.now);
    EXPECT_EQ(peer.outcome, row.want) << peer.detail;
    EXPECT_EQ(peer.detail.empty(), row.want == PeerOutcome::kVerified) << peer.detail;
    if (row.want == PeerOutcome::kNone || row.want == PeerOutcome::kUntrusted) {
      EXPECT_EQ(peer.uri, PeerUri{}) << "an untrusted peer must have no name";
    } else {
      EXPECT_EQ(peer.uri.name, kTestClusterUid);
    }
  }
}

TEST(PeerUriTest, OnlyTheThreeForms) {
  const std::string hub = kTestHubId;
  const std::string uid = kTestClusterUid;
  struct Row {
    std::string text;
    bool ok;
  };
  const Row rows[] = {
      {"spiffe://" + hub + "/cluster/" + uid, true},
      {"spiffe://" + hub + "/user/admin", true},
      {"spiffe://" + hub + "/user/ann.b@example.org", true},
      {"spiffe://" + hub + "/hub/hub-0", true},
      {"", false},
      {"spiffe://", false},
      {"http://" + hub + "/user/admin", false},
      {"spiffe:///user/admin", false},
      {"spiffe://not-a-uuid/user/admin", false},
      {"spiffe://0B5C9D6E-3F0A-4A51-9C1D-1A2B3C4D5E6F/user/admin", false},
      {"spiffe://" + hub, false},
      {"spiffe://" + hub + "/user", false},
      {"spiffe://" + hub + "/user/", false},
      {"spiffe://" + hub + "/user/a/b", false},
      {"spiffe://" + hub + "/user/a b", false},
      {"spiffe://" + hub + "/user/" + std::string(64, 'a'), false},
      {"spiffe://" + hub + "/admin/admin", false},
      {"spiffe://" + hub + "/cluster/edge-1", false},
      {"spiffe://" + hub + "/cluster/" + uid + "/x", false},
      {"spiffe://" + hub + "/cluster/" + uid + " ", false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.text);
    std::optional<PeerUri> uri = ParsePeerUri(row.text);
    EXPECT_EQ(uri.has_value(), row.ok);
    if (uri.has_value()) {
      EXPECT_EQ(FormatPeerUri(*uri), row.text);
    }
  }
}

TEST(CheckPeerTest, EachPortAcceptsItsOwnKindOnly) {
  TestCa ca;
  std::string agent = LeafOf(IssueTo(ca, ClusterSpecOf()));
  std::string user = LeafOf(IssueTo(ca, UserSpecOf("ann")));
  const std::string& root = ca.certificate_pem;
  const std::string other_hub = "11111111-2222-4333-8444-555555555555";
  struct Row {
    const char* name;
    std::string leaf;
    absl::Time now;
    std::string hub_id;
    PeerKind kind;
    const char* want;
  };
  const absl::Time late = TestNow() + absl::Hours(24 * 8);
  const Row rows[] = {
      {"agent", agent, TestNow(), kTestHubId, PeerKind::kCluster, ""},
      {"user", user, TestNow(), kTestHubId, PeerKind::kUser, ""},
      {"agent at the users' port", agent, TestNow(), kTestHubId, PeerKind::kUser, "CERT_UNTRUSTED"},
      {"user at the agents' port", user, TestNow(), kTestHubId, PeerKind::kCluster,
       "CERT_UNTRUSTED"},
      {"of another hub", agent, TestNow(), other_hub, PeerKind::kCluster, "CERT_UNTRUSTED"},
      {"ended", agent, late, kTestHubId, PeerKind::kCluster, "CERT_EXPIRED"},
      {"ended, of another hub", agent, late, other_hub, PeerKind::kCluster, "CERT_UNTRUSTED"},
      {"nothing", "", TestNow(), kTestHubId, PeerKind::kCluster, "UNAUTHENTICATED"},
      {"garbage", "x", TestNow(), kTestHubId, PeerKind::kCluster, "CERT_UNTRUSTED"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    absl::Status status =
        CheckPeer(VerifyPeer(row.leaf, "", root, row.now), row.hub_id, {row.kind});
    EXPECT_EQ(ErrorReason(status), row.want) << status;
  }
}

}  // namespace
}  // namespace nave
