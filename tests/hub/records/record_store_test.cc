#include "hub/records/record_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "hub/records/codec.h"
#include "hub/records/history.h"
#include "hub/records/keys.h"
#include "hub/store/sqlite_store.h"
#include "tests/hub/records/wrapped_store.h"

namespace nave {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kHub[] = "6f9619ff-8b86-4011-b42d-00c04fc964ff";
const absl::Time kNow = absl::FromUnixSeconds(1700000000);

// A hub that starts and stops over one store.
class Hub {
 public:
  RecordStoreOptions Options() {
    RecordStoreOptions options;
    options.hub_id = kHub;
    options.version = "0.1.0";
    options.now = [this] { return now; };
    options.make_uuid = [this] {
      Uuid uuid;
      uuid.bytes[0] = salt;
      uuid.bytes[15] = ++uuids_;
      return uuid;
    };
    return options;
  }
  absl::Status Start(RecordStoreOptions options) {
    std::unique_ptr<SqliteStore> store = MemoryStore(image);
    sqlite = store.get();
    absl::StatusOr<std::unique_ptr<RecordStore>> opened =
        RecordStore::Open(std::move(store), std::move(options));
    if (!opened.ok()) return opened.status();
    records = *std::move(opened);
    return absl::OkStatus();
  }
  absl::Status Start() { return Start(Options()); }
  void Stop() {
    image = sqlite->Serialize().value();
    records.reset();
  }

  absl::Time now = kNow;
  uint8_t salt = 1;
  std::string image;
  SqliteStore* sqlite = nullptr;
  std::unique_ptr<RecordStore> records;

