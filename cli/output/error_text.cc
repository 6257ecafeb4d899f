#include "cli/output/error_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "cli/output/exit_code.h"
#include "cli/output/text.h"
#include "common/base/error.h"
#include "common/model/violations.h"

namespace nave::cli {
namespace {

// An error's metadata, sorted by what it is for.
struct ErrorParts {
  std::string reason;
  std::string why;
  std::vector<std::string> next;
  std::vector<std::pair<std::string, std::string>> fields;
  std::vector<std::pair<std::string, std::string>> rest;
  std::string request_id;
};

void AddOnce(std::string text, std::vector<std::string>* list) {
  if (text.empty() || std::find(list->begin(), list->end(), text) != list->end()) return;
  list->push_back(std::move(text));
}

ErrorParts PartsOf(const absl::Status& status) {
  ErrorParts parts;
  parts.reason = ErrorReason(status);
  for (const auto& [key, value] : ErrorMetadataOf(status)) {
    absl::string_view field = key;
    if (absl::ConsumePrefix(&field, kFieldMetadataPrefix)) {
      parts.fields.emplace_back(field, value);
    } else if (key == "help") {
      AddOnce(value, &parts.next);
    } else if (key == "request_id") {
      parts.request_id = value;
    } else {
      parts.rest.emplace_back(key, value);
    }
  }
  if (const ReasonInfo* info = FindReason(parts.reason)) {
    parts.why = std::string(info->summary);
    // The hub sends the general advice with its errors; of ours the more exact one is enough.
    if (parts.next.empty()) AddOnce(std::string(info->next), &parts.next);
  }
  return parts;
}

std::string CodeWord(absl::StatusCode code) { return absl::StatusCodeToString(code); }

}  // namespace

ExitCode ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return ExitCode::kOk;
    case absl::StatusCode::kInvalidArgument:
      return ExitCode::kUsage;
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
      return ExitCode::kDenied;
    case absl::StatusCode::kNotFound:
      return ExitCode::kNotFound;
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kResourceExhausted:
      return ExitCode::kConflict;
    case absl::StatusCode::kUnavailable:
      return ExitCode::kUnreachable;
    case absl::StatusCode::kDeadlineExceeded:
      return ExitCode::kTimeout;
    case absl::StatusCode::kCancelled:
      return ExitCode::kInterrupted;
    default:
      return ExitCode::kInternal;
  }
}

std::string FormatError(const absl::Status& status, const Style& style) {
  ErrorParts parts = PartsOf(status);
  std::string message = PrintableText(status.message());
  if (message.empty()) message = "the call failed";
  std::string text =
      absl::StrCat(style.Paint(Tone::kBad, "Error:"), " ", message, " (", parts.reason, ")\n");
  if (!parts.why.empty()) absl::StrAppend(&text, "  ", parts.why, "\n");
  // The first field is in the message.
  for (size_t i = 1; i < parts.fields.size(); ++i) {
    absl::StrAppend(&text, "  ", style.Bullet(), " `", PrintableText(parts.fields[i].first),
                    "`: ", PrintableText(parts.fields[i].second), "\n");
  }
  for (size_t i = 0; i < parts.next.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "  Next:  " : "         ", PrintableText(parts.next[i]), "\n");
  }
  absl::StrAppend(&text, "  Docs:  navectl explain-error ", parts.reason);
  if (!parts.request_id.empty()) absl::StrAppend(&text, "     request-id ", parts.request_id);
  return text + "\n";
}

Value ErrorToValue(const absl::Status& status) {
  ErrorParts parts = PartsOf(status);
  Value error;
  error["code"] = Value(CodeWord(status.code()));
  error["reason"] = Value(parts.reason);
  error["message"] = Value(absl::string_view(status.message().data(), status.message().size()));
  if (!parts.why.empty()) error["why"] = Value(parts.why);
  Array next;
  for (const std::string& step : parts.next) next.push_back(Value(step));
  error["next"] = Value(std::move(next));
  for (const auto& [field, rule] : parts.fields) error["fields"][field] = Value(rule);
  for (const auto& [key, value] : parts.rest) error["metadata"][key] = Value(value);
  if (!parts.request_id.empty()) error["requestId"] = Value(parts.request_id);
  Value out;
  out["error"] = std::move(error);
  return out;
}

std::string ExplainReason(const ReasonInfo& info) {
  std::string text = absl::StrCat(info.upper, " (", info.camel,
                                  " in conditions and status)\n\n  What it means:  ", info.summary,
                                  "\n  What to do:     ", info.next, "\n");
  if (info.code == absl::StatusCode::kOk) {
    return text + "  It is no error: states and conditions use it.\n";
  }
  absl::StrAppend(&text, "  As an error:    ", CodeWord(info.code), ", exit code ",
                  static_cast<int>(ExitCodeOf(absl::Status(info.code, ""))), "\n");
  return text;
}

}  // namespace nave::cli
