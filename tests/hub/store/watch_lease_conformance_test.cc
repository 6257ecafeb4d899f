// What every backend of Store must do about watches and leases.
#include <gtest/gtest.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "tests/hub/store/backends.h"

namespace nave {
namespace {

class StoreTest : public testing::TestWithParam<Backend> {
 protected:
  StoreTest() : harness_(GetParam().make()), store_(harness_->store()) {}

  Revision Commit(Txn txn) {
    absl::StatusOr<TxnResult> result = store_.Commit(std::move(txn));
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? result->revision : 0;
  }
  Revision Put(const std::string& key, const std::string& value, LeaseId lease = 0) {
    return Commit({{}, {{key, value, lease}}});
  }
  Revision Delete(const std::string& key) { return Commit({{}, {{key, std::nullopt}}}); }
  bool Exists(const std::string& key) { return store_.Get(key).ok(); }

  std::unique_ptr<StoreHarness> harness_;
  Store& store_;
};

class WatchTest : public StoreTest {};
class LeaseTest : public StoreTest {};
// Needs a backend that several threads may use.
class ThreadedWatchTest : public StoreTest {};

// "+key=value@revision" or "-key@revision".
std::vector<std::string> Lines(const std::vector<WatchEvent>& events) {
  std::vector<std::string> lines;
  for (const WatchEvent& event : events) {
    lines.push_back(event.deleted ? absl::StrCat("-", event.kv.key, "@", event.kv.mod_revision)
                                  : absl::StrCat("+", event.kv.key, "=", event.kv.value, "@",
                                                 event.kv.mod_revision));
  }
  return lines;
}

TEST_P(WatchTest, SeesChangesInOrder) {
  Revision start = Put("x", "before");
  WatchLogger log;
  auto watch = store_.Watch("k/", start, log.Callback());
  Revision a = Put("k/a", "1");
  Put("other", "1");
  Revision b = Commit({{}, {{"k/b", "2"}, {"other", "2"}, {"k/a", "3"}}});
  Revision c = Delete("k/b");
  ASSERT_TRUE(log.WaitForRevision(*harness_, c));
  EXPECT_EQ(Lines(log.Events()),
            (std::vector<std::string>{absl::StrCat("+k/a=1@", a), absl::StrCat("+k/b=2@", b),
                                      absl::StrCat("+k/a=3@", b), absl::StrCat("-k/b@", c)}));
  const WatchEvent changed = log.Events()[2];
  EXPECT_EQ(changed.kv.create_revision, a);
  for (const WatchBatch& batch : log.batches()) {
    EXPECT_TRUE(batch.status.ok());
    EXPECT_FALSE(batch.events.empty());
    EXPECT_EQ(batch.events.back().kv.mod_revision <= batch.revision, true);
  }
}

TEST_P(WatchTest, ResumesFromEveryRevision) {
  std::vector<Revision> revisions;
  for (int i = 0; i < 8; ++i) revisions.push_back(Put(absl::StrCat("k", i % 3), absl::StrCat(i)));
  for (size_t from = 0; from < revisions.size(); ++from) {
    SCOPED_TRACE(from);
    WatchLogger log;
    auto watch = store_.Watch("k", revisions[from], log.Callback());
    // Without pumping first, an inline backend sees history and live changes at once.
    if (from % 2 == 0) harness_->Pump();
    Revision more = Put("k9", "live");
    ASSERT_TRUE(log.WaitForRevision(*harness_, more));
    watch.reset();
    EXPECT_EQ(log.Events().size(), revisions.size() - from);
    EXPECT_EQ(log.Events().back().kv.value, "live");
    revisions.push_back(more);
    if (revisions.size() > 20) break;
  }
}

TEST_P(ThreadedWatchTest, AReaderWhoRangesAndThenWatchesMissesNothing) {
  std::thread writer([&] {
    for (int i = 0; i < 300; ++i) Put(absl::StrCat("k", i % 7), absl::StrCat(i));
  });
  for (int round = 0; round < 20; ++round) {
    absl::StatusOr<RangePage> page = store_.Range("k", "", 0, 0);
    ASSERT_TRUE(page.ok());
    WatchLogger log;
    auto watch = store_.Watch("k", page->revision, log.Callback());
    Revision last = Put("k/mark", absl::StrCat(round));
    ASSERT_TRUE(log.WaitForRevision(*harness_, last));
    watch.reset();
    Revision expected = page->revision;
    for (const WatchEvent& event : log.Events()) EXPECT_EQ(event.kv.mod_revision, ++expected);
    EXPECT_GE(expected, last);
  }
  writer.join();
}

TEST_P(WatchTest, CompactedRevisionEndsTheWatch) {
  Revision old = Put("k", "1");
  Put("k", "2");
  Revision kept = Put("k", "3");
  Put("k", "4");
  ASSERT_TRUE(store_.Compact(kept).ok());
  WatchLogger from_kept;
  auto good = store_.Watch("k", kept, from_kept.Callback());
  ASSERT_TRUE(from_kept.WaitForRevision(*harness_, kept + 1));
  EXPECT_EQ(from_kept.Events().size(), 1u);
  // A backend may still have it in memory, but must not lie: either all events come, or the error.
  WatchLogger from_old;
  auto bad = store_.Watch("k", old, from_old.Callback());
  ASSERT_TRUE(from_old.WaitFor(*harness_, [](const auto& log) { return !log.batches().empty(); }));
  bad.reset();
  if (from_old.batches()[0].status.ok()) {
    EXPECT_EQ(from_old.Events().size(), 3u);
  } else {
    EXPECT_EQ(ErrorReason(from_old.batches()[0].status), "REVISION_COMPACTED");
    EXPECT_EQ(from_old.batches().size(), 1u) << "nothing after the error";
  }
}

TEST_P(WatchTest, ARevisionThatDoesNotExistIsRefused) {
  Revision head = Put("k", "1");
  WatchLogger log;
  auto watch = store_.Watch("k", head + 1000, log.Callback());
  ASSERT_TRUE(log.WaitFor(*harness_, [](const auto& log) { return !log.batches().empty(); }));
  EXPECT_EQ(ErrorReason(log.batches()[0].status), "STORE_WENT_BACK");
}

TEST_P(WatchTest, NoCallbackAfterItsEnd) {
  for (int round = 0; round < 30; ++round) {
    auto log = std::make_unique<WatchLogger>();
    auto watch = store_.Watch("k", *store_.Head(), log->Callback());
    for (int i = 0; i < 3; ++i) Put("k", absl::StrCat(i));
    watch.reset();
    log.reset();  // A late callback would be a use after free.
    harness_->Pump();
  }
}

TEST_P(ThreadedWatchTest, ASlowOneHoldsUpNoWriter) {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  WatchLogger log;
  auto forward = log.Callback();
  auto watch = store_.Watch("k", *store_.Head(), [&](WatchBatch batch) {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return open; });
    forward(std::move(batch));
  });
  // More than the store may keep for watches in memory.
  std::string value(256 << 10, 'v');
  Revision last = 0;
  for (int i = 0; i < 100; ++i) last = Put("k", absl::StrCat(i, value));
  {
    std::lock_guard<std::mutex> lock(mutex);
    open = true;
    changed.notify_all();
  }
  ASSERT_TRUE(log.WaitForRevision(*harness_, last));
  std::vector<WatchEvent> events = log.Events();
  ASSERT_EQ(events.size(), 100u);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(events[i].kv.value.size(), absl::StrCat(i).size() + value.size());
}