 private:
  uint8_t uuids_ = 0;
};

HeadRecord Head(RecordStore& records) {
  return DecodeRecord<HeadRecord>(records.Get(kHeadKey)->value).value();
}

TEST(RecordStoreTest, FirstStartMakesTheSchemaAndTermOneInOneRevision) {
  std::unique_ptr<SqliteStore> store = MemoryStore();
  EXPECT_EQ(ReadStoreHubId(*store).value(), std::nullopt);
  Hub hub;
  ASSERT_TRUE(hub.Start().ok());
  EXPECT_TRUE(hub.records->made());
  const TermRecord& term = hub.records->term();
  EXPECT_EQ(term.number, 1u);
  EXPECT_EQ(term.after, 0u);
  EXPECT_EQ(term.start_time, kNow);
  EXPECT_FALSE(term.nonce.IsNone());
  EXPECT_EQ(Head(*hub.records), (HeadRecord{1, term.nonce, 0}));
  RangePage page = hub.records->Range(kStorePrefix, "", 0, 0).value();
  std::vector<std::string> keys;
  for (const KeyValue& kv : page.items) {
    keys.push_back(kv.key);
    EXPECT_EQ(kv.mod_revision, hub.records->HeadRevision().value()) << kv.key;
  }
  EXPECT_THAT(keys, ElementsAre(kFeatureLevelKey, kHeadKey, kHubKey, kSchemaKey, TermKey(1)));
  EXPECT_EQ(ReadStoreHubId(*hub.records->store()).value(), kHub);
}

TEST(RecordStoreTest, EveryStartBeginsATermAfterTheHeadBeforeIt) {
  Hub hub;
  std::vector<TermRecord> terms;
  for (uint64_t n = 1; n <= 3; ++n) {
    hub.now = kNow + absl::Hours(n);
    ASSERT_TRUE(hub.Start().ok());
    EXPECT_EQ(hub.records->made(), n == 1);
    terms.push_back(hub.records->term());
    EXPECT_EQ(hub.records->term().number, n);
    EXPECT_EQ(hub.records->Terms(), terms);
    RecordTxn txn;
    txn.Put("/v1/x", absl::StrCat(n));
    Revision revision = hub.records->Commit(std::move(txn)).value().value();
    EXPECT_EQ(hub.records->HeadRevision().value(), revision);
    At seen{n, terms.back().nonce, revision};
    EXPECT_TRUE(HistoryContains(terms, seen, revision));
    hub.Stop();
    ASSERT_TRUE(hub.Start().ok());  // The history goes on after it.
    EXPECT_GE(hub.records->term().after, revision);
    EXPECT_TRUE(HistoryContains(hub.records->Terms(), seen, hub.records->HeadRevision().value()));
    hub.records.reset();  // As if it had never been: its image is not kept.
  }
}

TEST(RecordStoreTest, RestoredCopyDoesNotContainWhatCameAfterIt) {
  Hub hub;
  ASSERT_TRUE(hub.Start().ok());
  hub.Stop();
  std::string backup = hub.image;
  ASSERT_TRUE(hub.Start().ok());
  RecordTxn txn;
  txn.Put("/v1/x", "later");
  Revision revision = hub.records->Commit(std::move(txn)).value().value();
  At seen{hub.records->term().number, hub.records->term().nonce, revision};
  hub.Stop();
  hub.image = backup;
  ASSERT_TRUE(hub.Start().ok());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(hub.records->Commit(RecordTxn()).value().has_value());
  Revision head = hub.records->HeadRevision().value();
  EXPECT_GT(head, revision);
  EXPECT_FALSE(HistoryContains(hub.records->Terms(), seen, head));
}

TEST(RecordStoreTest, RefusesWhatIsNotItsOwnBeforeItWrites) {
  struct {
    std::string name;
    std::string key;
    std::optional<std::string> value;
    std::string reason;
    std::string text;
  } cases[] = {
      {"newer format", std::string(kSchemaKey),
       EncodeRecord(SchemaRecord{kStoreFormat + 1, "9.1.0"}), "STORE_TOO_NEW", "version 9.1.0"},
      {"newer envelope", std::string(kSchemaKey), std::string("\x02\0\0\0\0\0", 6), "STORE_TOO_NEW",
       "schema"},
      {"damaged schema", std::string(kSchemaKey), "", "STORE_CORRUPT", "schema"},
      {"no schema", std::string(kSchemaKey), std::nullopt, "STORE_CORRUPT", "schema is missing"},
      {"other hub", std::string(kHubKey), EncodeText("another"), "HUB_ID_MISMATCH", "another"},
      {"no hub id", std::string(kHubKey), std::nullopt, "STORE_CORRUPT", "hub is missing"},
      {"newer level", std::string(kFeatureLevelKey), EncodeNumber(2), "FEATURE_LEVEL_UNSUPPORTED",
       "got 2"},
      {"no level", std::string(kFeatureLevelKey), std::nullopt, "STORE_CORRUPT", "feature_level"},
      {"no head", std::string(kHeadKey), std::nullopt, "STORE_CORRUPT", "head is missing"},
      {"damaged term", TermKey(1), std::string("\x01\0\0\0\0\0?", 7), "STORE_CORRUPT", "/v1/term/"},
      {"moved from elsewhere", std::string(kOffsetKey), EncodeNumber(7), "STORE_TOO_NEW", "offset"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    Hub hub;
    ASSERT_TRUE(hub.Start().ok());
    Txn txn;
    txn.writes.push_back({c.key, c.value, 0});
    ASSERT_TRUE(hub.records->store()->Commit(txn)->succeeded);
    hub.Stop();
    // What Open was given is gone with its error, so what it did is seen in a file.
    std::string path = absl::StrCat(testing::TempDir(), "/refused.db");
    unlink(path.c_str());
    std::unique_ptr<SqliteStore> store = MemoryStore(hub.image);
    Revision before = store->Head().value();
    ASSERT_TRUE(store->CopyTo(path).ok());
    store.reset();
    SqliteStoreOptions options;
    options.path = path;
    options.inline_mode = true;
    absl::Status status =
        RecordStore::Open(OpenSqliteStore(options).value(), hub.Options()).status();
    EXPECT_EQ(ErrorReason(status), c.reason) << status;
    EXPECT_THAT(status.message(), HasSubstr(c.text));
    EXPECT_EQ(OpenSqliteStore(options).value()->Head().value(), before);
  }
}

TEST(RecordStoreTest, CommitCarriesHeadEventsAndAuditInOneRevision) {
  Hub hub;
  ASSERT_TRUE(hub.Start().ok());
  RecordTxn txn;
  txn.Compare("/v1/cluster/-/a", 0);
  txn.Put("/v1/cluster/-/a", "a");
  Event bundle_event;
  bundle_event.project = "shop";
  bundle_event.about = "bundles/web";
  bundle_event.reason = "Placed";
  Event hub_event;
  hub_event.about = "hub";
  txn.events = {bundle_event, hub_event};
  txn.audit = AuditRecord{absl::Time(), "user:x", "", "m", "clusters/a", "OK", "", 1};
  Revision revision = hub.records->Commit(txn).value().value();

  std::vector<KeyValue> events;
  for (absl::string_view prefix :
       {"/v1/event/shop/", "/v1/event/-/", "/v1/audit/-/", "/v1/cluster/-/", "/v1/meta/head"}) {
    RangePage page = hub.records->Range(prefix, "", 0, 0).value();
    ASSERT_EQ(page.items.size(), 1u) << prefix;
    EXPECT_EQ(page.items[0].mod_revision, revision) << prefix;
    events.push_back(page.items[0]);
  }
  Event stored = DecodeRecord<Event>(events[0].value).value();
  EXPECT_EQ(events[0].key, EventKey("shop", stored.id));
  EXPECT_EQ(stored.reason, "Placed");
  EXPECT_EQ(stored.meta.create_time, kNow);
  EXPECT_EQ(stored.last_time, kNow);
  EXPECT_FALSE(stored.meta.uid.IsNone());
  EXPECT_EQ(DecodeRecord<AuditRecord>(events[2].value)->time, kNow);
  EXPECT_EQ(Head(*hub.records).sequence, 1u);

  // The compare no longer holds: nothing is written, not even the head.
  EXPECT_EQ(hub.records->Commit(txn).value(), std::nullopt);
  EXPECT_EQ(hub.records->HeadRevision().value(), revision);
  EXPECT_EQ(hub.records->Range("/v1/audit/", "", 0, 0)->items.size(), 1u);
}

TEST(RecordStoreTest, IdsSortInTheOrderOfCommitsThoughTheClockIsSetBack) {
  Hub hub;
  ASSERT_TRUE(hub.Start().ok());
  for (int64_t seconds : {0, 10, 10, -100, -50, 11}) {
    hub.now = kNow + absl::Seconds(seconds);
    RecordTxn txn;
    txn.audit.emplace().detail = absl::StrCat(hub.records->HeadRevision().value());
    ASSERT_TRUE(hub.records->Commit(std::move(txn)).value().has_value());
  }
  Revision last = 0;
  absl::StatusOr<RangePage> page = hub.records->Range("/v1/audit/", "", 0, 0);
  ASSERT_TRUE(page.ok()) << page.status();
  for (const KeyValue& kv : page->items) {
    EXPECT_GT(kv.mod_revision, last) << kv.key;
    last = kv.mod_revision;
  }
}

TEST(RecordStoreTest, HeadEventsAndAuditCountAgainstTheLimit) {
  Hub hub;
  ASSERT_TRUE(hub.Start().ok());
  Revision before = hub.records->HeadRevision().value();
  RecordTxn txn;
  for (int i = 0; i < 97; ++i) txn.Put(absl::StrCat("/v1/x/", i), "x");
  txn.events.emplace_back();
  txn.audit.emplace();
  EXPECT_TRUE(hub.records->Commit(txn).value().has_value());
  txn.Put("/v1/x/one-more", "x");
  absl::Status status = hub.records->Commit(txn).status();
  EXPECT_EQ(ErrorReason(status), "LIMIT_EXCEEDED") << status;
  EXPECT_EQ(hub.records->HeadRevision().value(), before + 1);
}

TEST(RecordStoreTest, RunningOutOfALeaseDoesNotMoveTheHead) {
  Hub hub;
  ASSERT_TRUE(hub.Start().ok());
  LeaseId lease = hub.records->GrantLease(absl::Seconds(10)).value();
  RecordTxn txn;
  txn.Put("/v1/request/x", "x", lease);
  Revision revision = hub.records->Commit(std::move(txn)).value().value();
  ASSERT_TRUE(hub.records->store()->RevokeLease(lease).ok());
  hub.sqlite->Tick();
  EXPECT_TRUE(absl::IsNotFound(hub.records->Get("/v1/request/x").status()));
  EXPECT_EQ(hub.records->HeadRevision().value(), revision);
}

TEST(RecordStoreTest, OfTwoHubsOnOneStoreEachGetsATermOfItsOwn) {
  std::unique_ptr<SqliteStore> store = MemoryStore();
  Hub hub;
  hub.salt = 2;
  auto first = std::make_unique<WrappedStore>(store.get());
  std::unique_ptr<RecordStore> other;
  // The other hub begins its term between this one's reads and its transaction.
  first->before_commit = [&](const Txn&) {
    Hub second;
    other =
        RecordStore::Open(std::make_unique<WrappedStore>(store.get()), second.Options()).value();
    return false;
  };
  std::unique_ptr<RecordStore> mine = RecordStore::Open(std::move(first), hub.Options()).value();
  EXPECT_EQ(other->term().number, 1u);
  EXPECT_TRUE(other->made());
  EXPECT_EQ(mine->term().number, 2u);
  EXPECT_FALSE(mine->made());
  EXPECT_EQ(mine->Terms().size(), 2u);
  EXPECT_EQ(mine->term().after, 1u);
}

TEST(RecordStoreTest, KeepsTheNewestTermsOnly) {
  Hub hub;
  ASSERT_TRUE(hub.Start().ok());
  for (uint64_t n = 2; n <= 10020;) {
    Txn txn;
    for (int i = 0; i < 100 && n <= 10020; ++i, ++n) {
      txn.writes.push_back({TermKey(n), EncodeRecord(TermRecord{n, Uuid{}, n, kNow}), 0});
    }
    ASSERT_TRUE(hub.records->store()->Commit(std::move(txn)).ok());
  }
  hub.Stop();
  ASSERT_TRUE(hub.Start().ok());
  EXPECT_EQ(hub.records->Terms().size(), 10000u);
  EXPECT_EQ(hub.records->Terms().front().number, 22u);
  EXPECT_EQ(hub.records->term().number, 10021u);
  EXPECT_TRUE(absl::IsNotFound(hub.records->Get(TermKey(21)).status()));
  EXPECT_TRUE(hub.records->Get(TermKey(22)).ok());
}

TEST(RecordStoreTest, ThreadsCommitTogether) {
  Hub hub;
  std::unique_ptr<RecordStore> records = RecordStore::Open(MemoryStore("", false),
                                                           [] {
                                                             RecordStoreOptions options;
                                                             options.hub_id = kHub;
                                                             return options;
                                                           }())
                                             .value();
  constexpr int kThreads = 4, kEach = 50;
  std::vector<std::thread> threads;
  std::atomic<int> done{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        RecordTxn txn;
        txn.audit.emplace();
        records->CommitAsync(std::move(txn), [&](RecordStore::CommitResult result) {
          done += result.ok() && *result;
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(records->Commit(RecordTxn()).ok());  // Everything before it is done.
  EXPECT_EQ(done, kThreads * kEach);
  EXPECT_EQ(records->Range("/v1/audit/", "", 0, 0)->items.size(),
            static_cast<size_t>(kThreads * kEach));
  EXPECT_EQ(Head(*records).sequence, static_cast<uint64_t>(kThreads * kEach + 1));
}

}  // namespace
}  // namespace nave
