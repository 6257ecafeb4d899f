#include "tests/kubesim/http/route.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace nave::kubesim {
namespace {

std::string QueryAt(const Route& route, absl::string_view key) {
  auto it = route.query.find(std::string(key));
  return it == route.query.end() ? "" : it->second;
}

bool IsTrue(absl::string_view text) { return text == "true" || text == "1"; }

Route Refuse(Route route, SimResponse response) {
  route.kind = Route::Kind::kRefused;
  route.refusal = std::move(response);
  return route;
}

// Fills group, version, plural, namespace, name and subresource. False: no path of a resource.
bool ReadPath(std::vector<std::string> parts, SimRequest* request) {
  size_t at = 0;
  if (parts.size() >= 3 && parts[0] == "api") {
    request->version = parts[1];
    at = 2;
  } else if (parts.size() >= 4 && parts[0] == "apis") {
    request->group = parts[1];
    request->version = parts[2];
    at = 3;
  } else {
    return false;
  }
  // "namespaces/x/status" is the subresource of the Namespace itself.
  if (parts[at] == "namespaces" && parts.size() > at + 2 && parts[at + 2] != "status" &&
      parts[at + 2] != "finalize") {
    request->ns = parts[at + 1];
    at += 2;
  }
  request->plural = parts[at++];
  if (at < parts.size()) request->name = parts[at++];
  if (at < parts.size()) request->subresource = parts[at++];
  return at == parts.size() && !request->plural.empty();
}

void ReadQuery(const Route& route, SimRequest* request) {
  request->field_manager = QueryAt(route, "fieldManager");
  request->force = IsTrue(QueryAt(route, "force"));
  request->dry_run = !QueryAt(route, "dryRun").empty();
  request->field_validation = QueryAt(route, "fieldValidation");
  request->propagation = QueryAt(route, "propagationPolicy");
  request->label_selector = QueryAt(route, "labelSelector");
  request->field_selector = QueryAt(route, "fieldSelector");
  request->continue_token = QueryAt(route, "continue");
  request->resource_version = QueryAt(route, "resourceVersion");
  request->resource_version_match = QueryAt(route, "resourceVersionMatch");
  request->bookmarks = IsTrue(QueryAt(route, "allowWatchBookmarks"));
  request->send_initial_events = IsTrue(QueryAt(route, "sendInitialEvents"));
  int number = 0;
  if (absl::SimpleAtoi(QueryAt(route, "limit"), &number) && number > 0) {
    request->limit = static_cast<size_t>(number);
  }
  if (absl::SimpleAtoi(QueryAt(route, "timeoutSeconds"), &number)) {
    request->timeout_seconds = number;
  }
}

// The manager of a write that names none is the program.
std::string ManagerOf(const HttpInput& input) {
  std::string agent = HeaderOf(input, "user-agent");
  return agent.substr(0, agent.find('/'));
}

SimResponse UnknownMediaType() {
  return MakeStatus(415, "UnsupportedMediaType",
                    "the body of the request was in an unknown format - accepted media types "
                    "include: application/json-patch+json, application/merge-patch+json, "
                    "application/apply-patch+yaml");
}

// False: an unknown media type.
bool ReadPatchType(absl::string_view content_type, SimRequest* request) {
  content_type = absl::StripAsciiWhitespace(content_type.substr(0, content_type.find(';')));
  if (content_type == "application/apply-patch+yaml") {
    request->patch = SimRequest::Patch::kApply;
  } else if (content_type == "application/json-patch+json") {
    request->patch = SimRequest::Patch::kJson;
  } else if (content_type == "application/merge-patch+json") {
    request->patch = SimRequest::Patch::kMerge;
  } else if (content_type == "application/strategic-merge-patch+json") {
    request->patch = SimRequest::Patch::kStrategic;
  } else {
    return false;
  }
  return true;
}

bool WantsMetadataOnly(const HttpInput& input) {
  std::string accept = HeaderOf(input, "accept");
  return Accepts(accept, "application/json", {"as=PartialObjectMetadata"}) ||
         Accepts(accept, "application/json", {"as=PartialObjectMetadataList"});
}

}  // namespace

