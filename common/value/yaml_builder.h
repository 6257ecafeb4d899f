// Events of a YAML parser into a Value tree. Private to the codec: yaml_parse.cc feeds it from
// yaml-cpp.
#ifndef NAVE_COMMON_VALUE_YAML_BUILDER_H_
#define NAVE_COMMON_VALUE_YAML_BUILDER_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/value/value.h"

namespace nave {

// Builds one document. Resolves scalars, anchors, aliases and merge keys, and finds duplicate keys.
// Every event gives the line that it is on. After an event failed the builder takes no more. Not
// thread-safe.
class YamlBuilder {
 public:
  // `anchor` 0: none. Errors name the line and, when there is one, the path.
  absl::Status Null(int line, size_t anchor);
  absl::Status Scalar(int line, size_t anchor, absl::string_view tag, absl::string_view text);
  absl::Status Alias(int line, size_t anchor);
  absl::Status Start(int line, size_t anchor, absl::string_view tag, bool is_map);
  absl::Status End();

  // The document's value, once all events came. Moves it out.
  Value Take() { return std::move(root_); }
  // Whether the next node is an item of a sequence.
  bool InSequence() const { return !frames_.empty() && !frames_.back().is_map; }
  // "line 5: ..." each.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct Frame {
    bool is_map = false;
    size_t anchor = 0;
    int line = 0;
    Object members;
    Array items;
    // The key whose value comes next.
    std::optional<std::string> key;
    bool key_is_merge = false;
    // Source texts of keys that were no strings.
    std::map<std::string, std::string> converted;
    // What `<<` names, in order.
    Array merges;
  };

  absl::Status Add(int line, size_t anchor, Value value);
  absl::Status AddKey(int line, absl::string_view tag, absl::string_view text);
  absl::Status AddMerge(int line, Value value);
  absl::Status Remember(int line, size_t anchor, const Value& value);
  // Adds what `value` weighs to the cost of anchors and aliases; false when that is too much.
  // `depth`: of the tree.
  bool Weigh(const Value& value, int depth, int* deepest);
  bool WantsKey() const { return !frames_.empty() && frames_.back().is_map && !frames_.back().key; }
  std::string Path() const;
  absl::Status Error(int line, absl::string_view what, bool duplicate = false) const;
  void Warn(int line, absl::string_view what);

  std::vector<Frame> frames_;
  std::map<size_t, Value> anchors_;
  size_t expanded_bytes_ = 0;
  Value root_;
  std::vector<std::string> warnings_;
};

}  // namespace nave

#endif  // NAVE_COMMON_VALUE_YAML_BUILDER_H_
