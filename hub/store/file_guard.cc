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
  absl::Status looked = Look(path_, &file_);
  if (!looked.ok()) return looked;
  size_t slash = path_.rfind('/');
  std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return SystemError(folder, errno);
  int error = fsync(fd) == 0 ? 0 : errno;
  close(fd);
  return error == 0 ? absl::OkStatus() : SystemError(folder, error);
}

absl::Status FileGuard::Look(const std::string& path, Identity* identity) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return SystemError(path, errno);
  *identity = {info.st_dev, info.st_ino};
  return absl::OkStatus();
}

absl::Status FileGuard::IdentifyLog() {
  log_ = Identity();
  return Look(log_path_, &*log_);
}

absl::Status FileGuard::CheckOne(const std::string& path, const Identity& identity) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    return MakeError(Reason::kStoreWentBack,
                     absl::StrCat("store: ", path, " is gone: ", strerror(errno)));
  }
  if (info.st_dev == identity.device && info.st_ino == identity.inode) return absl::OkStatus();
  return MakeError(
      Reason::kStoreWentBack,
      absl::StrCat("store: ", path, " is another file than the one this process opened"));
}

absl::Status FileGuard::Check() const {
  absl::Status same = CheckOne(path_, file_);
  return same.ok() && log_.has_value() ? CheckOne(log_path_, *log_) : same;
}

}  // namespace nave
