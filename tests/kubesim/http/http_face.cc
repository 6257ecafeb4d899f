#include "tests/kubesim/http/http_face.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/base/digest.h"
#include "common/runtime/executor.h"
#include "common/value/codec.h"
#include "tests/common/http2/test_server.h"
#include "tests/kubesim/http/documents.h"
#include "tests/kubesim/http/fault_script.h"
#include "tests/kubesim/http/route.h"
#include "tests/kubesim/sim_kube_client.h"

namespace nave::kubesim {
namespace {

using ReplyPtr = std::shared_ptr<TestServer::Reply>;

// One request under way. Of the simulator's thread but for `reply`.
struct Exchange {
  ReplyPtr reply;
  KubeSim::WatchId watch = 0;
  bool begun = false;
  bool closed = false;
};
using ExchangePtr = std::shared_ptr<Exchange>;

constexpr uint32_t kInternalError = 2;  // Of HTTP/2.

HttpInput InputOf(const TestRequest& request) {
  HttpInput input{request.method, request.path, {}, request.body};
  for (const Http2Header& header : request.headers) {
    input.headers.emplace_back(header.name, header.value);
  }
  return input;
}

void SendResponse(const SimResponse& response, TestServer::Reply& reply) {
  Http2Headers headers;
  for (const std::string& warning : response.warnings) {
    std::string quoted = absl::StrReplaceAll(warning, {{"\\", "\\\\"}, {"\"", "\\\""}});
    headers.push_back({"warning", absl::StrCat("299 - \"", quoted, "\"")});
  }
  if (response.retry_after_s.has_value()) {
    headers.push_back({"retry-after", absl::StrCat(*response.retry_after_s)});
  }
  bool text = !response.text.empty();
  headers.push_back({"content-type", text ? "text/plain; charset=utf-8" : "application/json"});
  reply.Send(response.code, std::move(headers), text ? response.text : FormatJson(response.body));
}

class Face : public HttpFace {
 public:
  explicit Face(HttpFaceOptions options)
      : options_(std::move(options)), executor_(MakeThreadExecutor()) {
    OnLoop([this] {
      sim_.emplace(options_.sim, executor_->Now());
      sim_->fault = [this](const SimRequest& request) { return script_.Decide(request); };
      stepper_.emplace(&*sim_, executor_.get());
    });
    TestServer::Options server;
    server.port = options_.port;
    server.max_concurrent_streams = 250;
    server_ = StartTestServer(server, [this](const TestRequest& request, ReplyPtr reply) {
      auto exchange = std::make_shared<Exchange>();
      exchange->reply = reply;
      Post([this, input = InputOf(request), exchange] { OnRequest(input, exchange); });
      reply->OnClosed([this, exchange] { Post([this, exchange] { OnClosed(*exchange); }); });
    });
  }

  ~Face() override {
    OnLoop([this] {
      stepper_.reset();
      sim_.reset();
    });
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    executor_.reset();
    server_.reset();
  }

  int port() const override { return server_->port(); }
  std::string ca_pem() const override { return server_->certificates().ca_pem; }

  std::string Kubeconfig(const std::string& token) const override {
    Value cluster(Object{{"server", Value(absl::StrCat("https://127.0.0.1:", port()))},
                         {"certificate-authority-data", Value(absl::Base64Escape(ca_pem()))}});
    Value context(Object{{"cluster", Value("kubesim")}, {"user", Value("user")}});
    auto named = [](const char* name, const char* member, Value value) {
      return Value(Array{Value(Object{{"name", Value(name)}, {member, std::move(value)}})});
    };
    return FormatJson(
        Value(Object{{"apiVersion", Value("v1")},
                     {"kind", Value("Config")},
                     {"clusters", named("kubesim", "cluster", std::move(cluster))},
                     {"users", named("user", "user", Value(Object{{"token", Value(token)}}))},
                     {"contexts", named("kubesim", "context", std::move(context))},
                     {"current-context", Value("kubesim")}}));
  }

  void WithSim(const std::function<void(KubeSim&)>& use) override {
    OnLoop([this, &use] { use(*sim_); });
  }

 private:
  // Does nothing once the face goes.
  void Post(Task task) {
    std::lock_guard lock(mutex_);
    if (!stopped_) executor_->Post(std::move(task));
  }

  void OnLoop(const std::function<void()>& task) {
    std::unique_lock lock(mutex_);
    bool ran = false;
    executor_->Post([&] {
      task();
      std::lock_guard inner(mutex_);
      ran = true;
      ran_.notify_all();
    });
    ran_.wait(lock, [&] { return ran; });
  }

  // "" when nobody is known by the request's token.
  std::string UserOf(const HttpInput& input) const {
    std::string header = HeaderOf(input, "authorization");
    absl::string_view token = header;
    if (!absl::ConsumePrefix(&token, "Bearer ")) return "";
    auto it = options_.tokens.find(std::string(token));
    return it != options_.tokens.end() ? it->second : sim_->UserOfToken(token);
  }

  void OnRequest(const HttpInput& input, const ExchangePtr& exchange) {
    if (!sim_.has_value()) return;
    Route route = ParseRoute(input);
    std::string user = UserOf(input);
    bool open = route.kind == Route::Kind::kDocument && !absl::StartsWith(route.path, "/api");
    if (user.empty() && !open) {
      return SendResponse(MakeStatus(401, "Unauthorized", "Unauthorized"), *exchange->reply);
    }
    route.request.user = user;
    switch (route.kind) {
      case Route::Kind::kDocument:
        return OnDocument(input, route, *exchange->reply);
      case Route::Kind::kControl:
        return OnControl(input, route, *exchange->reply);
      case Route::Kind::kRefused:
        return SendResponse(route.refusal, *exchange->reply);
      case Route::Kind::kResource:
      case Route::Kind::kWatch:
        return OnResource(std::move(route), exchange);
    }
  }

