// Requests and answers of the simulated API server, without HTTP, and its errors as metav1.Status.
#ifndef NAVE_TESTS_KUBESIM_API_H_
#define NAVE_TESTS_KUBESIM_API_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/value/value.h"
#include "tests/kubesim/kinds.h"
#include "tests/kubesim/managed_fields.h"

namespace nave::kubesim {

struct SimRequest {
  enum class Verb { kGet, kList, kCreate, kUpdate, kPatch, kDelete, kDeleteCollection };
  enum class Patch { kApply, kJson, kMerge, kStrategic };
  Verb verb = Verb::kGet;
  Patch patch = Patch::kApply;
  // Who asks; counted in the audit.
  std::string user = "admin";
  std::string group;
  std::string version;
  std::string plural;
  std::string subresource;
  std::string ns;
  std::string name;
  std::string body;
  // Instead of `body`: what it would parse to. For callers in this process.
  std::optional<Value> object;
  // Query options.
  std::string field_manager;
  bool force = false;
  bool dry_run = false;
  std::string field_validation;  // Strict, Warn (default), Ignore.
  std::string propagation;
  std::string label_selector;
  std::string field_selector;
  size_t limit = 0;
  std::string continue_token;
  std::string resource_version;
  std::string resource_version_match;
  bool bookmarks = false;
  bool send_initial_events = false;
  int timeout_seconds = 0;
  // Items as PartialObjectMetadata.
  bool metadata_only = false;

  bool IsWrite() const { return verb != Verb::kGet && verb != Verb::kList; }
};

// One mutating request that was answered.
struct AuditRecord {
  std::string user;
  std::string verb;
  std::string resource;  // "deployments.apps", "pods/status"
  std::string ns;
  std::string name;
  bool dry_run = false;
  int code = 0;
  absl::Time time;
};

// "get", "list", "create", "update", "patch", "delete", "deletecollection".
const char* VerbName(SimRequest::Verb verb);

struct SimResponse {
  int code = 200;
  Value body;
  // Instead of `body`, as text/plain, when not empty.
  std::string text;
  std::vector<std::string> warnings;
  std::optional<int> retry_after_s;
  bool ok() const { return code < 300; }
};

struct StatusCause {
  std::string reason;
  std::string message;
  std::string field;
};

// Errors. `kind` names group and plural (or kind, for invalid objects) in the details.
SimResponse MakeStatus(int code, absl::string_view reason, absl::string_view message,
                       Object details = {});
SimResponse NotFound(const KindInfo& kind, absl::string_view name);
SimResponse UnknownPath();
SimResponse AlreadyExists(const KindInfo& kind, absl::string_view name);
SimResponse Conflict(const KindInfo& kind, absl::string_view name, absl::string_view why);
// The resourceVersion sent is not the live one.
SimResponse Modified(const KindInfo& kind, absl::string_view name);
SimResponse ApplyConflict(const std::vector<FieldConflict>& conflicts);
SimResponse BadRequest(absl::string_view message);
SimResponse Forbidden(const KindInfo& kind, absl::string_view name, absl::string_view why,
                      std::vector<StatusCause> causes = {});
SimResponse Invalid(const KindInfo& kind, absl::string_view name, std::vector<StatusCause> causes);
// 500 without a reason, as server-side apply answers what it cannot type.
SimResponse Structural(absl::string_view message);
SimResponse Expired(absl::string_view message, absl::string_view continue_token = "");
SimResponse MethodNotAllowed(const KindInfo& kind, absl::string_view verb);

// {"kind":"Status","status":"Success"} of a deletion that was complete at once.
SimResponse Deleted(const KindInfo& kind, const Value& object);

}  // namespace nave::kubesim

#endif  // NAVE_TESTS_KUBESIM_API_H_
