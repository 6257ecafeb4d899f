// Goal: the first contact trusts the pinned CA and nothing that merely shows it.
#include "agent/enroll/pinned_chain.h"

#include <gtest/gtest.h>

#include "common/base/error.h"
#include "common/pki/certificate.h"
#include "tests/common/pki/test_pki.h"

namespace nave {
namespace {

TEST(PinnedChainTest, Outcomes) {
  TestCa ca("hub CA");
  TestCa impostor("hub CA");
  const absl::Time now = TestNow();
  const Digest pin = ca.authority->pin();
  CertificateSpec server = ServerSpec();
  server.dns_sans = {"hub.example.org", "*.apps.example.org"};
  auto chain_of = [](const TestIdentity& identity) {
    return SplitCertificates(identity.chain_pem).value();
  };
  const std::vector<std::string> good = chain_of(IssueTo(ca, server));
  const std::string impostor_leaf = chain_of(IssueTo(impostor, server)).front();
  const std::string& root = ca.certificate_pem;
  const std::string name = "hub.example.org";

  struct Row {
    const char* what;
    std::vector<std::string> chain;
    std::string host;
    absl::Time now;
    const char* want;
  };
  const Row rows[] = {
      {"by name", good, name, now, ""},
      {"by name of another case", good, "HUB.example.org", now, ""},
      {"by wildcard", good, "a.apps.example.org", now, ""},
      {"by address", good, "127.0.0.1", now, ""},
      {"by IPv6 address", good, "::1", now, ""},
      {"with something in between", {good[0], impostor.certificate_pem, root}, name, now, ""},
      {"nothing", {}, name, now, "CA_PIN_MISMATCH"},
      {"garbage", {"garbage"}, name, now, "CA_PIN_MISMATCH"},
      {"no CA at the end", {good[0]}, name, now, "CA_PIN_MISMATCH"},
      {"another hub", chain_of(IssueTo(impostor, server)), name, now, "CA_PIN_MISMATCH"},
      {"another hub that shows our CA", {impostor_leaf, root}, name, now, "CA_PIN_MISMATCH"},
      {"another hub that shows both CAs",
       {impostor_leaf, impostor.certificate_pem, root},
       name,
       now,
       "CA_PIN_MISMATCH"},
      {"an agent's certificate", chain_of(IssueTo(ca, ClusterSpecOf())), name, now,
       "CA_PIN_MISMATCH"},
      {"another name", good, "other.example.org", now, "HUB_NAME_MISMATCH"},
      {"another address", good, "127.0.0.2", now, "HUB_NAME_MISMATCH"},
      {"ended", good, name, now + absl::Hours(24 * 8), "HUB_CERTIFICATE_EXPIRED"},
      {"not yet valid", good, name, now - absl::Hours(24), "HUB_CERTIFICATE_EXPIRED"},
      {"ended, of another hub",
       {impostor_leaf, root},
       name,
       now + absl::Hours(24 * 8),
       "CA_PIN_MISMATCH"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    absl::StatusOr<std::string> found = CheckPinnedChain(row.chain, pin, row.host, row.now);
    EXPECT_EQ(ErrorReason(found.status()), row.want) << found.status();
    if (found.ok()) {
      EXPECT_EQ(*found, root);
    }
  }
}

}  // namespace
}  // namespace nave
