// What an answer of the API server means for the caller. Pure.
#ifndef NAVE_AGENT_KUBE_CLASSIFY_H_
#define NAVE_AGENT_KUBE_CLASSIFY_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/kube/kube_client.h"
#include "common/value/value.h"

namespace nave {

// What was asked.
struct RequestInfo {
  bool is_write = false;
  std::string plural;  // Of the type asked for; empty: none (discovery, version).
  std::string ns;
};

// The error of an answer, kNone for 2xx. Tables: apply-engine rules of retries; bodies that are no
// metav1.Status (of proxies, of an overloaded server) are judged by the status code. `headers` are
// lower-case names with values.
KubeError ClassifyResponse(int status,
                           const std::vector<std::pair<std::string, std::string>>& headers,
                           absl::string_view body, const RequestInfo& info);

// The same for a Status object that came as the ERROR event of a watch.
KubeError ClassifyStatusObject(const Value& status, const RequestInfo& info);

// No answer at all.
KubeError UnreachableError(absl::string_view message);

// Texts of the Warning headers (RFC 7234, code 299), which may hold several each.
std::vector<std::string> ParseWarnings(
    const std::vector<std::pair<std::string, std::string>>& headers);

// A word for logs and messages, e.g. "conflict".
absl::string_view KubeErrorClassName(KubeErrorClass error_class);

}  // namespace nave

#endif  // NAVE_AGENT_KUBE_CLASSIFY_H_
