// The client against a real server over TLS on loopback, good and bad.
#include "common/http2/client.h"

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

}  // namespace
}  // namespace nave