std::string HeaderOf(const HttpInput& input, absl::string_view name) {
  for (const auto& [key, value] : input.headers) {
    if (key == name) return value;
  }
  return "";
}

std::string UrlDecode(absl::string_view text, bool query) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    int value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        absl::SimpleHexAtoi(text.substr(i + 1, 2), &value)) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += query && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

bool Accepts(absl::string_view header, absl::string_view type,
             const std::vector<std::string>& parameters) {
  if (header.empty()) return parameters.empty();
  for (absl::string_view range : absl::StrSplit(header, ',')) {
    std::vector<std::string> parts;
    for (absl::string_view part : absl::StrSplit(range, ';')) {
      parts.emplace_back(absl::StripAsciiWhitespace(part));
    }
    if (parts[0] != type && parts[0] != "*/*") continue;
    auto given = [&](const std::string& parameter) {
      return std::find(parts.begin() + 1, parts.end(), parameter) != parts.end();
    };
    if (std::all_of(parameters.begin(), parameters.end(), given)) return true;
  }
  return false;
}

Route ParseRoute(const HttpInput& input) {
  Route route;
  std::pair<absl::string_view, absl::string_view> halves =
      absl::StrSplit(input.target, absl::MaxSplits('?', 1));
  route.path = UrlDecode(halves.first, false);
  for (absl::string_view pair : absl::StrSplit(halves.second, '&', absl::SkipEmpty())) {
    std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(pair, absl::MaxSplits('=', 1));
    route.query.emplace(UrlDecode(parts.first, true), UrlDecode(parts.second, true));
  }
  if (absl::StartsWith(route.path, "/kubesim/")) {
    route.kind = Route::Kind::kControl;
    return route;
  }
  std::vector<std::string> parts;
  for (absl::string_view part : absl::StrSplit(halves.first, '/', absl::SkipEmpty())) {
    parts.push_back(UrlDecode(part, false));
  }
  SimRequest& request = route.request;
  if (!ReadPath(std::move(parts), &request)) return route;
  route.kind = Route::Kind::kResource;
  ReadQuery(route, &request);
  request.body = input.body;
  request.metadata_only = WantsMetadataOnly(input);
  bool collection = request.name.empty();
  if (input.method == "GET") {
    request.verb = collection ? SimRequest::Verb::kList : SimRequest::Verb::kGet;
    if (collection && IsTrue(QueryAt(route, "watch"))) route.kind = Route::Kind::kWatch;
    return route;
  }
  std::string content_type = HeaderOf(input, "content-type");
  if (!input.body.empty() && absl::StrContains(content_type, "protobuf")) {
    return Refuse(std::move(route), UnknownMediaType());
  }
  // An apply must name its manager itself.
  std::string manager = request.field_manager.empty() ? ManagerOf(input) : request.field_manager;
  if (input.method == "POST") {
    request.verb = SimRequest::Verb::kCreate;
  } else if (input.method == "PUT") {
    request.verb = SimRequest::Verb::kUpdate;
  } else if (input.method == "DELETE") {
    request.verb = collection ? SimRequest::Verb::kDeleteCollection : SimRequest::Verb::kDelete;
  } else if (input.method == "PATCH") {
    request.verb = SimRequest::Verb::kPatch;
    if (!ReadPatchType(content_type, &request)) {
      return Refuse(std::move(route), UnknownMediaType());
    }
    if (request.patch == SimRequest::Patch::kApply) manager = request.field_manager;
  } else {
    return Refuse(std::move(route),
                  MakeStatus(405, "MethodNotAllowed",
                             "the server does not allow this method on the requested resource"));
  }
  request.field_manager = std::move(manager);
  return route;
}

}  // namespace nave::kubesim