TEST_P(LeaseTest, KeysGoWithTheLease) {
  absl::StatusOr<LeaseId> lease = store_.GrantLease(absl::Seconds(10));
  ASSERT_TRUE(lease.ok()) << lease.status();
  Revision start = Put("plain", "1");
  Put("a", "1", *lease);
  Put("b", "1", *lease);
  EXPECT_EQ(store_.Get("a")->lease, *lease);
  WatchLogger log;
  auto watch = store_.Watch("", start, log.Callback());
  harness_->PassTime(absl::Seconds(9));
  EXPECT_TRUE(Exists("a"));
  ASSERT_TRUE(store_.KeepLease(*lease).ok());
  harness_->PassTime(absl::Seconds(9));
  EXPECT_TRUE(Exists("a")) << "was kept";
  harness_->PassTime(absl::Seconds(2));
  EXPECT_FALSE(Exists("a"));
  EXPECT_FALSE(Exists("b"));
  EXPECT_TRUE(Exists("plain"));
  EXPECT_EQ(store_.KeepLease(*lease).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_.RevokeLease(*lease).code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(log.WaitForRevision(*harness_, *store_.Head()));
  watch.reset();
  std::vector<WatchEvent> events = log.Events();
  ASSERT_EQ(events.size(), 4u);
  EXPECT_TRUE(events[2].deleted && events[3].deleted);
}

TEST_P(LeaseTest, RevokedAtOnce) {
  LeaseId lease = *store_.GrantLease(absl::Seconds(10));
  // More keys than one transaction may write.
  for (int i = 0; i < 130; ++i) Put(absl::StrCat("k", i), "", lease);
  ASSERT_TRUE(store_.RevokeLease(lease).ok());
  EXPECT_TRUE(store_.Range("k", "", 0, 0)->items.empty());
}

TEST_P(LeaseTest, AWriteWithoutItLetsTheKeyStay) {
  LeaseId lease = *store_.GrantLease(absl::Seconds(10));
  LeaseId other = *store_.GrantLease(absl::Seconds(100));
  EXPECT_NE(lease, other);
  Put("freed", "1", lease);
  Put("freed", "2");
  Put("moved", "1", lease);
  Put("moved", "2", other);
  Put("again", "1", lease);
  Delete("again");
  Put("again", "2");
  harness_->PassTime(absl::Seconds(20));
  EXPECT_TRUE(Exists("freed"));
  EXPECT_TRUE(Exists("moved"));
  EXPECT_TRUE(Exists("again"));
  harness_->PassTime(absl::Seconds(100));
  EXPECT_FALSE(Exists("moved"));
}

TEST_P(LeaseTest, UnknownOrShortOnesAreRefused) {
  EXPECT_EQ(ErrorReason(store_.GrantLease(absl::Milliseconds(4999)).status()), "LIMIT_EXCEEDED");
  EXPECT_TRUE(store_.GrantLease(kLeaseTtlMin).ok());
  LeaseId lease = *store_.GrantLease(absl::Seconds(10));
  harness_->PassTime(absl::Seconds(11));
  Revision head = *store_.Head();
  absl::StatusOr<TxnResult> late = store_.Commit({{}, {{"a", "1"}, {"b", "1", lease}}});
  EXPECT_EQ(late.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(*store_.Head(), head);
  EXPECT_FALSE(Exists("a")) << "all or nothing";
}

std::string BackendName(const testing::TestParamInfo<Backend>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(All, WatchTest, testing::ValuesIn(Backends()), BackendName);
INSTANTIATE_TEST_SUITE_P(All, LeaseTest, testing::ValuesIn(Backends()), BackendName);
INSTANTIATE_TEST_SUITE_P(All, ThreadedWatchTest, testing::ValuesIn(ThreadedBackends()),
                         BackendName);

}  // namespace
}  // namespace nave
