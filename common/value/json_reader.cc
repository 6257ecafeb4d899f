#include "common/value/json_reader.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/value/number.h"
#include "common/value/utf8.h"

namespace nave {
void JsonReader::SkipSpace() {
  while (at_ < text_.size()) {
    char c = text_[at_];
    if (c != ' ' && c != '\n' && c != '\t' && c != '\r') return;
    ++at_;
  }
}

bool JsonReader::AtEnd() {
  SkipSpace();
  return at_ >= text_.size();
}

int JsonReader::line() const {
  return first_line_ + static_cast<int>(std::count(text_.begin(), text_.begin() + at_, '\n'));
}

bool JsonReader::Fail(absl::string_view what) {
  if (error_.empty()) error_ = std::string(what);
  return false;
}

bool JsonReader::FailContent(absl::string_view what) {
  content_error_ = content_error_ || error_.empty();
  return Fail(what);
}

absl::Status JsonReader::Read(Value* out) {
  SkipSpace();
  if (ReadValue(out, 0)) return absl::OkStatus();
  absl::string_view before = text_.substr(0, at_);
  size_t line_start = before.rfind('\n');
  size_t column = at_ - (line_start == absl::string_view::npos ? 0 : line_start + 1) + 1;
  std::string where = absl::StrCat("line ", line(), " column ", column, ": ");
  constexpr size_t kPathBytesMax = 200;
  if (!path_.empty()) {
    absl::StrAppend(&where, path_.substr(0, kPathBytesMax),
                    path_.size() > kPathBytesMax ? "..." : "", ": ");
  }
  return MakeError(duplicate_ ? Reason::kDuplicateKey : Reason::kManifestInvalid,
                   absl::StrCat(where, error_));
}

bool JsonReader::ReadValue(Value* out, int depth) {
  if (at_ >= text_.size()) return Fail("the text ends too early");
  switch (text_[at_]) {
    case '{':
      return ReadObject(out, depth + 1);
    case '[':
      return ReadArray(out, depth + 1);
    case '"': {
      std::string text;
      if (!ReadString(&text)) return false;
      *out = Value(std::move(text));
      return true;
    }
    case 't':
      *out = Value(true);
      return ReadWord("true");
    case 'f':
      *out = Value(false);
      return ReadWord("false");
    case 'n':
      *out = Value();
      return ReadWord("null");
    default:
      return ReadNumber(out);
  }
}

bool JsonReader::ReadWord(absl::string_view word) {
  if (text_.substr(at_, word.size()) != word) return Fail("this is no JSON value");
  at_ += word.size();
  return true;
}

bool JsonReader::ReadObject(Value* out, int depth) {
  if (depth > kNestingMax) return FailContent(absl::StrCat("nested deeper than ", kNestingMax));
  ++at_;
  Object members;
  SkipSpace();
  bool first = true;
  while (at_ >= text_.size() || text_[at_] != '}') {
    if (!first) {
      if (at_ >= text_.size() || text_[at_] != ',') return Fail("want ',' or '}' after a member");
      ++at_;
      SkipSpace();
    }
    first = false;
    std::string key;
    if (at_ >= text_.size() || text_[at_] != '"') return Fail("want a key in double quotes");
    if (!ReadString(&key)) return false;
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != ':') return Fail("want ':' after a key");
    auto [member, is_new] = members.try_emplace(std::move(key));
    if (!is_new && !lenient_) {
      duplicate_ = true;
      path_ = absl::StrCat(".", member->first, path_);
      return FailContent("the key is there twice");
    }
    ++at_;
    SkipSpace();
    if (!ReadValue(&member->second, depth)) {
      path_ = absl::StrCat(".", member->first, path_);
      return false;
    }
    SkipSpace();
  }
  ++at_;
  *out = Value(std::move(members));
  return true;
}

bool JsonReader::ReadArray(Value* out, int depth) {
  if (depth > kNestingMax) return FailContent(absl::StrCat("nested deeper than ", kNestingMax));
  ++at_;
  Array items;
  SkipSpace();
  while (at_ >= text_.size() || text_[at_] != ']') {
    if (!items.empty()) {
      if (at_ >= text_.size() || text_[at_] != ',') return Fail("want ',' or ']' after an item");
      ++at_;
      SkipSpace();
    }
    items.emplace_back();
    if (!ReadValue(&items.back(), depth)) {
      path_ = absl::StrCat("[", items.size() - 1, "]", path_);
      return false;
    }
    SkipSpace();
  }
  ++at_;
  items.shrink_to_fit();
  *out = Value(std::move(items));
  return true;
}

