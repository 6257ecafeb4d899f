#include "cli/resources/target.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/error.h"
#include "common/base/nearest_word.h"
#include "common/base/status_macros.h"
#include "common/model/names.h"

namespace nave::cli {
namespace {

absl::Status Usage(absl::string_view text, ErrorMetadata metadata = {}) {
  return MakeError(Reason::kUsageInvalid, text, std::move(metadata));
}

absl::Status BadId(const KindInfo& kind, absl::string_view id) {
  return Usage(
      absl::StrCat("'", id, "' cannot be the name of a ", KindWord(kind),
                   ": it must be an RFC 1123 label of at most 63 characters (a-z, 0-9 and '-')"));
}

absl::StatusOr<Target> RevisionTarget(const KindInfo& kind, absl::string_view id,
                                      absl::string_view project) {
  std::vector<absl::string_view> parts = absl::StrSplit(id, absl::ByAnyChar("/@"));
  uint64_t number = 0;
  if (parts.size() != 2 || !IsId(parts[0]) || !absl::SimpleAtoi(parts[1], &number)) {
    return Usage(
        absl::StrCat("'", id, "' cannot be the name of a revision: it must be BUNDLE@NUMBER"));
  }
  return Target{&kind, RevisionName(project, parts[0], number)};
}

// A full resource name; null when the text is none.
const KindInfo* KindOfName(absl::string_view text) {
  std::vector<absl::string_view> parts = absl::StrSplit(text, '/');
  if (parts.size() % 2 != 0 || parts.size() < 2) return nullptr;
  for (const KindInfo& kind : Kinds()) {
    if (parts[parts.size() - 2] == kind.collection)
      return parts.size() == 2 && kind.in_project ? nullptr : &kind;
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<const KindInfo*> ParseKindWord(absl::string_view word) {
  if (const KindInfo* kind = FindKind(word)) return kind;
  std::vector<std::string> words;
  std::vector<std::string> singular;
  for (const KindInfo& kind : Kinds()) {
    singular.push_back(KindWord(kind));
    for (absl::string_view alias : kind.words) words.emplace_back(alias);
  }
  std::string nearest = NearestWord(word, words);
  std::string hint = nearest.empty() ? absl::StrCat("; kinds are ", absl::StrJoin(singular, ", "))
                                     : absl::StrCat("; did you mean '", nearest, "'?");
  return Usage(absl::StrCat("there is no kind '", word, "'", hint));
}

absl::StatusOr<Target> MakeTarget(const KindInfo& kind, absl::string_view id,
                                  absl::string_view project) {
  if (kind.collection == "revisions") return RevisionTarget(kind, id, project);
  if (!IsId(id)) return BadId(kind, id);
  if (kind.collection == "events") return Target{&kind, EventName(project, id)};
  std::string name = absl::StrCat(kind.collection, "/", id);
  if (kind.in_project) name = absl::StrCat(ProjectName(project), "/", name);
  return Target{&kind, name};
}

absl::StatusOr<Target> ParseTarget(absl::string_view text, absl::string_view project) {
  const KindInfo* of_name = KindOfName(text);
  if (of_name != nullptr) {
    std::vector<absl::string_view> parts = absl::StrSplit(text, '/');
    for (size_t i = 1; i < parts.size(); i += 2) {
      if (!IsId(parts[i])) return BadId(*of_name, parts[i]);
    }
    return Target{of_name, std::string(text)};
  }
  std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('/', 1));
  if (!absl::StrContains(text, "/") || parts.second.empty()) {
    return Usage(
        absl::StrCat("'", text, "' names nothing: it must be KIND/NAME, as in cluster/edge-17"));
  }
  ASSIGN_OR_RETURN(const KindInfo* kind, ParseKindWord(parts.first));
  return MakeTarget(*kind, parts.second, project);
}

absl::StatusOr<Selection> ParseSelection(const std::vector<std::string>& arguments,
                                         absl::string_view project) {
  Selection selection;
  if (arguments.empty()) return Usage("a kind must be given: KIND, KIND NAME or KIND/NAME");
  if (!absl::StrContains(arguments[0], "/")) {
    ASSIGN_OR_RETURN(selection.kind, ParseKindWord(arguments[0]));
    for (size_t i = 1; i < arguments.size(); ++i) {
      // "get bundle bundle/web" is clear enough.
      bool full = absl::StrContains(arguments[i], "/") && selection.kind->collection != "revisions";
      auto target = full ? ParseTarget(arguments[i], project)
                         : MakeTarget(*selection.kind, arguments[i], project);
      RETURN_IF_ERROR(target.status());
      selection.targets.push_back(*std::move(target));
    }
    return selection;
  }
  for (const std::string& argument : arguments) {
    ASSIGN_OR_RETURN(Target target, ParseTarget(argument, project));
    selection.targets.push_back(std::move(target));
  }
  return selection;
}

std::string KindWord(const KindInfo& kind) { return std::string(kind.words.front()); }

std::string IdOf(absl::string_view name) {
  size_t slash = name.rfind('/');
  return std::string(slash == absl::string_view::npos ? name : name.substr(slash + 1));
}

std::string ProjectOf(absl::string_view name) {
  std::vector<absl::string_view> parts = absl::StrSplit(name, '/');
  return parts.size() > 2 && parts[0] == "projects" ? std::string(parts[1]) : "";
}

std::string ShortName(const KindInfo& kind, absl::string_view name, absl::string_view project) {
  std::string of_name = ProjectOf(name);
  if (!of_name.empty() && of_name != project) return std::string(name);
  if (kind.collection == "revisions") {
    std::vector<absl::string_view> parts = absl::StrSplit(name, '/');
    if (parts.size() == 6) return absl::StrCat("revision/", parts[3], "@", parts[5]);
  }
  return absl::StrCat(KindWord(kind), "/", IdOf(name));
}

}  // namespace nave::cli
