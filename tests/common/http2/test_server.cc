#include "tests/common/http2/test_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace nave {
namespace {

class Server;

struct ServerStream {
  TestRequest request;
  std::deque<std::string> out;
  size_t out_sent = 0;  // Bytes of the first chunk.
  std::function<void()> closed;
  bool out_ended = false;
  Http2Headers trailers;
};

std::vector<nghttp2_nv> ToNv(const Http2Headers& headers) {
  std::vector<nghttp2_nv> nv;
  for (const Http2Header& h : headers) {
    nv.push_back({reinterpret_cast<uint8_t*>(const_cast<char*>(h.name.data())),
                  reinterpret_cast<uint8_t*>(const_cast<char*>(h.value.data())), h.name.size(),
                  h.value.size(), NGHTTP2_NV_FLAG_NONE});
  }
  return nv;
}

SSL_CTX* MakeServerContext(const TestCertificates& certificates,
                           const TestServer::Options& options) {
  SSL_CTX* ctx = SSL_CTX_new(TLS_server_method());
  const auto read = [](const std::string& text) {
    return BIO_new_mem_buf(text.data(), static_cast<int>(text.size()));
  };
  BIO* bio = read(certificates.server_pem);
  X509* leaf = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  SSL_CTX_use_certificate(ctx, leaf);
  X509_free(leaf);
  BIO_free(bio);
  bio = read(certificates.server_key_pem);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr);
  SSL_CTX_use_PrivateKey(ctx, key);
  EVP_PKEY_free(key);
  BIO_free(bio);
  if (options.require_client_certificate) {
    bio = read(certificates.ca_pem);
    X509* ca = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), ca);
    X509_free(ca);
    BIO_free(bio);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  if (options.offer_http2) {
    SSL_CTX_set_alpn_select_cb(
        ctx,
        [](SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
           unsigned size, void*) {
          static constexpr unsigned char kH2[] = {2, 'h', '2'};
          return SSL_select_next_proto(const_cast<unsigned char**>(out), out_size, kH2, 3, in,
                                       size) == OPENSSL_NPN_NEGOTIATED
                     ? SSL_TLSEXT_ERR_OK
                     : SSL_TLSEXT_ERR_ALERT_FATAL;
        },
        nullptr);
  }
  SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return ctx;
}

// One accepted connection; of the server's thread.
class ServerConnection {
 public:
  ServerConnection(Server* server, int index, int fd, SSL* ssl, uint32_t max_streams);
  ~ServerConnection();
  int fd() const { return fd_; }
  bool wants_write() const { return !out_.empty(); }
  // False: close it.
  bool OnReadable();
  bool Flush();
  bool Drive();
  void GoAway(int32_t last_stream, uint32_t code) {
    if (last_stream < 0) last_stream = nghttp2_session_get_last_proc_stream_id(session_);
    nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, last_stream, code, nullptr, 0);
  }
  ServerStream* Find(int32_t id) {
    const auto found = streams_.find(id);
    return found == streams_.end() ? nullptr : &found->second;
  }
  void Begin(int32_t id, int status, Http2Headers headers);
  void Resume(int32_t id) { nghttp2_session_resume_data(session_, id); }
  void Reset(int32_t id, uint32_t code) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, code);
  }

 private:
  static int OnBeginHeaders(nghttp2_session*, const nghttp2_frame* frame, void* user);
  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                      size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                      void* user);
  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* user);
  static int OnDataChunk(nghttp2_session*, uint8_t, int32_t id, const uint8_t* data, size_t size,
                         void* user);
  static int OnStreamClose(nghttp2_session*, int32_t id, uint32_t, void* user);
  static ssize_t ReadOut(nghttp2_session* session, int32_t id, uint8_t* buffer, size_t size,
                         uint32_t* flags, nghttp2_data_source*, void* user);

  Server* server_;
  const int index_;
  const int fd_;
  SSL* ssl_;
  nghttp2_session* session_ = nullptr;
  std::map<int32_t, ServerStream> streams_;
  std::vector<int32_t> ready_;
  std::string out_;
};

