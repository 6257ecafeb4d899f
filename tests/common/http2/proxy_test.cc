// Which hosts go through a proxy, and what is said to it.
#include "common/http2/proxy.h"

#include "gtest/gtest.h"

namespace nave {
namespace {

TEST(Proxy, Bypass) {
  struct Case {
    const char* host;
    int port;
    const char* no_proxy;
    bool bypasses;
  };
  const Case cases[] = {
      {"api.example.com", 443, "", false},
      {"localhost", 443, "", true},
      {"127.0.0.5", 443, "", true},
      {"::1", 443, "", true},
      {"api.example.com", 443, "*", true},
      {"api.example.com", 443, "example.com", true},
      {"example.com", 443, "example.com", true},
      {"notexample.com", 443, "example.com", false},
      {"example.com", 443, ".example.com", false},
      {"api.example.com", 443, "x, .Example.COM", true},
      {"api.example.com", 443, "*.example.com", true},
      {"api.example.com", 6443, "example.com:443", false},
      {"api.example.com", 443, "example.com:443", true},
      {"10.1.2.3", 443, "10.0.0.0/8", true},
      {"11.1.2.3", 443, "10.0.0.0/8", false},
      {"10.1.2.3", 443, "10.1.2.3", true},
      {"10.1.2.3", 443, "10.1.2.4", false},
      {"10.1.2.3", 443, "0.0.0.0/0", true},
      {"fd00::5", 443, "fd00::/8", true},
      {"fd00::5", 443, "[fd00::5]:443", true},
      {"fe00::5", 443, "fd00::/8", false},
      {"10.1.2.3", 443, "10.0.0.0/99, /, 10.0.0.0/x,", false},
      {"api.example.com", 443, ".", false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(BypassesProxy(c.host, c.port, c.no_proxy), c.bypasses)
        << c.host << ":" << c.port << " | " << c.no_proxy;
  }
}

TEST(Proxy, ParsesUrls) {
  struct Case {
    const char* url;
    const char* host;  // Null: refused.
    int port;
    const char* authorization;
  };
  const Case cases[] = {
      {"http://proxy.example:3128", "proxy.example", 3128, ""},
      {"HTTP://proxy.example/", "proxy.example", 80, ""},
      {"proxy.example:8080", "proxy.example", 8080, ""},
      {"http://u:p%40ss@proxy.example:1", "proxy.example", 1, "Basic dTpwQHNz"},
      {"http://[fd00::1]:3128", "fd00::1", 3128, ""},
      {"https://proxy.example", nullptr, 0, ""},
      {"socks5://proxy.example", nullptr, 0, ""},
      {"http://proxy.example:99999", nullptr, 0, ""},
      {"http://:80", nullptr, 0, ""},
      {"", nullptr, 0, ""},
  };
  for (const Case& c : cases) {
    const absl::StatusOr<Proxy> proxy = ParseProxyUrl(c.url);
    ASSERT_EQ(proxy.ok(), c.host != nullptr) << c.url << ": " << proxy.status();
    if (!proxy.ok()) continue;
    EXPECT_EQ(proxy->host, c.host) << c.url;
    EXPECT_EQ(proxy->port, c.port) << c.url;
    EXPECT_EQ(proxy->authorization, c.authorization) << c.url;
  }
}

TEST(Proxy, NeverShowsThePassword) {
  const absl::StatusOr<Proxy> proxy = ParseProxyUrl("http://user:secret@:80");
  ASSERT_FALSE(proxy.ok());
  EXPECT_EQ(proxy.status().message().find("secret"), absl::string_view::npos);
}

TEST(Proxy, Connect) {
  EXPECT_EQ(FormatConnectRequest("fd00::1", 443, {"p", 1, "Basic eA=="}),
            "CONNECT [fd00::1]:443 HTTP/1.1\r\nHost: [fd00::1]:443\r\nProxy-Authorization: Basic "
            "eA==\r\n\r\n");
  EXPECT_TRUE(CheckConnectReply("HTTP/1.1 200 Http2Connection established\r\n\r\n").ok());
  EXPECT_TRUE(CheckConnectReply("HTTP/1.0 200\r\n\r\n").ok());
  EXPECT_EQ(CheckConnectReply("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n").message(),
            "proxy: CONNECT answered \"HTTP/1.1 407 Proxy Authentication Required\"");
  EXPECT_FALSE(CheckConnectReply("SSH-2.0-x\r\n\r\n").ok());
}

}  // namespace
}  // namespace nave
