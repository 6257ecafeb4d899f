// HttpKubeClient against a scripted API server over TLS on loopback.
#include "agent/kube/http_kube_client.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/value/codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/http2/test_server.h"

namespace nave {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Seconds(30);

// Credentials that a test changes by hand.
class TestCredentials : public KubeCredentials {
 public:
  explicit TestCredentials(KubeServer server) : server_(std::move(server)) {}
  absl::StatusOr<KubeServer> Server(absl::Time) override { return server_; }
  absl::StatusOr<std::string> Token(absl::Time) override {
    return absl::StrCat("token-", tokens_read_);
  }
  void OnUnauthorized() override { ++tokens_read_; }

 private:
  const KubeServer server_;
  int tokens_read_ = 1;
};

// One canned answer.
struct Canned {
  int status = 200;
  std::string body;
  Http2Headers headers;
};

ResourceType ConfigMaps() { return {"", "v1", "ConfigMap", "configmaps", true, {}}; }

class HttpKubeClientTest : public ::testing::Test {
 protected:
  ~HttpKubeClientTest() override {
    OnLoop([this] {
      watches_.clear();
      client_.reset();
    });
    server_.reset();
  }

  // Starts the server; answers come from `script` by "METHOD path" (several: one after the other,
  // the last one stays).
  void Start(std::map<std::string, std::vector<Canned>> script, size_t in_flight_max = 16) {
    script_ = std::move(script);
    server_ = StartTestServer(
        {}, [this](const TestRequest& request, std::shared_ptr<TestServer::Reply> reply) {
          OnRequest(request, std::move(reply));
        });
    HttpKubeOptions options;
    KubeServer kube;
    kube.host = "127.0.0.1";
    kube.port = server_->port();
    kube.ca_pem = server_->certificates().ca_pem;
    kube.base_path = "/prefix";
    options.credentials = std::make_unique<TestCredentials>(kube);
    options.executor = executor_.get();
    options.user_agent = "nave-agent/test";
    options.requests_in_flight_max = in_flight_max;
    OnLoop([&] {
      absl::StatusOr<std::unique_ptr<KubeClient>> client = MakeHttpKubeClient(std::move(options));
      ASSERT_TRUE(client.ok()) << client.status();
      client_ = *std::move(client);
    });
  }

  void OnRequest(const TestRequest& request, std::shared_ptr<TestServer::Reply> reply) {
    std::lock_guard lock(mutex_);
    requests_.push_back(request);
    changed_.notify_all();
    const std::string key =
        absl::StrCat(request.method, " ", request.path.substr(0, request.path.find('?')));
    const auto found = script_.find(key);
    if (found == script_.end()) {
      reply->Send(404, {}, "404 page not found");
      return;
    }
    const Canned answer = found->second.front();
    if (found->second.size() > 1) found->second.erase(found->second.begin());
    if (answer.status == 0) {
      held_.push_back(std::move(reply));
    } else {
      reply->Send(answer.status, answer.headers, answer.body);
    }
  }

  void OnLoop(Task task) {
    std::unique_lock lock(mutex_);
    bool ran = false;
    executor_->Post([&] {
      std::move(task)();
      std::lock_guard inner(mutex_);
      ran = true;
      changed_.notify_all();
    });
    changed_.wait(lock, [&] { return ran; });
  }

  // Runs `start` on the loop and waits for the value that its callback gets.
  template <typename T>
  T Await(absl::FunctionRef<void(KubeClient::Callback<T>)> start) {
    std::optional<T> got;
    executor_->Post([&] {
      start([&](T value) {
        std::lock_guard lock(mutex_);
        got = std::move(value);
        changed_.notify_all();
      });
    });
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, absl::ToChronoSeconds(kPatience), [&] { return got.has_value(); }));
    return got ? *std::move(got) : T{};
  }

  KubeResult Get(const std::string& name) {
    return Await<KubeResult>([&](KubeClient::Callback<KubeResult> done) {
      client_->Get(ConfigMaps(), "ns", name, std::move(done));
    });
  }

  template <typename F>
  bool WaitFor(F condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, absl::ToChronoSeconds(kPatience), condition);
  }

  TestRequest RequestAt(size_t index) {
    std::lock_guard lock(mutex_);
    return index < requests_.size() ? requests_[index] : TestRequest{};
  }

  std::unique_ptr<Executor> executor_ = MakeThreadExecutor();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::vector<Canned>> script_;  // Guarded by mutex_, as all below.
  std::vector<TestRequest> requests_;
  std::vector<std::shared_ptr<TestServer::Reply>> held_;
  std::unique_ptr<TestServer> server_;
  std::unique_ptr<KubeClient> client_;
  std::vector<std::unique_ptr<KubeWatch>> watches_;
};

constexpr char kPath[] = "/prefix/api/v1/namespaces/ns/configmaps";

