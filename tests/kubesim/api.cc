#include "tests/kubesim/api.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace nave::kubesim {
namespace {

Object Details(const KindInfo& kind, absl::string_view name) {
  Object details{{"kind", Value(kind.plural)}};
  if (!name.empty()) details.emplace("name", Value(name));
  if (!kind.group.empty()) details.emplace("group", Value(kind.group));
  return details;
}

Value Causes(const std::vector<StatusCause>& causes) {
  Array out;
  for (const StatusCause& cause : causes) {
    Object item{{"reason", Value(cause.reason)}, {"message", Value(cause.message)}};
    if (!cause.field.empty()) item.emplace("field", Value(cause.field));
    out.push_back(Value(std::move(item)));
  }
  return Value(std::move(out));
}

}  // namespace

const char* VerbName(SimRequest::Verb verb) {
  switch (verb) {
    case SimRequest::Verb::kGet:
      return "get";
    case SimRequest::Verb::kList:
      return "list";
    case SimRequest::Verb::kCreate:
      return "create";
    case SimRequest::Verb::kUpdate:
      return "update";
    case SimRequest::Verb::kPatch:
      return "patch";
    case SimRequest::Verb::kDelete:
      return "delete";
    case SimRequest::Verb::kDeleteCollection:
      return "deletecollection";
  }
  return "";
}

SimResponse MakeStatus(int code, absl::string_view reason, absl::string_view message,
                       Object details) {
  SimResponse out;
  out.code = code;
  Object status{{"apiVersion", Value("v1")},   {"kind", Value("Status")},
                {"metadata", Value(Object())}, {"status", Value("Failure")},
                {"message", Value(message)},   {"code", Value(code)}};
  if (!reason.empty()) status.emplace("reason", Value(reason));
  if (!details.empty()) status.emplace("details", Value(std::move(details)));
  out.body = Value(std::move(status));
  return out;
}

SimResponse NotFound(const KindInfo& kind, absl::string_view name) {
  return MakeStatus(404, "NotFound", absl::StrCat(kind.Resource(), " \"", name, "\" not found"),
                    Details(kind, name));
}

SimResponse UnknownPath() {
  SimResponse out;
  out.code = 404;
  out.text = "404 page not found\n";
  return out;
}

SimResponse AlreadyExists(const KindInfo& kind, absl::string_view name) {
  return MakeStatus(409, "AlreadyExists",
                    absl::StrCat(kind.Resource(), " \"", name, "\" already exists"),
                    Details(kind, name));
}

SimResponse Conflict(const KindInfo& kind, absl::string_view name, absl::string_view why) {
  return MakeStatus(
      409, "Conflict",
      absl::StrCat("Operation cannot be fulfilled on ", kind.Resource(), " \"", name, "\": ", why),
      Details(kind, name));
}

SimResponse Modified(const KindInfo& kind, absl::string_view name) {
  return Conflict(kind, name,
                  "the object has been modified; please apply your changes to the latest version "
                  "and try again");
}

SimResponse ApplyConflict(const std::vector<FieldConflict>& conflicts) {
  std::vector<StatusCause> causes;
  for (const FieldConflict& conflict : conflicts) {
    for (const FieldPath& path : conflict.owner.fields.Paths()) {
      causes.push_back({"FieldManagerConflict",
                        absl::StrCat("conflict with ", FormatOwner(conflict.owner)),
                        FormatPath(path)});
    }
  }
  return MakeStatus(409, "Conflict", FormatConflicts(conflicts), {{"causes", Causes(causes)}});
}

SimResponse BadRequest(absl::string_view message) { return MakeStatus(400, "BadRequest", message); }

SimResponse Forbidden(const KindInfo& kind, absl::string_view name, absl::string_view why,
                      std::vector<StatusCause> causes) {
  Object details = Details(kind, name);
  if (!causes.empty()) details.emplace("causes", Causes(causes));
  return MakeStatus(403, "Forbidden",
                    absl::StrCat(kind.Resource(), " \"", name, "\" is forbidden: ", why),
                    std::move(details));
}

SimResponse Invalid(const KindInfo& kind, absl::string_view name, std::vector<StatusCause> causes) {
  Object details{{"name", Value(name)}, {"kind", Value(kind.kind)}};
  if (!kind.group.empty()) details.emplace("group", Value(kind.group));
  details.emplace("causes", Causes(causes));
  std::string text = absl::StrJoin(causes, ", ", [](std::string* out, const StatusCause& cause) {
    absl::StrAppend(out, cause.field, ": ", cause.message);
  });
  if (causes.size() > 1) text = absl::StrCat("[", text, "]");
  std::string type = kind.group.empty() ? kind.kind : absl::StrCat(kind.kind, ".", kind.group);
  return MakeStatus(422, "Invalid", absl::StrCat(type, " \"", name, "\" is invalid: ", text),
                    std::move(details));
}

SimResponse Structural(absl::string_view message) { return MakeStatus(500, "", message); }

SimResponse Expired(absl::string_view message, absl::string_view continue_token) {
  SimResponse out = MakeStatus(410, "Expired", message);
  if (!continue_token.empty()) out.body["metadata"]["continue"] = Value(continue_token);
  return out;
}

SimResponse MethodNotAllowed(const KindInfo& kind, absl::string_view verb) {
  return MakeStatus(
      405, "MethodNotAllowed",
      absl::StrCat(verb, " is not supported on resources of kind \"", kind.Resource(), "\""),
      Details(kind, ""));
}

SimResponse Deleted(const KindInfo& kind, const Value& object) {
  SimResponse out;
  Object details = Details(kind, object.StringAt("metadata", "name"));
  details.emplace("uid", Value(object.StringAt("metadata", "uid")));
  out.body = Value(Object{{"apiVersion", Value("v1")},
                          {"kind", Value("Status")},
                          {"metadata", Value(Object())},
                          {"status", Value("Success")},
                          {"details", Value(std::move(details))}});
  return out;
}

}  // namespace nave::kubesim
