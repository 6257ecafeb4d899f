// Files that appear whole or not at all.
#ifndef NAVE_HUB_CA_PRIVATE_FILE_H_
#define NAVE_HUB_CA_PRIVATE_FILE_H_

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace nave {

enum class IfExists {
  // ALREADY_EXISTS, and the file stays as it is.
  kRefuse,
  kReplace,
};

// False also when it cannot be looked at.
bool FileExists(const std::string& path);

// Writes `content` beside `path`, makes it durable, then gives it the name in one step.
// STORE_READ_ONLY, DISK_FULL or INTERNAL name the path; then nothing is left behind.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view content, mode_t mode,
                                 IfExists if_exists);

// The error of a system call on `path` with the reason that fits `error_number`.
absl::Status FileError(absl::string_view what, const std::string& path, int error_number);

}  // namespace nave

#endif  // NAVE_HUB_CA_PRIVATE_FILE_H_