class Server : public TestServer {
 public:
  Server(Options options, Handler handler)
      : options_(options), handler_(std::move(handler)), certificates_(MakeTestCertificates()) {
    ctx_ = MakeServerContext(certificates_, options_);
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(options_.port));
    const int on = 1;
    setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address));
    listen(listener_, 64);
    socklen_t size = sizeof(address);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    wake_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    thread_ = std::thread([this] { Run(); });
  }

  ~Server() override {
    Post([this] { stopping_ = true; });
    thread_.join();
    connections_.clear();
    close(listener_);
    close(wake_);
    SSL_CTX_free(ctx_);
  }

  int port() const override { return port_; }
  const TestCertificates& certificates() const override { return certificates_; }
  Http2Options ClientOptions() const override {
    Http2Options options;
    options.host = "127.0.0.1";
    options.port = port_;
    options.plaintext = options_.plaintext;
    options.tls.roots_pem = certificates_.ca_pem;
    if (options_.require_client_certificate) {
      options.tls.certificate_pem = certificates_.client_pem;
      options.tls.private_key_pem = certificates_.client_key_pem;
    }
    return options;
  }

  void GoAway(int connection, int32_t last_stream, uint32_t error_code) override {
    Post([=, this] {
      With(connection, [&](ServerConnection& c) { c.GoAway(last_stream, error_code); });
    });
  }
  void Freeze() override {
    Post([this] { frozen_ = true; });
  }
  void CloseConnections() override {
    Post([this] {
      connections_.clear();
      open_connections_ = 0;
      streams_ = 0;
    });
  }
  void RefuseConnections(bool refuse) override { refuse_ = refuse; }

  int connections_accepted() const override { return accepted_; }
  int connections_open() const override { return open_connections_; }
  int streams_open() const override { return streams_; }
  int streams_open_peak() const override { return streams_peak_; }
  int pings_received() const override { return pings_; }

  void Post(std::function<void()> task) {
    {
      std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = write(wake_, &one, sizeof(one));
  }

  template <typename F>
  void With(int connection, F use) {
    const auto found = connections_.find(connection);
    if (found == connections_.end()) return;
    use(*found->second);
    if (!frozen_ && !found->second->Flush()) Drop(connection);
  }

  // On the server's thread; does not send anything.
  template <typename F>
  void WithStream(int connection, int32_t id, F use) {
    const auto found = connections_.find(connection);
    ServerStream* stream = found == connections_.end() ? nullptr : found->second->Find(id);
    if (stream != nullptr) use(*stream);
  }

  void Handle(int connection, const TestRequest& request);
  void CountStream(int by) {
    streams_ += by;
    if (streams_ > streams_peak_) streams_peak_ = streams_.load();
  }
  void CountPing() { ++pings_; }

 private:
  void Drop(int connection) {
    connections_.erase(connection);
    open_connections_ = static_cast<int>(connections_.size());
  }

  void Accept() {
    while (true) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) return;
      const int index = accepted_++;
      if (refuse_) {
        close(fd);
        continue;
      }
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      SSL* ssl = nullptr;
      if (!options_.plaintext) {
        ssl = SSL_new(ctx_);
        SSL_set_fd(ssl, fd);
        SSL_set_accept_state(ssl);
      }
      connections_[index] =
          std::make_unique<ServerConnection>(this, index, fd, ssl, options_.max_concurrent_streams);
      open_connections_ = static_cast<int>(connections_.size());
    }
  }

  void Run() {
    sigset_t pipe_only;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_only, nullptr);
    while (!stopping_) {
      std::vector<pollfd> fds = {{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};
      std::vector<int> indices = {-1, -1};
      if (!frozen_) {
        for (const auto& [index, connection] : connections_) {
          fds.push_back({connection->fd(),
                         static_cast<short>(POLLIN | (connection->wants_write() ? POLLOUT : 0)),
                         0});
          indices.push_back(index);
        }
      }
      poll(fds.data(), fds.size(), -1);
      uint64_t count = 0;
      [[maybe_unused]] const ssize_t n = read(wake_, &count, sizeof(count));
      if ((fds[1].revents & POLLIN) != 0) Accept();
      for (size_t i = 2; i < fds.size(); ++i) {
        const auto found = connections_.find(indices[i]);
        if (fds[i].revents != 0 && found != connections_.end() && !found->second->Drive())
          Drop(indices[i]);
      }
      std::vector<std::function<void()>> tasks;
      {
        std::lock_guard lock(mutex_);
        tasks.swap(tasks_);
      }
      for (const auto& task : tasks) task();
    }
  }

  const Options options_;
  const Handler handler_;
  const TestCertificates certificates_;
  SSL_CTX* ctx_ = nullptr;
  int listener_ = -1;
  int wake_ = -1;
  int port_ = 0;
  std::map<int, std::unique_ptr<ServerConnection>> connections_;
  bool frozen_ = false;
  bool stopping_ = false;
  std::atomic<bool> refuse_ = false;
  std::atomic<int> accepted_ = 0;
  std::atomic<int> open_connections_ = 0;
  std::atomic<int> streams_ = 0;
  std::atomic<int> streams_peak_ = 0;
  std::atomic<int> pings_ = 0;
  std::mutex mutex_;
  std::vector<std::function<void()>> tasks_;
  std::thread thread_;
};

