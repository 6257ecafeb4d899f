#include "agent/kube/http_watch.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/kube/json_splitter.h"
#include "agent/kube/rest.h"
#include "common/value/codec.h"

namespace nave {
namespace {

// An object is at most about 3 MiB; managedFields and the event around it are within that.
constexpr size_t kEventBytesMax = 8 * 1024 * 1024;
// After the server's own limit; a server that forgets it is cut off.
constexpr absl::Duration kGrace = absl::Seconds(60);
constexpr size_t kErrorBytesMax = 64 * 1024;

// What goes on while the handle lives. Shared with the callbacks, which may destroy the handle.
class WatchState : public std::enable_shared_from_this<WatchState> {
 public:
  WatchState(HttpCaller& caller, WatchRequest request, absl::Duration lifetime,
             std::function<void(KubeEvent)> on_event, KubeClient::Callback<KubeError> on_end)
      : caller_(caller),
        request_(std::move(request)),
        lifetime_(lifetime),
        on_event_(std::move(on_event)),
        on_end_(std::move(on_end)) {
    call_.path = WatchPath(request_, lifetime_);
    call_.info = {false, request_.type.plural, request_.ns};
    if (request_.metadata_only) {
      call_.accept =
          "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
    }
  }

  void Start() {
    status_ = 0;
    auto weak = weak_from_this();
    absl::StatusOr<std::unique_ptr<Http2Stream>> stream =
        caller_.StartWatch(call_, lifetime_ + kGrace,
                           {[weak](int status, Http2Headers headers) {
                              if (const auto self = weak.lock())
                                self->OnHeaders(status, std::move(headers));
                            },
                            [weak](std::string chunk) {
                              if (const auto self = weak.lock()) self->OnData(chunk);
                            },
                            [weak](const Http2End& end) {
                              if (const auto self = weak.lock()) self->OnEnd(end);
                            }});
    if (stream.ok()) {
      stream_ = *std::move(stream);
      return;
    }
    KubeError error = UnreachableError(stream.status().message());
    error.error_class = KubeErrorClass::kUnauthorized;
    caller_.Post([weak, error = std::move(error)]() mutable {
      if (const auto self = weak.lock()) self->Finish(std::move(error));
    });
  }

  void Stop() {
    stopped_ = true;
    stream_.reset();
  }

 private:
  void OnHeaders(int status, Http2Headers headers) {
    status_ = status;
    for (Http2Header& header : headers) {
      headers_.emplace_back(std::move(header.name), std::move(header.value));
    }
  }

  void OnData(const std::string& chunk) {
    if (stopped_) return;
    if (status_ != 200) {
      if (error_body_.size() < kErrorBytesMax) error_body_ += chunk;
      return;
    }
    const absl::Status status =
        splitter_.Feed(chunk, [this](absl::string_view text) { return OnObject(text); });
    if (!status.ok()) Broken(status.message());
  }

  // False: no more is wanted.
  bool OnObject(absl::string_view text) {
    absl::StatusOr<Value> parsed = ParseJsonLenient(text);
    Value* object = parsed.ok() && parsed->is_object() ? &(*parsed)["object"] : nullptr;
    if (object == nullptr || !object->is_object()) {
      Broken("an event that is no JSON object came");
      return false;
    }
    const std::string type = parsed->StringAt("type");
    KubeEvent event;
    if (type == "ADDED") {
      event.type = KubeEvent::Type::kAdded;
    } else if (type == "MODIFIED") {
      event.type = KubeEvent::Type::kModified;
    } else if (type == "DELETED") {
      event.type = KubeEvent::Type::kDeleted;
    } else if (type == "BOOKMARK") {
      event.type = KubeEvent::Type::kBookmark;
    } else if (type == "ERROR") {
      Finish(ClassifyStatusObject(*object, call_.info));
      return false;
    } else {
      return true;  // A kind of event of a newer server.
    }
    event.object = std::move(*object);
    if (request_.metadata_only) KeepMetadataOnly(request_.type, event.object);
    on_event_(std::move(event));
    return !stopped_;
  }

  void Broken(absl::string_view why) {
    KubeError error = UnreachableError(absl::StrCat("watch: ", why));
    error.error_class = KubeErrorClass::kServerError;
    Finish(std::move(error));
  }

  void OnEnd(const Http2End& end) {
    if (stopped_) return;
    if (status_ == 401 && !retried_) {
      retried_ = true;
      headers_.clear();
      error_body_.clear();
      caller_.OnUnauthorized();
      Start();
      return;
    }
    if (status_ != 0 && status_ != 200) {
      Finish(ClassifyResponse(status_, headers_, error_body_, call_.info));
    } else if (end.failure == Http2Failure::kGoingAway && status_ == 200) {
      Finish({});  // Every event that came was whole: the next watch goes on after them.
    } else if (!end.ok()) {
      Finish(ErrorOfEnd(end));
    } else if (splitter_.IsInside()) {
      Finish(UnreachableError("watch: the stream ended inside an event"));
    } else {
      Finish({});
    }
  }

  void Finish(KubeError error) {
    if (stopped_) return;
    Stop();
    std::move(on_end_)(std::move(error));
  }

  HttpCaller& caller_;
  const WatchRequest request_;
  const absl::Duration lifetime_;
  const std::function<void(KubeEvent)> on_event_;
  KubeClient::Callback<KubeError> on_end_;
  HttpCall call_;
  std::unique_ptr<Http2Stream> stream_;
  JsonSplitter splitter_{kEventBytesMax};
  int status_ = 0;
  std::vector<std::pair<std::string, std::string>> headers_;
  std::string error_body_;
  bool retried_ = false;
  bool stopped_ = false;
};

class WatchHandle : public KubeWatch {
 public:
  explicit WatchHandle(std::shared_ptr<WatchState> state) : state_(std::move(state)) {}
  ~WatchHandle() override { state_->Stop(); }

 private:
  std::shared_ptr<WatchState> state_;
};

}  // namespace

void KeepMetadataOnly(const ResourceType& type, Value& object) {
  Object kept;
  kept["apiVersion"] = ApiVersionOf(type);
  kept["kind"] = type.kind;
  kept["metadata"] = std::move(object["metadata"]);
  object = std::move(kept);
}

std::unique_ptr<KubeWatch> StartHttpWatch(HttpCaller& caller, WatchRequest request,
                                          absl::Duration lifetime,
                                          std::function<void(KubeEvent)> on_event,
                                          KubeClient::Callback<KubeError> on_end) {
  auto state = std::make_shared<WatchState>(caller, std::move(request), lifetime,
                                            std::move(on_event), std::move(on_end));
  state->Start();
  return std::make_unique<WatchHandle>(std::move(state));
}

}  // namespace nave
