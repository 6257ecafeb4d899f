// The client against a real server over TLS on loopback, good and bad.
#include "common/http2/client.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/http2/test_server.h"

namespace nave {
namespace {

using ::testing::HasSubstr;

// Patience of a test that waits for another thread; reached only when the test fails.
constexpr absl::Duration kPatience = absl::Seconds(30);

// Runs calls on the I/O thread and waits for what happens there: the client under test has no
// executor of its own, so its callbacks run on that thread.
class Caller {
 public:
  explicit Caller(Http2Options options) : io_(MakeIoThread()) {
    absl::StatusOr<std::unique_ptr<Http2Client>> client =
        MakeHttp2Client(std::move(options), io_.get(), io_);
    EXPECT_TRUE(client.ok()) << client.status();
    if (client.ok()) client_ = *std::move(client);
  }
  ~Caller() {
    Run([this] {
      streams_.clear();
      client_.reset();
    });
  }

  struct Result {
    int status = 0;
    Http2Headers headers;
    std::string body;
    size_t chunk_bytes_max = 0;
    Http2End end;
    bool ended = false;
  };

  int Start(Http2Request request) {
    int id = 0;
    Run([&] {
      id = next_id_++;
      streams_[id] =
          client_->Start(std::move(request), {[this, id](int status, Http2Headers headers) {
                                                Update([&] {
                                                  results_[id].status = status;
                                                  results_[id].headers = std::move(headers);
                                                });
                                              },
                                              [this, id](std::string chunk) {
                                                Update([&] {
                                                  results_[id].body += chunk;
                                                  results_[id].chunk_bytes_max = std::max(
                                                      results_[id].chunk_bytes_max, chunk.size());
                                                });
                                              },
                                              [this, id](const Http2End& end) {
                                                Update([&] {
                                                  results_[id].end = end;
                                                  results_[id].ended = true;
                                                });
                                              }});
    });
    return id;
  }

  Result Wait(int id) {
    WaitFor([&] { return results_[id].ended; });
    std::lock_guard lock(mutex_);
    EXPECT_TRUE(results_[id].ended) << "request " << id << " never ended";
    return results_[id];
  }
  Result Fetch(Http2Request request) { return Wait(Start(std::move(request))); }
  Result Get(std::string path) {
    Http2Request request;
    request.path = std::move(path);
    return Fetch(std::move(request));
  }

  // Until a callback made `condition` true.
  template <typename F>
  bool WaitFor(F condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, absl::ToChronoMilliseconds(kPatience), condition);
  }
  std::string BodyOf(int id) {
    std::lock_guard lock(mutex_);
    return results_[id].body;
  }
  bool WaitForBody(int id, size_t bytes) {
    return WaitFor([&] { return results_[id].body.size() >= bytes; });
  }

  void Cancel(int id) {
    Run([&] { streams_.erase(id); });
  }
  void Write(int id, std::string data, bool end) {
    Run([&] { streams_[id]->Write(std::move(data), end); });
  }
  absl::Status SetTls(const Http2Tls& tls) {
    absl::Status status;
    Run([&] { status = client_->SetTls(tls); });
    return status;
  }
  Http2Stats Stats() { return client_->Stats(); }

  void Run(Task task) {
    std::mutex done_mutex;
    std::condition_variable done;
    bool ran = false;
    io_->Post([&] {
      std::move(task)();
      std::lock_guard lock(done_mutex);
      ran = true;
      done.notify_all();
    });
    std::unique_lock lock(done_mutex);
    done.wait(lock, [&] { return ran; });
  }

 private:
  void Update(absl::FunctionRef<void()> change) {
    std::lock_guard lock(mutex_);
    change();
    changed_.notify_all();
  }

