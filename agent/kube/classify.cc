#include "agent/kube/classify.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/value/codec.h"

namespace nave {
namespace {

constexpr size_t kMessageBytesMax = 2 * 1024;
constexpr size_t kBodyBytesMax = 64 * 1024;

// Cuts at a character's border.
std::string Shorten(absl::string_view text) {
  if (text.size() <= kMessageBytesMax) return std::string(text);
  size_t end = kMessageBytesMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end));
}

bool HasCause(const KubeError& error, absl::string_view reason) {
  return std::any_of(error.causes.begin(), error.causes.end(),
                     [&](const KubeCause& cause) { return cause.reason == reason; });
}

// What of a Status the classes depend on.
struct StatusParts {
  bool is_status = false;
  std::string details_name;
  std::string details_kind;
};

StatusParts ReadStatus(const Value& status, KubeError& error) {
  StatusParts parts;
  if (status.StringAt("kind") != "Status") return parts;
  parts.is_status = true;
  error.reason = status.StringAt("reason");
  error.message = Shorten(status.StringAt("message"));
  const Value* details = status.Find("details");
  if (details == nullptr) return parts;
  parts.details_name = details->StringAt("name");
  parts.details_kind = details->StringAt("kind");
  const Value* retry = details->Find("retryAfterSeconds");
  if (retry != nullptr && retry->IntOr(0) > 0) {
    error.retry_after = absl::Seconds(retry->IntOr(0));
  }
  const Value* causes = details->Find("causes");
  if (causes == nullptr || causes->array() == nullptr) return parts;
  for (const Value& cause : *causes->array()) {
    error.causes.push_back(
        {cause.StringAt("reason"), cause.StringAt("field"), Shorten(cause.StringAt("message"))});
  }
  return parts;
}

bool IsTooLargeText(absl::string_view message) {
  return absl::StrContains(message, "etcdserver: request is too large") ||
         absl::StrContains(message, "trying to send message larger than max");
}

KubeErrorClass Classify403(const KubeError& error) {
  if (HasCause(error, "NamespaceTerminating")) return KubeErrorClass::kNamespaceTerminating;
  if (absl::StrContains(error.message, "attempting to grant RBAC permissions not currently held")) {
    return KubeErrorClass::kRbacEscalation;
  }
  const bool by_rbac =
      absl::StrContains(error.message, "User \"") && absl::StrContains(error.message, " cannot ");
  if (by_rbac || absl::StrContains(error.message, "exceeded quota")) {
    return KubeErrorClass::kForbidden;
  }
  // An admission plugin, or a proxy without a Status: what it misses may come.
  return KubeErrorClass::kAdmissionRefused;
}

KubeErrorClass Classify404(const StatusParts& parts, const RequestInfo& info) {
  if (!parts.is_status || parts.details_name.empty()) return KubeErrorClass::kKindNotServed;
  if (info.is_write && parts.details_kind == "namespaces" && info.plural != "namespaces" &&
      parts.details_name == info.ns) {
    return KubeErrorClass::kNamespaceMissing;
  }
  return KubeErrorClass::kNotFound;
}

KubeErrorClass Classify500(const KubeError& error, const StatusParts& parts) {
  if (IsTooLargeText(error.message)) return KubeErrorClass::kTooLarge;
  // Without a reason it is the server's own failure to make sense of the object, unless it is one
  // of its storage or of a deadline.
  const bool structural = parts.is_status && error.reason.empty() && !error.message.empty() &&
                          !absl::StartsWith(error.message, "etcdserver") &&
                          !absl::StartsWith(error.message, "rpc ") &&
                          !absl::StartsWith(error.message, "context ");
  return structural ? KubeErrorClass::kInvalid : KubeErrorClass::kServerError;
}

KubeErrorClass Classify(int status, const KubeError& error, const StatusParts& parts,
                        const RequestInfo& info) {
  if (status >= 200 && status < 300) return KubeErrorClass::kNone;
  switch (status) {
    case 401:
      return KubeErrorClass::kUnauthorized;
    case 403:
      return Classify403(error);
    case 404:
      return Classify404(parts, info);
    case 408:
      return KubeErrorClass::kServerError;
    case 409:
      return HasCause(error, "FieldManagerConflict") ? KubeErrorClass::kFieldConflict
                                                     : KubeErrorClass::kConflict;
    case 410:
      return KubeErrorClass::kGone;
    case 413:
      return KubeErrorClass::kTooLarge;
    case 429:
      return KubeErrorClass::kThrottled;
    case 500:
      return Classify500(error, parts);
    case 504:
      if (HasCause(error, "ResourceVersionTooLarge")) return KubeErrorClass::kGone;
      return KubeErrorClass::kServerError;
    default:
      break;
  }
  if (status >= 500) return KubeErrorClass::kServerError;
  return KubeErrorClass::kInvalid;
}

