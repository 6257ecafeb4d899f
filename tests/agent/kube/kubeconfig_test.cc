// Kubeconfig files, merged, and what credentials come out of them.
#include "agent/kube/kubeconfig.h"

#include <map>

#include "absl/strings/match.h"
#include "agent/kube/credentials.h"
#include "common/base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nave {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

const absl::Time kNow = absl::FromUnixSeconds(1000);

class KubeconfigTest : public ::testing::Test {
 protected:
  FileReader Reader() {
    return [this](const std::string& path) -> absl::StatusOr<std::string> {
      ++reads_[path];
      const auto found = files_.find(path);
      if (found == files_.end()) return absl::NotFoundError("it cannot be opened");
      return found->second;
    };
  }
  absl::StatusOr<std::unique_ptr<KubeCredentials>> Make(absl::string_view context = "") {
    return MakeKubeconfigCredentials(config_, context, "http://env-proxy:1", "no.example",
                                     Reader());
  }

  Kubeconfig config_;
  std::map<std::string, std::string> files_;
  std::map<std::string, int> reads_;
};

constexpr char kFirst[] = R"(
apiVersion: v1
kind: Config
current-context: one
clusters:
- name: c1
  cluster:
    server: https://api.example:6443/base/
    certificate-authority: ca.pem
    tls-server-name: other.example
    proxy-url: http://proxy:3128
contexts:
- name: one
  context: {cluster: c1, user: u1, namespace: shop}
- name: two
  context: {cluster: c2, user: u2}
users:
- name: u1
  user:
    tokenFile: token
    as: someone
    as-groups: [g1, g2]
)";
constexpr char kSecond[] = R"(
current-context: ignored
clusters:
- name: c1
  cluster: {server: https://ignored}
- name: c2
  cluster:
    server: https://[fd00::1]
    certificate-authority: /wrong.pem
    certificate-authority-data: Q0EtREFUQQ==
users:
- name: u2
  user:
    token: fixed
    tokenFile: /wrong
    client-certificate: cert.pem
    client-key-data: S0VZ
)";

TEST_F(KubeconfigTest, MergesFiles) {
  ASSERT_TRUE(MergeKubeconfig(kFirst, "/a/config", config_).ok());
  ASSERT_TRUE(MergeKubeconfig(kSecond, "/b/config", config_).ok());
  files_ = {{"/a/ca.pem", "CA"}, {"/a/token", " secret\n"}, {"/b/cert.pem", "CERT"}};

  auto one = Make();
  ASSERT_TRUE(one.ok()) << one.status();
  KubeServer server = *(*one)->Server(kNow);
  EXPECT_EQ(server.host, "api.example");
  EXPECT_EQ(server.port, 6443);
  EXPECT_EQ(server.base_path, "/base");
  EXPECT_EQ(server.ca_pem, "CA");
  EXPECT_EQ(server.tls_server_name, "other.example");
  EXPECT_EQ(server.proxy_url, "http://proxy:3128");
  EXPECT_EQ(server.no_proxy, "");
  EXPECT_THAT(server.headers,
              ElementsAre(Pair("impersonate-user", "someone"), Pair("impersonate-group", "g1"),
                          Pair("impersonate-group", "g2")));
  EXPECT_EQ(*(*one)->Token(kNow), "secret");

  auto two = Make("two");
  ASSERT_TRUE(two.ok()) << two.status();
  server = *(*two)->Server(kNow);
  EXPECT_EQ(server.host, "fd00::1");
  EXPECT_EQ(server.port, 443);
  EXPECT_EQ(server.ca_pem, "CA-DATA");
  EXPECT_EQ(server.client_certificate_pem, "CERT");
  EXPECT_EQ(server.client_key_pem, "KEY");
  EXPECT_EQ(server.proxy_url, "http://env-proxy:1");
  EXPECT_EQ(server.no_proxy, "no.example");
  EXPECT_EQ(*(*two)->Token(kNow), "fixed");
}

TEST_F(KubeconfigTest, SaysWhatIsWrong) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"[]", "want one YAML mapping"},
      {"a: b: c", "cannot be read"},
      {"kind: Pod", "want kind Config, got Pod"},
      {"clusters: {}", "clusters: want a list"},
      {"users: [{user: {}}]", "users: an entry has no name"},
      {"clusters: [{name: c, cluster: {certificate-authority-data: '!'}}]", "want base64"},
  };
  for (const Case& c : cases) {
    const absl::Status status = MergeKubeconfig(c.text, "/a/config", config_);
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.message)) << c.text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("/a/config"));
    EXPECT_EQ(ErrorReason(status), "CONFIG_INVALID");
  }
  // Never a secret in an error.
  EXPECT_THAT(
      std::string(
          MergeKubeconfig("users: [{name: a, user: {token: s3cret", "/a", config_).message()),
      Not(HasSubstr("s3cret")));
}

