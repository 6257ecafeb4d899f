#include "agent/kube/http_caller.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"

namespace nave {
namespace {

constexpr absl::Duration kRefreshInterval = absl::Seconds(60);
constexpr absl::Duration kRequestTimeout = absl::Minutes(5);
constexpr uint32_t kRequestWindowBytes = 256 * 1024;
constexpr uint32_t kWatchWindowBytes = 64 * 1024;
// Watches of a namespaced agent: one per kind and namespace.
constexpr size_t kWatchConnectionsMax = 16;

Http2Tls TlsOf(const KubeServer& server) {
  return {server.ca_pem, server.client_certificate_pem, server.client_key_pem,
          server.tls_server_name, server.insecure_skip_verify};
}

Http2Options HttpOptionsOf(const KubeServer& server, const HttpKubeOptions& options) {
  Http2Options http;
  http.host = server.host;
  http.port = server.port;
  http.plaintext = server.plaintext;
  http.tls = TlsOf(server);
  http.proxy_url = server.proxy_url;
  http.no_proxy = server.no_proxy;
  http.connect_timeout = options.connect_timeout;
  http.ping_after = options.ping_after;
  http.ping_timeout = options.ping_timeout;
  http.stream_window_bytes = kRequestWindowBytes;
  return http;
}

std::vector<std::pair<std::string, std::string>> ToPairs(Http2Headers headers) {
  std::vector<std::pair<std::string, std::string>> pairs;
  pairs.reserve(headers.size());
  for (Http2Header& header : headers) {
    pairs.emplace_back(std::move(header.name), std::move(header.value));
  }
  return pairs;
}

}  // namespace

KubeError ErrorOfEnd(const Http2End& end) {
  KubeError error = UnreachableError(end.message);
  switch (end.failure) {
    case Http2Failure::kNone:
      return {};
    case Http2Failure::kTooLarge:
      error.error_class = KubeErrorClass::kTooLarge;
      return error;
    case Http2Failure::kBadRequest:
      error.error_class = KubeErrorClass::kInvalid;
      return error;
    case Http2Failure::kNotSent:
    case Http2Failure::kGoingAway:
    case Http2Failure::kLost:
    case Http2Failure::kTimeout:
      return error;
  }
  return error;
}

absl::string_view KubeHttpAnswer::Header(absl::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return "";
}

absl::StatusOr<std::unique_ptr<HttpCaller>> HttpCaller::Make(HttpKubeOptions options) {
  std::unique_ptr<HttpCaller> caller(new HttpCaller(std::move(options)));
  HttpKubeOptions& made = caller->options_;
  const absl::Time now = made.executor->Now();
  ASSIGN_OR_RETURN(caller->server_, made.credentials->Server(now));
  caller->refreshed_at_ = now;
  if (made.io == nullptr) made.io = MakeIoThread();
  Http2Options http = HttpOptionsOf(caller->server_, made);
  ASSIGN_OR_RETURN(caller->requests_, MakeHttp2Client(http, made.executor, made.io));
  http.stream_window_bytes = kWatchWindowBytes;
  http.connections_max = kWatchConnectionsMax;
  ASSIGN_OR_RETURN(caller->watches_, MakeHttp2Client(std::move(http), made.executor, made.io));
  return caller;
}

void HttpCaller::Post(Task task) {
  options_.executor->Post([weak = std::weak_ptr(self_), task = std::move(task)]() mutable {
    if (weak.lock() != nullptr) std::move(task)();
  });
}

void HttpCaller::RefreshTls() {
  const absl::Time now = options_.executor->Now();
  if (now < refreshed_at_ + kRefreshInterval) return;
  refreshed_at_ = now;
  absl::StatusOr<KubeServer> server = options_.credentials->Server(now);
  if (!server.ok() || *server == server_) return;
  const Http2Tls tls = TlsOf(*server);
  absl::Status status = requests_->SetTls(tls);
  if (status.ok()) status = watches_->SetTls(tls);
  if (!status.ok()) {
    // Half-written files: the next look finds them whole.
    LogWarning("new credentials cannot be used, keeping the old ones",
               {{"error", status.message()}});
    return;
  }
  server_ = *std::move(server);
}

void HttpCaller::OnUnauthorized() {
  options_.credentials->OnUnauthorized();
  refreshed_at_ = absl::InfinitePast();
}

absl::StatusOr<Http2Request> HttpCaller::MakeRequest(const HttpCall& call) {
  RefreshTls();
  ASSIGN_OR_RETURN(const std::string token, options_.credentials->Token(options_.executor->Now()));
  Http2Request request;
  request.method = call.method;
  request.path = absl::StrCat(server_.base_path, call.path);
  request.body = call.body;
  request.header_timeout = options_.header_timeout;
  request.timeout = kRequestTimeout;
  request.response_bytes_max = call.response_bytes_max;
  request.headers.push_back({"accept", call.accept});
  request.headers.push_back({"user-agent", options_.user_agent});
  if (!call.content_type.empty()) request.headers.push_back({"content-type", call.content_type});
  if (!call.if_none_match.empty()) {
    request.headers.push_back({"if-none-match", call.if_none_match});
  }
  for (const auto& [name, value] : server_.headers) request.headers.push_back({name, value});
  if (!token.empty()) {
    request.headers.push_back({"authorization", absl::StrCat("Bearer ", token)});
  }
  return request;
}

void HttpCaller::Call(HttpCall call, Done done) {
  auto slot = std::make_unique<Slot>();
  slot->call = std::move(call);
  slot->done = std::move(done);
  waiting_.push_back(std::move(slot));
  Pump();
}

void HttpCaller::Pump() {
  while (!waiting_.empty() && active_.size() < options_.requests_in_flight_max) {
    const uint64_t id = next_id_++;
    active_[id] = std::move(waiting_.front());
    waiting_.pop_front();
    Send(id);
  }
}

void HttpCaller::Send(uint64_t id) {
  Slot& slot = *active_[id];
  slot.answer = {};
  absl::StatusOr<Http2Request> request = MakeRequest(slot.call);
  if (!request.ok()) {
    slot.answer.error = UnreachableError(request.status().message());
    slot.answer.error.error_class = KubeErrorClass::kUnauthorized;
    Post([this, id] { Finish(id); });
    return;
  }
  // The stream dies with the slot, and no callback runs after that.
  Slot* const raw = &slot;
  slot.stream =
      requests_->Start(*std::move(request), {[raw](int status, Http2Headers headers) {
                                               raw->answer.status = status;
                                               raw->answer.headers = ToPairs(std::move(headers));
                                             },
                                             [raw](std::string chunk) {
                                               if (raw->answer.body.empty()) {
                                                 raw->answer.body = std::move(chunk);
                                               } else {
                                                 raw->answer.body += chunk;
                                               }
                                             },
                                             [this, id](const Http2End& end) { OnEnd(id, end); }});
}

void HttpCaller::OnEnd(uint64_t id, const Http2End& end) {
  Slot& slot = *active_[id];
  KubeHttpAnswer& answer = slot.answer;
  if (!end.ok()) {
    if (end.failure == Http2Failure::kLost && slot.call.is_idempotent && !slot.retried_lost) {
      slot.retried_lost = true;
      Send(id);
      return;
    }
    answer.error = ErrorOfEnd(end);
    Finish(id);
    return;
  }
  if (answer.status == 401 && !slot.retried_unauthorized) {
    slot.retried_unauthorized = true;
    OnUnauthorized();
    Send(id);
    return;
  }
  if (answer.status != 304) {
    answer.error = ClassifyResponse(answer.status, answer.headers, answer.body, slot.call.info);
  }
  Finish(id);
}

void HttpCaller::Finish(uint64_t id) {
  const auto found = active_.find(id);
  const std::unique_ptr<Slot> slot = std::move(found->second);
  active_.erase(found);
  Pump();
  // Last: it may destroy this caller.
  std::move(slot->done)(std::move(slot->answer));
}

absl::StatusOr<std::unique_ptr<Http2Stream>> HttpCaller::StartWatch(const HttpCall& call,
                                                                    absl::Duration timeout,
                                                                    Http2Callbacks callbacks) {
  ASSIGN_OR_RETURN(Http2Request request, MakeRequest(call));
  request.timeout = timeout;
  request.leave_on_goaway = true;
  return watches_->Start(std::move(request), std::move(callbacks));
}

}  // namespace nave
