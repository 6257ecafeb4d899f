// Goal: what the CA issues says exactly what was ordered, and nothing that is not a P-256 request
// is certified.
#include "common/pki/authority.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "common/base/error.h"
#include "common/pki/certificate.h"
#include "tests/common/pki/test_pki.h"

namespace nave {
namespace {

std::string KeyOfKind(const char* kind, int bits) {
  EVP_PKEY* key = bits > 0 ? EVP_PKEY_Q_keygen(nullptr, nullptr, kind, static_cast<size_t>(bits))
                           : EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", kind);
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  char* data = nullptr;
  long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<size_t>(size));
  BIO_free(bio);
  EVP_PKEY_free(key);
  return text;
}

TEST(CsrTest, CarriesThePublicKey) {
  std::string key = GenerateKey().value();
  std::string csr = MakeCsr(key, "edge-1").value();
  absl::StatusOr<Csr> parsed = ParseCsr(csr);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->public_key, PublicKeyOf(key).value());
  EXPECT_EQ(parsed->spki, Sha256(parsed->public_key));
}

TEST(CsrTest, RefusesWhatIsNoP256RequestOfItsOwnKey) {
  std::string good = MakeCsr(GenerateKey().value(), "edge-1").value();
  // The middle of the base64 text lies in the subject or the key, both under the signature.
  std::string tampered = good;
  size_t at = tampered.find('\n') + 30;
  tampered[at] = tampered[at] == 'A' ? 'B' : 'A';
  TestCa ca;
  struct Row {
    const char* name;
    std::string pem;
  };
  const Row rows[] = {
      {"empty", ""},
      {"garbage", "garbage"},
      {"cut short", good.substr(0, good.size() / 2)},
      {"tampered", tampered},
      {"a certificate", ca.certificate_pem},
      {"RSA", MakeCsr(KeyOfKind("RSA", 2048), "edge-1").value()},
      {"P-384", MakeCsr(KeyOfKind("P-384", 0), "edge-1").value()},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(ErrorReason(ParseCsr(row.pem).status()), "CSR_INVALID");
  }
}

TEST(AuthorityTest, IssuesWhatWasOrdered) {
  TestCa ca;
  CertificateSpec spec;
  spec.common_name = "hub";
  spec.uri_sans = {"spiffe://x/y"};
  spec.dns_sans = {"hub.example.org", "localhost"};
  spec.ip_sans = {"10.1.2.3", "2001:db8::1"};
  spec.server = true;
  spec.generation = 0x01020304;
  spec.validity = absl::Hours(48);
  TestIdentity identity = IssueTo(ca, spec);
  std::vector<std::string> chain = SplitCertificates(identity.chain_pem).value();
  ASSERT_EQ(chain.size(), 2u);
  EXPECT_EQ(chain[1], ca.certificate_pem);
  CertificateInfo info = ParseCertificate(chain[0]).value();
  EXPECT_EQ(info.common_name, "hub");
  EXPECT_EQ(info.uri_sans, spec.uri_sans);
  EXPECT_EQ(info.dns_sans, spec.dns_sans);
  EXPECT_EQ(info.ip_sans, spec.ip_sans);
  EXPECT_EQ(info.generation, spec.generation);
  EXPECT_EQ(info.serial.substr(0, 8), "01020304");
  EXPECT_EQ(info.serial.size(), 32u);
  EXPECT_EQ(info.not_before, TestNow() - absl::Hours(1));
  EXPECT_EQ(info.not_after, TestNow() + absl::Hours(48));
  EXPECT_FALSE(info.is_ca);
  EXPECT_FALSE(info.self_issued);
  EXPECT_TRUE(CheckKeyMatches(identity.chain_pem, identity.key_pem).ok());
}

TEST(AuthorityTest, GenerationsComeBack) {
  TestCa ca;
  for (uint32_t generation : {0u, 1u, 255u, 256u, 0x7fffffffu}) {
    TestIdentity identity = IssueTo(ca, ClusterSpecOf(kTestClusterUid, generation));
    EXPECT_EQ(ParseCertificate(identity.chain_pem)->generation, generation);
  }
}

TEST(AuthorityTest, NoCertificateOutlivesTheCa) {
  TestCa ca("short", TestNow(), absl::Hours(10));
  TestIdentity identity = IssueTo(ca, ClusterSpecOf());
  EXPECT_EQ(ParseCertificate(identity.chain_pem)->not_after, TestNow() + absl::Hours(10));
}

