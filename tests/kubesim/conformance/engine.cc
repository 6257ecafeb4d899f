#include "tests/kubesim/conformance/engine.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/value/codec.h"
#include "tests/kubesim/kinds.h"

namespace nave::kubesim {
namespace {

bool IsTrue(const Value& value, absl::string_view key) {
  const Value* found = value.Find(key);
  return found != nullptr && found->BoolOr(false);
}

// "deployments.apps/v1", "secrets/v1".
ResourceType TypeOf(const std::string& resource) {
  ResourceType type;
  std::pair<std::string, std::string> halves = absl::StrSplit(resource, absl::MaxSplits('/', 1));
  type.version = halves.second;
  std::pair<std::string, std::string> names = absl::StrSplit(halves.first, absl::MaxSplits('.', 1));
  type.plural = names.first;
  type.group = names.second;
  type.namespaced = true;
  for (const KindInfo& kind : BuiltinKinds()) {
    if (kind.plural != type.plural || kind.group != type.group) continue;
    type.namespaced = kind.namespaced;
    type.kind = kind.kind;
  }
  if (type.kind.empty()) type.kind = "Thing";
  return type;
}

std::string BodyOf(const Value& request) {
  const Value* body = request.Find("body");
  if (body == nullptr) return "";
  return body->is_string() ? *body->string() : FormatJson(*body);
}

// Whether `object` has all that `wanted` has; arrays are compared whole.
bool Has(const Value& object, const Value& wanted) {
  if (wanted.object() == nullptr) return object == wanted;
  for (const auto& [key, value] : *wanted.object()) {
    const Value* found = object.Find(key);
    if (found == nullptr || !Has(*found, value)) return false;
  }
  return true;
}

void Remove(absl::string_view path, Value* object) {
  std::vector<std::string> parts = absl::StrSplit(path, '.');
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    if (object->Find(parts[i]) == nullptr) return;
    object = &(*object)[parts[i]];
  }
  if (Object* members = object->mutable_object()) members->erase(parts.back());
}

DeletePropagation PropagationOf(const std::string& name) {
  if (name == "Foreground") return DeletePropagation::kForeground;
  return name == "Orphan" ? DeletePropagation::kOrphan : DeletePropagation::kBackground;
}

const char* EventName(KubeEvent::Type type) {
  switch (type) {
    case KubeEvent::Type::kAdded:
      return "ADDED";
    case KubeEvent::Type::kModified:
      return "MODIFIED";
    case KubeEvent::Type::kDeleted:
      return "DELETED";
    case KubeEvent::Type::kBookmark:
      break;
  }
  return "BOOKMARK";
}

}  // namespace

Engine::Engine(ConformanceStand* stand, std::string own)
    : stand_(stand), own_(std::move(own)), normalizer_(own_) {}

Engine::~Engine() {
  stand_->Run([this] { watches_.clear(); }, [] { return true; });
}

Value Engine::Run(const Value& steps) {
  Array seen;
  for (const Value& step : *steps.array()) {
    seen.push_back(Step(Substitute(step)));
    const std::string* text = seen.back().string();
    if (text != nullptr && absl::StartsWith(*text, "!")) break;
  }
  return Value(std::move(seen));
}

std::string Engine::SubstituteText(std::string text) const {
  text = absl::StrReplaceAll(text, {{"OWN", own_}});
  while (true) {
    size_t begin = text.find("${");
    size_t end = begin == std::string::npos ? begin : text.find('}', begin);
    if (end == std::string::npos) return text;
    std::vector<std::string> path = absl::StrSplit(text.substr(begin + 2, end - begin - 2), '.');
    auto saved = saved_.find(path[0]);
    const Value* value = saved == saved_.end() ? nullptr : &saved->second;
    for (size_t i = 1; i < path.size() && value != nullptr; ++i) value = value->Find(path[i]);
    text.replace(begin, end - begin + 1, value == nullptr ? "?" : value->StringOr("?"));
  }
}

Value Engine::Substitute(const Value& value) const {
  if (const std::string* text = value.string()) return Value(SubstituteText(*text));
  if (const Array* items = value.array()) {
    Array out;
    for (const Value& item : *items) out.push_back(Substitute(item));
    return Value(std::move(out));
  }
  if (const Object* members = value.object()) {
    Object out;
    for (const auto& [key, member] : *members) {
      out.emplace(SubstituteText(key), Substitute(member));
    }
    return Value(std::move(out));
  }
  return value;
}

