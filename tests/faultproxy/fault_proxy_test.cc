// Each order, seen from a client and a server with plain sockets between which the proxy stands.
#include "tests/faultproxy/fault_proxy.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faultproxy/orders.h"

namespace nave {
namespace {

constexpr int kPatienceMs = 30000;
// Long enough for loopback to carry what it will not carry.
constexpr int kQuietMs = 200;

int Connect(int port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  return fd;
}

bool Readable(int fd, int timeout_ms) {
  pollfd one{fd, POLLIN, 0};
  return poll(&one, 1, timeout_ms) > 0;
}

// "" at the end, "RST" after a reset, "QUIET" when nothing came.
std::string Receive(int fd, int timeout_ms = kPatienceMs) {
  if (!Readable(fd, timeout_ms)) return "QUIET";
  char buffer[4096];
  ssize_t size = recv(fd, buffer, sizeof(buffer), 0);
  if (size < 0) return errno == ECONNRESET ? "RST" : "ERROR";
  return std::string(buffer, static_cast<size_t>(size));
}

void Send(int fd, const std::string& text) {
  EXPECT_EQ(send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

class FaultProxyTest : public testing::Test {
 protected:
  FaultProxyTest() {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address));
    listen(listener_, 16);
    socklen_t size = sizeof(address);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    FaultProxy::Options options;
    options.upstream_port = ntohs(address.sin_port);
    options.control = true;
    proxy_ = *FaultProxy::Start(options);
  }
  ~FaultProxyTest() override {
    for (int fd : {listener_, client_, server_}) {
      if (fd >= 0) close(fd);
    }
  }

  // A connection through the proxy that carried something both ways.
  void Open() {
    if (client_ >= 0) close(client_);
    if (server_ >= 0) close(server_);
    client_ = Connect(proxy_->port());
    server_ = accept(listener_, nullptr, nullptr);
    Send(client_, "a");
    EXPECT_EQ(Receive(server_), "a");
    Send(server_, "b");
    EXPECT_EQ(Receive(client_), "b");
  }

  int listener_ = -1, client_ = -1, server_ = -1;
  std::unique_ptr<FaultProxy> proxy_;
};

TEST_F(FaultProxyTest, CarriesBothWaysAndEnds) {
  Open();
  shutdown(client_, SHUT_WR);
  EXPECT_EQ(Receive(server_), "");
  Send(server_, "last");
  EXPECT_EQ(Receive(client_), "last");
  shutdown(server_, SHUT_WR);
  EXPECT_EQ(Receive(client_), "");
}

TEST_F(FaultProxyTest, CutAndReset) {
  Open();
  EXPECT_EQ(proxy_->Order("cut"), "ok");
  EXPECT_EQ(Receive(client_), "");
  EXPECT_EQ(Receive(server_), "");
  Open();
  EXPECT_EQ(proxy_->Order("reset"), "ok");
  EXPECT_EQ(Receive(client_), "RST");
  EXPECT_EQ(Receive(server_), "RST");
}

TEST_F(FaultProxyTest, StallHoldsAndGivesBack) {
  Open();
  EXPECT_EQ(proxy_->Order("stall on up"), "ok");
  Send(client_, "held");
  Send(server_, "free");
  EXPECT_EQ(Receive(client_), "free");
  EXPECT_EQ(Receive(server_, kQuietMs), "QUIET");
  EXPECT_EQ(proxy_->Order("stall off"), "ok");
  EXPECT_EQ(Receive(server_), "held");
}

TEST_F(FaultProxyTest, FreezeLeavesHalfOpen) {
  Open();
  EXPECT_EQ(proxy_->Order("freeze"), "ok");
  close(server_);
  server_ = -1;
  Send(client_, "lost");
  EXPECT_EQ(Receive(client_, kQuietMs), "QUIET");
  EXPECT_EQ(proxy_->Order("heal"), "ok");
  EXPECT_EQ(Receive(client_, kQuietMs), "QUIET");
  Open();
}

TEST_F(FaultProxyTest, RefusesNewOnes) {
  Open();
  EXPECT_EQ(proxy_->Order("refuse on"), "ok");
  int other = Connect(proxy_->port());
  EXPECT_EQ(Receive(other), "RST");
  close(other);
  Send(client_, "still");
  EXPECT_EQ(Receive(server_), "still");
}

TEST_F(FaultProxyTest, DelayAndRateTakeTheirTime) {
  Open();
  auto elapsed_ms = [&](const std::string& text) {
    auto begun = std::chrono::steady_clock::now();
    Send(client_, text);
    for (size_t got = 0; got < text.size();) got += Receive(server_).size();
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                                 begun)
        .count();
  };
  // Lower bounds only: a busy machine may be slower.
  EXPECT_EQ(proxy_->Order("delay 80"), "ok");
  EXPECT_GE(elapsed_ms("x"), 80);
  EXPECT_EQ(proxy_->Order("delay 0"), "ok");
  EXPECT_EQ(proxy_->Order("rate 50000"), "ok");
  EXPECT_GE(elapsed_ms(std::string(10000, 'x')), 150);
}

TEST_F(FaultProxyTest, CutsAfterSoMuch) {
  Open();
  EXPECT_EQ(proxy_->Order("cut-after 10 up"), "ok");
  Send(server_, std::string(100, 'd'));
  EXPECT_EQ(Receive(client_), std::string(100, 'd'));
  Send(client_, "12345");
  EXPECT_EQ(Receive(server_), "12345");
  Send(client_, "678901");
  EXPECT_EQ(Receive(client_), "RST");
}

TEST_F(FaultProxyTest, OrdersOverThePort) {
  Open();
  int control = Connect(proxy_->control_port());
  Send(control, "count\nnonsense\n");
  std::string answer;
  while (std::count(answer.begin(), answer.end(), '\n') < 2) answer += Receive(control);
  EXPECT_EQ(answer, "accepted=1 open=1 up=1 down=1\nerror: unknown order: nonsense\n");
  close(control);
}

TEST(ProxyOrderTest, Parses) {
  struct Case {
    const char* line;
    bool fine;
  };
  for (const Case& c :
       {Case{"cut", true}, Case{"cut now", false}, Case{"stall", false}, Case{"stall on", true},
        Case{"stall on up", true}, Case{"stall on sideways", false}, Case{"stall maybe", false},
        Case{"delay 5 down", true}, Case{"delay -5", false}, Case{"rate", false},
        Case{"rate 1 up", false}, Case{"", false}}) {
    ProxyOrder order;
    std::string problem;
    EXPECT_EQ(ParseProxyOrder(c.line, &order, &problem), c.fine) << c.line << ": " << problem;
  }
}

}  // namespace
}  // namespace nave
