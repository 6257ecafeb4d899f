#include "agent/kube/http_kube_client.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/kube/http_caller.h"
#include "agent/kube/http_discovery.h"
#include "agent/kube/http_watch.h"
#include "agent/kube/rest.h"
#include "common/base/backoff.h"
#include "common/base/status_macros.h"
#include "common/value/codec.h"

namespace nave {
namespace {

constexpr size_t kObjectBytesMax = 8 * 1024 * 1024;
// A page that is longer is asked for again with fewer items.
constexpr size_t kPageBytesMax = 8 * 1024 * 1024;
constexpr size_t kPageOfOneBytesMax = 64 * 1024 * 1024;
constexpr char kJson[] = "application/json";

KubeError RequestError(const absl::Status& status) {
  KubeError error = UnreachableError(status.message());
  error.error_class = KubeErrorClass::kInvalid;
  return error;
}

KubeError BadAnswer(absl::string_view text) {
  KubeError error = UnreachableError(text);
  error.error_class = KubeErrorClass::kServerError;
  return error;
}

KubeResult ResultOf(KubeHttpAnswer answer) {
  KubeResult result;
  result.warnings = ParseWarnings(answer.headers);
  result.created = answer.status == 201;
  if (!answer.error.ok()) {
    result.error = std::move(answer.error);
    return result;
  }
  absl::StatusOr<Value> object = ParseJsonLenient(answer.body);
  if (!object.ok() || !object->is_object()) {
    result.error = BadAnswer("the server's answer is no JSON object");
    return result;
  }
  result.object = *std::move(object);
  return result;
}

// Of a deletion: an object that is still there bears a deletionTimestamp; anything else says that
// it is gone.
KubeResult DeleteResultOf(KubeHttpAnswer answer) {
  KubeResult result = ResultOf(std::move(answer));
  if (result.object.Find("metadata", "deletionTimestamp") == nullptr) result.object = Value();
  return result;
}

ListPage PageOf(const ListRequest& request, KubeHttpAnswer answer) {
  ListPage page;
  if (!answer.error.ok()) {
    page.error = std::move(answer.error);
    return page;
  }
  absl::StatusOr<Value> list = ParseJsonLenient(answer.body);
  // The text is not needed any more, and lists are what costs memory.
  std::string().swap(answer.body);
  // Anything but a list must never be taken for an empty one.
  if (!list.ok() || !absl::EndsWith(list->StringAt("kind"), "List") ||
      list->Find("metadata") == nullptr) {
    page.error = BadAnswer("the server's answer is no list");
    return page;
  }
  page.resource_version = list->StringAt("metadata", "resourceVersion");
  page.continue_token = list->StringAt("metadata", "continue");
  Value& items = (*list)["items"];
  if (items.is_null()) return page;
  if (items.mutable_array() == nullptr) {
    page.error = BadAnswer("the server's list has no items");
    return page;
  }
  page.items = std::move(*items.mutable_array());
  for (Value& item : page.items) {
    if (request.metadata_only) {
      KeepMetadataOnly(request.type, item);
    } else {
      item["apiVersion"] = ApiVersionOf(request.type);
      item["kind"] = request.type.kind;
    }
  }
  return page;
}

class HttpKubeClient : public KubeClient {
 public:
  HttpKubeClient(std::unique_ptr<HttpCaller> caller, uint64_t seed)
      : caller_(std::move(caller)), discovery_(*caller_), random_(seed) {}

  void Discover(Callback<Discovery> done) override { discovery_.Discover(std::move(done)); }

  void GetServerVersion(Callback<KubeResult> done) override {
    HttpCall call;
    call.path = "/version";
    Read(std::move(call), std::move(done));
  }

  void Apply(ApplyRequest request, Callback<KubeResult> done) override {
    Write("PATCH", ApplyPath(request), "application/apply-patch+yaml", std::move(request.body),
          {true, request.type.plural, request.ns}, true, std::move(done));
  }

  void Get(ResourceType type, std::string ns, std::string name,
           Callback<KubeResult> done) override {
    absl::StatusOr<std::string> path = ObjectPath(type, ns, name);
    if (!path.ok()) return Refuse(path.status(), std::move(done));
    HttpCall call;
    call.path = *std::move(path);
    call.info = {false, type.plural, ns};
    Read(std::move(call), std::move(done));
  }

