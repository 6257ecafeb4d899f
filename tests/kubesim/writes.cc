// Create, update, patch and apply up to the point where the new object is known.
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/value/codec.h"
#include "tests/kubesim/kubesim.h"
#include "tests/kubesim/patches.h"
#include "tests/kubesim/typed.h"

namespace nave::kubesim {
namespace {

constexpr size_t kBodyLimit = 3145728;

struct ParsedBody {
  Value value;
  SimResponse error;
  std::vector<std::string> warnings;
};

// JSON, or YAML for apply. Duplicate keys are an error in Strict and a warning otherwise.
ParsedBody ParseBody(const SimRequest& request) {
  ParsedBody out;
  if (request.object.has_value()) {
    out.value = *request.object;
    return out;
  }
  if (request.body.size() > kBodyLimit) {
    out.error = MakeStatus(413, "RequestEntityTooLarge",
                           absl::StrCat("Request entity too large: limit is ", kBodyLimit));
    return out;
  }
  absl::string_view text = absl::StripAsciiWhitespace(request.body);
  bool apply =
      request.verb == SimRequest::Verb::kPatch && request.patch == SimRequest::Patch::kApply;
  if (apply && !absl::StartsWith(text, "{")) {
    absl::StatusOr<std::vector<YamlDocument>> documents = ParseYamlStream(request.body, nullptr);
    if (!documents.ok() || documents->size() != 1) {
      out.error = BadRequest(absl::StrCat(
          "error decoding YAML: ",
          documents.ok() ? "want one document" : std::string(documents.status().message())));
    } else {
      out.value = std::move((*documents)[0].value);
    }
    return out;
  }
  absl::StatusOr<Value> strict = ParseJson(request.body);
  if (strict.ok()) {
    out.value = *std::move(strict);
    return out;
  }
  absl::StatusOr<Value> lenient = ParseJsonLenient(request.body);
  if (!lenient.ok()) {
    out.error = BadRequest(absl::StrCat("error decoding request: ", lenient.status().message()));
  } else if (request.field_validation == "Strict") {
    out.error =
        BadRequest(absl::StrCat(apply ? "error strict decoding YAML: " : "strict decoding error: ",
                                strict.status().message()));
  } else {
    out.value = *std::move(lenient);
    out.warnings.emplace_back(strict.status().message());
  }
  return out;
}

// apiVersion, kind, name and namespace of a body against the URL; absent ones are filled in.
SimResponse MatchUrl(const KindInfo& kind, const SimRequest& request, Value* object) {
  if (!object->is_object()) return BadRequest("the body is no object");
  bool apply = request.verb == SimRequest::Verb::kPatch;
  std::string api_version = object->StringAt("apiVersion");
  std::string name = object->StringAt("kind");
  if (api_version.empty() && !apply) api_version = kind.ApiVersion();
  if (name.empty() && !apply) name = kind.kind;
  if (api_version != kind.ApiVersion()) {
    return BadRequest(
        apply
            ? absl::StrCat("Incorrect version specified in apply patch. Specified patch version: ",
                           api_version, ", expected: ", kind.ApiVersion())
            : absl::StrCat("the API version in the data (", api_version,
                           ") does not match the expected API version (", kind.ApiVersion(), ")"));
  }
  if (name != kind.kind) {
    return BadRequest(absl::StrCat("invalid object type: ", api_version, ", Kind=", name));
  }
  (*object)["apiVersion"] = Value(api_version);
  (*object)["kind"] = Value(name);
  Value& metadata = (*object)["metadata"];
  if (metadata.is_null()) metadata = Value(Object());
  if (!metadata.is_object()) return BadRequest("metadata: cannot unmarshal into an object");
  std::string object_name = metadata.StringAt("name");
  if (!request.name.empty() && !object_name.empty() && object_name != request.name) {
    return BadRequest(absl::StrCat("the name of the object (", object_name,
                                   ") does not match the name on the URL (", request.name, ")"));
  }
  std::string ns = metadata.StringAt("namespace");
  if (kind.namespaced && !ns.empty() && ns != request.ns) {
    return BadRequest(
        absl::StrCat("the namespace of the provided object does not match the namespace "
                     "sent on the request"));
  }
  if (!request.name.empty()) metadata["name"] = Value(request.name);
  if (kind.namespaced) {
    metadata["namespace"] = Value(request.ns);
  } else {
    metadata.mutable_object()->erase("namespace");
  }
  return {};
}

// The data of a Secret that is no base64; "" when all is.
std::string BadSecretData(const KindInfo& kind, const Value& object) {
  const Value* data = object.Find("data");
  if (kind.Resource() != "secrets" || data == nullptr || data->object() == nullptr) return "";
  for (const auto& [key, value] : *data->object()) {
    std::string bytes;
    if (!absl::Base64Unescape(value.StringOr(""), &bytes)) return key;
  }
  return "";
}

// What decoding into the kind's type does to a body that is no apply: unknown fields go, wrong
// types are refused.
SimResponse Decode(const KindInfo& kind, const SimRequest& request, Value* object,
                   std::vector<std::string>* warnings) {
  StripNulls(object);
  std::vector<std::string> unknown;
  DropUnknown(object, *kind.schema, &unknown);
  if (!unknown.empty() && request.field_validation == "Strict") {
    std::string text = absl::StrJoin(unknown, ", ", [](std::string* out, const std::string& path) {
      absl::StrAppend(out, "unknown field \"", path, "\"");
    });
    return BadRequest(absl::StrCat(kind.kind, " in version \"", kind.version,
                                   "\" cannot be handled as a ", kind.kind,
                                   ": strict decoding error: ", text));
  }
  if (request.field_validation != "Ignore") {
    for (const std::string& path : unknown) {
      warnings->push_back(absl::StrCat("unknown field \"", path, "\""));
    }
  }
  std::string bad_key = BadSecretData(kind, *object);
  if (!bad_key.empty()) {
    return BadRequest(absl::StrCat("Secret in version \"v1\" cannot be handled as a Secret: data.",
                                   bad_key, ": illegal base64 data"));
  }
  for (const std::string& error : CheckTyped(*object, *kind.schema)) {
    // Plain writes take duplicate list keys as they are.
    if (absl::StrContains(error, "duplicate entries") || absl::StrContains(error, "omits key")) {
      continue;
    }
    if (kind.custom()) {
      std::string field = error.substr(1, error.find(':') - 1);
      return Invalid(kind, request.name, {{"FieldValueTypeInvalid", error, field}});
    }
    return BadRequest(absl::StrCat(kind.kind, " in version \"", kind.version,
                                   "\" cannot be handled as a ", kind.kind, ": ", error));
  }
  return {};
}

std::string DescribeTarget(const KindInfo& kind, const std::string& ns, const std::string& name) {
  return absl::StrCat("(", ns, "/", name, "; ", kind.group, "/", kind.version, ", Kind=", kind.kind,
                      ")");
}

}  // namespace

SimResponse KubeSim::CheckCreation(const KindInfo& kind, const std::string& ns,
                                   const std::string& name) const {
  if (kind.custom()) {
    ObjectPtr crd = store_->Find("customresourcedefinitions.apiextensions.k8s.io", {"", kind.crd});
    if (crd != nullptr && crd->Find("metadata", "deletionTimestamp") != nullptr) {
      return Forbidden(kind, name,
                       "create not allowed while custom resource definition is terminating");
    }
  }
  if (!kind.namespaced) return {};
  ObjectPtr home = store_->Find("namespaces", {"", ns});
  if (home == nullptr) return NotFound(*FindKind("", "v1", "namespaces"), ns);
  if (home->Find("metadata", "deletionTimestamp") == nullptr) return {};
  return Forbidden(kind, name,
                   absl::StrCat("unable to create new content in namespace ", ns,
                                " because it is being terminated"),
                   {{"NamespaceTerminating", absl::StrCat("namespace ", ns, " is being terminated"),
                     "metadata.namespace"}});
}

SimResponse KubeSim::Create(const KindInfo& kind, const SimRequest& request, absl::Time now) {
  ParsedBody body = ParseBody(request);
  if (!body.error.ok()) return body.error;
  Value object = std::move(body.value);
  SimResponse error = MatchUrl(kind, request, &object);
  if (!error.ok()) return error;
  std::string name = object.StringAt("metadata", "name");
  std::string prefix = object.StringAt("metadata", "generateName");
  if (name.empty() && !prefix.empty()) {
    name = absl::StrCat(prefix, NewUid().substr(0, 5));
    object["metadata"]["name"] = Value(name);
  }
  error = Decode(kind, request, &object, &body.warnings);
  if (!error.ok()) return error;
  if (name.empty()) {
    return Invalid(kind, "",
                   {{"FieldValueRequired", "Required value: name or generateName is required",
                     "metadata.name"}});
  }
  if (!object.StringAt("metadata", "resourceVersion").empty()) {
    return Structural("resourceVersion should not be set on objects to be created");
  }
  error = CheckCreation(kind, request.ns, name);
  if (!error.ok()) return error;
  ObjectName key{request.ns, name};
  if (store_->Find(kind.Resource(), key) != nullptr) return AlreadyExists(kind, name);
  return StoreCreated({kind, request, now, key, nullptr}, std::move(object), true,
                      std::move(body.warnings));
}

SimResponse KubeSim::Update(const KindInfo& kind, const SimRequest& request, absl::Time now) {
  ParsedBody body = ParseBody(request);
  if (!body.error.ok()) return body.error;
  SimResponse error = MatchUrl(kind, request, &body.value);
  if (!error.ok()) return error;
  ObjectName key{request.ns, request.name};
  ObjectPtr live = store_->Find(kind.Resource(), key);
  if (live == nullptr) return NotFound(kind, request.name);
  std::string uid = body.value.StringAt("metadata", "uid");
  if (!uid.empty() && uid != live->StringAt("metadata", "uid")) {
    return Conflict(kind, request.name,
                    absl::StrCat("Precondition failed: UID in precondition: ", uid,
                                 ", UID in object meta: ", live->StringAt("metadata", "uid")));
  }
  if (kind.custom() && body.value.StringAt("metadata", "resourceVersion").empty()) {
    return Invalid(kind, request.name,
                   {{"FieldValueInvalid", "Invalid value: 0: must be specified for an update",
                     "metadata.resourceVersion"}});
  }
  return UpdateTo({kind, request, now, key, live}, std::move(body.value), std::move(body.warnings));
}

SimResponse KubeSim::UpdateTo(const Write& write, Value object, std::vector<std::string> warnings) {
  const KindInfo& kind = write.kind;
  SimResponse error = Decode(kind, write.request, &object, &warnings);
  if (!error.ok()) return error;
  std::string version = object.StringAt("metadata", "resourceVersion");
  if (!version.empty() && version != "0" &&
      version != write.live->StringAt("metadata", "resourceVersion")) {
    return Modified(kind, write.name.second);
  }
  const Value& live = *write.live;
  auto take_live = [&](Value* target, absl::string_view member) {
    if (const Value* kept = live.Find(member)) {
      (*target)[member] = *kept;
    } else if (Object* members = target->mutable_object()) {
      auto it = members->find(member);
      if (it != members->end()) members->erase(it);
    }
  };
  if (write.request.subresource == "status") {
    // Only the status counts, and who wrote it.
    Value out = live;
    Value status = object.Find("status") == nullptr ? Value() : *object.Find("status");
    if (status.is_null()) {
      out.mutable_object()->erase("status");
    } else {
      out["status"] = std::move(status);
    }
    object = std::move(out);
  } else if (write.request.subresource == "finalize") {
    Value out = live;
    if (const Value* spec = object.Find("spec")) out["spec"] = *spec;
    object = std::move(out);
  } else if (kind.status) {
    take_live(&object, "status");
  }
  return StoreUpdated(write, std::move(object), true, std::move(warnings));
}

SimResponse KubeSim::PatchObject(const KindInfo& kind, const SimRequest& request, absl::Time now) {
  if (request.patch == SimRequest::Patch::kApply) return ApplyObject(kind, request, now);
  if (request.force) {
    return MakeStatus(422, "Invalid",
                      "PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be "
                      "specified for non-apply patch");
  }
  if (request.patch == SimRequest::Patch::kStrategic && kind.custom()) {
    return MakeStatus(415, "UnsupportedMediaType",
                      "the body of the request was in an unknown format - accepted media types "
                      "include: application/json-patch+json, application/merge-patch+json, "
                      "application/apply-patch+yaml");
  }
  ObjectName key{request.ns, request.name};
  ObjectPtr live = store_->Find(kind.Resource(), key);
  if (live == nullptr) return NotFound(kind, request.name);
  ParsedBody body = ParseBody(request);
  if (!body.error.ok()) return body.error;
  Value object = Presented(kind, *live, false);
  if (request.patch == SimRequest::Patch::kJson) {
    std::string problem;
    switch (JsonPatch(&object, body.value, &problem)) {
      case JsonPatchResult::kOk:
        break;
      case JsonPatchResult::kMalformed:
        return BadRequest(problem);
      case JsonPatchResult::kFailed:
        return MakeStatus(422, "Invalid",
                          "the server rejected our request due to an error in our request");
    }
  } else if (request.patch == SimRequest::Patch::kMerge) {
    object = MergePatch(std::move(object), body.value);
  } else {
    object = StrategicMergePatch(std::move(object), body.value, *kind.schema);
  }
  SimRequest as_update = request;
  as_update.verb = SimRequest::Verb::kUpdate;
  SimResponse error = MatchUrl(kind, as_update, &object);
  if (!error.ok()) return error;
  return UpdateTo({kind, request, now, key, live}, std::move(object), std::move(body.warnings));
}

SimResponse KubeSim::ApplyObject(const KindInfo& kind, const SimRequest& request, absl::Time now) {
  if (request.field_manager.empty()) {
    return MakeStatus(422, "Invalid",
                      "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is "
                      "required for apply patch");
  }
  ParsedBody body = ParseBody(request);
  if (!body.error.ok()) return body.error;
  Value config = std::move(body.value);
  std::string own_ns = config.StringAt("metadata", "namespace");
  if (config.is_object() && config.StringAt("metadata", "name").empty()) {
    return BadRequest(absl::StrCat("the name of the object (", request.name,
                                   " based on URL) was undeterminable: name must be provided"));
  }
  SimResponse error = MatchUrl(kind, request, &config);
  if (!error.ok()) return error;
  const Value* managed = config.Find("metadata", "managedFields");
  if (managed != nullptr && !managed->is_null()) {
    return BadRequest("metadata.managedFields must be nil");
  }
  ObjectName key{request.ns, request.name};
  ObjectPtr live = store_->Find(kind.Resource(), key);
  std::string version = config.StringAt("metadata", "resourceVersion");
  if (live == nullptr) {
    if (!request.subresource.empty()) return NotFound(kind, request.name);
    std::string uid = config.StringAt("metadata", "uid");
    if (!uid.empty()) {
      return Conflict(kind, request.name,
                      absl::StrCat("uid mismatch: the provided object specified uid ", uid,
                                   ", and no existing object was found"));
    }
    error = CheckCreation(kind, request.ns, request.name);
    if (!error.ok()) return error;
  } else if (!version.empty() && version != "0" &&
             version != live->StringAt("metadata", "resourceVersion")) {
    return Modified(kind, request.name);
  }
  std::vector<std::string> problems = CheckTyped(config, *kind.schema);
  if (!problems.empty()) {
    return Structural(absl::StrCat(
        "failed to create typed patch object ", DescribeTarget(kind, own_ns, request.name), ": ",
        problems.size() > 1 ? "errors:\n  " : "", absl::StrJoin(problems, "\n  ")));
  }
  std::string bad_key = BadSecretData(kind, config);
  if (!bad_key.empty()) {
    return Structural(
        absl::StrCat("failed to convert new object: data.", bad_key, ": illegal base64 data"));
  }
  FieldWriter writer;
  writer.manager = request.field_manager;
  writer.api_version = kind.ApiVersion();
  writer.subresource = request.subresource;
  writer.force = request.force;
  writer.now = now;
  if (request.subresource == "status") {
    for (const char* member : {"f:spec", "f:metadata"}) writer.reset.Insert({member});
  } else if (kind.status) {
    writer.reset.Insert({"f:status"});
  }
  Value base = live != nullptr ? Presented(kind, *live, false)
                               : Value(Object{{"apiVersion", Value(kind.ApiVersion())},
                                              {"kind", Value(kind.kind)},
                                              {"metadata", *config.Find("metadata")}});
  if (live == nullptr) {
    Object names{{"name", Value(request.name)}};
    if (kind.namespaced) names.emplace("namespace", Value(request.ns));
    base["metadata"] = Value(std::move(names));
  }
  ApplyOutcome outcome = ApplyFields(base, live != nullptr, config, *kind.schema, writer);
  if (!outcome.conflicts.empty()) return ApplyConflict(outcome.conflicts);
  Write write{kind, request, now, key, live};
  if (live == nullptr) {
    return StoreCreated(write, std::move(outcome.object), false, std::move(body.warnings));
  }
  return StoreUpdated(write, std::move(outcome.object), false, std::move(body.warnings));
}

}  // namespace nave::kubesim
