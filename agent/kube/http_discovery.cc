#include "agent/kube/http_discovery.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/value/codec.h"

namespace nave {
namespace {

constexpr char kAcceptAggregated[] =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    "application/json";
constexpr size_t kAnswerBytesMax = 32 * 1024 * 1024;

HttpCall DiscoveryCall(std::string path, bool aggregated) {
  HttpCall call;
  call.path = std::move(path);
  if (aggregated) call.accept = kAcceptAggregated;
  call.is_idempotent = true;
  call.response_bytes_max = kAnswerBytesMax;
  return call;
}

KubeError NotReadable(absl::string_view path) {
  KubeError error =
      UnreachableError(absl::StrCat("discovery: ", path, ": the answer is no JSON object"));
  error.error_class = KubeErrorClass::kServerError;
  return error;
}

}  // namespace

// One call of Discover.
struct HttpDiscovery::Round {
  KubeClient::Callback<KubeClient::Discovery> done;
  size_t waiting = 0;
  KubeError error;
  bool older_form = false;
  std::vector<GroupVersionTypes> found[2];
};

void HttpDiscovery::Discover(KubeClient::Callback<KubeClient::Discovery> done) {
  auto round = std::make_shared<Round>();
  round->done = std::move(done);
  round->waiting = 2;
  for (size_t i = 0; i < 2; ++i) {
    HttpCall call = DiscoveryCall(roots_[i].path, true);
    call.if_none_match = roots_[i].etag;
    caller_.Call(std::move(call),
                 [this, round, i](KubeHttpAnswer answer) { OnRoot(round, i, std::move(answer)); });
  }
}

void HttpDiscovery::OnRoot(const std::shared_ptr<Round>& round, size_t index,
                           KubeHttpAnswer answer) {
  Root& root = roots_[index];
  if (!answer.error.ok()) {
    round->error = std::move(answer.error);
  } else if (answer.status != 304) {
    const absl::StatusOr<Value> document = ParseJsonLenient(answer.body);
    if (!document.ok() || !document->is_object()) {
      round->error = NotReadable(root.path);
    } else if (IsAggregatedDiscovery(*document)) {
      root.etag = std::string(answer.Header("etag"));
      root.found = ParseAggregatedDiscovery(*document);
    } else {
      root.etag.clear();
      root.found.clear();
      round->older_form = true;
    }
  }
  if (--round->waiting > 0) return;
  if (!round->error.ok()) {
    KubeClient::Discovery failed;
    failed.error = std::move(round->error);
    std::move(round->done)(std::move(failed));
    return;
  }
  if (round->older_form) {
    AskOlderForm(round);
    return;
  }
  for (size_t i = 0; i < 2; ++i) round->found[i] = roots_[i].found;
  Finish(round);
}

void HttpDiscovery::AskOlderForm(const std::shared_ptr<Round>& round) {
  round->waiting = 2;
  for (size_t i = 0; i < 2; ++i) {
    // What an aggregated root said counts only together with the other.
    roots_[i].etag.clear();
    caller_.Call(DiscoveryCall(roots_[i].path, false), [this, round, i](KubeHttpAnswer answer) {
      const absl::StatusOr<Value> document = ParseJsonLenient(answer.body);
      if (!answer.error.ok()) {
        round->error = std::move(answer.error);
      } else if (!document.ok() || !document->is_object()) {
        round->error = NotReadable(roots_[i].path);
      } else {
        round->found[i] = ParseGroupVersions(*document);
      }
      if (--round->waiting == 0) AskGroupVersions(round);
    });
  }
}

void HttpDiscovery::AskGroupVersions(const std::shared_ptr<Round>& round) {
  round->waiting = round->found[0].size() + round->found[1].size();
  if (!round->error.ok() || round->waiting == 0) {
    Finish(round);
    return;
  }
  for (std::vector<GroupVersionTypes>& list : round->found) {
    for (GroupVersionTypes& one : list) {
      const std::string path = one.group.empty()
                                   ? absl::StrCat("/api/", one.version)
                                   : absl::StrCat("/apis/", one.group, "/", one.version);
      caller_.Call(DiscoveryCall(path, false), [this, round, &one](KubeHttpAnswer answer) {
        const absl::StatusOr<Value> document = ParseJsonLenient(answer.body);
        if (!answer.error.ok() || !document.ok() || document->Find("resources") == nullptr) {
          one.failed = true;
        } else {
          one.types = ParseResourceList(*document, one.group, one.version);
        }
        if (--round->waiting == 0) Finish(round);
      });
    }
  }
}

void HttpDiscovery::Finish(const std::shared_ptr<Round>& round) {
  KubeClient::Discovery result;
  if (round->error.ok()) {
    std::vector<GroupVersionTypes> all = std::move(round->found[0]);
    for (GroupVersionTypes& one : round->found[1]) all.push_back(std::move(one));
    result = MergeDiscovery(all, known_);
    known_ = result.types;
  } else {
    result.error = std::move(round->error);
  }
  std::move(round->done)(std::move(result));
}

}  // namespace nave
