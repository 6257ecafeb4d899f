#include "common/model/selector.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/model/names.h"
#include "common/model/violations.h"

namespace nave {
namespace {

constexpr size_t kPrefixBytesMax = 253;
constexpr size_t kSelectorBytesMax = 4096;

bool IsDnsSubdomain(absl::string_view text) {
  if (text.empty() || text.size() > kPrefixBytesMax) return false;
  for (absl::string_view part : absl::StrSplit(text, '.')) {
    if (!IsId(part)) return false;
  }
  return true;
}

// At most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit.
bool IsQualifiedPart(absl::string_view text) {
  if (text.empty() || text.size() > kIdBytesMax) return false;
  for (char c : text) {
    if (!absl::ascii_isalnum(c) && c != '-' && c != '_' && c != '.') return false;
  }
  return absl::ascii_isalnum(text.front()) && absl::ascii_isalnum(text.back());
}

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsSymbol(char c) {
  return c == '=' || c == '!' || c == '(' || c == ')' || c == ',' || c == '>' || c == '<';
}

// Words and symbols of a selector; an empty token is the end.
class Lexer {
 public:
  explicit Lexer(absl::string_view text) : text_(text) {}

  absl::string_view Peek() {
    size_t before = at_;
    absl::string_view token = Next();
    at_ = before;
    return token;
  }

  absl::string_view Next() {
    while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
    size_t start = at_;
    if (at_ == text_.size()) return absl::string_view();
    if (IsSymbol(text_[at_])) {
      absl::string_view two = text_.substr(at_, 2);
      at_ += two == "==" || two == "!=" ? 2 : 1;
    } else {
      while (at_ < text_.size() && !IsSpace(text_[at_]) && !IsSymbol(text_[at_])) ++at_;
    }
    return text_.substr(start, at_ - start);
  }

  size_t at() const { return at_; }

 private:
  absl::string_view text_;
  size_t at_ = 0;
};

class Parser {
 public:
  Parser(absl::string_view field, absl::string_view text) : field_(field), lexer_(text) {}

  absl::Status Parse(std::vector<Selector::Requirement>* out) {
    if (lexer_.Peek().empty()) return absl::OkStatus();
    while (true) {
      absl::Status status = ParseRequirement(&out->emplace_back());
      if (!status.ok()) return status;
      absl::string_view token = lexer_.Next();
      if (token.empty()) return absl::OkStatus();
      if (token != ",") return Fail(absl::StrCat("must have ',' before '", token, "'"));
    }
  }

 private:
  absl::Status Fail(absl::string_view rule) const {
    return FieldError(field_, absl::StrCat(rule, " (character ", lexer_.at(), ")"));
  }

  absl::Status ParseRequirement(Selector::Requirement* out) {
    absl::string_view token = lexer_.Next();
    bool absent = token == "!";
    if (absent) token = lexer_.Next();
    if (token.empty() || IsSymbol(token[0])) return Fail("must have a label key here");
    std::string wrong = CheckLabelKey(token);
    if (!wrong.empty()) return Fail(absl::StrCat("label key '", token, "' ", wrong));
    out->key = std::string(token);
    if (absent) {
      out->op = Selector::Operator::kDoesNotExist;
      return absl::OkStatus();
    }
    absl::string_view op = lexer_.Peek();
    if (op.empty() || op == ",") return absl::OkStatus();
    lexer_.Next();
    if (op == "=" || op == "==" || op == "!=") {
      out->op = op == "!=" ? Selector::Operator::kNotIn : Selector::Operator::kIn;
      absl::string_view value = lexer_.Peek();
      bool has_value = !value.empty() && !IsSymbol(value[0]);
      if (has_value) lexer_.Next();
      return AddValue(has_value ? value : absl::string_view(), out);
    }
    if (op == "in" || op == "notin") {
      out->op = op == "in" ? Selector::Operator::kIn : Selector::Operator::kNotIn;
      return ParseValues(out);
    }
    return Fail(
        absl::StrCat("must have one of '=', '==', '!=', 'in', 'notin' instead of '", op, "'"));
  }