Value Engine::Step(const Value& step) {
  for (const char* verb : {"apply", "create", "replace", "patch", "delete", "get"}) {
    if (const Value* request = step.Find(verb)) return Call(step, verb, *request);
  }
  if (const Value* request = step.Find("until")) return Until(step, *request);
  if (const Value* request = step.Find("list")) return List(step, *request);
  if (const Value* request = step.Find("watch")) return Watch(*request);
  if (const Value* request = step.Find("events")) return Events(step, *request);
  if (const Value* request = step.Find("end")) return End(step, *request);
  if (const Value* seconds = step.Find("wait")) {
    stand_->Wait(absl::Seconds(seconds->IntOr(0)));
    return Value();
  }
  return Value(absl::StrCat("! no such step: ", FormatJson(step)));
}

std::string Engine::NamespaceOf(const Value& request) const {
  const Value* ns = request.Find("namespace");
  if (ns != nullptr) return ns->StringOr("");
  return TypeOf(request.StringAt("resource")).namespaced ? own_ : "";
}

template <typename T>
bool Engine::Await(std::function<void(KubeClient::Callback<T>)> start, T* out) {
  auto got = std::make_shared<std::optional<T>>();
  bool in_time = stand_->Run([&] { start([got](T value) { *got = std::move(value); }); },
                             [got] { return got->has_value(); });
  if (in_time) *out = std::move(**got);
  return in_time;
}

bool Engine::Send(const std::string& verb, const Value& request, KubeResult* out) {
  KubeClient& client = stand_->client();
  ResourceType type = TypeOf(request.StringAt("resource"));
  std::string ns = NamespaceOf(request);
  std::string name = request.StringAt("name");
  return Await<KubeResult>(
      [&](KubeClient::Callback<KubeResult> done) {
        if (verb == "apply") {
          std::string manager = request.StringAt("manager");
          client.Apply({type, ns, name, BodyOf(request), manager.empty() ? "m" : manager,
                        IsTrue(request, "force"), IsTrue(request, "dryRun")},
                       std::move(done));
        } else if (verb == "create") {
          client.Create(type, ns, BodyOf(request), std::move(done));
        } else if (verb == "replace") {
          client.Replace(type, ns, name, BodyOf(request), std::move(done));
        } else if (verb == "patch") {
          PatchType kind = IsTrue(request, "json") ? PatchType::kJson : PatchType::kMerge;
          std::string manager = request.StringAt("manager");
          client.Patch({type, ns, name, kind, BodyOf(request), manager.empty() ? "p" : manager,
                        IsTrue(request, "dryRun")},
                       std::move(done));
        } else if (verb == "delete") {
          client.Delete(
              {type, ns, name, request.StringAt("uid"), request.StringAt("resourceVersion"),
               PropagationOf(request.StringAt("propagation")), IsTrue(request, "dryRun")},
              std::move(done));
        } else {
          client.Get(type, ns, name, std::move(done));
        }
      },
      out);
}

Value Engine::Seen(const Value& step, const Value& object) {
  Value out = normalizer_.Object(object);
  if (const Value* hidden = step.Find("hide")) {
    for (const Value& path : *hidden->array()) Remove(path.StringOr(""), &out);
  }
  return out;
}

Value Engine::Call(const Value& step, const std::string& verb, const Value& request) {
  KubeResult result;
  if (!Send(verb, request, &result)) return Value("! no answer");
  std::string name = step.StringAt("save");
  if (!name.empty()) saved_[name] = result.object;
  Value out;
  if (!result.error.ok()) {
    out["error"] = normalizer_.Error(result.error, IsTrue(step, "message"));
    return out;
  }
  out["created"] = Value(result.created);
  out["object"] = Seen(step, result.object);
  for (const std::string& warning : result.warnings) {
    if (!out["warnings"].is_array()) out["warnings"] = Value(Array());
    out["warnings"].mutable_array()->push_back(Value(warning));
  }
  return out;
}

