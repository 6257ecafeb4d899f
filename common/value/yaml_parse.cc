#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <exception>
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

class Handler : public YAML::EventHandler {
 public:
  explicit Handler(int first_line) : first_line_(first_line) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      Check(MakeError(Reason::kManifestInvalid,
                      absl::StrCat("line ", Line(mark), ": text after the end of the document")));
    }
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Check(builder_.Null(Line(mark), anchor));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Check(builder_.Alias(Line(mark), anchor));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Check(builder_.Scalar(Line(mark), anchor, tag, value));
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
  void Check(absl::Status status) {
    if (status.ok()) return;
    status_ = std::move(status);
    throw EventFailed();
  }

  int first_line_;
  int documents_ = 0;
  YamlBuilder builder_;
  absl::Status status_;
};

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
                     absl::StrCat("line ", first_line, ": directives (", content.substr(0, content.find('\n')),
                                  ") are not supported"));
  }
  Handler handler(chunk.line);
  try {
    std::istringstream in(chunk.text);
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(handler)) {
    }
  } catch (const EventFailed&) {
    return handler.status();
  } catch (const YAML::Exception& e) {
    return MakeError(Reason::kManifestInvalid, absl::StrCat("line ", handler.Line(e.mark), ": ", e.msg));
  } catch (const std::exception& e) {
    return MakeError(Reason::kManifestInvalid, absl::StrCat("line ", first_line, ": ", e.what()));
  }
  Value value = handler.builder().Take();
  if (warnings != nullptr) {
    for (const std::string& warning : handler.builder().warnings()) {
      warnings->push_back(absl::StrCat("document ", documents->size() + 1, ", ", warning));
    }
  }
  if (!value.is_null()) documents->push_back({std::move(value), first_line});
  return absl::OkStatus();
}

// Concatenated JSON texts. On error `documents` is as before.
absl::Status ParseJsonChunk(const YamlChunk& chunk, std::vector<YamlDocument>* documents) {
  JsonReader reader(chunk.text, /*lenient=*/false, chunk.line);
  size_t before = documents->size();
  while (!reader.AtEnd()) {
    int line = reader.line();
    Value value;
    absl::Status status = reader.Read(&value);
    if (!status.ok()) {
      documents->resize(before);
      return status;
    }
    documents->push_back({std::move(value), line});
  }
  return absl::OkStatus();
}

absl::Status ParseChunk(const YamlChunk& chunk, std::vector<YamlDocument>* documents,
                        std::vector<std::string>* warnings) {
  absl::string_view text = absl::StripLeadingAsciiWhitespace(chunk.text);
  if (!absl::StartsWith(text, "{")) return ParseYamlChunk(chunk, documents, warnings);
  absl::Status as_json = ParseJsonChunk(chunk, documents);
  if (as_json.ok() || ErrorReason(as_json) == GetReasonInfo(Reason::kDuplicateKey).upper) return as_json;
  // It may be YAML in flow style. When it is neither, the error of the syntax that it looks like helps more.
  absl::Status as_yaml = ParseYamlChunk(chunk, documents, warnings);
  text.remove_prefix(1);
  bool looks_like_json = absl::StartsWith(absl::StripLeadingAsciiWhitespace(text), "\"");
  return as_yaml.ok() || !looks_like_json ? as_yaml : as_json;
}

}  // namespace

absl::StatusOr<std::vector<YamlDocument>> ParseYamlStream(absl::string_view text,
                                                          std::vector<std::string>* warnings) {
  ASSIGN_OR_RETURN(std::vector<YamlChunk> chunks, SplitYamlStream(text));
  std::vector<YamlDocument> documents;
  for (YamlChunk& chunk : chunks) {
    absl::Status status = ParseChunk(chunk, &documents, warnings);
    if (!status.ok()) return Prepend(status, absl::StrCat("document ", documents.size() + 1));
    chunk.text = {};  // Half the memory of a large stream.
  }
  return documents;
}

}  // namespace nave
