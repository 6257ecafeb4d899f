#include "hub/ca/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/uuid.h"

namespace nave {
namespace {

// 0 or the error number. Writes and syncs a new file.
int WriteNew(const std::string& path, absl::string_view content, mode_t mode) {
  int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (file < 0) return errno;
  int error = 0;
  while (!content.empty() && error == 0) {
    ssize_t written = write(file, content.data(), content.size());
    if (written >= 0) {
      content.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  // The mode given to open is cut by the process's umask.
  if (error == 0 && fchmod(file, mode) != 0) error = errno;
  if (error == 0 && fsync(file) != 0) error = errno;
  if (close(file) != 0 && error == 0) error = errno;
  return error;
}

int SyncDirectory(const std::string& directory) {
  int file = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return errno;
  int error = fsync(file) != 0 ? errno : 0;
  close(file);
  return error;
}

}  // namespace

bool FileExists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

absl::Status FileError(absl::string_view what, const std::string& path, int error_number) {
  Reason reason = Reason::kInternal;
  if (error_number == ENOSPC || error_number == EDQUOT) reason = Reason::kDiskFull;
  if (error_number == EROFS || error_number == EACCES || error_number == EPERM ||
      error_number == ENOENT || error_number == ENOTDIR) {
    reason = Reason::kStoreReadOnly;
  }
  return MakeError(reason, absl::StrCat(what, " ", path, ": ", std::strerror(error_number)));
}

absl::Status WriteFileAtomically(const std::string& path, absl::string_view content, mode_t mode,
                                 IfExists if_exists) {
  std::string beside = absl::StrCat(path, ".", absl::BytesToHexString(RandomBytes(6)), ".tmp");
  int error = WriteNew(beside, content, mode);
  if (error == 0) {
    // A second name for it fails where rename would replace.
    bool named = if_exists == IfExists::kReplace ? rename(beside.c_str(), path.c_str()) == 0
                                                 : link(beside.c_str(), path.c_str()) == 0;
    if (!named) error = errno;
  }
  unlink(beside.c_str());
  if (error == 0) error = SyncDirectory(path.substr(0, path.rfind('/') + 1));
  if (error == 0) return absl::OkStatus();
  if (error == EEXIST) {
    return MakeError(Reason::kAlreadyExists, absl::StrCat("file ", path, ": exists"));
  }
  return FileError("cannot write", path, error);
}

}  // namespace nave