  absl::Status ParseValues(Selector::Requirement* out) {
    if (lexer_.Next() != "(") return Fail("must have '(' after 'in' or 'notin'");
    while (true) {
      absl::string_view value = lexer_.Peek();
      bool has_value = !value.empty() && !IsSymbol(value[0]);
      if (has_value) lexer_.Next();
      absl::Status status = AddValue(has_value ? value : absl::string_view(), out);
      if (!status.ok()) return status;
      absl::string_view token = lexer_.Next();
      if (token == ")") break;
      if (token != ",") return Fail("must have ',' or ')' after a value");
    }
    std::sort(out->values.begin(), out->values.end());
    out->values.erase(std::unique(out->values.begin(), out->values.end()), out->values.end());
    return absl::OkStatus();
  }

  absl::Status AddValue(absl::string_view value, Selector::Requirement* out) {
    std::string wrong = CheckLabelValue(value);
    if (!wrong.empty()) return Fail(absl::StrCat("label value '", value, "' ", wrong));
    out->values.emplace_back(value);
    return absl::OkStatus();
  }

  absl::string_view field_;
  Lexer lexer_;
};

}  // namespace

std::string CheckLabelKey(absl::string_view key) {
  size_t slash = key.find('/');
  absl::string_view name = slash == absl::string_view::npos ? key : key.substr(slash + 1);
  if (slash != absl::string_view::npos && !IsDnsSubdomain(key.substr(0, slash))) {
    return "must have a DNS subdomain before '/'";
  }
  if (!IsQualifiedPart(name)) {
    return "must be at most 63 letters, digits, '-', '_' or '.', beginning and ending with a "
           "letter or digit";
  }
  return "";
}

std::string CheckLabelValue(absl::string_view value) {
  if (value.empty() || IsQualifiedPart(value)) return "";
  return "must be empty, or at most 63 letters, digits, '-', '_' or '.', beginning and ending with "
         "a letter or digit";
}

absl::StatusOr<Selector> Selector::Parse(absl::string_view field, absl::string_view text) {
  if (text.size() > kSelectorBytesMax) {
    return FieldError(
        field, absl::StrCat("must be at most ", kSelectorBytesMax, " bytes, got ", text.size()));
  }
  Selector selector;
  absl::Status status = Parser(field, text).Parse(&selector.requirements_);
  if (!status.ok()) return status;
  return selector;
}

bool Selector::Matches(const StringMap& labels) const {
  for (const Requirement& requirement : requirements_) {
    auto it = labels.find(requirement.key);
    bool present = it != labels.end();
    bool listed = present && std::binary_search(requirement.values.begin(),
                                                requirement.values.end(), it->second);
    bool holds = false;
    switch (requirement.op) {
      case Operator::kIn:
        holds = listed;
        break;
      case Operator::kNotIn:
        holds = !listed;
        break;
      case Operator::kExists:
        holds = present;
        break;
      case Operator::kDoesNotExist:
        holds = !present;
        break;
    }
    if (!holds) return false;
  }
  return true;
}

std::string Selector::ToString() const {
  std::vector<std::string> parts;
  for (const Requirement& requirement : requirements_) {
    bool in = requirement.op == Operator::kIn;
    switch (requirement.op) {
      case Operator::kExists:
        parts.push_back(requirement.key);
        break;
      case Operator::kDoesNotExist:
        parts.push_back(absl::StrCat("!", requirement.key));
        break;
      default:
        if (requirement.values.size() == 1) {
          parts.push_back(absl::StrCat(requirement.key, in ? "=" : "!=", requirement.values[0]));
        } else {
          parts.push_back(absl::StrCat(requirement.key, in ? " in (" : " notin (",
                                       absl::StrJoin(requirement.values, ","), ")"));
        }
    }
  }
  return absl::StrJoin(parts, ",");
}

}  // namespace nave
