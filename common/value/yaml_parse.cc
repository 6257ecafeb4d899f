#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/value/codec.h"
#include "common/value/json_reader.h"
#include "common/value/utf8.h"
#include "common/value/yaml_builder.h"
#include "common/value/yaml_split.h"

namespace nave {
namespace {

// Passes through yaml-cpp when an event failed; never leaves this file.
struct EventFailed {};

// yaml-cpp 0.7 writes the escapes \N and \_ as the single bytes 0x85 and 0xa0. The text it read was
// well-formed, so a byte that is not can only be one of these.
std::string RepairEscapes(const std::string& value) {
  std::string out;
  for (size_t at = 0; at < value.size();) {
    size_t size = Utf8CharacterSize(value, at);
    Utf8Append(&out,
               size == 0 ? static_cast<unsigned char>(value[at]) : Utf8Decode(value, at, size));
    at += std::max<size_t>(size, 1);
  }
  return out;
}

bool IsWellFormed(absl::string_view text) {
  for (size_t at = 0; at < text.size();) {
    size_t size = Utf8CharacterSize(text, at);
    if (size == 0) return false;
    at += size;
  }
  return true;
}

// Takes one line, without its end, off `rest`.
absl::string_view TakeLine(absl::string_view* rest) {
  absl::string_view line = rest->substr(0, rest->find('\n'));
  rest->remove_prefix(std::min(line.size() + 1, rest->size()));
  return line;
}

// The header of the block scalar that the node at `rest` is, behind its properties; empty when it
// is none. Takes the header off `rest`.
absl::string_view TakeFoldedHeader(absl::string_view* rest) {
  while (absl::StartsWith(*rest, "&") || absl::StartsWith(*rest, "!")) {
    rest->remove_prefix(std::min(rest->find_first_of(" \n"), rest->size()));
    *rest = absl::StripPrefix(*rest, " ");
  }
  if (!absl::StartsWith(*rest, ">")) return "";
  absl::string_view header = TakeLine(rest);
  return header.substr(0, header.find(' '));
}

// yaml-cpp 0.7 loses a line end of a folded block that keeps its trailing lines (">+"). The right
// number of line ends; `rest` begins behind the header.
size_t KeptLineEnds(absl::string_view rest) {
  size_t indent = absl::string_view::npos;
  size_t blank = 0;
  while (!rest.empty()) {
    absl::string_view line = TakeLine(&rest);
    size_t first = line.find_first_not_of(' ');
    if (first == absl::string_view::npos) {
      // Spaces beyond the indentation are content.
      blank = line.size() > indent ? 0 : blank + 1;
      continue;
    }
    if (indent == absl::string_view::npos) indent = first;
    if (first < indent || first == 0) break;
    blank = 0;
  }
  return blank + 1;
}

class Handler : public YAML::EventHandler {
 public:
  // `text` must outlive the handler.
  Handler(absl::string_view text, int first_line) : text_(text), first_line_(first_line) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      Check(MakeError(Reason::kManifestInvalid,
                      absl::StrCat("line ", Line(mark), ": text after the end of the document")));
    }
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (builder_.InSequence() && From(mark).substr(0, 1) == ",") {
      Check(MakeError(Reason::kManifestInvalid,
                      absl::StrCat("line ", Line(mark), ": want an item before ','")));
    }
    Check(builder_.Null(Line(mark), anchor));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Check(builder_.Alias(Line(mark), anchor));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    int line = Line(mark);
    if (!IsWellFormed(value)) {
      Check(builder_.Scalar(line, anchor, tag, RepairEscapes(value)));
      return;
    }
    absl::string_view rest = From(mark);
    absl::string_view header = TakeFoldedHeader(&rest);
    if (header.find('+') == absl::string_view::npos) {
      Check(builder_.Scalar(line, anchor, tag, value));
    } else if (header.find_first_of("123456789") != absl::string_view::npos) {
      Check(MakeError(Reason::kManifestInvalid,
                      absl::StrCat("line ", line, ": the block header ", header,
                                   " is not supported: use |+ or leave out the number")));
    } else {
      std::string kept = value.substr(0, value.find_last_not_of('\n') + 1);
      Check(builder_.Scalar(line, anchor, tag, kept.append(KeptLineEnds(rest), '\n')));
    }
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Check(builder_.Start(Line(mark), anchor, tag, /*is_map=*/false));
  }
  void OnSequenceEnd() override { Check(builder_.End()); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Check(builder_.Start(Line(mark), anchor, tag, /*is_map=*/true));
  }
  void OnMapEnd() override { Check(builder_.End()); }

  int Line(const YAML::Mark& mark) const { return first_line_ + std::max(mark.line, 0); }
  const absl::Status& status() const { return status_; }
  YamlBuilder& builder() { return builder_; }

 private:
  absl::string_view From(const YAML::Mark& mark) const {
    return text_.substr(std::min<size_t>(std::max(mark.pos, 0), text_.size()));
  }

  void Check(absl::Status status) {
    if (status.ok()) return;
    status_ = std::move(status);
    throw EventFailed();
  }

  absl::string_view text_;
  int first_line_;
  int documents_ = 0;
  YamlBuilder builder_;
  absl::Status status_;
};

