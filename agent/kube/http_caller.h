// One call to the API server at a time per slot: credentials, limits, the retries that need no
// decision. Internal to HttpKubeClient.
#ifndef NAVE_AGENT_KUBE_HTTP_CALLER_H_
#define NAVE_AGENT_KUBE_HTTP_CALLER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "agent/kube/classify.h"
#include "agent/kube/credentials.h"
#include "agent/kube/http_kube_client.h"
#include "agent/kube/kube_client.h"
#include "common/http2/client.h"

namespace nave {

struct HttpCall {
  std::string method = "GET";
  std::string path;
  std::string accept = "application/json";
  std::string content_type;
  std::string if_none_match;
  std::string body;
  // May be sent again when its outcome is unknown.
  bool is_idempotent = false;
  size_t response_bytes_max = 0;
  RequestInfo info;
};

struct KubeHttpAnswer {
  KubeError error;  // 304 is no error.
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  absl::string_view Header(absl::string_view name) const;
};

// Of the loop thread; callbacks as in KubeClient.
class HttpCaller {
 public:
  using Done = absl::AnyInvocable<void(KubeHttpAnswer) &&>;

  static absl::StatusOr<std::unique_ptr<HttpCaller>> Make(HttpKubeOptions options);

  void Call(HttpCall call, Done done);

  // A stream of its own for a watch, with credentials; an error when there are none.
  absl::StatusOr<std::unique_ptr<Http2Stream>> StartWatch(const HttpCall& call,
                                                          absl::Duration timeout,
                                                          Http2Callbacks callbacks);
  // After a 401.
  void OnUnauthorized();
  // Runs `task` later, unless the caller is destroyed before.
  void Post(Task task);
  Executor& executor() { return *options_.executor; }

 private:
  struct Slot {
    HttpCall call;
    Done done;
    KubeHttpAnswer answer;
    std::unique_ptr<Http2Stream> stream;
    bool retried_unauthorized = false;
    bool retried_lost = false;
  };

  explicit HttpCaller(HttpKubeOptions options) : options_(std::move(options)) {}
  void Pump();
  void Send(uint64_t id);
  void OnEnd(uint64_t id, const Http2End& end);
  void Finish(uint64_t id);
  absl::StatusOr<Http2Request> MakeRequest(const HttpCall& call);
  void RefreshTls();

  HttpKubeOptions options_;
  KubeServer server_;
  absl::Time refreshed_at_ = absl::InfinitePast();
  std::unique_ptr<Http2Client> requests_;
  std::unique_ptr<Http2Client> watches_;
  uint64_t next_id_ = 1;
  std::deque<std::unique_ptr<Slot>> waiting_;
  std::map<uint64_t, std::unique_ptr<Slot>> active_;
  // Posts hold it weakly.
  std::shared_ptr<HttpCaller*> self_ = std::make_shared<HttpCaller*>(this);
};

// The error of a stream that ended without an answer.
KubeError ErrorOfEnd(const Http2End& end);

}  // namespace nave

#endif  // NAVE_AGENT_KUBE_HTTP_CALLER_H_