TEST(AuthorityTest, RefusesBadOrders) {
  TestCa ca;
  CertificateSpec spec = ClusterSpecOf();
  spec.public_key = PublicKeyOf(GenerateKey().value()).value();
  CertificateSpec no_name = spec;
  no_name.common_name = "";
  CertificateSpec long_name = spec;
  long_name.common_name = std::string(65, 'a');
  CertificateSpec bad_address = spec;
  bad_address.ip_sans = {"10.0.0.300"};
  CertificateSpec no_key = spec;
  no_key.public_key = "x";
  EXPECT_EQ(ErrorReason(ca.authority->Issue(no_name, TestNow()).status()), "INVALID_FIELD");
  EXPECT_EQ(ErrorReason(ca.authority->Issue(long_name, TestNow()).status()), "INVALID_FIELD");
  EXPECT_EQ(ErrorReason(ca.authority->Issue(bad_address, TestNow()).status()), "INVALID_FIELD");
  EXPECT_EQ(ErrorReason(ca.authority->Issue(no_key, TestNow()).status()), "INTERNAL");
}

TEST(AuthorityTest, LoadsOnlyACaWithItsKey) {
  TestCa ca;
  TestCa other;
  TestIdentity leaf = IssueTo(ca, ClusterSpecOf());
  EXPECT_TRUE(CertificateAuthority::Load(ca.certificate_pem, ca.key_pem).ok());
  EXPECT_EQ(CertificateAuthority::Load(ca.certificate_pem, ca.key_pem).value()->pin(),
            SpkiPin(ca.certificate_pem).value());
  struct Row {
    const char* name;
    std::string certificate;
    std::string key;
  };
  const Row rows[] = {
      {"another key", ca.certificate_pem, other.key_pem},
      {"no key", ca.certificate_pem, ""},
      {"no certificate", "", ca.key_pem},
      {"a leaf", leaf.chain_pem, leaf.key_pem},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(ErrorReason(CertificateAuthority::Load(row.certificate, row.key).status()),
              "CERTIFICATE_INVALID");
  }
}

TEST(AuthorityTest, WorksWithASuppliedCaOfAnotherKeyKind) {
  for (std::string key : {KeyOfKind("RSA", 2048), KeyOfKind("P-384", 0)}) {
    std::string certificate =
        MakeCaCertificate(key, "supplied", absl::Hours(24 * 365), TestNow()).value();
    auto authority = CertificateAuthority::Load(certificate, key).value();
    CertificateSpec spec = ClusterSpecOf();
    spec.public_key = PublicKeyOf(GenerateKey().value()).value();
    std::string chain = authority->Issue(spec, TestNow()).value();
    EXPECT_EQ(VerifyPeer(SplitCertificates(chain)->front(), "", certificate, TestNow()).outcome,
              PeerOutcome::kVerified);
  }
}

TEST(CertificateTest, SplitsAndRefusesDamage) {
  TestCa a;
  TestCa b;
  std::string both = a.certificate_pem + b.certificate_pem;
  EXPECT_EQ(SplitCertificates(both).value(),
            (std::vector<std::string>{a.certificate_pem, b.certificate_pem}));
  // One damaged certificate among good ones must not silently shrink the list.
  EXPECT_FALSE(SplitCertificates(both.substr(0, both.size() - 60)).ok());
  EXPECT_FALSE(SplitCertificates("").ok());
  EXPECT_EQ(ErrorReason(ParseCertificate("no PEM").status()), "CERTIFICATE_INVALID");
}

TEST(CertificateTest, KeyMustMatch) {
  TestCa ca;
  TestIdentity a = IssueTo(ca, ClusterSpecOf());
  TestIdentity b = IssueTo(ca, ClusterSpecOf());
  EXPECT_TRUE(CheckKeyMatches(a.chain_pem, a.key_pem).ok());
  EXPECT_EQ(ErrorReason(CheckKeyMatches(a.chain_pem, b.key_pem)), "CERTIFICATE_INVALID");
  EXPECT_EQ(ErrorReason(CheckKeyMatches(a.chain_pem, "")), "CERTIFICATE_INVALID");
  EXPECT_EQ(ErrorReason(CheckKeyMatches("", a.key_pem)), "CERTIFICATE_INVALID");
}

TEST(CertificateTest, ChainIsCompletedByTheRootThatSigned) {
  TestCa ca("one name");
  TestCa same_name("one name");
  std::string full = IssueTo(ca, ServerSpec()).chain_pem;
  std::string leaf = SplitCertificates(full)->front();
  std::string roots = same_name.certificate_pem + ca.certificate_pem;
  EXPECT_EQ(CompleteChain(leaf, roots), full);
  EXPECT_EQ(CompleteChain(full, roots), full);
  EXPECT_EQ(CompleteChain(leaf, same_name.certificate_pem), leaf);
}

}  // namespace
}  // namespace nave
