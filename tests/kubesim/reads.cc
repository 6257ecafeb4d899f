// Get, list and watch.
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/value/codec.h"
#include "tests/kubesim/kubesim.h"
#include "tests/kubesim/watch.h"

namespace nave::kubesim {
namespace {

struct Continue {
  int64_t revision = 0;
  ObjectName after;
};

std::string FormatContinue(const Continue& token) {
  return absl::WebSafeBase64Escape(FormatJson(Value(Object{{"v", Value("meta.k8s.io/v1")},
                                                           {"rv", Value(token.revision)},
                                                           {"ns", Value(token.after.first)},
                                                           {"name", Value(token.after.second)}})));
}

std::optional<Continue> ParseContinue(absl::string_view text) {
  std::string json;
  if (!absl::WebSafeBase64Unescape(text, &json)) return std::nullopt;
  absl::StatusOr<Value> value = ParseJson(json);
  if (!value.ok() || value->Find("rv") == nullptr) return std::nullopt;
  Continue out;
  out.revision = value->Find("rv")->IntOr(0);
  out.after = {value->StringAt("ns"), value->StringAt("name")};
  return out;
}

SimResponse TooLarge(int64_t wanted, int64_t current) {
  SimResponse out = MakeStatus(
      504, "Timeout",
      absl::StrCat("Timeout: Too large resource version: ", wanted, ", current: ", current));
  out.body["details"]["retryAfterSeconds"] = Value(1);
  out.body["details"]["causes"] =
      Value(Array{Value(Object{{"reason", Value("ResourceVersionTooLarge")},
                               {"message", Value("Too large resource version")}})});
  out.retry_after_s = 1;
  return out;
}

// The revision of a request; nullopt with `error` set when it is no number.
std::optional<int64_t> ParseRevision(const std::string& text, SimResponse* error) {
  int64_t revision = 0;
  if (text.empty() || absl::SimpleAtoi(text, &revision)) return revision;
  *error = BadRequest(absl::StrCat("invalid resource version \"", text, "\""));
  return std::nullopt;
}

}  // namespace

Value KubeSim::Presented(const KindInfo& kind, const Value& stored, bool metadata_only) const {
  if (metadata_only) {
    Value out(
        Object{{"apiVersion", Value("meta.k8s.io/v1")}, {"kind", Value("PartialObjectMetadata")}});
    if (const Value* metadata = stored.Find("metadata")) out["metadata"] = *metadata;
    return out;
  }
  if (!kind.custom()) return stored;
  Value out = stored;
  out["apiVersion"] = Value(kind.ApiVersion());
  return out;
}

SimResponse KubeSim::Get(const KindInfo& kind, const SimRequest& request) {
  ObjectPtr found = store_->Find(kind.Resource(), {request.ns, request.name});
  if (found == nullptr) return NotFound(kind, request.name);
  SimResponse out;
  out.body = Presented(kind, *found, request.metadata_only);
  return out;
}

SimResponse KubeSim::List(const KindInfo& kind, const SimRequest& request) {
  SimResponse error;
  std::string problem;
  std::optional<Selector> selector =
      Selector::Parse(request.label_selector, request.field_selector, &problem);
  if (!selector.has_value()) return BadRequest(problem);
  std::optional<int64_t> wanted = ParseRevision(request.resource_version, &error);
  if (!wanted.has_value()) return error;
  int64_t revision = store_->revision();
  if (*wanted > revision) return TooLarge(*wanted, revision);

  Continue from;
  std::optional<ObjectMap> pinned;
  if (!request.continue_token.empty()) {
    std::optional<Continue> token = ParseContinue(request.continue_token);
    if (!token.has_value()) return BadRequest("continue key is not valid");
    from = *token;
    revision = from.revision;
    pinned = store_->At(kind.Resource(), revision);
    if (!pinned.has_value()) {
      Continue fresh = from;
      fresh.revision = store_->revision();
      return Expired(
          "The provided continue parameter is too old to display a consistent list result. You "
          "can start a new list without the continue parameter, or use the continue token in this "
          "response to retrieve the remainder of the results.",
          FormatContinue(fresh));
    }
  } else if (*wanted > 0 && request.resource_version_match == "Exact") {
    revision = *wanted;
    pinned = store_->At(kind.Resource(), revision);
    if (!pinned.has_value()) {
      return Expired("The resourceVersion for the provided list is too old.");
    }
  }
  const ObjectMap& all = pinned.has_value() ? *pinned : store_->All(kind.Resource());
  // A list from the cache takes no notice of the limit.
  size_t limit = request.resource_version == "0" ? 0 : request.limit;
  Array items;
  std::string continue_token;
  ObjectName last;
  size_t remaining = 0;
  auto start = request.continue_token.empty() ? all.begin() : all.upper_bound(from.after);
  for (auto it = start; it != all.end(); ++it) {
    if (!request.ns.empty() && it->first.first != request.ns) continue;
    if (!selector->Matches(*it->second)) continue;
    if (limit > 0 && items.size() == limit) {
      if (remaining++ == 0) continue_token = FormatContinue({revision, last});
      continue;
    }
    items.push_back(Presented(kind, *it->second, request.metadata_only));
    last = it->first;
  }
  SimResponse out;
  Object metadata{{"resourceVersion", Value(absl::StrCat(revision))}};
  if (!continue_token.empty()) {
    metadata.emplace("continue", Value(continue_token));
    if (selector->MatchesAll()) {
      metadata.emplace("remainingItemCount", Value(static_cast<int64_t>(remaining)));
    }
  }
  out.body["apiVersion"] = Value(request.metadata_only ? "meta.k8s.io/v1" : kind.ApiVersion());
  out.body["kind"] =
      Value(request.metadata_only ? std::string("PartialObjectMetadataList") : kind.kind + "List");
  out.body["metadata"] = Value(std::move(metadata));
  // As a real server: an empty list of metadata is null.
  out.body["items"] = request.metadata_only && items.empty() ? Value() : Value(std::move(items));
  return out;
}

KubeSim::WatchId KubeSim::StartWatch(const SimRequest& request, absl::Time now, WatchSink sink,
                                     SimResponse* error) {
  if (deny) {
    std::optional<std::string> denied = deny(request);
    const KindInfo* kind = FindKind(request.group, request.version, request.plural);
    if (denied.has_value() && kind != nullptr) {
      *error = Forbidden(*kind, request.name, *denied);
      return 0;
    }
  }
  const KindInfo* kind = Resolve(request, error);
  if (kind == nullptr) return 0;
  std::string problem;
  std::optional<Selector> selector =
      Selector::Parse(request.label_selector, request.field_selector, &problem);
  if (!selector.has_value()) {
    *error = BadRequest(problem);
    return 0;
  }
  std::optional<int64_t> revision = ParseRevision(request.resource_version, error);
  if (!revision.has_value()) {
    // Unlike a list.
    *error = Structural(
        absl::StrCat("unknown: invalid resource version \"", request.resource_version, "\""));
    return 0;
  }
  if (*revision > store_->revision()) {
    *error = TooLarge(*revision, store_->revision());
    return 0;
  }
  WatchId id = next_watch_++;
  auto watch = std::make_unique<Watch>();
  watch->id = id;
  watch->kind = *kind;
  watch->ns = request.ns;
  watch->selector = *std::move(selector);
  watch->metadata_only = request.metadata_only;
  watch->bookmarks = request.bookmarks;
  watch->sink = std::move(sink);
  if (request.timeout_seconds > 0) {
    watch->deadline = now + absl::Seconds(request.timeout_seconds);
  }
  if (watch->bookmarks) {
    // Every minute, and shortly before the end.
    watch->next_bookmark =
        std::min(now + options_.bookmark_interval, watch->deadline - absl::Seconds(2));
    if (watch->next_bookmark <= now) watch->next_bookmark = now + options_.bookmark_interval;
  }
  if (*revision > 0 && *revision < store_->compacted() && !request.send_initial_events) {
    watch->sink({"ERROR", Expired(absl::StrCat("too old resource version: ", *revision, " (",
                                               store_->compacted() + 1, ")"))
                              .body});
    return id;
  }
  if (*revision == 0 || request.send_initial_events) {
    SendInitial(watch.get(), store_->All(kind->Resource()));
  } else {
    store_->VisitSince(*revision, [&](const StoreEvent& event) { SendChange(watch.get(), event); });
  }
  if (request.send_initial_events && watch->bookmarks) {
    watch->sink({"BOOKMARK", Bookmark(*watch, true)});
  }
  watches_.emplace(id, std::move(watch));
  if (on_work) on_work();
  return id;
}

Value KubeSim::Bookmark(const Watch& watch, bool initial_end) const {
  Value out;
  out["apiVersion"] = Value(watch.metadata_only ? "meta.k8s.io/v1" : watch.kind.ApiVersion());
  out["kind"] = Value(watch.metadata_only ? "PartialObjectMetadata" : watch.kind.kind);
  out["metadata"]["resourceVersion"] = Value(absl::StrCat(store_->revision()));
  if (initial_end) out["metadata"]["annotations"]["k8s.io/initial-events-end"] = Value("true");
  return out;
}

void KubeSim::StopWatch(WatchId id) { watches_.erase(id); }

void KubeSim::SendInitial(Watch* watch, const ObjectMap& objects) {
  for (const auto& [name, object] : objects) {
    if (!watch->ns.empty() && name.first != watch->ns) continue;
    if (!watch->selector.Matches(*object)) continue;
    watch->sink({"ADDED", Presented(watch->kind, *object, watch->metadata_only)});
  }
}

void KubeSim::SendChange(Watch* watch, const StoreEvent& event) {
  if (event.resource != watch->kind.Resource()) return;
  if (!watch->ns.empty() && event.name.first != watch->ns) return;
  bool before = event.before != nullptr && watch->selector.Matches(*event.before);
  bool after = event.after != nullptr && watch->selector.Matches(*event.after);
  if (!before && !after) return;
  const char* type = before && after ? "MODIFIED" : after ? "ADDED" : "DELETED";
  Value object = Presented(watch->kind,
                           after                   ? *event.after
                           : event.last != nullptr ? *event.last
                                                   : *event.before,
                           watch->metadata_only);
  object["metadata"]["resourceVersion"] = Value(absl::StrCat(event.revision));
  watch->sink({type, std::move(object)});
}

void KubeSim::Deliver(const StoreEvent& event) {
  for (const auto& [id, watch] : watches_) SendChange(watch.get(), event);
}

void KubeSim::StepWatches(absl::Time now) {
  for (auto it = watches_.begin(); it != watches_.end();) {
    Watch& watch = *it->second;
    if (watch.deadline <= now) {
      WatchSink sink = std::move(watch.sink);
      it = watches_.erase(it);
      sink({"", Value()});
      continue;
    }
    if (watch.next_bookmark <= now) {
      watch.sink({"BOOKMARK", Bookmark(watch, false)});
      watch.next_bookmark = now + options_.bookmark_interval;
    }
    ++it;
  }
}

}  // namespace nave::kubesim
