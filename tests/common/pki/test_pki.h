// Certificates for tests, made on the spot with a clock given by hand.
#ifndef NAVE_TESTS_COMMON_PKI_TEST_PKI_H_
#define NAVE_TESTS_COMMON_PKI_TEST_PKI_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/pki/authority.h"
#include "common/pki/verify_peer.h"

namespace nave {

inline constexpr char kTestHubId[] = "0b5c9d6e-3f0a-4a51-9c1d-1a2b3c4d5e6f";
inline constexpr char kTestClusterUid[] = "7d444840-9dc0-11d1-b245-5ffdce74fad2";

inline absl::Time TestNow() { return absl::FromUnixSeconds(1'780'000'000); }

// A CA with its key.
struct TestCa {
  explicit TestCa(absl::string_view common_name = "test hub", absl::Time now = TestNow(),
                  absl::Duration validity = absl::Hours(24 * 3650))
      : key_pem(GenerateKey().value()),
        certificate_pem(MakeCaCertificate(key_pem, common_name, validity, now).value()),
        authority(CertificateAuthority::Load(certificate_pem, key_pem).value()) {}

  std::string key_pem;
  std::string certificate_pem;
  std::shared_ptr<const CertificateAuthority> authority;
};

// A certificate (with its CA's behind it) and its key.
struct TestIdentity {
  std::string key_pem;
  std::string chain_pem;
};

inline TestIdentity IssueTo(const TestCa& ca, CertificateSpec spec, absl::Time now = TestNow()) {
  TestIdentity identity;
  identity.key_pem = GenerateKey().value();
  spec.public_key = PublicKeyOf(identity.key_pem).value();
  identity.chain_pem = ca.authority->Issue(spec, now).value();
  return identity;
}

// What an agent has.
inline CertificateSpec ClusterSpecOf(absl::string_view uid = kTestClusterUid,
                                     uint32_t generation = 1) {
  CertificateSpec spec;
  spec.common_name = "edge-1";
  spec.uri_sans = {FormatPeerUri({kTestHubId, PeerKind::kCluster, std::string(uid)})};
  spec.client = true;
  spec.generation = generation;
  return spec;
}

inline CertificateSpec UserSpecOf(absl::string_view name) {
  CertificateSpec spec;
  spec.common_name = std::string(name);
  spec.uri_sans = {FormatPeerUri({kTestHubId, PeerKind::kUser, std::string(name)})};
  spec.client = true;
  return spec;
}

// What a hub serves with; valid for 127.0.0.1 and localhost.
inline CertificateSpec ServerSpec() {
  CertificateSpec spec;
  spec.common_name = "hub";
  spec.dns_sans = {"localhost"};
  spec.ip_sans = {"127.0.0.1", "::1"};
  spec.server = true;
  return spec;
}

// A directory that goes with the object.
class TestDirectory {
 public:
  TestDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "nave-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TestDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string File(absl::string_view name) const { return path_ + "/" + std::string(name); }
  void Write(absl::string_view name, absl::string_view content) const {
    std::ofstream(File(name), std::ios::binary) << content;
  }

 private:
  std::string path_;
};

}  // namespace nave

#endif  // NAVE_TESTS_COMMON_PKI_TEST_PKI_H_