void Finish(KubeError& error, const StatusParts& parts, const RequestInfo& info) {
  error.error_class = Classify(error.http_status, error, parts, info);
  if (error.error_class == KubeErrorClass::kThrottled && !error.retry_after) {
    error.retry_after = absl::Seconds(1);
  }
  if (error.message.empty()) error.message = absl::StrCat("http status ", error.http_status);
}

}  // namespace

KubeError ClassifyResponse(int status,
                           const std::vector<std::pair<std::string, std::string>>& headers,
                           absl::string_view body, const RequestInfo& info) {
  KubeError error;
  error.http_status = status;
  if (status >= 200 && status < 300) return error;
  StatusParts parts;
  body = body.substr(0, kBodyBytesMax);
  const absl::StatusOr<Value> parsed = ParseJsonLenient(body);
  if (parsed.ok()) parts = ReadStatus(*parsed, error);
  if (!parts.is_status) error.message = Shorten(absl::StripAsciiWhitespace(body));
  for (const auto& [name, value] : headers) {
    int64_t seconds = 0;
    if (name == "retry-after" && absl::SimpleAtoi(value, &seconds) && seconds >= 0) {
      error.retry_after = absl::Seconds(seconds);
    }
  }
  Finish(error, parts, info);
  return error;
}

KubeError ClassifyStatusObject(const Value& status, const RequestInfo& info) {
  KubeError error;
  const StatusParts parts = ReadStatus(status, error);
  const Value* code = status.Find("code");
  error.http_status = code == nullptr ? 500 : static_cast<int>(code->IntOr(500));
  // A success can be no ERROR event; some servers leave the code out.
  if (error.http_status < 300) error.http_status = 500;
  Finish(error, parts, info);
  return error;
}

KubeError UnreachableError(absl::string_view message) {
  KubeError error;
  error.error_class = KubeErrorClass::kUnreachable;
  error.message = Shorten(message);
  return error;
}

std::vector<std::string> ParseWarnings(
    const std::vector<std::pair<std::string, std::string>>& headers) {
  std::vector<std::string> warnings;
  for (const auto& [name, value] : headers) {
    if (name != "warning") continue;
    // 299 agent "text"[ "date"][, 299 agent "text"...]: the first quoted string after each code.
    size_t i = 0;
    while (i < value.size()) {
      const size_t open = value.find('"', i);
      if (open == std::string::npos) break;
      std::string text;
      size_t at = open + 1;
      while (at < value.size() && value[at] != '"') {
        if (value[at] == '\\' && at + 1 < value.size()) ++at;
        text += value[at++];
      }
      warnings.push_back(Shorten(text));
      ++at;
      // A date may follow in quotes before the next comma.
      while (at < value.size() && value[at] != ',') {
        if (value[at] == '"') at = std::min(value.find('"', at + 1), value.size() - 1);
        ++at;
      }
      i = at + 1;
    }
  }
  return warnings;
}

absl::string_view KubeErrorClassName(KubeErrorClass error_class) {
  switch (error_class) {
    case KubeErrorClass::kNone:
      return "none";
    case KubeErrorClass::kUnreachable:
      return "unreachable";
    case KubeErrorClass::kUnauthorized:
      return "unauthorized";
    case KubeErrorClass::kForbidden:
      return "forbidden";
    case KubeErrorClass::kAdmissionRefused:
      return "admission-refused";
    case KubeErrorClass::kRbacEscalation:
      return "rbac-escalation";
    case KubeErrorClass::kNamespaceTerminating:
      return "namespace-terminating";
    case KubeErrorClass::kKindNotServed:
      return "kind-not-served";
    case KubeErrorClass::kNamespaceMissing:
      return "namespace-missing";
    case KubeErrorClass::kNotFound:
      return "not-found";
    case KubeErrorClass::kFieldConflict:
      return "field-conflict";
    case KubeErrorClass::kConflict:
      return "conflict";
    case KubeErrorClass::kGone:
      return "gone";
    case KubeErrorClass::kTooLarge:
      return "too-large";
    case KubeErrorClass::kInvalid:
      return "invalid";
    case KubeErrorClass::kThrottled:
      return "throttled";
    case KubeErrorClass::kServerError:
      return "server-error";
  }
  return "unknown";
}

}  // namespace nave
