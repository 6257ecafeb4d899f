// A small HTTP/2 server over TLS whose behaviour a test scripts, misbehaviour included.
#ifndef NAVE_TESTS_COMMON_HTTP2_TEST_SERVER_H_
#define NAVE_TESTS_COMMON_HTTP2_TEST_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/http2/client.h"

namespace nave {

// Certificates of one test, made at start: a CA, a server certificate for localhost, 127.0.0.1 and
// "test.example", and a client certificate.
struct TestCertificates {
  std::string ca_pem;
  std::string server_pem;
  std::string server_key_pem;
  std::string client_pem;
  std::string client_key_pem;
};
TestCertificates MakeTestCertificates();

struct TestRequest {
  std::string method;
  std::string path;
  Http2Headers headers;
  std::string body;
  int connection = 0;  // Counted from 0 in order of acceptance.
  int32_t stream = 0;
};

// The server runs on a thread of its own; every method may be called from any thread, also from the
// handler (which runs on the server's thread, once per request when its body is complete).
class TestServer {
 public:
  struct Options {
    bool plaintext = false;
    bool require_client_certificate = false;
    bool offer_http2 = true;
    uint32_t max_concurrent_streams = 100;
    int port = 0;  // 0: a free one.
  };
  // What a handler answers with, now or later.
  class Reply {
   public:
    virtual ~Reply() = default;
    // A whole answer.
    virtual void Send(int status, Http2Headers headers, std::string body) = 0;
    // A streamed one.
    virtual void Begin(int status, Http2Headers headers) = 0;
    virtual void Chunk(std::string data) = 0;
    virtual void End(Http2Headers trailers = {}) = 0;
    // RST_STREAM with that error code.
    virtual void Reset(uint32_t error_code) = 0;
    // Calls `closed` on the server's thread once the stream is gone. To be called in the handler.
    virtual void OnClosed(std::function<void()> closed) = 0;
  };
  using Handler = std::function<void(const TestRequest& request, std::shared_ptr<Reply> reply)>;

  virtual ~TestServer() = default;
  virtual int port() const = 0;
  virtual const TestCertificates& certificates() const = 0;
  // Options of a client that trusts this server.
  virtual Http2Options ClientOptions() const = 0;

  // GOAWAY on a connection; streams above `last_stream` are not processed (-1: all that came are).
  virtual void GoAway(int connection, int32_t last_stream, uint32_t error_code) = 0;
  // From now on nothing is read or written on any connection: half-open.
  virtual void Freeze() = 0;
  // Closes every connection without a word.
  virtual void CloseConnections() = 0;
  // New connections are closed as soon as they are accepted.
  virtual void RefuseConnections(bool refuse) = 0;

  virtual int connections_accepted() const = 0;
  virtual int connections_open() const = 0;
  virtual int streams_open() const = 0;
  virtual int streams_open_peak() const = 0;
  virtual int pings_received() const = 0;
};

std::unique_ptr<TestServer> StartTestServer(TestServer::Options options,
                                            TestServer::Handler handler);

}  // namespace nave

#endif  // NAVE_TESTS_COMMON_HTTP2_TEST_SERVER_H_
