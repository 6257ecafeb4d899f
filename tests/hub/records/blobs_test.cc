// Blobs: what was put comes out under its digest, encrypted at rest, and the collector takes only
// what nothing names, whatever happens at the same time.
#include "hub/records/blobs.h"

#include <gtest/gtest.h>

#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/compress/zstd.h"
#include "common/manifest/parse.h"
#include "hub/records/blob_collector.h"
#include "hub/records/blob_plan.h"
#include "tests/hub/records/wrapped_store.h"

namespace nave {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1700000000);

EncryptionKeys Keys(const std::string& text) { return EncryptionKeys::Parse(text).value(); }

// Bytes that do not compress.
std::string Noise(size_t size, uint32_t seed) {
  std::mt19937_64 random(seed);
  std::string noise(size, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  return noise;
}

class BlobsTest : public testing::Test {
 protected:
  BlobsTest() : keys_(Keys("1 " + std::string(64, 'a'))), sqlite_(MemoryStore()) {
    auto wrapped = std::make_unique<WrappedStore>(sqlite_.get());
    wrapped_ = wrapped.get();
    RecordStoreOptions options;
    options.hub_id = "hub";
    records_ = RecordStore::Open(std::move(wrapped), options).value();
    blobs_ = std::make_unique<BlobStore>(records_.get(), keys_);
  }

  // A bundle of files, as requests make it. False: what it needs was collected meanwhile.
  bool PutBundle(const std::string& id, const std::vector<std::string>& files,
                 bool guarded = true) {
    Bundle bundle;
    bundle.project = "p";
    bundle.id = id;
    std::vector<absl::string_view> contents(files.begin(), files.end());
    for (const std::string& file : files) {
      bundle.spec.manifests.push_back(
          {absl::StrCat("f", bundle.spec.manifests.size()), "", Sha256(file), file.size()});
    }
    std::string list = EncodeManifestList(bundle.spec.manifests);
    contents.push_back(list);
    BlobGuard guard = blobs_->Put(contents).value();
    RecordTxn txn;
    if (guarded) guard.AddTo(&txn);
    txn.Put(BundleKey("p", id), EncodeRecord(bundle));
    return records_->Commit(std::move(txn)).value().has_value();
  }
  void DeleteBundle(const std::string& id) {
    RecordTxn txn;
    txn.Delete(BundleKey("p", id));
    ASSERT_TRUE(records_->Commit(std::move(txn)).ok());
  }
  // Of the first blob that a bundle names and that is not there.
  absl::Status CheckBundles() {
    BlobStore fresh(records_.get(), keys_);
    return ForEachRecord(*sqlite_, KindPrefix(KeyKind::kBundle), 0,
                         [&](const KeyValue& kv) -> absl::Status {
                           Bundle bundle = DecodeRecord<Bundle>(kv.value).value();
                           absl::StatusOr<std::string> list = fresh.Get(bundle.spec.manifest_list);
                           if (!list.ok()) return list.status();
                           std::vector<Manifest> manifests = DecodeManifestList(*list).value();
                           for (const Manifest& manifest : manifests) {
                             absl::Status status = fresh.Get(manifest.digest).status();
                             if (!status.ok()) return status;
                           }
                           return absl::OkStatus();
                         });
  }
  size_t Chunks() { return sqlite_->Range(KindPrefix(KeyKind::kBlob), "", 0, 0)->items.size(); }

  EncryptionKeys keys_;
  std::unique_ptr<SqliteStore> sqlite_;
  WrappedStore* wrapped_;
  std::unique_ptr<RecordStore> records_;
  std::unique_ptr<BlobStore> blobs_;
};

TEST_F(BlobsTest, EverySizeComesBack) {
  const size_t first = kBlobChunkBytes;
  for (size_t size : {size_t{0}, size_t{1}, size_t{1000}, first - 100, first, first + 1,
                      2 * first + 7, 9 * first}) {
    for (bool noise : {false, true}) {
      SCOPED_TRACE(absl::StrCat(size, noise ? " noise" : " text"));
      std::string content = noise ? Noise(size, 1) : std::string(size, 'x');
      Digest digest = Sha256(content);
      ASSERT_TRUE(blobs_->Put({content}).ok());
      EXPECT_EQ(blobs_->Get(digest).value(), content);
      BlobPtr compressed = blobs_->GetCompressed(digest).value();
      EXPECT_EQ(compressed->digest, digest);
      EXPECT_EQ(ZstdDecompress(compressed->compressed, size + 1).value(), content);
      EXPECT_EQ(blobs_->Get(digest).value(), content) << "cached";
    }
  }
}

TEST_F(BlobsTest, ContentIsEncryptedAndWrittenOnce) {
  std::string content = "kind: Secret, password: correct horse";
  ASSERT_TRUE(blobs_->Put({content, content}).ok());
  Revision head = sqlite_->Head().value();
  ASSERT_TRUE(blobs_->Put({content}).ok());
  EXPECT_EQ(sqlite_->Head().value(), head);
  EXPECT_EQ(Chunks(), 1u);
  EXPECT_FALSE(absl::StrContains(sqlite_->Serialize().value(), "horse"));
  BlobStore other(records_.get(), Keys("2 " + std::string(64, 'a')));
  EXPECT_EQ(ErrorReason(other.Get(Sha256(content)).status()), "KEY_MISSING");
}

TEST_F(BlobsTest, ManySmallBlobsShareTransactions) {
  std::vector<std::string> contents;
  for (int i = 0; i < 1000; ++i) contents.push_back(absl::StrCat("object ", i));
  Revision before = sqlite_->Head().value();
  ASSERT_TRUE(blobs_->Put({contents.begin(), contents.end()}).ok());
  EXPECT_EQ(sqlite_->Head().value(), before + 11);
  for (const std::string& content : contents)
    EXPECT_EQ(blobs_->Get(Sha256(content)).value(), content);
}

TEST_F(BlobsTest, RefusesWhatIsTooLarge) {
  std::string content(kBlobBytesMax + 1, 'x');
  EXPECT_EQ(ErrorReason(blobs_->Put({content}).status()), "LIMIT_EXCEEDED");
  EXPECT_EQ(Chunks(), 0u);
  content.pop_back();
  EXPECT_TRUE(blobs_->Put({content}).ok());
}

TEST_F(BlobsTest, LargestBlobFitsOneDeletion) {
  EXPECT_LE(ZstdCompress(Noise(kBlobBytesMax, 1)).size() / kBlobChunkBytes + 1, kTxnWritesMax - 2);
}

TEST_F(BlobsTest, DamageIsNoticed) {
  std::string content = Noise(3 * kBlobChunkBytes, 5);
  Digest digest = Sha256(content);
  ASSERT_TRUE(blobs_->Put({content}).ok());
  ASSERT_EQ(Chunks(), 4u);
  std::string image = sqlite_->Serialize().value();
  Txn swap;
  swap.writes = {{BlobKey(digest, 1), sqlite_->Get(BlobKey(digest, 2))->value, 0}};
  Txn changed;
  changed.writes = {{BlobKey(digest, 1), Seal(keys_, BlobKey(digest, 1), "other"), 0}};
  Txn no_first, no_middle, no_last;
  no_first.writes = {{BlobKey(digest, 0), std::nullopt, 0}};
  no_middle.writes = {{BlobKey(digest, 1), std::nullopt, 0}};
  no_last.writes = {{BlobKey(digest, 3), std::nullopt, 0}};
  struct {
    const char* name;
    Txn txn;
    const char* reason;
  } cases[] = {
      {"chunks change places", swap, "STORE_CORRUPT"},
      {"another content", changed, "STORE_CORRUPT"},
      {"first chunk gone", no_first, "NOT_FOUND"},
      {"middle chunk gone", no_middle, "STORE_CORRUPT"},
      {"last chunk gone", no_last, "STORE_CORRUPT"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    std::unique_ptr<SqliteStore> damaged = MemoryStore(image);
    ASSERT_TRUE(damaged->Commit(c.txn)->succeeded);
    RecordStoreOptions options;
    options.hub_id = "hub";
    std::unique_ptr<RecordStore> records = RecordStore::Open(std::move(damaged), options).value();
    BlobStore blobs(records.get(), keys_);
    EXPECT_EQ(ErrorReason(blobs.Get(digest).status()), c.reason);
    EXPECT_EQ(ErrorReason(blobs.GetCompressed(digest).status()), c.reason);
  }
}

TEST_F(BlobsTest, PutAfterACutPutMakesTheBlobWhole) {
  std::string content = Noise(4 * kBlobChunkBytes, 6);
  // The store fails at the second of its transactions.
  class Failing : public WrappedStore {
   public:
    using WrappedStore::WrappedStore;
    absl::StatusOr<TxnResult> Commit(Txn txn) override {
      if (--left < 0) return MakeError(Reason::kStoreUnavailable, "store: gone");
      return WrappedStore::Commit(std::move(txn));
    }
    int left = 1000;
  };
  auto failing = std::make_unique<Failing>(sqlite_.get());
  Failing* store = failing.get();
  RecordStoreOptions options;
  options.hub_id = "hub";
  std::unique_ptr<RecordStore> records = RecordStore::Open(std::move(failing), options).value();
  BlobStore blobs(records.get(), keys_);
  store->left = 1;
  EXPECT_EQ(ErrorReason(blobs.Put({content}).status()), "STORE_UNAVAILABLE");
  EXPECT_GT(Chunks(), 0u);
  EXPECT_EQ(ErrorReason(blobs.Get(Sha256(content)).status()), "NOT_FOUND");
  EXPECT_EQ(ErrorReason(blobs.Guard({Sha256(content)}).status()), "NOT_FOUND");
  store->left = 1000;
  ASSERT_TRUE(blobs.Put({content}).ok());
  EXPECT_EQ(blobs.Get(Sha256(content)).value(), content);
  EXPECT_TRUE(blobs.Guard({Sha256(content)}).ok());
}

TEST_F(BlobsTest, CacheIsBounded) {
  BlobStore blobs(records_.get(), keys_, 2500);
  std::vector<std::string> contents;
  for (uint32_t i = 0; i < 4; ++i) contents.push_back(Noise(1000, i));
  ASSERT_TRUE(blobs.Put({contents.begin(), contents.end()}).ok());
  auto get = [&](int i) { return blobs.GetCompressed(Sha256(contents[i])).value(); };
  BlobPtr zero = get(0), one = get(1);
  EXPECT_EQ(get(0), zero) << "kept";
  BlobPtr two = get(2);
  EXPECT_EQ(get(0), zero) << "used last";
  EXPECT_EQ(get(2), two);
  EXPECT_NE(get(1), one) << "pushed out, read anew";
  BlobStore none(records_.get(), keys_, 10);
  EXPECT_NE(none.GetCompressed(Sha256(contents[0])).value(),
            none.GetCompressed(Sha256(contents[0])).value());
}

Digest D(uint8_t n) {
  Digest digest;
  digest.bytes[31] = n;
  return digest;
}

TEST(BlobPlanTest, Table) {
  struct Row {
    const char* name;
    std::set<Digest> stored, named;
    std::map<Digest, absl::Time> since;
    BlobPlan want;
  };
  const absl::Time old = kNow - absl::Hours(1), young = kNow - absl::Minutes(59);
  const Row rows[] = {
      {"nothing", {}, {}, {}, {}},
      {"all named", {D(1), D(2)}, {D(1), D(2), D(3)}, {{D(1), old}}, {}},
      {"first seen", {D(1), D(2)}, {D(1)}, {}, {{}, {{D(2), kNow}}}},
      {"young", {D(2)}, {}, {{D(2), young}}, {{}, {{D(2), young}}}},
      {"old enough", {D(2)}, {}, {{D(2), old}}, {{D(2)}, {{D(2), old}}}},
      {"named in between: the grace begins anew", {D(2)}, {D(2)}, {{D(2), old}}, {}},
      {"gone by itself", {}, {}, {{D(2), old}}, {}},
      {"clock set back", {D(2)}, {}, {{D(2), kNow + absl::Hours(5)}}, {{}, {{D(2), kNow}}}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(PlanBlobs(row.stored, row.named, row.since, kNow, absl::Hours(1)), row.want)
        << row.name;
  }
}

TEST_F(BlobsTest, CollectorKeepsWhatIsNamedAndTakesTheRestAfterTheGrace) {
  // A bundle, a revision of it with a listing of two objects, and blobs that nothing names.
  ASSERT_TRUE(PutBundle("b", {"file one", "file two"}));
  Listing listing;
  for (const char* object : {"{\"a\":1}", "{\"b\":2}"}) {
    ObjectKey key{"", "ConfigMap", "", absl::StrCat("c", listing.objects.size())};
    listing.objects.push_back({std::move(key), Sha256(object)});
  }
  std::string text = FormatListing(listing);
  BundleRevision revision;
  revision.project = "p";
  revision.bundle = "b";
  revision.number = 1;
  revision.listing = Sha256(text);
  revision.manifest_list = Sha256(EncodeManifestList({}));
  RecordTxn txn;
  blobs_->Put({text, "{\"a\":1}", "{\"b\":2}", EncodeManifestList({})})->AddTo(&txn);
  txn.Put(RevisionKey("p", Uuid{}, 1), EncodeRecord(revision));
  ASSERT_TRUE(records_->Commit(std::move(txn)).value().has_value());
  std::string big = Noise(3 * kBlobChunkBytes, 3);
  ASSERT_TRUE(blobs_->Put({"nobody's", big}).ok());

  BlobCollector collector(records_.get(), blobs_.get());
  EXPECT_EQ(collector.Collect(kNow).value(), (BlobCollection{9, 2, 0}));
  EXPECT_EQ(collector.Collect(kNow + absl::Minutes(59)).value(), (BlobCollection{9, 2, 0}));
  EXPECT_EQ(collector.Collect(kNow + absl::Minutes(60)).value(), (BlobCollection{9, 2, 2}));
  EXPECT_EQ(collector.Collect(kNow + absl::Hours(9)).value(), (BlobCollection{7, 0, 0}));
  EXPECT_EQ(ErrorReason(blobs_->Get(Sha256("nobody's")).status()), "NOT_FOUND");
  EXPECT_TRUE(blobs_->Get(Sha256("{\"b\":2}")).ok());
  EXPECT_TRUE(CheckBundles().ok());

  DeleteBundle("b");
  collector.Collect(kNow + absl::Hours(10)).IgnoreError();
  EXPECT_EQ(collector.Collect(kNow + absl::Hours(11)).value(), (BlobCollection{7, 3, 3}));
}

TEST_F(BlobsTest, CollectorTakesNothingWhenItCannotReadEverything) {
  ASSERT_TRUE(PutBundle("b", {"file"}));
  ASSERT_TRUE(blobs_->Put({"nobody's"}).ok());
  struct {
    const char* name;
    Write write;
  } cases[] = {
      {"list gone",
       {BlobKey(Sha256(EncodeManifestList({{"f0", "", Sha256("file"), 4}})), 0), std::nullopt, 0}},
      {"bundle damaged", {BundleKey("p", "b"), "?", 0}},
      {"revision damaged", {RevisionKey("p", Uuid{}, 1), WrapPlain("\xff"), 0}},
  };
  std::string image = sqlite_->Serialize().value();
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    std::unique_ptr<SqliteStore> damaged = MemoryStore(image);
    SqliteStore* store = damaged.get();
    Txn txn;
    txn.writes = {c.write};
    ASSERT_TRUE(damaged->Commit(txn)->succeeded);
    RecordStoreOptions options;
    options.hub_id = "hub";
    std::unique_ptr<RecordStore> records = RecordStore::Open(std::move(damaged), options).value();
    BlobStore blobs(records.get(), keys_);
    BlobCollector collector(records.get(), &blobs, absl::ZeroDuration());
    size_t before = store->Range(KindPrefix(KeyKind::kBlob), "", 0, 0)->items.size();
    EXPECT_FALSE(collector.Collect(kNow).ok());
    EXPECT_EQ(store->Range(KindPrefix(KeyKind::kBlob), "", 0, 0)->items.size(), before);
  }
}

TEST_F(BlobsTest, CollectorLosesAgainstATransactionThatNames) {
  ASSERT_TRUE(blobs_->Put({"file", EncodeManifestList({{"f0", "", Sha256("file"), 4}})}).ok());
  BlobCollector collector(records_.get(), blobs_.get(), absl::ZeroDuration());
  bool named = false;
  wrapped_->before_commit = [&](const Txn&) {
    named = PutBundle("b", {"file"});
    return false;
  };
  EXPECT_EQ(collector.Collect(kNow).value(), (BlobCollection{2, 2, 0}));
  EXPECT_TRUE(named);
  EXPECT_TRUE(CheckBundles().ok());
}

// Seeds: bundles come, change and go, and at any transaction the collector, without grace, may come
// between.
class BlobRaceTest : public BlobsTest {
 protected:
  absl::Status Run(uint32_t seed, bool guarded, int* collected, int* refused) {
    std::mt19937 random(seed);
    BlobCollector collector(records_.get(), blobs_.get(), absl::ZeroDuration());
    std::vector<std::string> pool = {"a", "b", "c", Noise(kBlobChunkBytes + 5, 1),
                                     Noise(2 * kBlobChunkBytes, 2)};
    wrapped_->before_commit = [&](const Txn&) {
      if (random() % 4 == 0) {
        absl::StatusOr<BlobCollection> result = collector.Collect(kNow);
        if (result.ok()) *collected += static_cast<int>(result->removed);
      }
      return true;
    };
    for (int step = 0; step < 12; ++step) {
      std::string id = absl::StrCat("b", random() % 2);
      if (random() % 3 == 0) {
        DeleteBundle(id);
      } else {
        std::vector<std::string> files = {"in all"};
        for (const std::string& content : pool) {
          if (random() % 2 == 0) files.push_back(content);
        }
        if (!PutBundle(id, files, guarded)) ++*refused;
      }
      absl::Status whole = CheckBundles();
      if (!whole.ok()) return whole;
    }
    return absl::OkStatus();
  }
};

TEST_F(BlobRaceTest, NamedBlobsAreThere) {
  int collected = 0, refused = 0;
  for (uint32_t seed = 0; seed < 25; ++seed) {
    absl::Status whole = Run(seed, true, &collected, &refused);
    ASSERT_TRUE(whole.ok()) << "seed " << seed << ": " << whole;
  }
  // The race really took place, in both outcomes.
  EXPECT_GT(collected, 20);
  EXPECT_GT(refused, 5);
}

TEST_F(BlobRaceTest, WithoutTheGuardTheyAreNot) {
  int collected = 0, refused = 0;
  bool lost = false;
  for (uint32_t seed = 0; seed < 50 && !lost; ++seed)
    lost = !Run(seed, false, &collected, &refused).ok();
  EXPECT_TRUE(lost);
}

}  // namespace
}  // namespace nave
