#include "tests/hub/store/memory_vfs.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "absl/strings/str_cat.h"

namespace nave {
namespace {

// SQLite allocates it.
struct File {
  sqlite3_file base;
  MemoryVfs* vfs;
  std::string* name;
  bool delete_on_close;
};

File* Of(sqlite3_file* file) { return reinterpret_cast<File*>(file); }
std::string& Content(sqlite3_file* file) { return Of(file)->vfs->files()[*Of(file)->name]; }

int Close(sqlite3_file* file) {
  if (Of(file)->delete_on_close) Of(file)->vfs->files().erase(*Of(file)->name);
  delete Of(file)->name;
  return SQLITE_OK;
}

int Read(sqlite3_file* file, void* out, int size, sqlite3_int64 offset) {
  const std::string& content = Content(file);
  size_t from = std::min<size_t>(static_cast<size_t>(offset), content.size());
  size_t got = std::min<size_t>(static_cast<size_t>(size), content.size() - from);
  std::memcpy(out, content.data() + from, got);
  if (got == static_cast<size_t>(size)) return SQLITE_OK;
  std::memset(static_cast<char*>(out) + got, 0, static_cast<size_t>(size) - got);
  return SQLITE_IOERR_SHORT_READ;
}

int Write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  std::string bytes(static_cast<const char*>(data), static_cast<size_t>(size));
  return Of(file)->vfs->Do({DiskOp::kWrite, *Of(file)->name, offset, std::move(bytes), false});
}

int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  return Of(file)->vfs->Do({DiskOp::kTruncate, *Of(file)->name, size, "", false});
}

int Sync(sqlite3_file* file, int) {
  return Of(file)->vfs->Do({DiskOp::kSync, *Of(file)->name, 0, "", false});
}

int FileSize(sqlite3_file* file, sqlite3_int64* size) {
  *size = static_cast<sqlite3_int64>(Content(file).size());
  return SQLITE_OK;
}

