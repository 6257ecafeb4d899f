#include "tests/kubesim/selectors.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace nave::kubesim {
namespace {

// Splits at commas outside parentheses.
std::vector<absl::string_view> SplitRequirements(absl::string_view text) {
  std::vector<absl::string_view> out;
  size_t start = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      absl::string_view part = absl::StripAsciiWhitespace(text.substr(start, i - start));
      if (!part.empty()) out.push_back(part);
      start = i + 1;
    } else if (text[i] == '(') {
      ++depth;
    } else if (text[i] == ')') {
      --depth;
    }
  }
  return out;
}

bool IsKey(absl::string_view key) {
  if (key.empty()) return false;
  return std::all_of(key.begin(), key.end(), [](char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.' || c == '/';
  });
}

std::vector<std::string> ParseValues(absl::string_view text) {
  std::vector<std::string> out;
  for (absl::string_view value : absl::StrSplit(text, ',')) {
    out.emplace_back(absl::StripAsciiWhitespace(value));
  }
  return out;
}

const std::string* LabelOf(const Value* labels, absl::string_view key) {
  const Value* found = labels == nullptr ? nullptr : labels->Find(key);
  return found == nullptr ? nullptr : found->string();
}

}  // namespace

bool Selector::ParseRequirement(absl::string_view text, Requirement* out) {
  auto set = [&](absl::string_view key, Requirement::Operator op, std::vector<std::string> values) {
    out->key = std::string(absl::StripAsciiWhitespace(key));
    out->op = op;
    out->values = std::move(values);
    return IsKey(out->key);
  };
  if (absl::EndsWith(text, ")")) {
    size_t open = text.find('(');
    if (open == absl::string_view::npos) return false;
    absl::string_view head = absl::StripAsciiWhitespace(text.substr(0, open));
    std::vector<std::string> values = ParseValues(text.substr(open + 1, text.size() - open - 2));
    if (absl::ConsumeSuffix(&head, " notin")) {
      return set(head, Requirement::Operator::kNotIn, std::move(values));
    }
    if (absl::ConsumeSuffix(&head, " in")) {
      return set(head, Requirement::Operator::kIn, std::move(values));
    }
    return false;
  }
  for (absl::string_view sign : {"!=", "==", "="}) {
    size_t at = text.find(sign);
    if (at == absl::string_view::npos) continue;
    absl::string_view value = absl::StripAsciiWhitespace(text.substr(at + sign.size()));
    return set(text.substr(0, at),
               sign == "!=" ? Requirement::Operator::kNotIn : Requirement::Operator::kIn,
               {std::string(value)});
  }
  if (absl::ConsumePrefix(&text, "!")) return set(text, Requirement::Operator::kNotExists, {});
  return set(text, Requirement::Operator::kExists, {});
}

std::optional<Selector> Selector::Parse(absl::string_view labels, absl::string_view fields,
                                        std::string* error) {
  Selector out;
  for (absl::string_view part : SplitRequirements(labels)) {
    Requirement requirement;
    if (!ParseRequirement(part, &requirement)) {
      *error = absl::StrCat("unable to parse requirement: ", part);
      return std::nullopt;
    }
    out.labels_.push_back(std::move(requirement));
  }
  for (absl::string_view part : SplitRequirements(fields)) {
    Requirement requirement;
    if (!ParseRequirement(part, &requirement) || requirement.values.size() != 1) {
      *error = absl::StrCat("invalid field selector: ", part);
      return std::nullopt;
    }
    out.fields_.push_back(std::move(requirement));
  }
  return out;
}

bool Selector::MatchesLabel(const Requirement& requirement, const Value* labels) const {
  const std::string* value = LabelOf(labels, requirement.key);
  bool listed = value != nullptr && std::find(requirement.values.begin(), requirement.values.end(),
                                              *value) != requirement.values.end();
  switch (requirement.op) {
    case Requirement::Operator::kIn:
      return listed;
    case Requirement::Operator::kNotIn:
      return !listed;
    case Requirement::Operator::kExists:
      return value != nullptr;
    case Requirement::Operator::kNotExists:
      return value == nullptr;
  }
  return false;
}

bool Selector::Matches(const Value& object) const {
  const Value* labels = object.Find("metadata", "labels");
  for (const Requirement& requirement : labels_) {
    if (!MatchesLabel(requirement, labels)) return false;
  }
  for (const Requirement& requirement : fields_) {
    const Value* at = &object;
    for (absl::string_view step : absl::StrSplit(requirement.key, '.')) {
      if (at != nullptr) at = at->Find(step);
    }
    std::string value = at == nullptr ? "" : at->StringOr("");
    bool equal = value == requirement.values[0];
    if (equal != (requirement.op == Requirement::Operator::kIn)) return false;
  }
  return true;
}

bool LabelSelectorMatches(const Value& selector, const Value* labels) {
  const Value* expressions = selector.Find("matchExpressions");
  const Value* plain = selector.Find("matchLabels");
  bool structured = expressions != nullptr || plain != nullptr;
  if (!structured) plain = &selector;
  bool any = false;
  if (plain != nullptr && plain->object() != nullptr) {
    for (const auto& [key, want] : *plain->object()) {
      any = true;
      const std::string* value = LabelOf(labels, key);
      if (value == nullptr || *value != want.StringOr("")) return false;
    }
  }
  if (expressions == nullptr || expressions->array() == nullptr) return any || structured;
  for (const Value& expression : *expressions->array()) {
    const std::string* value = LabelOf(labels, expression.StringAt("key"));
    std::string op = expression.StringAt("operator");
    bool listed = false;
    const Value* values = expression.Find("values");
    if (value != nullptr && values != nullptr && values->array() != nullptr) {
      for (const Value& candidate : *values->array()) listed |= candidate.StringOr("") == *value;
    }
    bool met = (op == "In" && listed) || (op == "NotIn" && !listed) ||
               (op == "Exists" && value != nullptr) || (op == "DoesNotExist" && value == nullptr);
    if (!met) return false;
  }
  return true;
}

}  // namespace nave::kubesim
