// Files for SQLite in memory, with a log of what was written and synced: disks that lose power,
// fill up or fail.
#ifndef NAVE_TESTS_HUB_STORE_MEMORY_VFS_H_
#define NAVE_TESTS_HUB_STORE_MEMORY_VFS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

struct sqlite3_vfs;

namespace nave {

using DiskFiles = std::map<std::string, std::string>;

struct DiskOp {
  enum Kind { kWrite, kTruncate, kSync, kDelete, kSyncFolder };
  Kind kind = kWrite;
  std::string file;
  // Of a write; of a truncation: the new size.
  int64_t offset = 0;
  std::string data;
  // A deletion that is durable at once.
  bool synced = false;
};

// A VFS of SQLite, registered while it lives. One connection at a time per file, without shared
// memory: for inline stores. Not thread-safe.
class MemoryVfs {
 public:
  MemoryVfs();
  ~MemoryVfs();
  MemoryVfs(const MemoryVfs&) = delete;
  MemoryVfs& operator=(const MemoryVfs&) = delete;

  // For SqliteStoreOptions::vfs.
  const std::string& name() const { return name_; }
  DiskFiles& files() { return files_; }
  std::vector<DiskOp>& log() { return log_; }
  // Asked before each operation; answers the SQLite code to fail with, or 0. The operation then did
  // nothing.
  std::function<int(const DiskOp&)> fail;
  // As fsync of the folder: deletions are durable.
  void SyncFolder() { log_.push_back({DiskOp::kSyncFolder, "", 0, "", false}); }

  // For the VFS's functions.
  int Do(DiskOp op);

 private:
  const std::string name_;
  std::unique_ptr<sqlite3_vfs> vfs_;
  DiskFiles files_;
  std::vector<DiskOp> log_;
};

// `op` done to `files`; the first `bytes` of a write only.
void ApplyOp(const DiskOp& op, DiskFiles* files, size_t bytes = SIZE_MAX);

// A disk that forgets what was not synced. A file's directory entry is durable with its first sync,
// as SQLite and the store see to it.
class VolatileDisk {
 public:
  enum Unsynced {
    kLost,
    kKept,
    // Any of the writes, in whole or in part.
    kSome,
  };
  void Apply(const DiskOp& op);
  // What is found when the power comes back.
  DiskFiles AfterPowerLoss(Unsynced unsynced, std::mt19937* random) const;

 private:
  DiskFiles durable_;
  std::vector<DiskOp> pending_;
};

}  // namespace nave

#endif  // NAVE_TESTS_HUB_STORE_MEMORY_VFS_H_
