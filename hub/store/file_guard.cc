#include "hub/store/file_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"

namespace nave {
namespace {

absl::Status SystemError(absl::string_view path, int error) {
  std::string text = absl::StrCat("store: ", path, ": ", strerror(error));
  if (error == EACCES || error == EROFS || error == EPERM) {
    return MakeError(Reason::kStoreReadOnly, text);
  }
  if (error == ENOSPC || error == EDQUOT) return MakeError(Reason::kDiskFull, text);
  return MakeError(Reason::kStoreUnavailable, text);
}

}  // namespace

absl::StatusOr<std::unique_ptr<FileGuard>> FileGuard::Lock(absl::string_view path) {
  std::string lock_path = absl::StrCat(path, ".lock");
  int fd = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return SystemError(lock_path, errno);
  std::unique_ptr<FileGuard> guard(new FileGuard(std::string(path), fd));
  // A lock of the open file, so that a second store of the same process is refused too.
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return guard;
  if (errno != EWOULDBLOCK) return SystemError(lock_path, errno);
  return MakeError(Reason::kStoreInUse,
                   absl::StrCat("store: ", path, " is in use by another process"));
}

FileGuard::~FileGuard() { close(fd_); }

absl::Status FileGuard::Identify() {
  struct stat info;
  if (stat(path_.c_str(), &info) != 0) return SystemError(path_, errno);
  device_ = info.st_dev;
  inode_ = info.st_ino;
  size_t slash = path_.rfind('/');
  std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return SystemError(folder, errno);
  int error = fsync(fd) == 0 ? 0 : errno;
  close(fd);
  return error == 0 ? absl::OkStatus() : SystemError(folder, error);
}

absl::Status FileGuard::Check() const {
  struct stat info;
  if (stat(path_.c_str(), &info) != 0) {
    return MakeError(Reason::kStoreWentBack, absl::StrCat("store: ", path_, " is gone: ", strerror(errno)));
  }
  if (info.st_dev == device_ && info.st_ino == inode_) return absl::OkStatus();
  return MakeError(Reason::kStoreWentBack,
                   absl::StrCat("store: ", path_, " is another file than the one this process opened"));
}

}  // namespace nave
