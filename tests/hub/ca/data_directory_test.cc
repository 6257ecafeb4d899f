// Goal: the first start makes everything once, any start cut off in the middle can be repeated, and
// beside a store nothing that it depends on is ever made anew.
#include "hub/ca/data_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <functional>
#include <map>

#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "common/base/error.h"
#include "common/pki/certificate.h"
#include "common/pki/verify_peer.h"
#include "hub/ca/admin_context.h"
#include "hub/ca/private_file.h"
#include "hub/ca/server_certificate.h"
#include "tests/common/pki/test_pki.h"

namespace nave {
namespace {

constexpr char kOtherHubId[] = "11111111-2222-4333-8444-555555555555";

DataDirectoryFiles Complete() { return {kTestHubId, true, true, true, true, true}; }

TEST(PlanStartTest, BesideAStoreNothingIsMadeAnew) {
  struct Row {
    const char* name;
    std::function<void(DataDirectoryFiles*)> change;
    const char* want;
  };
  using F = DataDirectoryFiles*;
  const Row rows[] = {
      {"complete", [](F) {}, ""},
      {"no certificate of the CA", [](F f) { f->ca_certificate = false; }, "CA_MISSING"},
      {"no key of the CA", [](F f) { f->ca_key = false; }, "CA_MISSING"},
      {"nothing at all", [](F f) { *f = {}; }, "CA_MISSING"},
      {"no encryption key", [](F f) { f->encryption_key = false; }, "KEY_MISSING"},
      {"of another hub", [](F f) { f->hub_id = kOtherHubId; }, "HUB_ID_MISMATCH"},
      {"no hub id", [](F f) { f->hub_id = std::nullopt; }, "HUB_ID_MISMATCH"},
      {"no UUID", [](F f) { f->hub_id = "hub"; }, "CONFIG_INVALID"},
      {"not in canonical form", [](F f) { f->hub_id = absl::AsciiStrToUpper(kTestHubId); },
       "CONFIG_INVALID"},
      {"no server certificate", [](F f) { f->server_certificate = false; }, ""},
      {"no administrator's context", [](F f) { f->admin_context = false; }, ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    DataDirectoryFiles files = Complete();
    row.change(&files);
    absl::StatusOr<StartPlan> plan = PlanStart(files, kTestHubId);
    EXPECT_EQ(ErrorReason(plan.status()), row.want) << plan.status();
    if (!plan.ok()) continue;
    StartPlan want;
    want.make_admin_context = !files.admin_context;
    EXPECT_EQ(*plan, want);
  }
}

TEST(PlanStartTest, WithoutAStore) {
  StartPlan everything = {true, true, true, true, true, false};
  EXPECT_EQ(PlanStart({}, std::nullopt).value(), everything);

  StartPlan lost;
  lost.database_lost = true;
  EXPECT_EQ(PlanStart(Complete(), std::nullopt).value(), lost);

  DataDirectoryFiles interrupted = {kTestHubId, false, true, false, false, false};
  StartPlan rest = {false, false, true, true, true, false};
  EXPECT_EQ(PlanStart(interrupted, std::nullopt).value(), rest);

  DataDirectoryFiles supplied_ca = {std::nullopt, true, true, false, false, false};
  StartPlan beside_ca = {true, false, false, true, true, false};
  EXPECT_EQ(PlanStart(supplied_ca, std::nullopt).value(), beside_ca);

  DataDirectoryFiles no_ca_key = {kTestHubId, true, false, false, false, false};
  EXPECT_EQ(ErrorReason(PlanStart(no_ca_key, std::nullopt).status()), "CA_MISSING");
}

class DataDirectoryTest : public ::testing::Test {
 protected:
  DataDirectoryOptions Options() {
    DataDirectoryOptions options;
    options.path = directory_.path();
    options.advertise = {"hub.example.org"};
    options.api_address = "hub.example.org:8443";
    return options;
  }
  absl::StatusOr<DataDirectory> Open(std::optional<std::string> store_hub_id = std::nullopt,
                                     absl::Time now = TestNow()) {
    return OpenDataDirectory(Options(), store_hub_id, now);
  }
  std::string Read(const std::string& name) {
    return ReadCertificateFile(directory_.File(name)).value();
  }
  // Name and content of everything in the directory.
  std::map<std::string, std::string> Contents() {
    std::map<std::string, std::string> contents;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      contents[entry.path().filename()] = Read(entry.path().filename());
    }
    return contents;
  }
  mode_t ModeOf(const std::string& name) {
    struct stat info = {};
    stat(directory_.File(name).c_str(), &info);
    return info.st_mode & 0777;
  }

  TestDirectory directory_;
};

TEST_F(DataDirectoryTest, FirstStartMakesEverythingAndTheNextOnesNothing) {
  DataDirectory first = Open().value();
  EXPECT_TRUE(first.admin_context_made);
  EXPECT_FALSE(first.database_lost);
  EXPECT_EQ(Read("hub.id"), first.hub_id + "\n");
  EXPECT_EQ(first.ca->RootsPem(), Read("ca.crt"));
  EXPECT_EQ(EncryptionKeys::Parse(Read("encryption.key")).value(), first.encryption_keys);
  for (const char* name : {"ca.key", "server.key", "encryption.key", "admin.yaml"}) {
    EXPECT_EQ(ModeOf(name), 0600u) << name;
  }
  std::map<std::string, std::string> made = Contents();
  EXPECT_EQ(made.size(), 7u) << "nothing but the seven files may be there";

  DataDirectory second = Open(first.hub_id, TestNow() + absl::Hours(24)).value();
  EXPECT_EQ(second.hub_id, first.hub_id);
  EXPECT_FALSE(second.admin_context_made);
  EXPECT_EQ(second.encryption_keys, first.encryption_keys);
  EXPECT_EQ(Contents(), made);

  DataDirectory lost = Open(std::nullopt).value();
  EXPECT_TRUE(lost.database_lost);
  EXPECT_EQ(lost.hub_id, first.hub_id);
  EXPECT_EQ(Contents(), made);
}

TEST_F(DataDirectoryTest, CertificatesAreGoodForWhatTheyAreFor) {
  DataDirectory directory = Open().value();
  std::vector<std::string> chain = SplitCertificates(Read("server.crt")).value();
  ASSERT_EQ(chain.size(), 2u) << "the chain sent ends with the CA";
  EXPECT_EQ(chain[1], Read("ca.crt"));
  EXPECT_TRUE(CheckKeyMatches(Read("server.crt"), Read("server.key")).ok());
  EXPECT_EQ(ParseCertificate(chain[0])->dns_sans,
            (std::vector<std::string>{"hub.example.org", "localhost"}));

  std::map<std::string, std::string> data;
  for (absl::string_view line : absl::StrSplit(Read("admin.yaml"), '\n')) {
    std::pair<std::string, std::string> parts = absl::StrSplit(line, absl::MaxSplits(": ", 1));
    data[std::string(absl::StripAsciiWhitespace(parts.first))] = parts.second;
  }
  EXPECT_EQ(data["hub"], "\"hub.example.org:8443\"");
  EXPECT_EQ(data["current-context"], "nave");
  std::string roots, certificate, key;
  ASSERT_TRUE(absl::Base64Unescape(data["certificate-authority-data"], &roots));
  ASSERT_TRUE(absl::Base64Unescape(data["client-certificate-data"], &certificate));
  ASSERT_TRUE(absl::Base64Unescape(data["client-key-data"], &key));
  EXPECT_EQ(roots, Read("ca.crt"));
  EXPECT_TRUE(CheckKeyMatches(certificate, key).ok());
  Peer peer = VerifyPeer(certificate, "", roots, TestNow());
  EXPECT_EQ(peer.outcome, PeerOutcome::kVerified) << peer.detail;
  EXPECT_EQ(peer.uri, (PeerUri{directory.hub_id, PeerKind::kUser, "admin"}));
}

TEST_F(DataDirectoryTest, AStartThatWasCutOffAnywhereIsContinued) {
  std::string hub_id = Open().value().hub_id;
  const std::map<std::string, std::string> all = Contents();
  // In the order in which they are made.
  const std::vector<std::string> order = {"hub.id",     "ca.key",     "ca.crt",    "encryption.key",
                                          "server.key", "server.crt", "admin.yaml"};
  for (size_t made = 0; made <= order.size(); ++made) {
    SCOPED_TRACE(made);
    for (size_t i = 0; i < order.size(); ++i) {
      std::filesystem::remove(directory_.File(order[i]));
      if (i < made) directory_.Write(order[i], all.at(order[i]));
    }
    ASSERT_TRUE(Open().ok());
    std::map<std::string, std::string> now = Contents();
    EXPECT_EQ(now.size(), order.size());
    for (size_t i = 0; i < made; ++i) EXPECT_EQ(now[order[i]], all.at(order[i])) << order[i];
  }
}

TEST_F(DataDirectoryTest, RefusedStartsLeaveEverythingAsItWas) {
  std::string hub_id = Open().value().hub_id;
  for (const char* missing : {"ca.key", "ca.crt", "encryption.key", "hub.id"}) {
    SCOPED_TRACE(missing);
    std::string content = Read(missing);
    std::filesystem::remove(directory_.File(missing));
    std::map<std::string, std::string> before = Contents();
    EXPECT_FALSE(Open(hub_id).ok());
    EXPECT_EQ(Contents(), before);
    directory_.Write(missing, content);
  }
  EXPECT_EQ(ErrorReason(Open(kOtherHubId).status()), "HUB_ID_MISMATCH");
  EXPECT_TRUE(Open(hub_id).ok());
}

TEST_F(DataDirectoryTest, NamesTheFileThatIsBad) {
  std::string hub_id = Open().value().hub_id;
  struct Row {
    const char* file;
    const char* content;
    const char* want;
  };
  const Row rows[] = {
      {"ca.crt", "garbage", "CERTIFICATE_INVALID"},
      {"ca.key", "garbage", "CERTIFICATE_INVALID"},
      {"server.crt", "garbage", "CERTIFICATE_INVALID"},
      {"encryption.key", "garbage", "CONFIG_INVALID"},
      {"hub.id", "garbage", "CONFIG_INVALID"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.file);
    std::string good = Read(row.file);
    directory_.Write(row.file, row.content);
    absl::Status status = Open(hub_id).status();
    EXPECT_EQ(ErrorReason(status), row.want) << status;
    EXPECT_NE(status.message().find(row.file), std::string::npos) << status;
    directory_.Write(row.file, good);
  }
}

TEST_F(DataDirectoryTest, SaysWhyItCannotWrite) {
  DataDirectoryOptions options = Options();
  options.path = directory_.File("missing/deeper");
  EXPECT_EQ(ErrorReason(OpenDataDirectory(options, std::nullopt, TestNow()).status()),
            "STORE_READ_ONLY");
}

TEST_F(DataDirectoryTest, ServerCertificateIsRenewedInPlaceForTheSameKey) {
  DataDirectory directory = Open().value();
  const std::string key = Read("server.key");
  const std::string first = Read("server.crt");
  auto ensure = [&](const ServerNames& names, absl::Time now) {
    return EnsureServerCertificate(directory.server_paths, *directory.ca->Authority(), names, now)
        .value();
  };
  EXPECT_FALSE(ensure(directory.server_names, TestNow() + absl::Hours(24 * 59)));
  EXPECT_EQ(Read("server.crt"), first);
  EXPECT_TRUE(ensure(directory.server_names, TestNow() + absl::Hours(24 * 60)));
  EXPECT_NE(Read("server.crt"), first);
  EXPECT_EQ(Read("server.key"), key);
  EXPECT_TRUE(CheckKeyMatches(Read("server.crt"), key).ok());

  ServerNames more = ServerNamesOf({"hub.example.org", "10.1.1.1"}).value();
  EXPECT_TRUE(ensure(more, TestNow()));
  EXPECT_EQ(ParseCertificate(Read("server.crt"))->ip_sans, more.ip);
  EXPECT_FALSE(ensure(more, TestNow()));
}

TEST_F(DataDirectoryTest, ASuppliedServerCertificateIsLeftAlone) {
  DataDirectory directory = Open().value();
  TestCa public_ca("public CA");
  TestIdentity supplied = IssueTo(public_ca, ServerSpec());
  directory_.Write("server.crt", supplied.chain_pem);
  directory_.Write("server.key", supplied.key_pem);
  EXPECT_TRUE(Open(directory.hub_id, TestNow() + absl::Hours(24 * 200)).ok());
  EXPECT_EQ(Read("server.crt"), supplied.chain_pem);

  std::filesystem::remove(directory_.File("server.key"));
  EXPECT_EQ(ErrorReason(Open(directory.hub_id).status()), "CERTIFICATE_INVALID");
  EXPECT_EQ(Read("server.crt"), supplied.chain_pem);
}

TEST_F(DataDirectoryTest, ANewCaIsTakenWhileTheHubRuns) {
  DataDirectory directory = Open().value();
  std::shared_ptr<const CertificateAuthority> old = directory.ca->Authority();
  TestCa next("next CA");
  std::string overlap = next.certificate_pem + Read("ca.crt");
  directory_.Write("ca.crt", overlap);
  EXPECT_EQ(directory.ca->Authority(), old) << "its key is not there yet";
  directory_.Write("ca.key", next.key_pem);
  EXPECT_EQ(directory.ca->Authority()->certificate_pem(), next.certificate_pem);
  EXPECT_EQ(directory.ca->RootsPem(), overlap) << "both are trusted while one replaces the other";
  EXPECT_EQ(directory.ca->failures(), 1u);
}

TEST_F(DataDirectoryTest, WritesAreWholeAndReplaceOnlyWhenTold) {
  const std::string path = directory_.File("f");
  EXPECT_TRUE(WriteFileAtomically(path, "one", 0640, IfExists::kRefuse).ok());
  EXPECT_EQ(ModeOf("f"), 0640u);
  EXPECT_EQ(ErrorReason(WriteFileAtomically(path, "two", 0640, IfExists::kRefuse)),
            "ALREADY_EXISTS");
  EXPECT_EQ(Read("f"), "one");
  EXPECT_TRUE(WriteFileAtomically(path, "two", 0600, IfExists::kReplace).ok());
  EXPECT_EQ(Read("f"), "two");
  EXPECT_EQ(Contents().size(), 1u) << "no temporary file stays";
}

}  // namespace
}  // namespace nave
