#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/enroll/identity_store.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/value/codec.h"
#include "common/value/value.h"

namespace nave {
namespace {

absl::Status FileFailed(absl::string_view what, const std::string& path, int error_number) {
  return MakeError(error_number == ENOSPC ? Reason::kDiskFull : Reason::kStoreReadOnly,
                   absl::StrCat(what, " ", path, ": ", std::strerror(error_number)));
}

absl::StatusOr<std::optional<AgentIdentity>> ReadIdentity(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) {
    if (errno == ENOENT) return std::nullopt;
    return FileFailed("cannot read", path, errno);
  }
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  absl::StatusOr<Value> value = ParseJson(text);
  const Object* object = value.ok() ? value->object() : nullptr;
  if (object == nullptr) {
    return MakeError(Reason::kIdentityInvalid, absl::StrCat("file ", path, ": not a JSON object"));
  }
  IdentityData data;
  for (const auto& [key, member] : *object) data[key] = member.StringOr("");
  absl::StatusOr<AgentIdentity> identity = ParseIdentity(data);
  if (!identity.ok()) return Prepend(identity.status(), absl::StrCat("file ", path));
  return std::optional<AgentIdentity>(*std::move(identity));
}

// The content is on the disk under a name of its own before it takes the name that a start reads.
absl::Status WriteDurably(const std::string& directory, const std::string& path,
                          const std::string& content) {
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return FileFailed("cannot make directory", directory, errno);
  }
  const std::string beside = path + ".tmp";
  int file = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return FileFailed("cannot write", beside, errno);
  int error = fchmod(file, 0600) != 0 ? errno : 0;
  for (size_t at = 0; at < content.size() && error == 0;) {
    ssize_t written = write(file, content.data() + at, content.size() - at);
    if (written >= 0) {
      at += static_cast<size_t>(written);
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (error == 0 && fsync(file) != 0) error = errno;
  if (close(file) != 0 && error == 0) error = errno;
  if (error == 0 && rename(beside.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    unlink(beside.c_str());
    return FileFailed("cannot write", path, error);
  }
  int parent = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool synced = parent >= 0 && fsync(parent) == 0;
  error = errno;
  if (parent >= 0) close(parent);
  return synced ? absl::OkStatus() : FileFailed("cannot sync", directory, error);
}

class FileIdentityStore final : public IdentityStore {
 public:
  FileIdentityStore(Executor& loop, std::string directory)
      : loop_(loop), directory_(std::move(directory)), path_(directory_ + "/identity.json") {}

  void Load(Loaded done) override {
    Later([done = std::move(done), result = ReadIdentity(path_)]() mutable {
      std::move(done)(std::move(result));
    });
  }

  void Save(AgentIdentity identity, Saved done) override {
    Object object;
    for (auto& [key, value] : FormatIdentity(identity)) object[key] = Value(value);
    absl::Status status =
        WriteDurably(directory_, path_, FormatJsonPretty(Value(std::move(object))) + "\n");
    Later([done = std::move(done), status]() mutable { std::move(done)(status); });
  }

 private:
  // Runs `task` on the loop unless the store is gone by then.
  void Later(Task task) {
    loop_.Post([alive = std::weak_ptr<bool>(alive_), task = std::move(task)]() mutable {
      if (alive.lock() != nullptr) std::move(task)();
    });
  }

  Executor& loop_;
  const std::string directory_;
  const std::string path_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

std::unique_ptr<IdentityStore> MakeFileIdentityStore(Executor& loop, std::string directory) {
  return std::make_unique<FileIdentityStore>(loop, std::move(directory));
}

}  // namespace nave
