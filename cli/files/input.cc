#include "cli/files/input.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"

namespace nave::cli {
namespace {

namespace fs = std::filesystem;

absl::Status Unreadable(absl::string_view path, absl::string_view why) {
  return MakeError(Reason::kFileUnreadable, absl::StrCat("cannot read ", path, ": ", why));
}

bool IsManifestName(const fs::path& path) {
  std::string name = path.filename().string();
  std::string extension = path.extension().string();
  return !absl::StartsWith(name, ".") &&
         (extension == ".yaml" || extension == ".yml" || extension == ".json");
}

absl::Status AddFolder(const fs::path& folder, bool recursive, std::vector<std::string>* out) {
  std::error_code error;
  std::vector<std::string> files;
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_directory(error)) {
      if (!absl::StartsWith(entry.path().filename().string(), ".")) folders.push_back(entry.path());
    } else if (IsManifestName(entry.path())) {
      files.push_back(entry.path().string());
    }
  }
  if (error) return Unreadable(folder.string(), error.message());
  std::sort(files.begin(), files.end());
  std::sort(folders.begin(), folders.end());
  out->insert(out->end(), files.begin(), files.end());
  for (const fs::path& child : folders) {
    if (recursive) RETURN_IF_ERROR(AddFolder(child, true, out));
  }
  return absl::OkStatus();
}

std::vector<std::string> Expand(const std::string& pattern) {
  std::vector<std::string> found;
  glob_t result{};
  if (glob(pattern.c_str(), 0, nullptr, &result) == 0) {
    for (size_t i = 0; i < result.gl_pathc; ++i) found.emplace_back(result.gl_pathv[i]);
  }
  globfree(&result);
  return found;
}

// The files that one -f stands for.
absl::Status AddPath(const std::string& path, bool recursive, std::vector<std::string>* out) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    size_t before = out->size();
    RETURN_IF_ERROR(AddFolder(path, recursive, out));
    if (out->size() > before) return absl::OkStatus();
    return Unreadable(path, absl::StrCat("the folder has no *.yaml, *.yml or *.json file",
                                         recursive ? "" : " (add -R for its sub-folders)"));
  }
  if (fs::exists(path, error)) {
    out->push_back(path);
    return absl::OkStatus();
  }
  if (path.find_first_of("*?[") == std::string::npos) return Unreadable(path, "it does not exist");
  std::vector<std::string> found = Expand(path);
  if (found.empty()) return Unreadable(path, "no file fits the pattern");
  for (const std::string& match : found) RETURN_IF_ERROR(AddPath(match, recursive, out));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<InputFile>> ReadInputs(const std::vector<std::string>& paths,
                                                  bool recursive,
                                                  const std::function<std::string()>& read_stdin) {
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    if (path == "-") {
      names.push_back(path);
    } else {
      RETURN_IF_ERROR(AddPath(path, recursive, &names));
    }
  }
  std::vector<InputFile> files;
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) continue;
    if (name == "-") {
      files.push_back({"stdin", "", read_stdin()});
      continue;
    }
    std::ifstream file(name, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file.is_open() || file.bad()) return Unreadable(name, "it may not be read");
    files.push_back({name, fs::path(name).parent_path().string(), text.str()});
  }
  return files;
}

}  // namespace nave::cli