class ServerReply : public TestServer::Reply {
 public:
  ServerReply(Server* server, int connection, int32_t stream)
      : server_(server), connection_(connection), stream_(stream) {}

  void Send(int status, Http2Headers headers, std::string body) override {
    On([status, headers = std::move(headers), body = std::move(body)](ServerConnection& c,
                                                                      int32_t id) {
      c.Find(id)->out.push_back(body);
      c.Find(id)->out_ended = true;
      c.Begin(id, status, headers);
    });
  }
  void Begin(int status, Http2Headers headers) override {
    On([status, headers = std::move(headers)](ServerConnection& c, int32_t id) {
      c.Begin(id, status, headers);
    });
  }
  void Chunk(std::string data) override {
    On([data = std::move(data)](ServerConnection& c, int32_t id) {
      c.Find(id)->out.push_back(data);
      c.Resume(id);
    });
  }
  void End(Http2Headers trailers) override {
    On([trailers = std::move(trailers)](ServerConnection& c, int32_t id) {
      c.Find(id)->out_ended = true;
      c.Find(id)->trailers = trailers;
      c.Resume(id);
    });
  }
  void Reset(uint32_t error_code) override {
    On([error_code](ServerConnection& c, int32_t id) { c.Reset(id, error_code); });
  }
  void OnClosed(std::function<void()> closed) override {
    server_->WithStream(connection_, stream_,
                        [&](ServerStream& stream) { stream.closed = std::move(closed); });
  }

 private:
  void On(std::function<void(ServerConnection&, int32_t)> use) {
    server_->Post(
        [server = server_, connection = connection_, stream = stream_, use = std::move(use)] {
          server->With(connection, [&](ServerConnection& c) {
            if (c.Find(stream) != nullptr) use(c, stream);
          });
        });
  }

  Server* server_;
  const int connection_;
  const int32_t stream_;
};

void Server::Handle(int connection, const TestRequest& request) {
  handler_(request, std::make_shared<ServerReply>(this, connection, request.stream));
}

ServerConnection::ServerConnection(Server* server, int index, int fd, SSL* ssl,
                                   uint32_t max_streams)
    : server_(server), index_(index), fd_(fd), ssl_(ssl) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, &OnBeginHeaders);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, &OnHeader);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &OnFrame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &OnDataChunk);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &OnStreamClose);
  nghttp2_session_server_new(&session_, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, max_streams}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, 1);
}

ServerConnection::~ServerConnection() {
  for (const auto& [id, stream] : streams_) {
    server_->CountStream(-1);
    if (stream.closed) stream.closed();
  }
  nghttp2_session_del(session_);
  SSL_free(ssl_);
  close(fd_);
}

bool ServerConnection::Drive() {
  if (!OnReadable()) return false;
  std::vector<int32_t> ready;
  ready.swap(ready_);
  for (const int32_t id : ready) {
    if (const ServerStream* stream = Find(id)) server_->Handle(index_, stream->request);
  }
  return Flush();
}

bool ServerConnection::OnReadable() {
  char buffer[16384];
  while (true) {
    ssize_t n = 0;
    if (ssl_ != nullptr) {
      ERR_clear_error();
      n = SSL_read(ssl_, buffer, sizeof(buffer));
      if (n <= 0) {
        const int error = SSL_get_error(ssl_, static_cast<int>(n));
        return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
      }
    } else {
      n = recv(fd_, buffer, sizeof(buffer), 0);
      if (n <= 0) return n < 0 && errno == EAGAIN;
    }
    if (nghttp2_session_mem_recv(session_, reinterpret_cast<uint8_t*>(buffer),
                                 static_cast<size_t>(n)) < 0)
      return false;
  }
}

