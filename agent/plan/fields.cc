#include "agent/plan/fields.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/value/codec.h"

namespace nave {
namespace {

bool IsZero(const Value& v) {
  if (v.is_null()) return true;
  if (v.is_bool()) return !v.BoolOr(true);
  if (v.is_number()) return v.DoubleOr(1) == 0;
  if (v.string() != nullptr) return v.string()->empty();
  if (v.array() != nullptr) return v.array()->empty();
  return v.object()->empty();
}

// Whether a list item is the one that the key object of a `k:` step names. A key that the item does
// not spell out may be the schema's default.
bool MatchesKeys(const Value& item, const Object& keys) {
  if (!item.is_object()) return false;
  return std::all_of(keys.begin(), keys.end(), [&](const auto& entry) {
    const Value* have = item.Find(entry.first);
    return have == nullptr || *have == entry.second;
  });
}

const Value* FindItem(const Value& list, const Object& keys) {
  if (list.array() == nullptr) return nullptr;
  for (const Value& item : *list.array()) {
    if (MatchesKeys(item, keys)) return &item;
  }
  return nullptr;
}

// The member of `node` that a step of fieldsV1 names; nullptr when it is not there.
const Value* Follow(const Value& node, absl::string_view step) {
  if (absl::StartsWith(step, "f:")) return node.Find(step.substr(2));
  if (absl::StartsWith(step, "i:")) {
    size_t index = 0;
    const bool valid = absl::SimpleAtoi(step.substr(2), &index);
    return valid && node.array() != nullptr && index < node.array()->size()
               ? &(*node.array())[index]
               : nullptr;
  }
  auto parsed = ParseJsonLenient(step.substr(std::min<size_t>(2, step.size())));
  if (!parsed.ok() || node.array() == nullptr) return nullptr;
  if (absl::StartsWith(step, "v:")) {
    auto it = std::find(node.array()->begin(), node.array()->end(), *parsed);
    return it == node.array()->end() ? nullptr : &*it;
  }
  return parsed->object() == nullptr ? nullptr : FindItem(node, *parsed->object());
}

// `sent` is what the body has at this place, null when it cannot be found there.
std::string FindDropped(const Value& fields, const Value& have, const Value* sent,
                        const std::string& at) {
  if (fields.object() == nullptr) return "";
  for (const auto& [step, below] : *fields.object()) {
    if (step == ".") continue;
    const std::string path = absl::StrCat(at, absl::StartsWith(step, "f:") ? "." : "[",
                                          step.substr(2), absl::StartsWith(step, "f:") ? "" : "]");
    if (path == ".stringData") continue;
    const Value* child_sent = sent == nullptr ? nullptr : Follow(*sent, step);
    const Value* child = Follow(have, step);
    if (child == nullptr) {
      // What was sent as nothing may be stored as nothing.
      if (child_sent == nullptr || IsZero(*child_sent)) continue;
      return path;
    }
    std::string dropped = FindDropped(below, *child, child_sent, path);
    if (!dropped.empty()) return dropped;
  }
  return "";
}

// The position after the ']' that closes the '[' at `text`[0]; npos when there is none.
size_t BracketEnd(absl::string_view text) {
  bool quoted = false;
  for (size_t i = 1; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && text[i] == ']') {
      return i + 1;
    }
  }
  return absl::string_view::npos;
}

// Splits `name="web",port=80` at commas outside quotes into keys; `="x"` is a set's value under the
// empty name.
std::optional<Object> ParseItemKeys(absl::string_view text) {
  Object keys;
  while (!text.empty()) {
    const size_t equals = text.find('=');
    if (equals == absl::string_view::npos) return std::nullopt;
    size_t end = equals + 1;
    bool quoted = false;
    for (; end < text.size() && (quoted || text[end] != ','); ++end) {
      if (quoted && text[end] == '\\') {
        ++end;
      } else if (text[end] == '"') {
        quoted = !quoted;
      }
    }
    end = std::min(end, text.size());
    auto value = ParseJsonLenient(text.substr(equals + 1, end - equals - 1));
    if (!value.ok()) return std::nullopt;
    keys[std::string(text.substr(0, equals))] = *std::move(value);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return keys;
}

bool FindBelow(const Value& node, absl::string_view rest, std::vector<PathStep>& steps);

bool FindInList(const Array& items, absl::string_view rest, std::vector<PathStep>& steps) {
  const size_t end = BracketEnd(rest);
  if (end == absl::string_view::npos) return false;
  const absl::string_view inside = rest.substr(1, end - 2);
  size_t index = 0;
  const bool by_index = absl::SimpleAtoi(inside, &index);
  std::optional<Object> keys = by_index ? std::nullopt : ParseItemKeys(inside);
  for (size_t i = 0; i < items.size(); ++i) {
    bool matches = by_index && i == index;
    if (keys) {
      auto set_value = keys->find("");
      matches =
          set_value != keys->end() ? items[i] == set_value->second : MatchesKeys(items[i], *keys);
    }
    if (!matches) continue;
    steps.push_back({.field = "", .index = i, .is_index = true});
    if (FindBelow(items[i], rest.substr(end), steps)) return true;
    steps.pop_back();
  }
  return false;
}

bool FindBelow(const Value& node, absl::string_view rest, std::vector<PathStep>& steps) {
  if (rest.empty()) return true;
  if (rest[0] == '[') return node.array() != nullptr && FindInList(*node.array(), rest, steps);
  if (rest[0] != '.' || node.object() == nullptr) return false;
  rest.remove_prefix(1);
  for (const auto& [name, child] : *node.object()) {
    if (!absl::StartsWith(rest, name)) continue;
    const absl::string_view after = rest.substr(name.size());
    if (!after.empty() && after[0] != '.' && after[0] != '[') continue;
    steps.push_back({.field = name, .index = 0, .is_index = false});
    if (FindBelow(child, after, steps)) return true;
    steps.pop_back();
  }
  return false;
}

}  // namespace

const Value* OwnFields(const Value& live, absl::string_view manager) {
  const Value* entries = live.Find("metadata", "managedFields");
  if (entries == nullptr || entries->array() == nullptr) return nullptr;
  for (const Value& entry : *entries->array()) {
    if (entry.StringAt("manager") == manager && entry.StringAt("operation") == "Apply" &&
        entry.StringAt("subresource").empty()) {
      return entry.Find("fieldsV1");
    }
  }
  return nullptr;
}

bool HasGeneration(const Value& live) {
  const Value* generation = live.Find("metadata", "generation");
  return generation != nullptr && generation->is_number();
}

int64_t GenerationOf(const Value& live) {
  const Value* generation = live.Find("metadata", "generation");
  return generation == nullptr ? 0 : generation->IntOr(0);
}

Digest Fingerprint(const Value& live, absl::string_view manager) {
  const Value* own = OwnFields(live, manager);
  Sha256Builder builder;
  builder.Add(own == nullptr ? "" : FormatJson(*own));
  if (HasGeneration(live) || live.object() == nullptr) return builder.Finish();
  for (const auto& [name, member] : *live.object()) {
    if (name == "status" || name == "metadata") continue;
    builder.Add(absl::StrCat("\n", name, "="));
    builder.Add(FormatJson(member));
  }
  const Value* metadata = live.Find("metadata");
  if (metadata != nullptr && metadata->object() != nullptr) {
    for (const auto& [name, member] : *metadata->object()) {
      if (name == "managedFields" || name == "resourceVersion") continue;
      builder.Add(absl::StrCat("\nmetadata.", name, "="));
      builder.Add(FormatJson(member));
    }
  }
  return builder.Finish();
}

std::string FindDroppedField(const Value& answer, const Value& body, absl::string_view manager) {
  const Value* own = OwnFields(answer, manager);
  return own == nullptr ? "" : FindDropped(*own, answer, &body, "");
}

std::optional<std::vector<PathStep>> FindPath(const Value& body, absl::string_view path) {
  std::vector<PathStep> steps;
  if (path.empty() || !FindBelow(body, path, steps) || steps.empty()) return std::nullopt;
  return steps;
}

bool RemovePath(absl::string_view path, Value& body) {
  auto steps = FindPath(body, path);
  if (!steps) return false;
  Value* at = &body;
  for (size_t i = 0; i + 1 < steps->size(); ++i) {
    const PathStep& step = (*steps)[i];
    at = step.is_index ? &(*at->mutable_array())[step.index] : &(*at)[step.field];
  }
  const PathStep& last = steps->back();
  if (last.is_index) {
    Array& items = *at->mutable_array();
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(last.index));
  } else {
    at->mutable_object()->erase(last.field);
  }
  return true;
}

}  // namespace nave
