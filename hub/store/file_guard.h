// Holds a data file for one process, and tells when another file has taken its place.
#ifndef NAVE_HUB_STORE_FILE_GUARD_H_
#define NAVE_HUB_STORE_FILE_GUARD_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace nave {

// Thread-safe after Identify.
class FileGuard {
 public:
  // Locks "<path>.lock", making it if need be, until destroyed. STORE_IN_USE, STORE_READ_ONLY,
  // DISK_FULL.
  static absl::StatusOr<std::unique_ptr<FileGuard>> Lock(absl::string_view path);
  ~FileGuard();
  FileGuard(const FileGuard&) = delete;
  FileGuard& operator=(const FileGuard&) = delete;

  // Remembers which file is at the path now, and makes the folder durable: the new file's entry is
  // there, and that of the journal which it was made with is gone (a loss of power would bring it
  // back, and it would undo the file).
  absl::Status Identify();
  // Remembers the write-ahead log beside it too, which must be there. What is written to one that
  // was removed is lost.
  absl::Status IdentifyLog();
  // STORE_WENT_BACK when one of them is not at its path any more.
  absl::Status Check() const;

 private:
  // A file as the system knows it.
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
  };
  FileGuard(std::string path, int fd)
      : path_(std::move(path)), log_path_(path_ + "-wal"), fd_(fd) {}
  static absl::Status Look(const std::string& path, Identity* identity);
  static absl::Status CheckOne(const std::string& path, const Identity& identity);

  const std::string path_;
  const std::string log_path_;
  const int fd_;
  Identity file_;
  std::optional<Identity> log_;
};

}  // namespace nave

#endif  // NAVE_HUB_STORE_FILE_GUARD_H_
