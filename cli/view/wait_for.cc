#include "cli/view/wait_for.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cli/resources/words.h"
#include "common/base/error.h"
#include "common/value/codec.h"
#include "common/wire/file_form.h"
#include "common/wire/kinds.h"

namespace nave::cli {
namespace {

absl::Status Usage(absl::string_view text) {
  return MakeError(
      Reason::kUsageInvalid,
      absl::StrCat("`--for`: must be delete, create, a state like Ready, condition=NAME[=VALUE] or "
                   "jsonpath={.path}=VALUE; got '",
                   text, "'"));
}

// {.status.counts.ready}, .status.conditions[0].type: members and indexes.
std::vector<std::string> SplitPath(absl::string_view text) {
  absl::ConsumePrefix(&text, "{");
  absl::ConsumeSuffix(&text, "}");
  return absl::StrSplit(absl::StrReplaceAll(text, {{"[", "."}, {"]", ""}}), '.', absl::SkipEmpty());
}

const Value* Walk(const Value& root, const std::vector<std::string>& path) {
  const Value* at = &root;
  for (const std::string& part : path) {
    size_t index = 0;
    if (at->is_array() && absl::SimpleAtoi(part, &index)) {
      at = index < at->array()->size() ? &(*at->array())[index] : nullptr;
    } else {
      at = at->Find(part);
    }
    if (at == nullptr) return nullptr;
  }
  return at;
}

bool ConditionIs(const Value& file, absl::string_view name, absl::string_view value) {
  int64_t generation = file.Find("metadata", "generation") == nullptr
                           ? 0
                           : file.Find("metadata", "generation")->IntOr(0);
  const Value* conditions = file.Find("status", "conditions");
  if (conditions == nullptr || !conditions->is_array())
    return absl::EqualsIgnoreCase(value, "Unknown");
  for (const Value& condition : *conditions->array()) {
    if (!absl::EqualsIgnoreCase(condition.StringAt("type"), name)) continue;
    const Value* observed = condition.Find("observedGeneration");
    int64_t seen = observed == nullptr ? 0 : observed->IntOr(0);
    if (seen > 0 && seen < generation) return false;
    return absl::EqualsIgnoreCase(condition.StringAt("status"), value);
  }
  return absl::EqualsIgnoreCase(value, "Unknown");
}

bool GenerationSeen(const Value& file) {
  const Value* generation = file.Find("metadata", "generation");
  const Value* seen = file.Find("status", "observedGeneration");
  return seen == nullptr || generation == nullptr || seen->IntOr(0) >= generation->IntOr(0);
}

bool WordHolds(const std::string& word, const google::protobuf::Message& resource,
               const Value& file) {
  const KindInfo* kind = KindOf(resource);
  std::string state;
  if (kind->kind == "Cluster") state = StateOf(static_cast<const v1::Cluster&>(resource)).word;
  if (kind->kind == "Bundle") state = StateOf(static_cast<const v1::Bundle&>(resource)).word;
  if (state.empty() || !absl::EqualsIgnoreCase(state, word)) {
    // Such a state outweighs the condition: a bundle that is being deleted is not Ready.
    return (state.empty() || !absl::EqualsIgnoreCase(word, "Ready")) &&
           ConditionIs(file, word, "True");
  }
  // What the state was before the last change says nothing.
  if (!GenerationSeen(file)) return false;
  return kind->kind != "Bundle" || state != "Ready" || ConditionIs(file, "Ready", "True");
}

}  // namespace

absl::StatusOr<WaitFor> ParseWaitFor(absl::string_view text) {
  WaitFor wait;
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "condition=")) {
    std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(rest, absl::MaxSplits('=', 1));
    wait.kind = WaitFor::Kind::kCondition;
    wait.name = std::string(parts.first);
    wait.value = parts.second.empty() ? "True" : std::string(parts.second);
    if (wait.name.empty()) return Usage(text);
    return wait;
  }
  if (absl::ConsumePrefix(&rest, "jsonpath=")) {
    size_t end = rest.find('=');
    wait.kind = WaitFor::Kind::kPath;
    wait.name = std::string(rest.substr(0, end));
    wait.path = SplitPath(wait.name);
    if (end != absl::string_view::npos) wait.value = std::string(rest.substr(end + 1));
    if (wait.path.empty()) return Usage(text);
    return wait;
  }
  if (text.empty() || absl::StrContains(text, "=")) return Usage(text);
  wait.name = std::string(text);
  if (absl::EqualsIgnoreCase(text, "delete")) wait.kind = WaitFor::Kind::kDelete;
  if (absl::EqualsIgnoreCase(text, "create")) wait.kind = WaitFor::Kind::kCreate;
  return wait;
}

bool Holds(const WaitFor& wait, const google::protobuf::Message& resource) {
  Value file = ToFile(resource);
  switch (wait.kind) {
    case WaitFor::Kind::kDelete:
      return false;
    case WaitFor::Kind::kCreate:
      return true;
    case WaitFor::Kind::kWord:
      return WordHolds(wait.name, resource, file);
    case WaitFor::Kind::kCondition:
      return ConditionIs(file, wait.name, wait.value);
    case WaitFor::Kind::kPath: {
      const Value* found = Walk(file, wait.path);
      if (found == nullptr || wait.value.empty()) return found != nullptr;
      return (found->is_string() ? *found->string() : FormatJson(*found)) == wait.value;
    }
  }
  return false;
}

std::string PresentState(const google::protobuf::Message& resource) {
  const KindInfo* kind = KindOf(resource);
  StateWord state;
  if (kind->kind == "Cluster") state = StateOf(static_cast<const v1::Cluster&>(resource));
  if (kind->kind == "Bundle") state = StateOf(static_cast<const v1::Bundle&>(resource));
  return state.reason.empty() ? state.word : absl::StrCat(state.word, " (", state.reason, ")");
}

}  // namespace nave::cli
