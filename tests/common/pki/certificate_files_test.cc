// Goal: a rotation on disk is taken without a restart, in whatever order the files are written, and
// no bad state on the way replaces what was good.
#include "common/pki/certificate_files.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "common/base/error.h"
#include "common/pki/certificate.h"
#include "tests/common/pki/test_pki.h"

namespace nave {
namespace {

class CertificateFilesTest : public ::testing::Test {
 protected:
  void WritePair(const TestIdentity& identity) {
    directory_.Write("tls.crt", identity.chain_pem);
    directory_.Write("tls.key", identity.key_pem);
  }
  absl::StatusOr<std::shared_ptr<CertificateFiles>> Open() {
    return CertificateFiles::Open(
        {directory_.File("tls.crt"), directory_.File("tls.key"), directory_.File("ca.crt")});
  }
  void SetUp() override { directory_.Write("ca.crt", ca_.certificate_pem); }

  TestCa ca_;
  TestIdentity first_ = IssueTo(ca_, ServerSpec());
  TestIdentity second_ = IssueTo(ca_, ServerSpec());
  TestDirectory directory_;
};

TEST_F(CertificateFilesTest, RefusesToBeginWithABadState) {
  struct Row {
    const char* name;
    std::string certificate;
    std::string key;
    std::string roots;
    const char* names_file;
  };
  const Row rows[] = {
      {"empty certificate", "", first_.key_pem, ca_.certificate_pem, "tls.crt"},
      {"empty key", first_.chain_pem, "", ca_.certificate_pem, "tls.key"},
      {"key of another", first_.chain_pem, second_.key_pem, ca_.certificate_pem, "tls.key"},
      {"no roots", first_.chain_pem, first_.key_pem, "", "ca.crt"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    directory_.Write("tls.crt", row.certificate);
    directory_.Write("tls.key", row.key);
    directory_.Write("ca.crt", row.roots);
    absl::Status status = Open().status();
    EXPECT_EQ(ErrorReason(status), "CERTIFICATE_INVALID");
    EXPECT_NE(status.message().find(row.names_file), std::string::npos) << status;
  }
  std::filesystem::remove(directory_.File("tls.key"));
  EXPECT_EQ(ErrorReason(Open().status()), "CERTIFICATE_INVALID");
}

TEST_F(CertificateFilesTest, TakesANewPair) {
  WritePair(first_);
  std::shared_ptr<CertificateFiles> files = Open().value();
  EXPECT_EQ(files->Current()->key_pem, first_.key_pem);
  EXPECT_EQ(files->Current()->version, 1u);
  WritePair(second_);
  EXPECT_EQ(files->Current()->key_pem, second_.key_pem);
  EXPECT_EQ(files->Current()->chain_pem, second_.chain_pem);
  EXPECT_EQ(files->Current()->version, 2u);
  EXPECT_EQ(files->Current()->not_after, ParseCertificate(second_.chain_pem)->not_after);
  EXPECT_EQ(files->failures(), 0u);
}

TEST_F(CertificateFilesTest, KeepsTheOldPairThroughEveryBadState) {
  WritePair(first_);
  std::shared_ptr<CertificateFiles> files = Open().value();
  const std::string& chain = second_.chain_pem;
  uint64_t failures = 0;
  auto expect_kept = [&](const char* state) {
    SCOPED_TRACE(state);
    EXPECT_EQ(files->Current()->key_pem, first_.key_pem);
    EXPECT_EQ(files->Current()->version, 1u);
    EXPECT_EQ(files->failures(), ++failures) << "each bad state counts once";
  };
  directory_.Write("tls.crt", "");
  expect_kept("truncated");
  directory_.Write("tls.crt", chain.substr(0, chain.size() / 3));
  expect_kept("half written");
  directory_.Write("tls.crt", chain);
  expect_kept("certificate new, key old");
  std::filesystem::remove(directory_.File("tls.key"));
  expect_kept("key gone");
  directory_.Write("ca.crt", "garbage");
  expect_kept("roots and key bad");
  directory_.Write("ca.crt", ca_.certificate_pem);
  directory_.Write("tls.key", second_.key_pem);
  EXPECT_EQ(files->Current()->key_pem, second_.key_pem);
  EXPECT_EQ(files->Current()->version, 2u);
}

TEST_F(CertificateFilesTest, SeesAChangeThatLeavesTimeAndSizeAlone) {
  WritePair(first_);
  std::shared_ptr<CertificateFiles> files = Open().value();
  auto time = std::filesystem::last_write_time(directory_.File("ca.crt"));
  // Same size by construction; the time is set back to what it was.
  std::string changed = ca_.certificate_pem;
  TestCa other;
  while (other.certificate_pem.size() != changed.size()) other = TestCa();
  directory_.Write("ca.crt", other.certificate_pem);
  std::filesystem::last_write_time(directory_.File("ca.crt"), time);
  EXPECT_EQ(files->Current()->roots_pem, other.certificate_pem);
}

TEST_F(CertificateFilesTest, TakesNewRootsAlone) {
  WritePair(first_);
  std::shared_ptr<CertificateFiles> files = Open().value();
  TestCa next;
  directory_.Write("ca.crt", ca_.certificate_pem + next.certificate_pem);
  EXPECT_EQ(files->Current()->roots_pem, ca_.certificate_pem + next.certificate_pem);
  EXPECT_EQ(files->Current()->version, 2u);
}

TEST_F(CertificateFilesTest, SendsTheRootWithTheChain) {
  WritePair({first_.key_pem, SplitCertificates(first_.chain_pem)->front()});
  EXPECT_EQ(Open().value()->Current()->chain_pem, first_.chain_pem);
}

TEST_F(CertificateFilesTest, ReadersOnlyEverSeeMatchingPairs) {
  WritePair(first_);
  std::shared_ptr<CertificateFiles> files = Open().value();
  std::atomic<bool> stop = false;
  std::atomic<int> mismatches = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        auto bundle = files->Current();
        if (!CheckKeyMatches(bundle->chain_pem, bundle->key_pem).ok()) ++mismatches;
      }
    });
  }
  for (int i = 0; i < 50; ++i) WritePair(i % 2 == 0 ? second_ : first_);
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(mismatches, 0);
  EXPECT_EQ(files->Current()->key_pem, first_.key_pem);
}

}  // namespace
}  // namespace nave
