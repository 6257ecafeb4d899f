// Goal: what the SQLite store has acknowledged survives a loss of power at any moment, on a disk
// that forgets what was not synced; what it finds afterwards is whole. And an error of the disk at
// any operation loses nothing.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "hub/store/sqlite_store.h"
#include "tests/hub/store/memory_vfs.h"

namespace nave {
namespace {

using Content = std::map<std::string, std::string>;

std::unique_ptr<SqliteStore> Open(const MemoryVfs& vfs, absl::Status* status = nullptr) {
  SqliteStoreOptions options;
  options.path = "store.db";
  options.vfs = vfs.name();
  options.inline_mode = true;
  options.incarnation = 1;
  options.history_revisions = 3;
  options.history_age = absl::ZeroDuration();
  // Small, so that the log is moved into the file in the middle of all this.
  options.checkpoint_pages = 30;
  absl::StatusOr<std::unique_ptr<SqliteStore>> store = OpenSqliteStore(options);
  if (status != nullptr) *status = store.status();
  return store.ok() ? *std::move(store) : nullptr;
}

// Transactions of many sizes; about one in four deletes.
std::vector<Txn> Workload(uint32_t seed, size_t count) {
  std::mt19937 random(seed);
  std::vector<Txn> txns(count);
  for (Txn& txn : txns) {
    std::map<std::string, std::optional<std::string>> writes;
    size_t keys = 1 + random() % 4;
    for (size_t i = 0; i < keys; ++i) {
      size_t size = random() % 8 == 0 ? 30000 : random() % 3000;
      std::optional<std::string> value = std::string(size, static_cast<char>('a' + random() % 26));
      if (random() % 4 == 0) value = std::nullopt;
      writes[absl::StrCat("/k/", random() % 12)] = value;
    }
    // Tells the states apart, and is never deleted.
    writes["/n"] = absl::StrCat(&txn - txns.data());
    for (auto& [key, value] : writes) txn.writes.push_back({key, value, 0});
  }
  return txns;
}

void Apply(const Txn& txn, Content* content) {
  for (const Write& write : txn.writes) {
    if (write.value.has_value()) {
      (*content)[write.key] = *write.value;
    } else {
      content->erase(write.key);
    }
  }
}

Content Read(Store& store, Revision at = 0) {
  Content content;
  absl::StatusOr<RangePage> page = store.Range("/", "", 0, at);
  EXPECT_TRUE(page.ok()) << page.status();
  if (!page.ok()) return content;
  EXPECT_FALSE(page->more);
  for (const KeyValue& kv : page->items) content[kv.key] = kv.value;
  return content;
}

// A run of the workload on a disk, and what was acknowledged when.
struct Recording {
  std::vector<DiskOp> log;
  // After transaction i the log had acknowledged[i] operations.
  std::vector<size_t> acknowledged;
  std::vector<Content> states{Content()};  // By revision.
  // Operations up to the first complete open.
  size_t opened = 0;
};

// With the sync of the folder that an open of a real file ends with.
std::unique_ptr<SqliteStore> OpenRecorded(MemoryVfs* vfs) {
  std::unique_ptr<SqliteStore> store = Open(*vfs);
  vfs->SyncFolder();
  return store;
}

Recording Record(uint32_t seed, size_t count) {
  Recording recording;
  MemoryVfs vfs;
  std::unique_ptr<SqliteStore> store = OpenRecorded(&vfs);
  recording.opened = vfs.log().size();
  size_t n = 0;
  for (const Txn& txn : Workload(seed, count)) {
    EXPECT_TRUE(store->Commit(txn).ok());
    recording.acknowledged.push_back(vfs.log().size());
    recording.states.push_back(recording.states.back());
    Apply(txn, &recording.states.back());
    if (++n % 7 == 0) store->Tick();
    if (n % 20 == 0) {
      store.reset();
      store = OpenRecorded(&vfs);
    }
  }
  store.reset();
  recording.log = vfs.log();
  return recording;
}

// What is wrong with a store found on `files`, of which `acknowledged` transactions must be there.
std::string Check(const Recording& recording, DiskFiles files, size_t acknowledged) {
  MemoryVfs vfs;
  vfs.files() = std::move(files);
  absl::Status opened;
  std::unique_ptr<SqliteStore> store = Open(vfs, &opened);
  if (store == nullptr) return absl::StrCat("does not open: ", opened.ToString());
  Revision head = store->Head().value();
  if (head < acknowledged) return absl::StrCat("head ", head, ", acknowledged ", acknowledged);
  if (head > acknowledged + 1) return absl::StrCat("head ", head, " out of nothing");
  if (Read(*store) != recording.states[head]) return absl::StrCat("another content at ", head);
  absl::StatusOr<RangePage> before =
      head > 1 ? store->Range("/", "", 0, head - 1) : absl::OutOfRangeError("");
  if (before.ok() && Read(*store, head - 1) != recording.states[head - 1])
    return "another content before it";
  Txn more;
  more.writes = {{"/more", "x", 0}};
  absl::StatusOr<TxnResult> committed = store->Commit(more);
  if (!committed.ok() || committed->revision != head + 1) return "does not go on";
  return "";
}

size_t AcknowledgedAt(const Recording& recording, size_t position) {
  size_t count = 0;
  while (count < recording.acknowledged.size() && recording.acknowledged[count] <= position)
    ++count;
  return count;
}

TEST(DurabilityTest, EveryAcknowledgedTransactionSurvivesALossOfPowerAnywhere) {
  Recording recording = Record(1, 60);
  size_t syncs = 0, checkpoints = 0;
  std::mt19937 random(1);
  VolatileDisk disk;
  for (size_t position = 0; position <= recording.log.size(); ++position) {
    if (position > 0) disk.Apply(recording.log[position - 1]);
    bool at_sync =
        position == recording.log.size() || recording.log[position].kind == DiskOp::kSync;
    syncs += at_sync;
    checkpoints += position < recording.log.size() && position > recording.opened && at_sync &&
                   recording.log[position].file == "store.db";
    std::vector<VolatileDisk::Unsynced> ways = {VolatileDisk::kSome};
    if (at_sync)
      ways = {VolatileDisk::kLost, VolatileDisk::kKept, VolatileDisk::kSome, VolatileDisk::kSome};
    for (VolatileDisk::Unsynced way : ways) {
      size_t acknowledged = AcknowledgedAt(recording, position);
      DiskFiles files = disk.AfterPowerLoss(way, &random);
      ASSERT_EQ(Check(recording, files, acknowledged), "")
          << "operation " << position << ", way " << way;
    }
  }
  EXPECT_GT(syncs, 60u);
  EXPECT_GT(checkpoints, 3u);
  RecordProperty("operations", static_cast<int>(recording.log.size()));
  RecordProperty("syncs", static_cast<int>(syncs));
}

// The same check on a disk that lies about syncs must fail, else it proves nothing.
TEST(DurabilityTest, ADiskThatLiesIsNoticed) {
  Recording recording = Record(1, 20);
  std::mt19937 random(1);
  VolatileDisk disk;
  bool lost = false;
  for (size_t position = 1; position <= recording.log.size(); ++position) {
    const DiskOp& op = recording.log[position - 1];
    if (position <= recording.opened || op.kind != DiskOp::kSync) disk.Apply(op);
    size_t acknowledged = AcknowledgedAt(recording, position);
    lost =
        lost ||
        !Check(recording, disk.AfterPowerLoss(VolatileDisk::kLost, &random), acknowledged).empty();
  }
  EXPECT_TRUE(lost);
}

// One operation of the disk fails, or all from then on for a while. Nothing that was acknowledged
// is lost, nothing that was refused is shown, and the store goes on when the disk does.
void RunWithFailure(size_t at, size_t length, int code, const char* reason, bool* failed_some) {
  SCOPED_TRACE(absl::StrCat("operations ", at, " to ", at + length, " fail with ", code));
  MemoryVfs vfs;
  std::unique_ptr<SqliteStore> store = Open(vfs);
  size_t operations = 0;
  vfs.fail = [&](const DiskOp&) {
    size_t now = operations++;
    return now >= at && now < at + length ? code : SQLITE_OK;
  };
  Content content;
  std::optional<Content> refused;
  Revision revision = 0;
  for (const Txn& txn : Workload(2, 12)) {
    absl::StatusOr<TxnResult> result = store->Commit(txn);
    if (result.ok()) {
      EXPECT_EQ(result->revision, ++revision);
      Apply(txn, &content);
      refused.reset();
    } else {
      *failed_some = true;
      EXPECT_EQ(ErrorReason(result.status()), reason) << result.status();
      refused = content;
      Apply(txn, &*refused);
    }
    EXPECT_EQ(Read(*store), content);
  }
  EXPECT_EQ(store->Head().value(), revision);
  vfs.fail = nullptr;
  store.reset();
  store = Open(vfs);
  ASSERT_NE(store, nullptr);
  Content found = Read(*store);
  // A refusal for an error of the disk says "try again": its last transaction may be there.
  EXPECT_TRUE(found == content || (refused.has_value() && found == *refused));
}

TEST(DurabilityTest, AFailingDiskLosesNothingThatWasAcknowledged) {
  bool failed_some = false;
  for (size_t at = 0; at < 120; at += 3) {
    RunWithFailure(at, 1, SQLITE_IOERR_WRITE, "STORE_UNAVAILABLE", &failed_some);
    RunWithFailure(at, 20, SQLITE_IOERR_FSYNC, "STORE_UNAVAILABLE", &failed_some);
    if (HasFailure()) return;
  }
  EXPECT_TRUE(failed_some);
}

TEST(DurabilityTest, AFullDiskRefusesAndGoesOnWhenThereIsSpace) {
  bool failed_some = false;
  for (size_t at = 0; at < 120; at += 3) {
    RunWithFailure(at, 1, SQLITE_FULL, "DISK_FULL", &failed_some);
    RunWithFailure(at, 40, SQLITE_FULL, "DISK_FULL", &failed_some);
    if (HasFailure()) return;
  }
  EXPECT_TRUE(failed_some);
}

}  // namespace
}  // namespace nave
