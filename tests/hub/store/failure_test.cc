// Goal: what an operator meets around the store's file is refused with its reason, changes nothing,
// and is over when its cause is: damage, rights, another process, a newer version, no space, a file
// put in its place.
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "hub/store/sqlite_store.h"
#include "tests/hub/store/harness.h"

namespace nave {
namespace {

SqliteStoreOptions At(const std::string& path, bool inline_mode = false) {
  SqliteStoreOptions options;
  options.path = path;
  options.inline_mode = inline_mode;
  return options;
}

std::string ReasonOf(const SqliteStoreOptions& options) {
  return ErrorReason(OpenSqliteStore(options).status());
}

absl::Status Put(Store& store, const std::string& key, const std::string& value) {
  Txn txn;
  txn.writes = {{key, value, 0}};
  return store.Commit(std::move(txn)).status();
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

void WriteFile(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

std::vector<KeyValue> All(Store& store) { return store.Range("/", "", 0, 0)->items; }

class StoreFailureTest : public testing::Test {
 protected:
  // A closed store of some hundred keys, some of them large.
  std::vector<KeyValue> MakeStore() {
    std::unique_ptr<SqliteStore> store = OpenSqliteStore(At(path_, true)).value();
    for (int i = 0; i < 200; ++i) {
      EXPECT_TRUE(
          Put(*store, absl::StrCat("/k/", i), std::string(i % 20 == 0 ? 40000 : 300, 'v')).ok());
    }
    return All(*store);
  }
  void Sql(const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
    sqlite3_close(db);
  }

  TempFolder folder_;
  const std::string path_ = folder_.Path("store.db");
};

TEST_F(StoreFailureTest, EveryDamagedPageIsRefusedAtOpen) {
  std::vector<KeyValue> content = MakeStore();
  const std::string whole = ReadFile(path_);
  constexpr size_t kPage = 8192;
  ASSERT_GT(whole.size(), 20 * kPage);
  size_t refused = 0, pages = whole.size() / kPage;
  for (size_t page = 0; page < pages; ++page) {
    SCOPED_TRACE(page);
    std::string damaged = whole;
    damaged.replace(page * kPage, kPage, kPage, '\xff');
    WriteFile(path_, damaged);
    absl::StatusOr<std::unique_ptr<SqliteStore>> store = OpenSqliteStore(At(path_, true));
    if (store.ok()) {
      EXPECT_EQ(All(**store), content) << "only pages that hold nothing may be overlooked";
    } else {
      EXPECT_EQ(ErrorReason(store.status()), "STORE_CORRUPT") << store.status();
      ++refused;
    }
  }
  EXPECT_GE(refused, pages * 9 / 10);
  WriteFile(path_, whole.substr(0, whole.size() / 2));
  EXPECT_EQ(ReasonOf(At(path_)), "STORE_CORRUPT");
  WriteFile(path_, whole);
  EXPECT_EQ(All(*OpenSqliteStore(At(path_)).value()), content);
}

TEST_F(StoreFailureTest, FilesOfOthersAreRefusedAndLeftAlone) {
  struct {
    const char* name;
    std::function<void()> make;
    const char* reason;
  } cases[] = {
      {"text", [&] { WriteFile(path_, std::string(10000, 'x')); }, "STORE_CORRUPT"},
      {"another program's", [&] { Sql("CREATE TABLE t(x); INSERT INTO t VALUES(1)"); },
       "STORE_CORRUPT"},
      {"a newer hub's",
       [&] {
         MakeStore();
         Sql("PRAGMA user_version = 99");
       },
       "STORE_TOO_NEW"},
      {"a folder", [&] { std::filesystem::create_directory(path_); }, "STORE_UNAVAILABLE"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    std::filesystem::remove_all(path_);
    c.make();
    absl::Status status = OpenSqliteStore(At(path_)).status();
    EXPECT_EQ(ErrorReason(status), c.reason);
    EXPECT_NE(status.message().find(path_), std::string::npos) << status;
  }
  SqliteStoreOptions options = At(folder_.Path("none.db"));
  options.create = false;
  EXPECT_EQ(ReasonOf(options), "NOT_FOUND");
  EXPECT_FALSE(std::filesystem::exists(options.path));
}

// Rights do not bind root: then somebody else tries, in a process of its own.
std::string ReasonAsNobody(const std::string& path) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(1);
    std::string reason = ReasonOf(At(path, true));
    _exit(write(ends[1], reason.data(), reason.size()) == static_cast<ssize_t>(reason.size()) ? 0
                                                                                              : 1);
  }
  close(ends[1]);
  char buffer[100];
  ssize_t size = read(ends[0], buffer, sizeof(buffer));
  close(ends[0]);
  int result = 0;
  waitpid(child, &result, 0);
  EXPECT_EQ(result, 0);
  return std::string(buffer, size > 0 ? static_cast<size_t>(size) : 0);
}

TEST_F(StoreFailureTest, MissingRightsAreNamed) {
  std::vector<KeyValue> content = MakeStore();
  const std::string directory = folder_.Path("");
  struct {
    const char* name;
    mode_t folder, file, lock;
    const char* reason;
  } cases[] = {
      {"file for reading only", 0777, 0444, 0666, "STORE_READ_ONLY"},
      {"file not even for reading", 0777, 0000, 0666, "STORE_READ_ONLY"},
      {"folder for reading only", 0555, 0666, 0666, "STORE_READ_ONLY"},
      {"lock of somebody else", 0777, 0666, 0600, "STORE_READ_ONLY"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    ASSERT_EQ(chmod(path_.c_str(), c.file) + chmod((path_ + ".lock").c_str(), c.lock), 0);
    ASSERT_EQ(chmod(directory.c_str(), c.folder), 0);
    if (geteuid() != 0 && c.lock == 0600) continue;  // One's own.
    EXPECT_EQ(ReasonAsNobody(path_), c.reason);
    ASSERT_EQ(chmod(directory.c_str(), 0777), 0);
  }
  ASSERT_EQ(chmod(path_.c_str(), 0600), 0);
  EXPECT_EQ(All(*OpenSqliteStore(At(path_)).value()), content);
}

TEST_F(StoreFailureTest, AnotherProcessHoldsItUntilItEndsHoweverItEnds) {
  MakeStore();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    auto store = OpenSqliteStore(At(path_, true));
    if (!store.ok() || !Put(**store, "/held", "x").ok() || write(ends[1], "x", 1) != 1) _exit(1);
    while (true) pause();
  }
  char byte;
  ASSERT_EQ(read(ends[0], &byte, 1), 1);
  EXPECT_EQ(ReasonOf(At(path_)), "STORE_IN_USE");
  EXPECT_EQ(ReasonOf(At(path_, true)), "STORE_IN_USE");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  std::unique_ptr<SqliteStore> store = OpenSqliteStore(At(path_)).value();
  EXPECT_TRUE(store->Get("/held").ok());
  EXPECT_EQ(ReasonOf(At(path_)), "STORE_IN_USE") << "a second store of one process";
}

// No file may grow beyond a size while it lives: the nearest to a full disk that needs no rights.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(size_t bytes) {
    handler_ = signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_;
  sighandler_t handler_;
};

TEST_F(StoreFailureTest, WithoutSpaceItReadsOnAndWithSpaceItWritesOn) {
  for (bool inline_mode : {false, true}) {
    SCOPED_TRACE(inline_mode);
    std::unique_ptr<SqliteStore> store =
        OpenSqliteStore(At(absl::StrCat(path_, inline_mode), inline_mode)).value();
    int acknowledged = 0, refused = 0;
    {
      FileSizeLimit limit(1 << 20);
      for (int i = 0; i < 40; ++i) {
        absl::Status status = Put(*store, absl::StrCat("/k/", i), std::string(100000, 'x'));
        if (status.ok()) {
          EXPECT_EQ(refused, 0);
          ++acknowledged;
        } else {
          // A write that is cut off counts as a full disk; the system calls the next one otherwise.
          std::string reason = ErrorReason(status);
          EXPECT_TRUE(reason == "DISK_FULL" || reason == "STORE_UNAVAILABLE") << status;
          ++refused;
        }
      }
      EXPECT_EQ(All(*store).size(), static_cast<size_t>(acknowledged));
    }
    EXPECT_GT(acknowledged, 2);
    EXPECT_GT(refused, 2);
    EXPECT_TRUE(Put(*store, "/later", "x").ok());
    EXPECT_EQ(store->Head().value(), static_cast<Revision>(acknowledged + 1));
  }
}

// What takes the place of the file under a running hub.
TEST_F(StoreFailureTest, AFileThatWasReplacedIsNoticed) {
  struct Case {
    const char* name;
    std::function<void(const std::string& backup)> replace;
    bool at_next_write;  // Else by the check of the clock.
  };
  const Case cases[] = {
      {"a restored copy", [&](const std::string& b) { std::filesystem::rename(b, path_); }, true},
      {"nothing", [&](const std::string&) { std::filesystem::remove(path_); }, true},
      {"a folder",
       [&](const std::string&) {
         std::filesystem::remove(path_);
         std::filesystem::create_directory(path_);
       },
       true},
      {"a copy written into it, the log removed",
       [&](const std::string& b) {
         WriteFile(path_, ReadFile(b));
         std::filesystem::remove(path_ + "-wal");
         std::filesystem::remove(path_ + "-shm");
       },
       true},
      {"a copy written into it", [&](const std::string& b) { WriteFile(path_, ReadFile(b)); },
       false},
      {"nonsense written into it",
       [&](const std::string&) { WriteFile(path_, std::string(100000, 'x')); }, false},
      {"a new log",
       [&](const std::string&) {
         std::filesystem::rename(path_ + "-wal", path_ + "-old");
         WriteFile(path_ + "-wal", ReadFile(path_ + "-old"));
       },
       true},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    std::filesystem::remove_all(path_);
    SqliteStoreOptions options = At(path_);
    std::atomic<int> told{0};
    options.on_went_back = [&](const absl::Status& status) {
      EXPECT_EQ(ErrorReason(status), "STORE_WENT_BACK");
      ++told;
    };
    std::unique_ptr<SqliteStore> store = OpenSqliteStore(options).value();
    ASSERT_TRUE(Put(*store, "/k", "old").ok());
    const std::string backup = folder_.Path("backup.db");
    std::filesystem::remove(backup);
    ASSERT_TRUE(store->CopyTo(backup).ok());
    ASSERT_TRUE(Put(*store, "/k", "new").ok());
    EXPECT_TRUE(store->CheckContinuity().ok());
    c.replace(backup);
    absl::Status noticed = c.at_next_write ? Put(*store, "/k", "newer") : store->CheckContinuity();
    EXPECT_EQ(ErrorReason(noticed), "STORE_WENT_BACK") << noticed;
    EXPECT_EQ(told, 1);
    EXPECT_EQ(ErrorReason(Put(*store, "/k", "x")), "STORE_WENT_BACK");
    EXPECT_EQ(ErrorReason(store->Get("/k").status()), "STORE_WENT_BACK");
    EXPECT_EQ(ErrorReason(store->Range("/", "", 0, 0).status()), "STORE_WENT_BACK");
    EXPECT_EQ(ErrorReason(store->Head().status()), "STORE_WENT_BACK");
    EXPECT_EQ(ErrorReason(store->GrantLease(absl::Minutes(1)).status()), "STORE_WENT_BACK");
    EXPECT_EQ(ErrorReason(store->CheckContinuity()), "STORE_WENT_BACK");
    EXPECT_EQ(told, 1);
    store.reset();
  }
}

TEST_F(StoreFailureTest, ABackupIsWholeAndWritableWhileTheStoreGoesOn) {
  std::unique_ptr<SqliteStore> store = OpenSqliteStore(At(path_)).value();
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(Put(*store, absl::StrCat("/k/", i), "x").ok());
  std::vector<KeyValue> then = All(*store);
  const std::string backup = folder_.Path("backup.db");
  ASSERT_TRUE(store->CopyTo(backup).ok());
  ASSERT_TRUE(Put(*store, "/k/0", "changed").ok());
  std::unique_ptr<SqliteStore> restored = OpenSqliteStore(At(backup)).value();
  EXPECT_EQ(All(*restored), then);
  EXPECT_EQ(restored->Head().value(), 50u);
  EXPECT_TRUE(Put(*restored, "/k/1", "y").ok());
  EXPECT_FALSE(store->CopyTo(backup).ok()) << "no backup is overwritten";
}

}  // namespace
}  // namespace nave
