// The only file that sees nghttp2.
#include "common/http2/session.h"

#include <nghttp2/nghttp2.h>

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace nave {
namespace {

constexpr uint32_t kHeaderListBytesMax = 64 * 1024;

nghttp2_nv MakeHeader(absl::string_view name, absl::string_view value) {
  // nghttp2 copies both; its struct is not const-correct.
  return {reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
          NGHTTP2_NV_FLAG_NONE};
}

absl::string_view View(const uint8_t* data, size_t size) {
  return absl::string_view(reinterpret_cast<const char*>(data), size);
}

class Session : public Http2Session {
 public:
  Session(Http2SessionHandler* handler, uint32_t stream_window, uint32_t connection_window)
      : handler_(handler) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, &OnBeginHeaders);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, &OnHeader);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &OnFrame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &OnDataChunk);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &OnStreamClose);
    nghttp2_option* option = nullptr;
    nghttp2_option_new(&option);
    // Windows open again only when the receiver took the data: what waits in memory is bounded by
    // them.
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_session_client_new2(&session_, callbacks, this, option);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);

    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, stream_window},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kHeaderListBytesMax}};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, 3);
    nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                          static_cast<int32_t>(connection_window));
  }
  ~Session() override { nghttp2_session_del(session_); }

  absl::StatusOr<int32_t> Submit(absl::string_view scheme, absl::string_view authority,
                                 const Http2Request& request, Http2BodySource* body) override {
    std::vector<nghttp2_nv> headers = {
        MakeHeader(":method", request.method), MakeHeader(":scheme", scheme),
        MakeHeader(":authority", authority), MakeHeader(":path", request.path)};
    for (const Http2Header& header : request.headers) {
      if (!IsSendable(header)) {
        return absl::InvalidArgumentError(
            absl::StrCat("header \"", header.name, "\" cannot be sent over HTTP/2"));
      }
      headers.push_back(MakeHeader(header.name, header.value));
    }
    nghttp2_data_provider provider;
    provider.source.ptr = body;
    provider.read_callback = &ReadBody;
    const int32_t id = nghttp2_submit_request(session_, nullptr, headers.data(), headers.size(),
                                              body == nullptr ? nullptr : &provider, nullptr);
    if (id < 0) return absl::UnavailableError(absl::StrCat("http2: ", nghttp2_strerror(id)));
    streams_[id];
    return id;
  }

  void Resume(int32_t id) override { nghttp2_session_resume_data(session_, id); }

  void Reset(int32_t id) override {
    if (streams_.erase(id) == 0) return;
    // The provider is not read again: nghttp2 drops the stream's queued frames with it.
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  }

  void Consume(int32_t id, size_t bytes) override {
    nghttp2_session_consume_connection(session_, bytes);
    if (streams_.contains(id)) nghttp2_session_consume_stream(session_, id, bytes);
  }

  void Ping() override { nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr); }

  void GoAway() override { nghttp2_session_terminate_session(session_, NGHTTP2_NO_ERROR); }

  absl::Status Feed(absl::string_view data) override {
    const ssize_t taken = nghttp2_session_mem_recv(
        session_, reinterpret_cast<const uint8_t*>(data.data()), data.size());
    if (taken < 0)
      return absl::UnavailableError(
          absl::StrCat("http2: ", nghttp2_strerror(static_cast<int>(taken))));
    return absl::OkStatus();
  }

  absl::Status TakeOutput(std::string& out, size_t limit) override {
    while (out.size() < limit) {
      const uint8_t* frame = nullptr;
      const ssize_t size = nghttp2_session_mem_send(session_, &frame);
      if (size < 0) {
        return absl::UnavailableError(
            absl::StrCat("http2: ", nghttp2_strerror(static_cast<int>(size))));
      }
      if (size == 0) break;
      out.append(reinterpret_cast<const char*>(frame), static_cast<size_t>(size));
    }
    return absl::OkStatus();
  }

  bool IsAlive() const override {
    return nghttp2_session_want_read(session_) != 0 || nghttp2_session_want_write(session_) != 0;
  }

  size_t PeerStreamsMax() const override {
    return nghttp2_session_get_remote_settings(session_, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
  }

 private:
  struct Stream {
    int status = 0;  // 0: no final headers yet.
    bool complete = false;
    size_t header_bytes = 0;
    Http2Headers headers;  // Of the block that is being received.
  };

  static bool IsSendable(const Http2Header& header) {
    static constexpr absl::string_view kForbidden[] = {
        "connection", "keep-alive", "proxy-connection", "upgrade", "transfer-encoding", "host"};
    for (absl::string_view name : kForbidden) {
      if (header.name == name) return false;
    }
    for (const char c : header.name) {
      if (c >= 'A' && c <= 'Z') return false;
    }
    return !header.name.empty() && header.name[0] != ':' &&
           nghttp2_check_header_name(reinterpret_cast<const uint8_t*>(header.name.data()),
                                     header.name.size()) != 0 &&
           nghttp2_check_header_value(reinterpret_cast<const uint8_t*>(header.value.data()),
                                      header.value.size()) != 0;
  }

  static Session& Self(void* user) { return *static_cast<Session*>(user); }

  Stream* Find(int32_t id) {
    const auto found = streams_.find(id);
    return found == streams_.end() ? nullptr : &found->second;
  }

  static int OnBeginHeaders(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (Stream* stream = Self(user).Find(frame->hd.stream_id)) {
      stream->headers.clear();
      stream->header_bytes = 0;
    }
    return 0;
  }

  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                      size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                      void* user) {
    Stream* stream = Self(user).Find(frame->hd.stream_id);
    if (stream == nullptr) return 0;
    stream->header_bytes += name_size + value_size + 32;
    if (stream->header_bytes > kHeaderListBytesMax) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    stream->headers.push_back(
        {std::string(View(name, name_size)), std::string(View(value, value_size))});
    return 0;
  }

  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Session& self = Self(user);
    if (frame->hd.type == NGHTTP2_GOAWAY) {
      self.handler_->OnGoAway(frame->goaway.last_stream_id, frame->goaway.error_code,
                              View(frame->goaway.opaque_data, frame->goaway.opaque_data_len));
      return 0;
    }
    Stream* stream = self.Find(frame->hd.stream_id);
    if (stream == nullptr) return 0;
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
        (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA)) {
      stream->complete = true;
    }
    if (frame->hd.type == NGHTTP2_HEADERS) self.OnHeaderBlock(frame->hd.stream_id, *stream);
    return 0;
  }

  void OnHeaderBlock(int32_t id, Stream& stream) {
    Http2Headers headers = std::move(stream.headers);
    stream.headers.clear();
    if (stream.status != 0) {
      handler_->OnTrailers(id, std::move(headers));
      return;
    }
    int status = 0;
    for (auto it = headers.begin(); it != headers.end(); ++it) {
      if (it->name != ":status") continue;
      if (!absl::SimpleAtoi(it->value, &status)) status = 0;
      headers.erase(it);
      break;
    }
    if (status < 200) return;  // 1xx: the final headers follow.
    stream.status = status;
    handler_->OnHeaders(id, status, std::move(headers));
  }

  static int OnDataChunk(nghttp2_session* session, uint8_t, int32_t id, const uint8_t* data,
                         size_t size, void* user) {
    Session& self = Self(user);
    if (self.Find(id) == nullptr) {
      // Of a stream that we reset: only the connection's window matters still.
      nghttp2_session_consume_connection(session, size);
      return 0;
    }
    self.handler_->OnData(id, View(data, size));
    return 0;
  }

  static int OnStreamClose(nghttp2_session*, int32_t id, uint32_t error_code, void* user) {
    Session& self = Self(user);
    const auto found = self.streams_.find(id);
    if (found == self.streams_.end()) return 0;
    const bool complete = found->second.complete && found->second.status != 0;
    self.streams_.erase(found);
    self.handler_->OnStreamClosed(id, complete, error_code);
    return 0;
  }

  static ssize_t ReadBody(nghttp2_session*, int32_t id, uint8_t* buffer, size_t size,
                          uint32_t* flags, nghttp2_data_source* source, void* user) {
    if (Self(user).Find(id) == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    bool end = false;
    const size_t n = static_cast<Http2BodySource*>(source->ptr)
                         ->Read(reinterpret_cast<char*>(buffer), size, &end);
    if (end) *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (n == 0 && !end) return NGHTTP2_ERR_DEFERRED;
    return static_cast<ssize_t>(n);
  }

  Http2SessionHandler* handler_;
  nghttp2_session* session_ = nullptr;
  std::map<int32_t, Stream> streams_;
};

}  // namespace

std::unique_ptr<Http2Session> MakeHttp2Session(Http2SessionHandler* handler,
                                               uint32_t stream_window_bytes,
                                               uint32_t connection_window_bytes) {
  return std::make_unique<Session>(handler, stream_window_bytes, connection_window_bytes);
}

std::string Http2ErrorName(uint32_t error_code) { return nghttp2_http2_strerror(error_code); }

}  // namespace nave