TEST_F(HttpKubeClientTest, Apply) {
  Start({{absl::StrCat("PATCH ", kPath, "/a"),
          {{201,
            R"({"kind":"ConfigMap","metadata":{"name":"a"}})",
            {{"warning", R"(299 - "deprecated \"x\"", 299 - "second")"}}}}}});
  ApplyRequest request;
  request.type = ConfigMaps();
  request.ns = "ns";
  request.name = "a";
  request.body = R"({"apiVersion":"v1"})";
  request.field_manager = "nave-agent-12345678";
  request.force = true;
  request.dry_run = true;
  const KubeResult result = Await<KubeResult>(
      [&](KubeClient::Callback<KubeResult> done) { client_->Apply(request, std::move(done)); });
  EXPECT_TRUE(result.error.ok()) << result.error.message;
  EXPECT_TRUE(result.created);
  EXPECT_EQ(result.object.StringAt("metadata", "name"), "a");
  EXPECT_THAT(result.warnings, ElementsAre("deprecated \"x\"", "second"));
  const TestRequest sent = RequestAt(0);
  EXPECT_EQ(sent.path, absl::StrCat(kPath,
                                    "/a?fieldManager=nave-agent-12345678&force=true"
                                    "&fieldValidation=Strict&dryRun=All"));
  EXPECT_EQ(sent.body, request.body);
  EXPECT_EQ(FindHeader(sent.headers, "content-type"), "application/apply-patch+yaml");
  EXPECT_EQ(FindHeader(sent.headers, "authorization"), "Bearer token-1");
  EXPECT_EQ(FindHeader(sent.headers, "user-agent"), "nave-agent/test");
}

TEST_F(HttpKubeClientTest, ListsPages) {
  Start({{absl::StrCat("GET ", kPath),
          {{200,
            R"({"kind":"ConfigMapList","metadata":{"resourceVersion":"7","continue":"next"},
                "items":[{"metadata":{"name":"a"}}]})",
            {}},
           {200, R"({"kind":"ConfigMapList","metadata":{"resourceVersion":"7"},"items":null})", {}},
           {200, R"({"kind":"Status","metadata":{}})", {}}}}});
  ListRequest request;
  request.type = ConfigMaps();
  request.ns = "ns";
  request.label_selector = "a=b,c";
  const auto list = [&] {
    return Await<ListPage>(
        [&](KubeClient::Callback<ListPage> done) { client_->List(request, std::move(done)); });
  };
  ListPage page = list();
  ASSERT_TRUE(page.error.ok()) << page.error.message;
  ASSERT_EQ(page.items.size(), 1u);
  EXPECT_EQ(page.items[0].StringAt("kind"), "ConfigMap");
  EXPECT_EQ(page.items[0].StringAt("apiVersion"), "v1");
  EXPECT_EQ(page.resource_version, "7");
  EXPECT_EQ(page.continue_token, "next");
  EXPECT_THAT(RequestAt(0).path, HasSubstr("?labelSelector=a%3Db%2Cc&limit=500"));
  request.continue_token = page.continue_token;
  page = list();
  EXPECT_TRUE(page.error.ok());
  EXPECT_TRUE(page.items.empty());
  EXPECT_EQ(page.continue_token, "");
  EXPECT_THAT(RequestAt(1).path, HasSubstr("continue=next"));
  // What is no list is never an empty list.
  EXPECT_EQ(list().error.error_class, KubeErrorClass::kServerError);
}

TEST_F(HttpKubeClientTest, Watches) {
  Start({{absl::StrCat("GET ", kPath), {{0, "", {}}}}});
  WatchRequest request;
  request.type = ConfigMaps();
  request.ns = "ns";
  request.resource_version = "5";
  std::vector<std::string> events;
  std::optional<KubeError> end;
  OnLoop([&] {
    watches_.push_back(client_->Watch(
        request,
        [&](KubeEvent event) {
          std::lock_guard lock(mutex_);
          events.push_back(absl::StrCat(static_cast<int>(event.type), " ",
                                        event.object.StringAt("metadata", "name")));
          changed_.notify_all();
        },
        [&](KubeError error) {
          std::lock_guard lock(mutex_);
          end = std::move(error);
          changed_.notify_all();
        }));
  });
  ASSERT_TRUE(WaitFor([&] { return !held_.empty(); }));
  EXPECT_THAT(RequestAt(0).path, HasSubstr("watch=1&allowWatchBookmarks=true&timeoutSeconds="));
  EXPECT_THAT(RequestAt(0).path, HasSubstr("resourceVersion=5"));
  held_[0]->Begin(200, {});
  held_[0]->Chunk(R"({"type":"ADDED","object":{"metadata":{"name":"a"}}}{"type":"DELE)");
  ASSERT_TRUE(WaitFor([&] { return events.size() == 1; }));
  held_[0]->Chunk(R"(TED","object":{"metadata":{"name":"a{\"}"}}})");
  ASSERT_TRUE(WaitFor([&] { return events.size() == 2; }));
  EXPECT_THAT(events, ElementsAre("0 a", "2 a{\"}"));
  held_[0]->Chunk(R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}})");
  ASSERT_TRUE(WaitFor([&] { return end.has_value(); }));
  EXPECT_EQ(end->error_class, KubeErrorClass::kGone);
}

TEST_F(HttpKubeClientTest, DeletesWithOptionsInTheBody) {
  Start({{absl::StrCat("DELETE ", kPath, "/a"),
          {{200, R"({"kind":"Status","status":"Success"})", {}},
           {200, R"({"kind":"ConfigMap","metadata":{"deletionTimestamp":"x"}})", {}}}}});
  DeleteRequest request;
  request.type = ConfigMaps();
  request.ns = "ns";
  request.name = "a";
  request.uid = "u";
  request.resource_version = "9";
  request.propagation = DeletePropagation::kOrphan;
  request.dry_run = true;
  const auto remove = [&] {
    return Await<KubeResult>(
        [&](KubeClient::Callback<KubeResult> done) { client_->Delete(request, std::move(done)); });
  };
  KubeResult result = remove();
  EXPECT_TRUE(result.error.ok());
  EXPECT_TRUE(result.object.is_null());
  EXPECT_FALSE(remove().object.is_null());
  EXPECT_EQ(RequestAt(0).path, absl::StrCat(kPath, "/a"));
  EXPECT_EQ(RequestAt(0).body,
            R"({"apiVersion":"v1","dryRun":["All"],"kind":"DeleteOptions",)"
            R"("preconditions":{"resourceVersion":"9","uid":"u"},"propagationPolicy":"Orphan"})");
}

}  // namespace
}  // namespace nave
