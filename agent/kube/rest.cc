#include "agent/kube/rest.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"
#include "common/value/codec.h"

namespace nave {
namespace {

void AddQuery(std::string& path, absl::string_view key, absl::string_view value) {
  if (value.empty()) return;
  const char separator = absl::StrContains(path, '?') ? '&' : '?';
  absl::StrAppend(&path, std::string(1, separator), key, "=", EscapeForUrl(value));
}

bool IsPathSegment(absl::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of("/%") == absl::string_view::npos;
}

const char* PropagationName(DeletePropagation propagation) {
  switch (propagation) {
    case DeletePropagation::kForeground:
      return "Foreground";
    case DeletePropagation::kOrphan:
      return "Orphan";
    case DeletePropagation::kBackground:
      break;
  }
  return "Background";
}

}  // namespace

std::string EscapeForUrl(absl::string_view text) {
  std::string out;
  for (const char c : text) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("-._~", c)) {
      out += c;
    } else {
      absl::StrAppendFormat(&out, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string ApiVersionOf(const ResourceType& type) {
  return type.group.empty() ? type.version : absl::StrCat(type.group, "/", type.version);
}

std::string CollectionPath(const ResourceType& type, absl::string_view ns) {
  std::string path = absl::StrCat(type.group.empty() ? "/api/" : "/apis/", ApiVersionOf(type));
  if (type.namespaced && !ns.empty()) absl::StrAppend(&path, "/namespaces/", EscapeForUrl(ns));
  return absl::StrCat(path, "/", type.plural);
}

absl::StatusOr<std::string> ObjectPath(const ResourceType& type, absl::string_view ns,
                                       absl::string_view name) {
  const std::string subject = absl::StrCat(type.kind, " \"", name, "\"");
  if (type.plural.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(subject, ": the type has no plural name"));
  }
  if (!IsPathSegment(name)) {
    return absl::InvalidArgumentError(absl::StrCat(subject, ": want a name without / and %"));
  }
  if (type.namespaced && !IsPathSegment(ns)) {
    return absl::InvalidArgumentError(
        absl::StrCat(subject, ": a namespaced kind, want a namespace, got \"", ns, "\""));
  }
  if (!type.namespaced && !ns.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(subject, ": a cluster-scoped kind, want no namespace, got \"", ns, "\""));
  }
  return absl::StrCat(CollectionPath(type, ns), "/", EscapeForUrl(name));
}

absl::StatusOr<std::string> ApplyPath(const ApplyRequest& request) {
  ASSIGN_OR_RETURN(std::string path, ObjectPath(request.type, request.ns, request.name));
  AddQuery(path, "fieldManager", request.field_manager);
  AddQuery(path, "force", request.force ? "true" : "false");
  AddQuery(path, "fieldValidation", "Strict");
  if (request.dry_run) AddQuery(path, "dryRun", "All");
  return path;
}

absl::StatusOr<std::string> PatchPath(const PatchRequest& request) {
  ASSIGN_OR_RETURN(std::string path, ObjectPath(request.type, request.ns, request.name));
  AddQuery(path, "fieldManager", request.field_manager);
  if (request.dry_run) AddQuery(path, "dryRun", "All");
  return path;
}

std::string ListPath(const ListRequest& request) {
  std::string path = CollectionPath(request.type, request.ns);
  AddQuery(path, "labelSelector", request.label_selector);
  if (request.limit > 0) AddQuery(path, "limit", absl::StrCat(request.limit));
  AddQuery(path, "continue", request.continue_token);
  // The token names the version of the first page; together with another the server refuses both.
  if (request.continue_token.empty()) AddQuery(path, "resourceVersion", request.resource_version);
  return path;
}

std::string WatchPath(const WatchRequest& request, absl::Duration timeout) {
  std::string path = CollectionPath(request.type, request.ns);
  AddQuery(path, "watch", "1");
  AddQuery(path, "allowWatchBookmarks", "true");
  AddQuery(path, "timeoutSeconds", absl::StrCat(absl::ToInt64Seconds(timeout)));
  AddQuery(path, "labelSelector", request.label_selector);
  AddQuery(path, "resourceVersion", request.resource_version);
  return path;
}

std::string DeleteBody(const DeleteRequest& request) {
  Value body;
  body["apiVersion"] = "v1";
  body["kind"] = "DeleteOptions";
  body["propagationPolicy"] = PropagationName(request.propagation);
  if (request.dry_run) body["dryRun"] = Array{"All"};
  if (!request.uid.empty()) body["preconditions"]["uid"] = request.uid;
  if (!request.resource_version.empty()) {
    body["preconditions"]["resourceVersion"] = request.resource_version;
  }
  return FormatJson(body);
}

}  // namespace nave