Value Engine::Until(const Value& step, const Value& request) {
  const Value* has = request.Find("has");
  KubeResult result;
  // Each round waits for its answer; rounds are limited by patience only.
  for (int round = 0; round < 600; ++round) {
    if (!Send("get", request, &result)) return Value("! no answer");
    bool there = result.error.ok();
    bool reached = IsTrue(request, "gone") ? result.error.error_class == KubeErrorClass::kNotFound
                                           : there && (has == nullptr || Has(result.object, *has));
    if (reached) {
      std::string name = step.StringAt("save");
      if (!name.empty()) saved_[name] = result.object;
      return IsTrue(request, "observe") ? Seen(step, result.object) : Value("reached");
    }
    stand_->Wait(absl::Milliseconds(100));
  }
  return Value(absl::StrCat("! never reached; last: ", FormatJson(result.object)));
}

Value Engine::List(const Value& step, const Value& request) {
  ListRequest out;
  out.type = TypeOf(request.StringAt("resource"));
  out.ns = NamespaceOf(request);
  out.label_selector = request.StringAt("selector");
  if (const Value* limit = request.Find("limit")) {
    out.limit = static_cast<size_t>(limit->IntOr(500));
  }
  out.continue_token = request.StringAt("continue");
  out.resource_version = request.StringAt("resourceVersion");
  out.metadata_only = IsTrue(request, "metadataOnly");
  ListPage page;
  bool in_time = Await<ListPage>(
      [&](KubeClient::Callback<ListPage> done) { stand_->client().List(out, std::move(done)); },
      &page);
  if (!in_time) return Value("! no answer");
  Value seen;
  if (!page.error.ok()) {
    seen["error"] = normalizer_.Error(page.error, IsTrue(step, "message"));
    return seen;
  }
  std::string name = step.StringAt("save");
  if (!name.empty()) {
    saved_[name]["metadata"]["resourceVersion"] = Value(page.resource_version);
    saved_[name]["metadata"]["continue"] = Value(page.continue_token);
  }
  Array items;
  for (const Value& item : page.items) {
    items.push_back(IsTrue(request, "names")
                        ? normalizer_.Object(Value(item.StringAt("metadata", "name")))
                        : Seen(step, item));
  }
  seen["items"] = Value(std::move(items));
  seen["more"] = Value(!page.continue_token.empty());
  return seen;
}

Value Engine::Watch(const Value& request) {
  WatchRequest out;
  out.type = TypeOf(request.StringAt("resource"));
  out.ns = NamespaceOf(request);
  out.label_selector = request.StringAt("selector");
  out.resource_version = request.StringAt("resourceVersion");
  out.metadata_only = IsTrue(request, "metadataOnly");
  auto watch = std::make_shared<OpenWatch>();
  watches_[request.StringAt("as")] = watch;
  stand_->Run(
      [&] {
        OpenWatch* raw = watch.get();
        watch->handle = stand_->client().Watch(
            out, [raw](KubeEvent event) { raw->events.push_back(std::move(event)); },
            [raw](KubeError error) {
              raw->ended = true;
              raw->end = std::move(error);
            });
      },
      [] { return true; });
  return Value();
}

Value Engine::Events(const Value& step, const Value& request) {
  OpenWatch* watch = watches_[request.StringAt("of")].get();
  if (watch == nullptr) return Value("! no such watch");
  const Value* wanted = request.Find("count");
  int64_t count = wanted == nullptr ? 1 : wanted->IntOr(1);
  Array seen;
  auto take = [&] {
    while (watch->taken < watch->events.size() && static_cast<int64_t>(seen.size()) < count) {
      const KubeEvent& event = watch->events[watch->taken++];
      // When bookmarks come is the server's affair.
      if (event.type == KubeEvent::Type::kBookmark) continue;
      seen.push_back(Value(
          Object{{"type", Value(EventName(event.type))}, {"object", Seen(step, event.object)}}));
    }
    return static_cast<int64_t>(seen.size()) == count || watch->ended;
  };
  if (!stand_->Run([] {}, take)) {
    return Value(absl::StrCat("! only ", seen.size(), " events came"));
  }
  return Value(std::move(seen));
}

Value Engine::End(const Value& step, const Value& request) {
  OpenWatch* watch = watches_[request.StringAt("of")].get();
  if (watch == nullptr) return Value("! no such watch");
  if (!stand_->Run([] {}, [watch] { return watch->ended; })) return Value("! it does not end");
  return normalizer_.Error(watch->end, IsTrue(step, "message"));
}

}  // namespace nave::kubesim