  std::shared_ptr<IoThread> io_;
  std::unique_ptr<Http2Client> client_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int next_id_ = 0;
  std::map<int, std::unique_ptr<Http2Stream>> streams_;
  std::map<int, Result> results_;  // Guarded by mutex_.
};

// Polls what only the server knows.
template <typename F>
bool Eventually(F condition) {
  const absl::Time give_up = absl::Now() + kPatience;
  while (!condition()) {
    if (absl::Now() > give_up) return false;
    std::this_thread::yield();
  }
  return true;
}

TestServer::Handler Echo() {
  return [](const TestRequest& request, std::shared_ptr<TestServer::Reply> reply) {
    reply->Send(200, {{"x-path", request.path}, {"x-connection", absl::StrCat(request.connection)}},
                request.body);
  };
}

TEST(Http2Client, GetsAndPosts) {
  const auto server = StartTestServer({}, Echo());
  Caller caller(server->ClientOptions());
  const Caller::Result got = caller.Get("/a?b=c");
  EXPECT_TRUE(got.end.ok()) << got.end.message;
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(FindHeader(got.headers, "x-path"), "/a?b=c");
  Http2Request post;
  post.method = "POST";
  post.body = "hello";
  EXPECT_EQ(caller.Fetch(post).body, "hello");
  EXPECT_EQ(caller.Stats().connections_opened, 1);
}

TEST(Http2Client, AServerThatFallsSilentIsNoticedByPing) {
  // Streams that wait for data, as watches do, and nothing arrives any more: no FIN, no RST.
  const auto server =
      StartTestServer({}, [](const TestRequest&, std::shared_ptr<TestServer::Reply> reply) {
        reply->Begin(200, {});
        reply->Chunk("first");
      });
  Http2Options options = server->ClientOptions();
  options.ping_after = absl::Milliseconds(100);
  options.ping_timeout = absl::Milliseconds(300);
  Caller caller(options);
  const int watch = caller.Start(Http2Request());
  ASSERT_TRUE(caller.WaitForBody(watch, 5));
  // As long as it answers PINGs, silence is no end.
  ASSERT_TRUE(Eventually([&] { return server->pings_received() > 2; }));
  server->Freeze();
  const Caller::Result result = caller.Wait(watch);
  EXPECT_EQ(result.end.failure, Http2Failure::kLost);
  EXPECT_THAT(result.end.message, HasSubstr("127.0.0.1"));
}

TEST(Http2Client, ALostConnectionIsMadeAnew) {
  const auto server = StartTestServer({}, Echo());
  Caller caller(server->ClientOptions());
  ASSERT_TRUE(caller.Get("/a").end.ok());
  server->CloseConnections();
  ASSERT_TRUE(Eventually([&] { return server->connections_open() == 0; }));
  EXPECT_TRUE(Eventually([&] { return caller.Get("/b").end.ok(); }));
  EXPECT_EQ(server->connections_accepted(), 2);
}

TEST(Http2Client, WhatAServerOnItsWayOutDidNotTakeIsSentAgain) {
  std::atomic<int> seen = 0;
  const auto server = StartTestServer(
      {}, [&](const TestRequest& request, std::shared_ptr<TestServer::Reply> reply) {
        ++seen;
        reply->Send(200, {}, absl::StrCat(request.connection));
      });
  Caller caller(server->ClientOptions());
  ASSERT_EQ(caller.Get("/").body, "0");
  server->GoAway(0, -1, 0);
  EXPECT_TRUE(Eventually([&] {
    const Caller::Result result = caller.Get("/");
    return result.end.ok() && result.body == "1";
  }));
}

TEST(Http2Client, AStreamThatWantsToLeavesWithTheServer) {
  const auto server = StartTestServer(
      {},
      [](const TestRequest&, std::shared_ptr<TestServer::Reply> reply) { reply->Begin(200, {}); });
  Caller caller(server->ClientOptions());
  Http2Request watch;
  watch.leave_on_goaway = true;
  const int id = caller.Start(watch);
  ASSERT_TRUE(Eventually([&] { return server->streams_open() == 1; }));
  server->GoAway(0, -1, 0);
  EXPECT_EQ(caller.Wait(id).end.failure, Http2Failure::kGoingAway);
}

TEST(Http2Client, MoreRequestsThanTheServersStreamsWaitTheirTurn) {
  TestServer::Options options;
  options.max_concurrent_streams = 12;
  const auto server = StartTestServer(options, Echo());
  Caller caller(server->ClientOptions());
  std::vector<int> ids;
  for (int i = 0; i < 200; ++i) {
    Http2Request request;
    request.path = absl::StrCat("/", i);
    ids.push_back(caller.Start(request));
  }
  for (int i = 0; i < 200; ++i) {
    const Caller::Result result = caller.Wait(ids[i]);
    EXPECT_TRUE(result.end.ok()) << result.end.message;
    EXPECT_EQ(FindHeader(result.headers, "x-path"), absl::StrCat("/", i));
  }
  EXPECT_LE(server->streams_open_peak(), 12);
}

TEST(Http2Client, AResetEndsOneStreamOnly) {
  const auto server =
      StartTestServer({}, [](const TestRequest& request, std::shared_ptr<TestServer::Reply> reply) {
        if (request.path == "/bad") return reply->Reset(2);
        reply->Send(200, {}, "good");
      });
  Caller caller(server->ClientOptions());
  const Caller::Result bad = caller.Get("/bad");
  EXPECT_EQ(bad.end.failure, Http2Failure::kLost);
  EXPECT_EQ(caller.Get("/good").body, "good");
  EXPECT_EQ(server->connections_accepted(), 1);
}

TEST(Http2Client, AnswersAreBoundedAndTimed) {
  const auto server =
      StartTestServer({}, [](const TestRequest& request, std::shared_ptr<TestServer::Reply> reply) {
        if (request.path == "/large") return reply->Send(200, {}, std::string(100000, 'x'));
        // Never answered otherwise.
        reply->OnClosed([reply] {});
      });
  Caller caller(server->ClientOptions());
  Http2Request large;
  large.path = "/large";
  large.response_bytes_max = 1000;
  EXPECT_EQ(caller.Fetch(large).end.failure, Http2Failure::kTooLarge);
  Http2Request slow;
  slow.header_timeout = absl::Milliseconds(50);
  EXPECT_EQ(caller.Fetch(slow).end.failure, Http2Failure::kTimeout);
}

TEST(Http2Client, AServerThatIsNotTheOneIsNotTalkedTo) {
  const auto server = StartTestServer({}, Echo());
  Http2Options other_ca = server->ClientOptions();
  other_ca.tls.roots_pem = MakeTestCertificates().ca_pem;
  Http2Options other_name = server->ClientOptions();
  other_name.tls.server_name = "elsewhere.example";
  for (Http2Options options : {other_ca, other_name}) {
    Caller caller(options);
    Http2Request request;
    request.timeout = absl::Seconds(10);
    const Caller::Result result = caller.Fetch(request);
    EXPECT_EQ(result.end.failure, Http2Failure::kNotSent) << result.end.message;
  }
}

}  // namespace
}  // namespace nave
