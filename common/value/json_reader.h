// JSON text straight into a Value tree, without a tree of another library between: the agent reads
// lists of several hundred kilobytes and must stay small.
#ifndef NAVE_COMMON_VALUE_JSON_READER_H_
#define NAVE_COMMON_VALUE_JSON_READER_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/value/value.h"

namespace nave {

// Deepest nesting that the codecs read (arrays and objects together).
inline constexpr int kNestingMax = 1000;

// Reads JSON texts that follow one another in `text`, which must outlive the reader. Not
// thread-safe.
class JsonReader {
 public:
  // `lenient`: the last of duplicate keys wins, ill-formed UTF-8 becomes U+FFFD. `first_line`:
  // number of the text's first line, for errors.
  explicit JsonReader(absl::string_view text, bool lenient = false, int first_line = 1)
      : text_(text), lenient_(lenient), first_line_(first_line) {}

  // Skips white space; whether nothing is left then.
  bool AtEnd();
  // The next JSON text. MANIFEST_INVALID or DUPLICATE_KEY with path, line and column; the reader is
  // of no use after.
  absl::Status Read(Value* out);
  // Line of the next character.
  int line() const;
  // Whether Read failed because the text is no JSON at all, and not for what it says (a duplicate
  // key, a number out of range, nesting, half of a surrogate pair).
  bool syntax_error() const { return !error_.empty() && !content_error_; }

 private:
  bool ReadValue(Value* out, int depth);
  bool ReadObject(Value* out, int depth);
  bool ReadArray(Value* out, int depth);
  bool ReadString(std::string* out);
  bool ReadEscape(std::string* out);
  bool ReadHex(unsigned* out);
  bool ReadNumber(Value* out);
  bool ReadWord(absl::string_view word);
  void SkipSpace();
  // Notes the first error; always false.
  bool Fail(absl::string_view what);
  bool FailContent(absl::string_view what);

  absl::string_view text_;
  size_t at_ = 0;
  bool lenient_;
  int first_line_;
  std::string error_;
  bool duplicate_ = false;
  bool content_error_ = false;
  // Where the error is, put together on the way out: the innermost step is added first.
  std::string path_;
};

}  // namespace nave

#endif  // NAVE_COMMON_VALUE_JSON_READER_H_
