// Files that the user names with -f: files, folders, patterns, and "-" for stdin.
#ifndef NAVE_CLI_FILES_INPUT_H_
#define NAVE_CLI_FILES_INPUT_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace nave::cli {

struct InputFile {
  // As the user named it, or below the folder that the user named; "stdin".
  std::string path;
  // Folder that relative paths in it start from.
  std::string folder;
  std::string content;
};

// A folder gives its *.yaml, *.yml and *.json files by name, with `recursive` those of its
// sub-folders too; hidden ones are left out. A path that does not exist and has *, ? or [ is a
// pattern. Each file once. FILE_UNREADABLE: also for a folder or a pattern without a file.
// `read_stdin` is called at most once.
absl::StatusOr<std::vector<InputFile>> ReadInputs(const std::vector<std::string>& paths,
                                                  bool recursive,
                                                  const std::function<std::string()>& read_stdin);

}  // namespace nave::cli

#endif  // NAVE_CLI_FILES_INPUT_H_