  void OnResource(Route route, const ExchangePtr& exchange) {
    SimFault fault;
    if (sim_->fault) fault = sim_->fault(route.request);
    if (fault.delay > absl::ZeroDuration()) {
      absl::Duration delay = std::exchange(fault.delay, absl::ZeroDuration());
      executor_->PostAfter(delay, [this, route = std::move(route), fault, exchange]() mutable {
        if (sim_.has_value()) Answer(std::move(route), fault, exchange);
      });
      return;
    }
    Answer(std::move(route), fault, exchange);
  }

  void Answer(Route route, const SimFault& fault, const ExchangePtr& exchange) {
    bool watch = route.kind == Route::Kind::kWatch;
    switch (fault.kind) {
      case SimFault::Kind::kNone:
        if (watch) return StartWatch(route.request, exchange);
        return SendResponse(sim_->Handle(route.request, executor_->Now()), *exchange->reply);
      case SimFault::Kind::kAnswer:
        return SendResponse(fault.answer, *exchange->reply);
      case SimFault::Kind::kDropAfter:
        if (!watch) sim_->Handle(route.request, executor_->Now());
        return exchange->reply->Reset(kInternalError);
      case SimFault::Kind::kDropBefore:
        return exchange->reply->Reset(kInternalError);
      case SimFault::Kind::kSilent:
        return;
    }
  }

  void OnDocument(const HttpInput& input, const Route& route, TestServer::Reply& reply) {
    std::string content_type;
    SimResponse response =
        Document({route.path, HeaderOf(input, "accept"), sim_->Kinds(), options_.sim.git_version},
                 &content_type);
    if (!response.ok() || !response.text.empty()) return SendResponse(response, reply);
    std::string body = FormatJson(response.body);
    Http2Headers headers{{"content-type", content_type},
                         {"etag", absl::StrCat("\"", Sha256(body).Hex(), "\"")},
                         {"vary", "Accept"}};
    if (HeaderOf(input, "if-none-match") == headers[1].value) {
      return reply.Send(304, std::move(headers), "");
    }
    reply.Send(200, std::move(headers), std::move(body));
  }

  void OnControl(const HttpInput& input, const Route& route, TestServer::Reply& reply) {
    SimResponse response;
    response.body = Value(Object());
    if (options_.tokens.count(HeaderOf(input, "authorization").substr(7)) == 0) {
      response = MakeStatus(403, "Forbidden", "only for who runs the simulator");
    } else if (route.path == "/kubesim/faults" && input.method == "DELETE") {
      script_.Clear();
    } else if (route.path == "/kubesim/faults" && input.method == "POST") {
      absl::StatusOr<Value> rule = ParseJson(input.body);
      std::string problem = rule.ok() ? script_.Add(*rule) : std::string(rule.status().message());
      if (!problem.empty()) response = BadRequest(problem);
    } else if (route.path == "/kubesim/compact" && input.method == "POST") {
      sim_->Compact();
    } else if (route.path == "/kubesim/audit" && input.method == "GET") {
      response.body["items"] = Audit();
    } else {
      response = UnknownPath();
    }
    SendResponse(response, reply);
  }

  Value Audit() const {
    Array items;
    for (const AuditRecord& record : sim_->audit()) {
      items.push_back(Value(Object{{"user", Value(record.user)},
                                   {"verb", Value(record.verb)},
                                   {"resource", Value(record.resource)},
                                   {"namespace", Value(record.ns)},
                                   {"name", Value(record.name)},
                                   {"dryRun", Value(record.dry_run)},
                                   {"code", Value(record.code)},
                                   {"time", Value(absl::FormatTime(record.time))}}));
    }
    return Value(std::move(items));
  }

  void StartWatch(const SimRequest& request, const ExchangePtr& exchange) {
    if (exchange->closed) return;
    SimResponse error;
    // Events come before StartWatch returns, but a watch may also be refused.
    auto begin = [exchange] {
      if (std::exchange(exchange->begun, true)) return;
      exchange->reply->Begin(200, {{"content-type", "application/json"}});
    };
    KubeSim::WatchId id = sim_->StartWatch(
        request, executor_->Now(),
        [exchange, begin](WatchEvent event) {
          begin();
          if (!event.type.empty()) {
            Value line(Object{{"type", Value(event.type)}, {"object", std::move(event.object)}});
            exchange->reply->Chunk(absl::StrCat(FormatJson(line), "\n"));
          }
          if (event.type.empty() || event.type == "ERROR") exchange->reply->End();
        },
        &error);
    if (id == 0) return SendResponse(error, *exchange->reply);
    begin();
    exchange->watch = id;
  }

  void OnClosed(Exchange& exchange) {
    exchange.closed = true;
    if (sim_.has_value() && exchange.watch != 0) sim_->StopWatch(exchange.watch);
  }

  const HttpFaceOptions options_;
  std::mutex mutex_;
  std::condition_variable ran_;
  bool stopped_ = false;
  std::unique_ptr<Executor> executor_;
  // Of the executor's thread.
  std::optional<KubeSim> sim_;
  std::optional<SimStepper> stepper_;
  FaultScript script_;

  std::unique_ptr<TestServer> server_;
};

}  // namespace

std::unique_ptr<HttpFace> StartHttpFace(HttpFaceOptions options) {
  return std::make_unique<Face>(std::move(options));
}

}  // namespace nave::kubesim