TEST_F(KubeconfigTest, RefusesWhatIsNotThere) {
  struct Case {
    const char* text;
    const char* context;
    const char* reason;
    const char* message;
  };
  const Case cases[] = {
      {"", "", "CONFIG_INVALID", "no context is chosen"},
      {"current-context: x", "", "CONFIG_INVALID", "no context \"x\""},
      {"contexts: [{name: x, context: {cluster: c}}]", "x", "CONFIG_INVALID", "no cluster \"c\""},
      {"contexts: [{name: x, context: {cluster: c, user: u}}]\n"
       "clusters: [{name: c, cluster: {server: 'https://h'}}]",
       "x", "CONFIG_INVALID", "no user \"u\""},
      {"contexts: [{name: x, context: {cluster: c}}]\n"
       "clusters: [{name: c, cluster: {server: 'ftp://h'}}]",
       "x", "CONFIG_INVALID", "want https"},
      {"contexts: [{name: x, context: {cluster: c}}]\n"
       "clusters: [{name: c, cluster: {server: 'https://h:99999'}}]",
       "x", "CONFIG_INVALID", "want a port"},
      {"contexts: [{name: x, context: {cluster: c, user: u}}]\n"
       "clusters: [{name: c, cluster: {server: 'https://h'}}]\n"
       "users: [{name: u, user: {exec: {command: x}}}]",
       "x", "NOT_SUPPORTED_YET", "an exec plugin is not supported"},
      {"contexts: [{name: x, context: {cluster: c, user: u}}]\n"
       "clusters: [{name: c, cluster: {server: 'https://h'}}]\n"
       "users: [{name: u, user: {auth-provider: {name: gcp}}}]",
       "x", "NOT_SUPPORTED_YET", "an auth provider is not supported"},
      {"contexts: [{name: x, context: {cluster: c, user: u}}]\n"
       "clusters: [{name: c, cluster: {server: 'https://h'}}]\n"
       "users: [{name: u, user: {username: a, password: b}}]",
       "x", "NOT_SUPPORTED_YET", "a password is not supported"},
  };
  for (const Case& c : cases) {
    config_ = {};
    ASSERT_TRUE(MergeKubeconfig(c.text, "/a", config_).ok()) << c.text;
    const absl::Status status = Make(c.context).status();
    EXPECT_EQ(ErrorReason(status), c.reason) << c.text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.message)) << c.text;
  }
}

TEST_F(KubeconfigTest, InCluster) {
  EXPECT_FALSE(MakeInClusterCredentials("", "443", "/sa", Reader()).ok());
  EXPECT_FALSE(MakeInClusterCredentials("10.0.0.1", "x", "/sa", Reader()).ok());
  auto made = MakeInClusterCredentials("fd00::1", "6443", "/sa", Reader());
  ASSERT_TRUE(made.ok());
  KubeCredentials& credentials = **made;
  EXPECT_FALSE(credentials.Token(kNow).ok());
  files_ = {{"/sa/token", "t1\n"}, {"/sa/ca.crt", "CA1"}};
  // What was never read is looked for again at once.
  EXPECT_EQ(*credentials.Token(kNow), "t1");
  EXPECT_EQ(credentials.Server(kNow)->ca_pem, "CA1");
  EXPECT_EQ(credentials.Server(kNow)->host, "fd00::1");

  files_ = {{"/sa/token", "t2"}, {"/sa/ca.crt", "CA2"}};
  EXPECT_EQ(*credentials.Token(kNow + absl::Seconds(59)), "t1");
  EXPECT_EQ(reads_["/sa/token"], 2);
  EXPECT_EQ(*credentials.Token(kNow + absl::Seconds(60)), "t2");
  EXPECT_EQ(credentials.Server(kNow + absl::Seconds(60))->ca_pem, "CA2");

  // Empty or missing: the last one stays.
  files_ = {{"/sa/token", " \n"}};
  EXPECT_EQ(*credentials.Token(kNow + absl::Seconds(120)), "t2");
  EXPECT_EQ(credentials.Server(kNow + absl::Seconds(120))->ca_pem, "CA2");

  files_ = {{"/sa/token", "t3"}};
  EXPECT_EQ(*credentials.Token(kNow + absl::Seconds(121)), "t2");
  credentials.OnUnauthorized();
  EXPECT_EQ(*credentials.Token(kNow + absl::Seconds(121)), "t3");
}

}  // namespace
}  // namespace nave
