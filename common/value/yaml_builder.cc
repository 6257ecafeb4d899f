#include "common/value/yaml_builder.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/value/json_reader.h"
#include "common/value/yaml_scalar.h"

namespace nave {
namespace {

// What anchors and aliases may add to a document, by a rough count of memory. Real manifests stay
// far below; a chain of aliases that doubles at each step passes it within some twenty steps.
constexpr size_t kExpansionBytesMax = 16 << 20;
constexpr size_t kNodeBytes = 64;
constexpr size_t kWarningsMax = 100;
constexpr size_t kPathBytesMax = 200;

// A key that is no string, as kubectl makes it one. nullopt: it cannot be a key.
std::optional<std::string> KeyText(const Value& value) {
  if (const std::string* text = value.string()) return *text;
  if (value.is_bool()) return value.BoolOr(false) ? "true" : "false";
  if (value.is_int()) return absl::StrCat(value.IntOr(0));
  if (!value.is_double()) return std::nullopt;
  char buffer[64];
  auto result = std::to_chars(buffer, buffer + sizeof(buffer),
                              static_cast<float>(value.DoubleOr(0)), std::chars_format::general);
  return std::string(buffer, result.ptr);
}

}  // namespace

std::string YamlBuilder::Path() const {
  std::string path;
  for (const Frame& frame : frames_) {
    if (!frame.is_map) {
      absl::StrAppend(&path, "[", frame.items.size(), "]");
    } else if (frame.key.has_value()) {
      absl::StrAppend(&path, ".", *frame.key);
    }
  }
  if (path.size() > kPathBytesMax) path = absl::StrCat(path.substr(0, kPathBytesMax), "...");
  return path;
}

absl::Status YamlBuilder::Error(int line, absl::string_view what, bool duplicate) const {
  std::string path = Path();
  return MakeError(duplicate ? Reason::kDuplicateKey : Reason::kManifestInvalid,
                   absl::StrCat("line ", line, ": ", path, path.empty() ? "" : ": ", what));
}

void YamlBuilder::Warn(int line, absl::string_view what) {
  if (warnings_.size() < kWarningsMax) warnings_.push_back(absl::StrCat("line ", line, ": ", what));
}

absl::Status YamlBuilder::Null(int line, size_t anchor) {
  if (WantsKey()) return Error(line, "null cannot be a key");
  return Add(line, anchor, Value());
}

absl::Status YamlBuilder::Scalar(int line, size_t anchor, absl::string_view tag,
                                 absl::string_view text) {
  if (WantsKey()) {
    if (anchor != 0) RETURN_IF_ERROR(Remember(line, anchor, Value(text)));
    return AddKey(line, tag, text);
  }
  ScalarResult scalar = ResolveScalar(text, tag);
  if (!scalar.error.empty()) return Error(line, scalar.error);
  if (scalar.tag_ignored) Warn(line, absl::StrCat("the tag ", tag, " is ignored"));
  return Add(line, anchor, std::move(scalar.value));
}

absl::Status YamlBuilder::AddKey(int line, absl::string_view tag, absl::string_view text) {
  Frame& frame = frames_.back();
  if (text == "<<" && tag != "!" && !absl::EndsWith(tag, ":str")) {
    frame.key = "<<";
    frame.key_is_merge = true;
    return absl::OkStatus();
  }
  ScalarResult scalar = ResolveScalar(text, tag);
  if (!scalar.error.empty()) return Error(line, scalar.error);
  std::optional<std::string> key = KeyText(scalar.value);
  if (!key.has_value()) return Error(line, "null cannot be a key");
  if (*key != text) {
    Warn(line,
         absl::StrCat("the key ", text, " is read as \"", *key, "\"; quote it if it is a word"));
  }
  auto present = frame.members.find(*key);
  if (present != frame.members.end()) {
    auto source = frame.converted.find(*key);
    absl::string_view present_text = source == frame.converted.end() ? *key : source->second;
    if (present_text == text) {
      frame.key = std::move(key);
      return Error(line, "the key is there twice", /*duplicate=*/true);
    }
    Warn(line, absl::StrCat("the keys ", present_text, " and ", text, " are both read as \"", *key,
                            "\"; the last one wins"));
  }
  if (!scalar.value.is_string()) {
    frame.converted[*key] = std::string(text);
  } else {
    frame.converted.erase(*key);
  }
  frame.key = std::move(key);
  return absl::OkStatus();
}

absl::Status YamlBuilder::Alias(int line, size_t anchor) {
  auto found = anchors_.find(anchor);
  if (found == anchors_.end()) return Error(line, "an alias stands inside what it names");
  const Value& value = found->second;
  if (WantsKey()) {
    if (!value.is_string()) return Error(line, "only a string can be a key by alias");
    return AddKey(line, "!", *value.string());
  }
  int deepest = 0;
  if (!Weigh(value, 1, &deepest)) return Error(line, "the aliases expand to too much");
  if (deepest + static_cast<int>(frames_.size()) > kNestingMax) {
    return Error(line, absl::StrCat("nested deeper than ", kNestingMax));
  }
  return Add(line, 0, value);
}

absl::Status YamlBuilder::Start(int line, size_t anchor, absl::string_view tag, bool is_map) {
  if (WantsKey()) return Error(line, "a mapping or a sequence cannot be a key");
  if (frames_.size() >= static_cast<size_t>(kNestingMax)) {
    return Error(line, absl::StrCat("nested deeper than ", kNestingMax));
  }
  if (absl::StartsWith(tag, "!") && tag.size() > 1) {
    Warn(line, absl::StrCat("the tag ", tag, " is ignored"));
  }
  Frame& frame = frames_.emplace_back();
  frame.is_map = is_map;
  frame.anchor = anchor;
  frame.line = line;
  return absl::OkStatus();
}

absl::Status YamlBuilder::End() {
  Frame frame = std::move(frames_.back());
  frames_.pop_back();
  if (!frame.is_map) return Add(frame.line, frame.anchor, Value(std::move(frame.items)));
  // Explicit keys win over merged ones, and earlier merges over later ones.
  for (Value& merged : frame.merges) {
    for (auto& [key, value] : *merged.mutable_object()) {
      frame.members.try_emplace(key, std::move(value));
    }
  }
  return Add(frame.line, frame.anchor, Value(std::move(frame.members)));
}

absl::Status YamlBuilder::Add(int line, size_t anchor, Value value) {
  if (anchor != 0) RETURN_IF_ERROR(Remember(line, anchor, value));
  if (frames_.empty()) {
    root_ = std::move(value);
    return absl::OkStatus();
  }
  Frame& frame = frames_.back();
  if (!frame.is_map) {
    frame.items.push_back(std::move(value));
    return absl::OkStatus();
  }
  if (frame.key_is_merge) return AddMerge(line, std::move(value));
  frame.members[*std::exchange(frame.key, std::nullopt)] = std::move(value);
  return absl::OkStatus();
}

absl::Status YamlBuilder::AddMerge(int line, Value value) {
  Frame& frame = frames_.back();
  Array maps;
  if (value.is_array()) {
    maps = std::move(*value.mutable_array());
  } else {
    maps.push_back(std::move(value));
  }
  for (Value& map : maps) {
    if (!map.is_object()) return Error(line, "a merge key wants a mapping or a list of mappings");
    frame.merges.push_back(std::move(map));
  }
  frame.key.reset();
  frame.key_is_merge = false;
  return absl::OkStatus();
}

absl::Status YamlBuilder::Remember(int line, size_t anchor, const Value& value) {
  int deepest = 0;
  if (!Weigh(value, 1, &deepest)) return Error(line, "the anchors hold too much");
  anchors_[anchor] = value;
  return absl::OkStatus();
}

bool YamlBuilder::Weigh(const Value& value, int depth, int* deepest) {
  expanded_bytes_ += kNodeBytes;
  *deepest = std::max(*deepest, depth);
  if (expanded_bytes_ > kExpansionBytesMax) return false;
  if (const std::string* text = value.string()) {
    expanded_bytes_ += text->size();
  } else if (const Array* items = value.array()) {
    for (const Value& item : *items) {
      if (!Weigh(item, depth + 1, deepest)) return false;
    }
  } else if (const Object* members = value.object()) {
    for (const auto& [key, member] : *members) {
      expanded_bytes_ += kNodeBytes + key.size();
      if (!Weigh(member, depth + 1, deepest)) return false;
    }
  }
  return expanded_bytes_ <= kExpansionBytesMax;
}

}  // namespace nave
