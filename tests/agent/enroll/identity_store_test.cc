// Goal: an identity comes back as it was stored, in a file and in a Secret; damage is said and
// never written over; of two writers the second learns of the first.
#include "agent/enroll/identity_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <optional>

#include "absl/strings/escaping.h"
#include "common/base/error.h"
#include "common/pki/authority.h"
#include "common/pki/certificate_files.h"
#include "common/value/codec.h"
#include "tests/common/pki/test_pki.h"

namespace nave {
namespace {

AgentIdentity Enrolled() {
  TestCa ca;
  TestIdentity issued = IssueTo(ca, ClusterSpecOf());
  AgentIdentity identity;
  identity.key_pem = issued.key_pem;
  identity.certificate_pem = issued.chain_pem;
  identity.ca_pem = ca.certificate_pem;
  identity.cluster_uid = kTestClusterUid;
  identity.cluster_name = "edge-1";
  identity.hub_id = kTestHubId;
  identity.hub_address = "hub:8444";
  identity.token_id = "abc";
  return identity;
}

AgentIdentity Pending() {
  AgentIdentity identity;
  identity.pending_key_pem = GenerateKey().value();
  identity.pending_token_id = "abc";
  return identity;
}

TEST(IdentityTest, RoundTripAndDamage) {
  for (const AgentIdentity& identity : {Enrolled(), Pending(), AgentIdentity()}) {
    EXPECT_EQ(ParseIdentity(FormatIdentity(identity)).value(), identity);
  }
  struct Row {
    const char* name;
    const char* key;
    std::string value;
  };
  const Row rows[] = {
      {"no format", "format", ""},
      {"later format", "format", "2"},
      {"another key", "tls.key", GenerateKey().value()},
      {"no key", "tls.key", ""},
      {"damaged certificate", "tls.crt", "garbage"},
      {"no CA", "ca.crt", ""},
      {"no uid", "cluster-uid", ""},
      {"no hub id", "hub-id", ""},
      {"no address", "hub-address", ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    IdentityData data = FormatIdentity(Enrolled());
    data[row.key] = row.value;
    EXPECT_EQ(ErrorReason(ParseIdentity(data).status()), "IDENTITY_INVALID");
  }
}

// The one Secret of an API server, with its rules for resourceVersion.
class OneSecretClient final : public KubeClient {
 public:
  explicit OneSecretClient(Executor& loop) : loop_(loop) {}

  void Get(ResourceType type, std::string ns, std::string name,
           Callback<KubeResult> done) override {
    EXPECT_EQ(type.kind, "Secret");
    EXPECT_EQ(ns, "nave-system");
    EXPECT_EQ(name, "nave-identity");
    KubeResult result = failure;
    if (result.error.ok()) {
      if (secret.has_value()) {
        result.object = *secret;
      } else {
        result.error = {KubeErrorClass::kNotFound, 404, "NotFound", "not found", {}, {}};
      }
    }
    Answer(std::move(done), std::move(result));
  }
  void Create(ResourceType, std::string, std::string body, Callback<KubeResult> done) override {
    KubeResult result = failure;
    if (result.error.ok() && secret.has_value()) result.error = Conflict();
    if (result.error.ok()) result.object = Put(body);
    Answer(std::move(done), std::move(result));
  }
  void Replace(ResourceType, std::string, std::string, std::string body,
               Callback<KubeResult> done) override {
    KubeResult result = failure;
    Value wanted = ParseJson(body).value();
    if (result.error.ok() && !secret.has_value()) {
      result.error = {KubeErrorClass::kNotFound, 404, "NotFound", "not found", {}, {}};
    } else if (result.error.ok() && wanted.StringAt("metadata", "resourceVersion") !=
                                        secret->StringAt("metadata", "resourceVersion")) {
      result.error = Conflict();
    }
    if (result.error.ok()) result.object = Put(body);
    Answer(std::move(done), std::move(result));
  }

  void Discover(Callback<Discovery>) override { ADD_FAILURE(); }
  void GetServerVersion(Callback<KubeResult>) override { ADD_FAILURE(); }
  void Apply(ApplyRequest, Callback<KubeResult>) override { ADD_FAILURE(); }
  void List(ListRequest, Callback<ListPage>) override { ADD_FAILURE(); }
  void Patch(PatchRequest, Callback<KubeResult>) override { ADD_FAILURE(); }
  void Delete(DeleteRequest, Callback<KubeResult>) override { ADD_FAILURE(); }
  std::unique_ptr<KubeWatch> Watch(WatchRequest, std::function<void(KubeEvent)>,
                                   Callback<KubeError>) override {
    ADD_FAILURE();
    return nullptr;
  }

  std::optional<Value> secret;
  // Answered to everything when its error is set.
  KubeResult failure;

 private:
  static KubeError Conflict() {
    return {KubeErrorClass::kConflict, 409, "Conflict", "changed", {}, {}};
  }
  Value Put(const std::string& body) {
    secret = ParseJson(body).value();
    (*secret)["metadata"]["resourceVersion"] = std::to_string(++version_);
    return *secret;
  }
  void Answer(Callback<KubeResult> done, KubeResult result) {
    loop_.Post([done = std::move(done), result = std::move(result)]() mutable {
      std::move(done)(std::move(result));
    });
  }

  Executor& loop_;
  int version_ = 0;
};

class IdentityStoreTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::optional<AgentIdentity>> Load(IdentityStore& store) {
    absl::StatusOr<std::optional<AgentIdentity>> result = absl::UnknownError("no answer");
    store.Load([&](absl::StatusOr<std::optional<AgentIdentity>> loaded) { result = loaded; });
    loop_.RunAll();
    return result;
  }
  std::string Save(IdentityStore& store, const AgentIdentity& identity) {
    std::string result = "no answer";
    store.Save(identity, [&](absl::Status saved) { result = ErrorReason(saved); });
    loop_.RunAll();
    return result;
  }

  ManualExecutor loop_{TestNow()};
  TestDirectory directory_;
  OneSecretClient client_{loop_};
};

TEST_F(IdentityStoreTest, File) {
  const std::string state = directory_.File("state");
  auto store = MakeFileIdentityStore(loop_, state);
  EXPECT_EQ(Load(*store).value(), std::nullopt);
  for (const AgentIdentity& identity : {Pending(), Enrolled()}) {
    EXPECT_EQ(Save(*store, identity), "");
    EXPECT_EQ(Load(*store).value(), identity);
    EXPECT_EQ(Load(*MakeFileIdentityStore(loop_, state)).value(), identity);
  }
  struct stat info = {};
  ASSERT_EQ(stat((state + "/identity.json").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(stat(state.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  auto files = std::filesystem::directory_iterator(state);
  EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "no temporary file stays";
}

TEST_F(IdentityStoreTest, DamagedFile) {
  auto store = MakeFileIdentityStore(loop_, directory_.path());
  ASSERT_EQ(Save(*store, Enrolled()), "");
  const std::string good = ReadCertificateFile(directory_.File("identity.json")).value();
  for (const std::string& text : {std::string(), std::string("[]"), good.substr(0, good.size() / 2),
                                  std::string("{\"format\":\"9\"}")}) {
    directory_.Write("identity.json", text);
    absl::Status status = Load(*store).status();
    EXPECT_EQ(ErrorReason(status), "IDENTITY_INVALID");
    EXPECT_NE(status.message().find("identity.json"), std::string::npos) << status;
  }
}

TEST_F(IdentityStoreTest, FileThatCannotBeWritten) {
  auto store = MakeFileIdentityStore(loop_, directory_.File("missing/deeper"));
  EXPECT_EQ(Save(*store, Pending()), "STORE_READ_ONLY");
}

TEST_F(IdentityStoreTest, Secret) {
  auto store = MakeSecretIdentityStore(client_, "nave-system");
  EXPECT_EQ(Load(*store).value(), std::nullopt);
  for (const AgentIdentity& identity : {Pending(), Enrolled(), Pending()}) {
    EXPECT_EQ(Save(*store, identity), "");
    EXPECT_EQ(Load(*store).value(), identity);
    EXPECT_EQ(Load(*MakeSecretIdentityStore(client_, "nave-system")).value(), identity);
  }
  EXPECT_EQ(client_.secret->StringAt("kind"), "Secret");
  EXPECT_EQ(client_.secret->StringAt("metadata", "name"), "nave-identity");
  EXPECT_EQ(client_.secret->Find("data", "tls.crt"), nullptr) << "what is gone must not stay";
}

TEST_F(IdentityStoreTest, OfTwoWritersOfTheSecretTheSecondLearnsOfTheFirst) {
  auto a = MakeSecretIdentityStore(client_, "nave-system");
  auto b = MakeSecretIdentityStore(client_, "nave-system");
  ASSERT_TRUE(Load(*a).ok());
  ASSERT_TRUE(Load(*b).ok());
  AgentIdentity first = Pending();
  EXPECT_EQ(Save(*a, first), "");
  EXPECT_EQ(Save(*b, Pending()), "ETAG_MISMATCH");
  EXPECT_EQ(Load(*b).value(), first);
  EXPECT_EQ(Save(*b, Enrolled()), "");
  EXPECT_EQ(Save(*a, first), "ETAG_MISMATCH");
  client_.secret.reset();
  EXPECT_EQ(Save(*b, first), "ETAG_MISMATCH") << "deleted meanwhile";
  EXPECT_EQ(Load(*b).value(), std::nullopt);
  EXPECT_EQ(Save(*b, first), "");
}

TEST_F(IdentityStoreTest, SecretErrors) {
  auto store = MakeSecretIdentityStore(client_, "nave-system");
  ASSERT_EQ(Save(*store, Enrolled()), "");
  (*client_.secret)["data"]["tls.crt"] = "%%%";
  EXPECT_EQ(ErrorReason(Load(*store).status()), "IDENTITY_INVALID");
  (*client_.secret)["data"]["tls.crt"] = absl::Base64Escape("garbage");
  EXPECT_EQ(ErrorReason(Load(*store).status()), "IDENTITY_INVALID");
  client_.failure.error = {KubeErrorClass::kForbidden, 403, "Forbidden", "no", {}, {}};
  EXPECT_EQ(ErrorReason(Load(*store).status()), "FORBIDDEN");
  EXPECT_EQ(Save(*store, Pending()), "FORBIDDEN");
  client_.failure.error = {KubeErrorClass::kUnreachable, 0, "", "cut off", {}, {}};
  EXPECT_EQ(ErrorReason(Load(*store).status()), "API_SERVER_UNAVAILABLE");
}

TEST_F(IdentityStoreTest, NoCallbackAfterTheStoreIsGone) {
  bool called = false;
  for (bool file : {true, false}) {
    auto store = file ? MakeFileIdentityStore(loop_, directory_.path())
                      : MakeSecretIdentityStore(client_, "nave-system");
    store->Load([&](absl::StatusOr<std::optional<AgentIdentity>>) { called = true; });
    store->Save(Pending(), [&](absl::Status) { called = true; });
    store.reset();
    loop_.RunAll();
  }
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace nave