int Lock(sqlite3_file*, int) { return SQLITE_OK; }
int CheckReservedLock(sqlite3_file*, int* reserved) {
  *reserved = 0;
  return SQLITE_OK;
}
int FileControl(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int SectorSize(sqlite3_file*) { return 4096; }
// As SQLite's own files have it: a torn write harms nothing beside it.
int DeviceCharacteristics(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

// Version 1: neither shared memory nor memory mapping.
const sqlite3_io_methods kMethods = [] {
  sqlite3_io_methods methods = {};
  methods.iVersion = 1;
  methods.xClose = Close;
  methods.xRead = Read;
  methods.xWrite = Write;
  methods.xTruncate = Truncate;
  methods.xSync = Sync;
  methods.xFileSize = FileSize;
  methods.xLock = Lock;
  methods.xUnlock = Lock;
  methods.xCheckReservedLock = CheckReservedLock;
  methods.xFileControl = FileControl;
  methods.xSectorSize = SectorSize;
  methods.xDeviceCharacteristics = DeviceCharacteristics;
  return methods;
}();

MemoryVfs* VfsOf(sqlite3_vfs* vfs) { return static_cast<MemoryVfs*>(vfs->pAppData); }

int Open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  MemoryVfs* owner = VfsOf(vfs);
  std::string path = name != nullptr ? name : absl::StrCat("temporary-", owner->log().size());
  if (owner->files().count(path) == 0) {
    if ((flags & SQLITE_OPEN_CREATE) == 0) return SQLITE_CANTOPEN;
    owner->files()[path];
  }
  File* opened = new (file) File();
  opened->base.pMethods = &kMethods;
  opened->vfs = owner;
  opened->name = new std::string(path);
  opened->delete_on_close = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0;
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

int Delete(sqlite3_vfs* vfs, const char* name, int sync_directory) {
  if (VfsOf(vfs)->files().count(name) == 0) return SQLITE_IOERR_DELETE_NOENT;
  return VfsOf(vfs)->Do({DiskOp::kDelete, name, 0, "", sync_directory != 0});
}

int Access(sqlite3_vfs* vfs, const char* name, int, int* result) {
  *result = VfsOf(vfs)->files().count(name) > 0 ? 1 : 0;
  return SQLITE_OK;
}

int FullPathname(sqlite3_vfs*, const char* name, int size, char* out) {
  sqlite3_snprintf(size, out, "%s", name);
  return SQLITE_OK;
}

int Randomness(sqlite3_vfs*, int size, char* out) {
  std::memset(out, 7, static_cast<size_t>(size));
  return size;
}

int Sleep(sqlite3_vfs*, int microseconds) { return microseconds; }

int CurrentTime(sqlite3_vfs*, double* now) {
  *now = 2460000.5;
  return SQLITE_OK;
}

std::string NewName() {
  static int count = 0;
  return absl::StrCat("memory-", ++count);
}

}  // namespace

MemoryVfs::MemoryVfs() : name_(NewName()), vfs_(std::make_unique<sqlite3_vfs>()) {
  *vfs_ = {};
  vfs_->iVersion = 1;
  vfs_->szOsFile = sizeof(File);
  vfs_->mxPathname = 512;
  vfs_->zName = name_.c_str();
  vfs_->pAppData = this;
  vfs_->xOpen = Open;
  vfs_->xDelete = Delete;
  vfs_->xAccess = Access;
  vfs_->xFullPathname = FullPathname;
  vfs_->xRandomness = Randomness;
  vfs_->xSleep = Sleep;
  vfs_->xCurrentTime = CurrentTime;
  sqlite3_vfs_register(vfs_.get(), 0);
}

MemoryVfs::~MemoryVfs() { sqlite3_vfs_unregister(vfs_.get()); }

int MemoryVfs::Do(DiskOp op) {
  int code = fail ? fail(op) : SQLITE_OK;
  if (code != SQLITE_OK) return code;
  ApplyOp(op, &files_);
  log_.push_back(std::move(op));
  return SQLITE_OK;
}

void ApplyOp(const DiskOp& op, DiskFiles* files, size_t bytes) {
  switch (op.kind) {
    case DiskOp::kWrite: {
      std::string& content = (*files)[op.file];
      size_t offset = static_cast<size_t>(op.offset), size = std::min(bytes, op.data.size());
      if (content.size() < offset + size) content.resize(offset + size);
      content.replace(offset, size, op.data, 0, size);
      return;
    }
    case DiskOp::kTruncate:
      (*files)[op.file].resize(static_cast<size_t>(op.offset));
      return;
    case DiskOp::kSync:
      (*files)[op.file];
      return;
    case DiskOp::kDelete:
      files->erase(op.file);
      return;
    case DiskOp::kSyncFolder:
      return;
  }
}

void VolatileDisk::Apply(const DiskOp& op) {
  pending_.push_back(op);
  bool whole_file = op.kind == DiskOp::kSync || (op.kind == DiskOp::kDelete && op.synced);
  if (!whole_file && op.kind != DiskOp::kSyncFolder) return;
  auto becomes_durable = [&](const DiskOp& pending) {
    return whole_file ? pending.file == op.file
                      : pending.kind == DiskOp::kDelete || &pending == &pending_.back();
  };
  std::vector<DiskOp> rest;
  for (DiskOp& pending : pending_) {
    if (becomes_durable(pending)) {
      ApplyOp(pending, &durable_);
    } else {
      rest.push_back(std::move(pending));
    }
  }
  pending_ = std::move(rest);
}

DiskFiles VolatileDisk::AfterPowerLoss(Unsynced unsynced, std::mt19937* random) const {
  DiskFiles files = durable_;
  if (unsynced == kLost) return files;
  constexpr size_t kSector = 512;
  for (const DiskOp& op : pending_) {
    if (unsynced == kKept) {
      ApplyOp(op, &files);
    } else if ((*random)() % 2 == 0) {
      bool torn = op.kind == DiskOp::kWrite && (*random)() % 3 == 0;
      ApplyOp(op, &files, torn ? (*random)() % (op.data.size() / kSector + 1) * kSector : SIZE_MAX);
    }
  }
  return files;
}

}  // namespace nave