absl::Status Run(const std::string& text, Handler* handler) {
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(*handler)) {
    }
    return absl::OkStatus();
  } catch (const EventFailed&) {
    return handler->status();
  } catch (const YAML::DeepRecursion& e) {
    return MakeError(Reason::kManifestInvalid,
                     absl::StrCat("line ", handler->Line(e.mark), ": nested too deep"));
  } catch (const YAML::Exception& e) {
    return MakeError(Reason::kManifestInvalid,
                     absl::StrCat("line ", handler->Line(e.mark), ": ", e.msg));
  } catch (const std::exception& e) {
    return MakeError(Reason::kManifestInvalid, e.what());
  }
}

// Characters that YAML does not allow raw, though UTF-8 and JSON do.
absl::Status CheckPrintable(const YamlChunk& chunk) {
  int line = chunk.line;
  for (size_t at = 0; at < chunk.text.size();) {
    if (chunk.text[at] == '\n') ++line;
    size_t size = Utf8CharacterSize(chunk.text, at);
    uint32_t character = Utf8Decode(chunk.text, at, size);
    at += size;
    bool control = character >= 0x7f && character <= 0x9f && character != 0x85;
    if (control || character == 0xfffe || character == 0xffff) {
      return MakeError(Reason::kManifestInvalid,
                       absl::StrCat("line ", line, ": raw control character U+",
                                    absl::Hex(character, absl::kZeroPad4)));
    }
  }
  return absl::OkStatus();
}

// Line of the first line with content.
int FirstLine(const YamlChunk& chunk, absl::string_view* content) {
  int number = chunk.line;
  absl::string_view rest = chunk.text;
  while (!rest.empty()) {
    absl::string_view line = rest.substr(0, rest.find('\n'));
    size_t first = line.find_first_not_of(" \t");
    if (first != absl::string_view::npos && line[first] != '#') break;
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    ++number;
  }
  *content = rest;
  return number;
}

absl::Status ParseYamlChunk(const YamlChunk& chunk, std::vector<YamlDocument>* documents,
                            std::vector<std::string>* warnings) {
  RETURN_IF_ERROR(CheckPrintable(chunk));
  absl::string_view content;
  int first_line = FirstLine(chunk, &content);
  if (absl::StartsWith(content, "%")) {
    return MakeError(Reason::kManifestInvalid,
                     absl::StrCat("line ", first_line, ": directives (",
                                  content.substr(0, content.find_first_of(" \n")).substr(0, 20),
                                  ") are not supported"));
  }
  // yaml-cpp 0.7 takes a quoted scalar without its end quote. With an explicit end of document it
  // does not; but a block scalar that ends without a line end must be read as it stands.
  std::string closed = chunk.text;
  bool ends_in_line = absl::EndsWith(closed, "\n");
  closed.append(ends_in_line ? "...\n" : "\n...\n");
  if (!ends_in_line) {
    Handler only_check(closed, chunk.line);
    RETURN_IF_ERROR(Run(closed, &only_check));
  }
  const std::string& text = ends_in_line ? closed : chunk.text;
  Handler handler(text, chunk.line);
  RETURN_IF_ERROR(Run(text, &handler));
  Value value = handler.builder().Take();
  if (warnings != nullptr) {
    for (const std::string& warning : handler.builder().warnings()) {
      warnings->push_back(absl::StrCat("document ", documents->size() + 1, ", ", warning));
    }
  }
  if (!value.is_null()) documents->push_back({std::move(value), first_line});
  return absl::OkStatus();
}

// Concatenated JSON texts. `is_json`: whether an error is of the content, not of the syntax.
absl::Status ParseJsonChunk(const YamlChunk& chunk, std::vector<YamlDocument>* documents,
                            bool* is_json) {
  JsonReader reader(chunk.text, /*lenient=*/false, chunk.line);
  *is_json = true;
  while (!reader.AtEnd()) {
    int line = reader.line();
    Value value;
    absl::Status status = reader.Read(&value);
    *is_json = !reader.syntax_error();
    if (!status.ok()) return status;
    documents->push_back({std::move(value), line});
  }
  return absl::OkStatus();
}

// Errors get their document's number; `documents` holds the ones before.
absl::Status ParseChunk(const YamlChunk& chunk, std::vector<YamlDocument>* documents,
                        std::vector<std::string>* warnings) {
  size_t before = documents->size();
  absl::string_view text = absl::StripLeadingAsciiWhitespace(chunk.text);
  absl::Status as_json;
  bool looks_like_json = false;
  if (absl::ConsumePrefix(&text, "{")) {
    bool is_json = false;
    as_json = ParseJsonChunk(chunk, documents, &is_json);
    as_json = Prepend(as_json, absl::StrCat("document ", documents->size() + 1));
    if (as_json.ok() || is_json) return as_json;
    documents->resize(before);
    looks_like_json = absl::StartsWith(absl::StripLeadingAsciiWhitespace(text), "\"");
  }
  // Flow style begins like JSON. When it is neither, the error of the syntax that it looks like
  // helps more.
  absl::Status as_yaml =
      Prepend(ParseYamlChunk(chunk, documents, warnings), absl::StrCat("document ", before + 1));
  return as_yaml.ok() || !looks_like_json ? as_yaml : as_json;
}

}  // namespace

absl::StatusOr<std::vector<YamlDocument>> ParseYamlStream(absl::string_view text,
                                                          std::vector<std::string>* warnings) {
  ASSIGN_OR_RETURN(std::vector<YamlChunk> chunks, SplitYamlStream(text));
  std::vector<YamlDocument> documents;
  for (YamlChunk& chunk : chunks) {
    RETURN_IF_ERROR(ParseChunk(chunk, &documents, warnings));
    chunk.text = {};  // Half the memory of a large stream.
  }
  return documents;
}

}  // namespace nave