bool JsonReader::ReadString(std::string* out) {
  ++at_;
  size_t plain_from = at_;
  while (at_ < text_.size()) {
    unsigned char c = static_cast<unsigned char>(text_[at_]);
    if (c == '"' || c == '\\') {
      out->append(text_.data() + plain_from, at_ - plain_from);
      ++at_;
      if (c == '"') return true;
      if (!ReadEscape(out)) return false;
      plain_from = at_;
    } else if (c < 0x20) {
      return Fail("a string holds a raw control character");
    } else if (c < 0x80) {
      ++at_;
    } else {
      size_t size = Utf8CharacterSize(text_, at_);
      if (size == 0 && !lenient_) return Fail("the text is not UTF-8");
      if (size == 0) {
        out->append(text_.data() + plain_from, at_ - plain_from);
        Utf8Append(out, 0xfffd);
        plain_from = ++at_;
      } else {
        at_ += size;
      }
    }
  }
  return Fail("a string does not end");
}

bool JsonReader::ReadHex(unsigned* out) {
  *out = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    char c = at_ < text_.size() ? text_[at_] : ' ';
    unsigned digit = absl::ascii_isdigit(c)   ? c - '0'
                     : (c >= 'a' && c <= 'f') ? c - 'a' + 10
                     : (c >= 'A' && c <= 'F') ? c - 'A' + 10
                                              : 16;
    if (digit == 16) return Fail("want four hexadecimal digits after \\u");
    *out = *out * 16 + digit;
  }
  return true;
}

bool JsonReader::ReadEscape(std::string* out) {
  char c = at_ < text_.size() ? text_[at_] : ' ';
  ++at_;
  switch (c) {
    case '"':
    case '\\':
    case '/':
      out->push_back(c);
      return true;
    case 'b':
      out->push_back('\b');
      return true;
    case 'f':
      out->push_back('\f');
      return true;
    case 'n':
      out->push_back('\n');
      return true;
    case 'r':
      out->push_back('\r');
      return true;
    case 't':
      out->push_back('\t');
      return true;
    case 'u':
      break;
    default:
      return Fail("a string holds an unknown escape");
  }
  unsigned high = 0;
  if (!ReadHex(&high)) return false;
  if (high < 0xd800 || high > 0xdfff) {
    Utf8Append(out, high);
    return true;
  }
  unsigned low = 0;
  if (high < 0xdc00 && text_.substr(at_, 2) == "\\u") {
    size_t before = at_;
    at_ += 2;
    if (!ReadHex(&low)) return false;
    if (low >= 0xdc00 && low <= 0xdfff) {
      Utf8Append(out, 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
      return true;
    }
    at_ = before;
  }
  if (!lenient_) return FailContent("a string holds half of a surrogate pair");
  Utf8Append(out, 0xfffd);
  return true;
}

bool JsonReader::ReadNumber(Value* out) {
  size_t start = at_;
  auto peek = [&] { return at_ < text_.size() ? text_[at_] : ' '; };
  auto digits = [&] {
    size_t from = at_;
    while (absl::ascii_isdigit(peek())) ++at_;
    return at_ > from;
  };
  if (peek() == '-') ++at_;
  if (peek() == '0') {
    ++at_;
  } else if (!digits()) {
    return Fail("this is no JSON value");
  }
  if (peek() == '.') {
    ++at_;
    if (!digits()) return Fail("a number has no digits after the point");
  }
  if (peek() == 'e' || peek() == 'E') {
    ++at_;
    if (peek() == '+' || peek() == '-') ++at_;
    if (!digits()) return Fail("a number has no digits in its exponent");
  }
  std::optional<Value> number = NumberFromDecimal(text_.substr(start, at_ - start));
  if (!number.has_value()) return FailContent("the number is out of range");
  *out = *std::move(number);
  return true;
}

}  // namespace nave
