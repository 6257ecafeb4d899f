// The server against raw sockets on loopback: what is answered, and what hostile clients can do.
#include "common/httpserver/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nave {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

HttpAnswer Answer(const HttpRequest& request) {
  if (request.path == "/livez")
    return {200, "text/plain; charset=utf-8", absl::StrCat("ok[", request.query, "]")};
  if (request.path == "/big") return {200, "text/plain", std::string(4 << 20, 'x')};
  return {404, "text/plain; charset=utf-8", "no such path\n"};
}

// A client's socket. Reads give up after 30 s, which only a failing test reaches.
class Socket {
 public:
  explicit Socket(int port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval patience{30, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ~Socket() { close(fd_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  void Send(absl::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<size_t>(sent));
    }
  }
  // Everything until the peer closes.
  std::string ReadAll() {
    std::string all;
    while (ReadSome(all)) {
    }
    return all;
  }
  // Until `end` has come, or the peer closed.
  std::string ReadUntil(absl::string_view end) {
    std::string all;
    while (all.find(std::string(end)) == std::string::npos && ReadSome(all)) {
    }
    return all;
  }

 private:
  bool ReadSome(std::string& into) {
    char buffer[65536];
    const ssize_t got = recv(fd_, buffer, sizeof(buffer), 0);
    if (got <= 0) return false;
    into.append(buffer, static_cast<size_t>(got));
    return true;
  }
  int fd_;
};

std::unique_ptr<HttpServer> Serve(HttpServerOptions options = {}) {
  absl::StatusOr<std::unique_ptr<HttpServer>> server =
      HttpServer::Listen("127.0.0.1:0", Answer, options);
  EXPECT_TRUE(server.ok()) << server.status();
  return server.ok() ? *std::move(server) : nullptr;
}

struct Exchange {
  const char* name;
  const char* request;
  const char* status_line;
  const char* contains;
};

class HttpServerExchange : public ::testing::TestWithParam<Exchange> {};

TEST_P(HttpServerExchange, Answers) {
  const std::unique_ptr<HttpServer> server = Serve();
  Socket client(server->port());
  client.Send(GetParam().request);
  const std::string answer = client.ReadAll();
  EXPECT_THAT(answer, StartsWith(absl::StrCat("HTTP/1.1 ", GetParam().status_line)));
  EXPECT_THAT(answer, HasSubstr(GetParam().contains));
}

INSTANTIATE_TEST_SUITE_P(
    All, HttpServerExchange,
    ::testing::Values(
        Exchange{"Get", "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "200",
                 "\r\n\r\nok[]"},
        Exchange{"Query", "GET /livez?verbose=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                 "200", "ok[verbose=1]"},
        Exchange{"Version10", "GET /livez HTTP/1.0\r\n\r\n", "200", "ok[]"},
        Exchange{"ContentType", "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                 "200", "Content-Type: text/plain; charset=utf-8\r\n"},
        Exchange{"UnknownPath", "GET /else HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "404",
                 "no such path"},
        Exchange{"Post", "POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi", "405",
                 "Allow: GET, HEAD\r\n"},
        Exchange{"NoHttp", "\x16\x03\x01 hello\r\n\r\n", "400", "not an HTTP request"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(HttpServer, HeadHasTheLengthAndNoBody) {
  const std::unique_ptr<HttpServer> server = Serve();
  Socket client(server->port());
  client.Send("HEAD /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string answer = client.ReadAll();
  EXPECT_THAT(answer, HasSubstr("Content-Length: 4\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST(HttpServer, ConnectionServesManyRequests) {
  const std::unique_ptr<HttpServer> server = Serve();
  Socket client(server->port());
  for (int i = 0; i < 3; ++i) {
    client.Send(absl::StrCat("GET /livez?", i, " HTTP/1.1\r\nHost: x\r\n\r\n"));
    EXPECT_THAT(client.ReadUntil("]"), EndsWith(absl::StrCat("ok[", i, "]")));
  }
}

TEST(HttpServer, PipelinedRequestsAreAnsweredInOrder) {
  const std::unique_ptr<HttpServer> server = Serve();
  Socket client(server->port());
  client.Send(
      "GET /livez?1 HTTP/1.1\r\nHost: x\r\n\r\nGET /livez?2 HTTP/1.1\r\nHost: x\r\nConnection: "
      "close\r\n\r\n");
  const std::string answers = client.ReadAll();
  EXPECT_LT(answers.find("ok[1]"), answers.find("ok[2]"));
  EXPECT_THAT(answers, EndsWith("ok[2]"));
}

TEST(HttpServer, LargeAnswerArrivesWhole) {
  const std::unique_ptr<HttpServer> server = Serve();
  Socket client(server->port());
  client.Send("GET /big HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string answer = client.ReadAll();
  EXPECT_EQ(answer.size() - answer.find("\r\n\r\n") - 4, size_t{4} << 20);
}

TEST(HttpServer, TooLargeHeaderIsRefused) {
  const std::unique_ptr<HttpServer> server = Serve();
  Socket client(server->port());
  client.Send(absl::StrCat("GET /livez HTTP/1.1\r\nX: ", std::string(20000, 'a')));
  EXPECT_THAT(client.ReadUntil("too large"), StartsWith("HTTP/1.1 431"));
}

TEST(HttpServer, SilentClientIsDropped) {
  HttpServerOptions options;
  options.timeout = absl::Milliseconds(50);
  const std::unique_ptr<HttpServer> server = Serve(options);
  Socket silent(server->port());
  EXPECT_EQ(silent.ReadAll(), "");
  Socket half(server->port());
  half.Send("GET /liv");
  EXPECT_THAT(half.ReadAll(), Not(HasSubstr("200")));
}

TEST(HttpServer, HeldConnectionsDoNotLockProbesOut) {
  HttpServerOptions options;
  options.connections_max = 4;
  const std::unique_ptr<HttpServer> server = Serve(options);
  std::vector<std::unique_ptr<Socket>> held;
  for (int i = 0; i < 4; ++i) held.push_back(std::make_unique<Socket>(server->port()));
  Socket probe(server->port());
  probe.Send("GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(probe.ReadAll(), EndsWith("ok[]"));
  EXPECT_EQ(held.front()->ReadAll(), "") << "the one that was idle longest made room";
}

TEST(HttpServer, DestructorEndsOpenConnectionsAndCallsNoHandlerAfterwards) {
  std::atomic<int> calls{0};
  absl::StatusOr<std::unique_ptr<HttpServer>> server =
      HttpServer::Listen("127.0.0.1:0", [&](const HttpRequest&) {
        ++calls;
        return HttpAnswer{200, "text/plain", "ok]"};
      });
  ASSERT_TRUE(server.ok()) << server.status();
  Socket client((*server)->port());
  client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  client.ReadUntil("ok]");
  server->reset();
  EXPECT_EQ(client.ReadAll(), "");
  EXPECT_EQ(calls, 1);
}

TEST(HttpServer, PortInUse) {
  const std::unique_ptr<HttpServer> first = Serve();
  const std::string address = absl::StrCat("127.0.0.1:", first->port());
  const absl::Status second = HttpServer::Listen(address, Answer).status();
  EXPECT_EQ(ErrorReason(second), "PORT_IN_USE");
  EXPECT_THAT(second.message(), HasSubstr(address));
}

TEST(HttpServer, AllAddresses) {
  const absl::StatusOr<std::unique_ptr<HttpServer>> server = HttpServer::Listen(":0", Answer);
  ASSERT_TRUE(server.ok()) << server.status();
  Socket client((*server)->port());
  client.Send("GET /livez HTTP/1.0\r\n\r\n");
  EXPECT_THAT(client.ReadAll(), EndsWith("ok[]"));
}

TEST(HttpServer, BadAddresses) {
  for (const char* address :
       {"", "8081", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "host:80",
        "::1:80", "[127.0.0.1]:80", "[::1:80", "192.0.2.1:0"}) {
    const absl::Status status = HttpServer::Listen(address, Answer).status();
    EXPECT_EQ(ErrorReason(status), "CONFIG_INVALID") << address << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("\"", address, "\"")));
  }
}

}  // namespace
}  // namespace nave