  void List(ListRequest request, Callback<ListPage> done) override {
    HttpCall call;
    call.path = ListPath(request);
    call.info = {false, request.type.plural, request.ns};
    call.is_idempotent = true;
    call.response_bytes_max = request.limit == 1 ? kPageOfOneBytesMax : kPageBytesMax;
    if (request.metadata_only) {
      call.accept =
          "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
    }
    caller_->Call(std::move(call), [this, request = std::move(request),
                                    done = std::move(done)](KubeHttpAnswer answer) mutable {
      const bool cut =
          answer.error.error_class == KubeErrorClass::kTooLarge && answer.status == 200;
      // The server's cache ignores limits: such a list is asked for once more, from the store.
      if (cut && request.limit != 1) {
        request.limit = request.limit == 0 ? 64 : std::max<size_t>(1, request.limit / 8);
        if (request.resource_version == "0") request.resource_version.clear();
        List(std::move(request), std::move(done));
        return;
      }
      std::move(done)(PageOf(request, std::move(answer)));
    });
  }

  void Create(ResourceType type, std::string ns, std::string body,
              Callback<KubeResult> done) override {
    if (type.namespaced && ns.empty()) {
      return Refuse(absl::InvalidArgumentError(
                        absl::StrCat(type.kind, ": a namespaced kind, want a namespace")),
                    std::move(done));
    }
    Write("POST", CollectionPath(type, ns), kJson, std::move(body), {true, type.plural, ns}, false,
          std::move(done));
  }

  void Replace(ResourceType type, std::string ns, std::string name, std::string body,
               Callback<KubeResult> done) override {
    // Not sent twice: a compare-and-swap that succeeded and lost its answer would seem to have
    // failed.
    Write("PUT", ObjectPath(type, ns, name), kJson, std::move(body), {true, type.plural, ns}, false,
          std::move(done));
  }

  void Patch(PatchRequest request, Callback<KubeResult> done) override {
    const char* content_type = request.patch_type == PatchType::kJson
                                   ? "application/json-patch+json"
                                   : "application/merge-patch+json";
    Write("PATCH", PatchPath(request), content_type, std::move(request.body),
          {true, request.type.plural, request.ns}, false, std::move(done));
  }

  void Delete(DeleteRequest request, Callback<KubeResult> done) override {
    absl::StatusOr<std::string> path = ObjectPath(request.type, request.ns, request.name);
    if (!path.ok()) return Refuse(path.status(), std::move(done));
    HttpCall call;
    call.method = "DELETE";
    call.path = *std::move(path);
    call.content_type = kJson;
    call.body = DeleteBody(request);
    call.response_bytes_max = kObjectBytesMax;
    call.info = {true, request.type.plural, request.ns};
    caller_->Call(std::move(call), [done = std::move(done)](KubeHttpAnswer answer) mutable {
      std::move(done)(DeleteResultOf(std::move(answer)));
    });
  }

  std::unique_ptr<KubeWatch> Watch(WatchRequest request, std::function<void(KubeEvent)> on_event,
                                   Callback<KubeError> on_end) override {
    // Spread, so that watches begun together do not end together.
    const absl::Duration lifetime = absl::Seconds(300 + static_cast<int64_t>(random_.Below(301)));
    return StartHttpWatch(*caller_, std::move(request), lifetime, std::move(on_event),
                          std::move(on_end));
  }

 private:
  void Refuse(const absl::Status& status, Callback<KubeResult> done) {
    caller_->Post([error = RequestError(status), done = std::move(done)]() mutable {
      KubeResult result;
      result.error = std::move(error);
      std::move(done)(std::move(result));
    });
  }

  void Read(HttpCall call, Callback<KubeResult> done) {
    call.is_idempotent = true;
    call.response_bytes_max = kObjectBytesMax;
    caller_->Call(std::move(call), [done = std::move(done)](KubeHttpAnswer answer) mutable {
      std::move(done)(ResultOf(std::move(answer)));
    });
  }

  void Write(const char* method, absl::StatusOr<std::string> path, const char* content_type,
             std::string body, RequestInfo info, bool is_idempotent, Callback<KubeResult> done) {
    if (!path.ok()) return Refuse(path.status(), std::move(done));
    HttpCall call;
    call.method = method;
    call.path = *std::move(path);
    call.content_type = content_type;
    call.body = std::move(body);
    call.is_idempotent = is_idempotent;
    call.response_bytes_max = kObjectBytesMax;
    call.info = std::move(info);
    caller_->Call(std::move(call), [done = std::move(done)](KubeHttpAnswer answer) mutable {
      std::move(done)(ResultOf(std::move(answer)));
    });
  }

  std::unique_ptr<HttpCaller> caller_;
  HttpDiscovery discovery_;
  SplitMix random_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<KubeClient>> MakeHttpKubeClient(HttpKubeOptions options) {
  const uint64_t seed = options.seed;
  ASSIGN_OR_RETURN(std::unique_ptr<HttpCaller> caller, HttpCaller::Make(std::move(options)));
  return std::make_unique<HttpKubeClient>(std::move(caller), seed);
}

}  // namespace nave
