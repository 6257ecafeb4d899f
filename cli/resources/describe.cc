#include "cli/resources/describe.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "cli/resources/columns.h"
#include "cli/resources/requests.h"
#include "cli/resources/target.h"
#include "cli/resources/words.h"
#include "common/value/codec.h"
#include "common/wire/file_form.h"

namespace nave::cli {
namespace {

using google::protobuf::Message;

constexpr size_t kEventsShown = 20;

std::string Section(absl::string_view title, const Style& style) {
  return absl::StrCat(style.Paint(Tone::kStrong, title), "\n");
}

// The part of the file form as indented YAML.
std::string YamlSection(absl::string_view title, const Value* value, const Style& style) {
  if (value == nullptr) return "";
  std::string text = Section(title, style);
  const std::string yaml = FormatYaml(*value);
  for (absl::string_view line : absl::StrSplit(absl::StripTrailingAsciiWhitespace(yaml), '\n')) {
    absl::StrAppend(&text, "  ", PrintableText(line), "\n");
  }
  return text;
}

void Drop(Value* value, absl::string_view key) {
  if (value != nullptr && value->mutable_object() != nullptr)
    value->mutable_object()->erase(std::string(key));
}

std::string ObjectName(const v1::ObjectState& object) {
  std::string kind =
      object.group().empty() ? object.kind() : absl::StrCat(object.group(), "/", object.kind());
  return object.namespace_().empty()
             ? absl::StrCat(kind, " ", object.name())
             : absl::StrCat(kind, " ", object.namespace_(), "/", object.name());
}

std::string ReasonText(const std::string& reason, const std::string& message) {
  if (reason.empty() || message.empty()) return reason.empty() ? message : reason;
  return absl::StrCat(reason, ": ", message);
}

std::string FormatObjects(const std::vector<v1::ObjectState>& objects, const Style& style) {
  Table table({"CLUSTER", "OBJECT", "HEALTH", "APPLIED", "REASON"});
  for (const v1::ObjectState& object : objects) {
    table.Add({object.cluster(), ObjectName(object),
               Cell(WordOf(object.health()), ToneOf(object.health())),
               object.applied() ? "yes" : "no", ReasonText(object.reason(), object.message())});
  }
  return table.Format(style, true, 2);
}

std::string FormatEvents(const std::vector<v1::Event>& events, const Style& style, absl::Time now) {
  const KindInfo& kind = *FindKind("event");
  ColumnOptions options;
  options.now = now;
  Table table(Headers(kind, options));
  size_t first = events.size() > kEventsShown ? events.size() - kEventsShown : 0;
  for (size_t i = first; i < events.size(); ++i) table.Add(MakeRow(kind, events[i], options));
  return table.Format(style, true, 2);
}

}  // namespace

std::string FormatAssignments(const std::vector<v1::Assignment>& assignments, bool by_cluster,
                              const Style& style, absl::Time now) {
  Table table({by_cluster ? "CLUSTER" : "BUNDLE", "STATE", "HEALTH", "REVISION", "OBJECTS",
               "STATUS", "REASON"});
  for (const v1::Assignment& assignment : assignments) {
    StateWord state = StateOf(assignment);
    absl::Time told = TimeOf(assignment.has_status_time(), assignment.status_time());
    std::string status = told == absl::InfinitePast() ? "none yet" : FormatAgo(told, now);
    if (!assignment.connected()) absl::StrAppend(&status, ", disconnected");
    std::string reason = ReasonText(state.reason, state.message);
    if (state.tone == Tone::kGood) reason.clear();
    table.Add({by_cluster ? assignment.cluster() : assignment.bundle(),
               Cell(state.word, state.tone),
               Cell(WordOf(assignment.health()), ToneOf(assignment.health())),
               assignment.revision() == 0 ? "" : absl::StrCat("r", assignment.revision()),
               absl::StrCat(assignment.counts().healthy(), "/", assignment.counts().total()),
               status, reason});
  }
  std::string text = table.Format(style, true, 2);
  for (const v1::Assignment& assignment : assignments) {
    if (assignment.not_ok().empty()) continue;
    absl::StrAppend(&text, "  Not right ", by_cluster ? "on " : "of ",
                    by_cluster ? assignment.cluster() : assignment.bundle(), " (",
                    assignment.not_ok_total(), "):\n");
    Table objects({});
    for (const v1::ObjectState& object : assignment.not_ok()) {
      Tone tone = object.applied() ? ToneOf(object.health()) : Tone::kBad;
      objects.Add({Cell(std::string(style.Mark(tone)), tone), ObjectName(object),
                   WordOf(object.health()), ReasonText(object.reason(), object.message())});
    }
    absl::StrAppend(&text, objects.Format(style, false, 4));
  }
  return text;
}

std::string FormatDescription(const DescribeInput& input, const Style& style, absl::Time now) {
  const KindInfo& kind = *KindOf(*input.resource);
  Value file = ToFile(*input.resource);
  std::string text = absl::StrCat(style.Paint(Tone::kStrong, KindWord(kind)), " ",
                                  IdOf(NameOf(*input.resource)), "\n");
  ColumnOptions options;
  options.now = now;
  options.wide = true;
  std::vector<std::string> headers = Headers(kind, options);
  Row row = MakeRow(kind, *input.resource, options);
  Table summary({});
  for (size_t i = 1; i < headers.size(); ++i) {
    if (row[i].text.empty()) continue;
    std::string label = absl::AsciiStrToLower(headers[i]);
    label[0] = absl::ascii_toupper(label[0]);
    summary.Add({label + ":", row[i]});
  }
  absl::StrAppend(&text, summary.Format(style, false, 2));
  Drop(&file["metadata"], "name");
  absl::StrAppend(&text, YamlSection("Metadata", file.Find("metadata"), style));
  if (Value* manifests =
          file.Find("spec", "manifests") == nullptr ? nullptr : &file["spec"]["manifests"]) {
    for (Value& manifest : *manifests->mutable_array()) Drop(&manifest, "content");
  }
  absl::StrAppend(&text, YamlSection("Spec", file.Find("spec"), style));
  absl::StrAppend(&text, YamlSection("Status", file.Find("status"), style));
  bool by_cluster = kind.kind == "Bundle";
  if (by_cluster || kind.kind == "Cluster") {
    absl::StrAppend(&text, Section(by_cluster ? "Clusters" : "Bundles", style),
                    input.assignments.empty()
                        ? "  none\n"
                        : FormatAssignments(input.assignments, by_cluster, style, now));
  }
  if (!input.objects.empty())
    absl::StrAppend(&text, Section("Objects", style), FormatObjects(input.objects, style));
  if (!input.events.empty())
    absl::StrAppend(&text, Section("Events", style), FormatEvents(input.events, style, now));
  return text;
}

}  // namespace nave::cli