bool ServerConnection::Flush() {
  if (ssl_ != nullptr && !SSL_is_init_finished(ssl_)) return true;
  while (true) {
    if (out_.empty()) {
      const uint8_t* frame = nullptr;
      const ssize_t size = nghttp2_session_mem_send(session_, &frame);
      if (size < 0) return false;
      if (size == 0)
        return nghttp2_session_want_read(session_) != 0 ||
               nghttp2_session_want_write(session_) != 0;
      out_.assign(reinterpret_cast<const char*>(frame), static_cast<size_t>(size));
    }
    ssize_t n = 0;
    if (ssl_ != nullptr) {
      ERR_clear_error();
      n = SSL_write(ssl_, out_.data(), static_cast<int>(out_.size()));
      if (n <= 0) return SSL_get_error(ssl_, static_cast<int>(n)) == SSL_ERROR_WANT_WRITE;
    } else {
      n = send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL);
      if (n < 0) return errno == EAGAIN;
    }
    out_.erase(0, static_cast<size_t>(n));
  }
}

void ServerConnection::Begin(int32_t id, int status, Http2Headers headers) {
  headers.insert(headers.begin(), {":status", absl::StrCat(status)});
  const std::vector<nghttp2_nv> nv = ToNv(headers);
  nghttp2_data_provider provider;
  provider.source.ptr = nullptr;
  provider.read_callback = &ReadOut;
  nghttp2_submit_response(session_, id, nv.data(), nv.size(), &provider);
}

int ServerConnection::OnBeginHeaders(nghttp2_session*, const nghttp2_frame* frame, void* user) {
  auto& self = *static_cast<ServerConnection*>(user);
  if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
    ServerStream& stream = self.streams_[frame->hd.stream_id];
    stream.request.connection = self.index_;
    stream.request.stream = frame->hd.stream_id;
    self.server_->CountStream(1);
  }
  return 0;
}

int ServerConnection::OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                               size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                               void* user) {
  ServerStream* stream = static_cast<ServerConnection*>(user)->Find(frame->hd.stream_id);
  if (stream == nullptr) return 0;
  std::string key(reinterpret_cast<const char*>(name), name_size);
  std::string text(reinterpret_cast<const char*>(value), value_size);
  if (key == ":method") {
    stream->request.method = std::move(text);
  } else if (key == ":path") {
    stream->request.path = std::move(text);
  } else {
    stream->request.headers.push_back({std::move(key), std::move(text)});
  }
  return 0;
}

int ServerConnection::OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
  auto& self = *static_cast<ServerConnection*>(user);
  if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0)
    self.server_->CountPing();
  if ((frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
      (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
    self.ready_.push_back(frame->hd.stream_id);
  }
  return 0;
}

int ServerConnection::OnDataChunk(nghttp2_session*, uint8_t, int32_t id, const uint8_t* data,
                                  size_t size, void* user) {
  if (ServerStream* stream = static_cast<ServerConnection*>(user)->Find(id)) {
    stream->request.body.append(reinterpret_cast<const char*>(data), size);
  }
  return 0;
}

int ServerConnection::OnStreamClose(nghttp2_session*, int32_t id, uint32_t, void* user) {
  auto& self = *static_cast<ServerConnection*>(user);
  const auto found = self.streams_.find(id);
  if (found == self.streams_.end()) return 0;
  const std::function<void()> closed = std::move(found->second.closed);
  self.streams_.erase(found);
  self.server_->CountStream(-1);
  if (closed) closed();
  return 0;
}

ssize_t ServerConnection::ReadOut(nghttp2_session* session, int32_t id, uint8_t* buffer,
                                  size_t size, uint32_t* flags, nghttp2_data_source*, void* user) {
  ServerStream* stream = static_cast<ServerConnection*>(user)->Find(id);
  if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  while (!stream->out.empty() && stream->out.front().empty()) stream->out.pop_front();
  size_t n = 0;
  if (!stream->out.empty()) {
    const std::string& front = stream->out.front();
    n = std::min(size, front.size() - stream->out_sent);
    std::memcpy(buffer, front.data() + stream->out_sent, n);
    stream->out_sent += n;
    if (stream->out_sent == front.size()) {
      stream->out.pop_front();
      stream->out_sent = 0;
    }
  }
  if (stream->out.empty() && stream->out_ended) {
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (!stream->trailers.empty()) {
      *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      const std::vector<nghttp2_nv> nv = ToNv(stream->trailers);
      nghttp2_submit_trailer(session, id, nv.data(), nv.size());
    }
  } else if (n == 0) {
    return NGHTTP2_ERR_DEFERRED;
  }
  return static_cast<ssize_t>(n);
}

}  // namespace

std::unique_ptr<TestServer> StartTestServer(TestServer::Options options,
                                            TestServer::Handler handler) {
  return std::make_unique<Server>(options, std::move(handler));
}

}  // namespace nave
