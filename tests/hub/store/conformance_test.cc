// What every backend of Store must do, except watches and leases (their own files). Runs the same
// cases against each backend; what the interface promises is checked from outside only.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/backoff.h"
#include "common/base/error.h"
#include "tests/hub/store/backends.h"

namespace nave {
namespace {

class ConformanceTest : public testing::TestWithParam<Backend> {
 protected:
  ConformanceTest() : harness_(GetParam().make()), store_(harness_->store()) {}

  TxnResult Must(Txn txn) {
    absl::StatusOr<TxnResult> result = store_.Commit(std::move(txn));
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : TxnResult{};
  }
  Revision Put(const std::string& key, const std::string& value) {
    TxnResult result = Must({{}, {{key, value}}});
    EXPECT_TRUE(result.succeeded);
    return result.revision;
  }
  Revision Delete(const std::string& key) { return Must({{}, {{key, std::nullopt}}}).revision; }
  std::string ReasonOf(const Txn& txn) {
    Revision before = *store_.Head();
    absl::StatusOr<TxnResult> result = store_.Commit(txn);
    EXPECT_EQ(*store_.Head(), before) << "something was written";
    return ErrorReason(result.status());
  }
  // "key=value@revision" of a whole range, read in pages of `limit`.
  std::vector<std::string> Dump(absl::string_view prefix, Revision at, size_t limit) {
    std::vector<std::string> lines;
    std::string after;
    while (true) {
      absl::StatusOr<RangePage> page = store_.Range(prefix, after, limit, at);
      EXPECT_TRUE(page.ok()) << page.status();
      if (!page.ok()) return lines;
      for (const KeyValue& kv : page->items) {
        lines.push_back(absl::StrCat(kv.key, "=", kv.value, "@", kv.mod_revision));
      }
      if (!page->more) return lines;
      after = page->items.back().key;
      at = page->revision;
    }
  }

  std::unique_ptr<StoreHarness> harness_;
  Store& store_;
};

TEST_P(ConformanceTest, PutGetDelete) {
  EXPECT_EQ(store_.Get("a").status().code(), absl::StatusCode::kNotFound);
  Revision first = Put("a", "1");
  Revision second = Put("a", "2");
  EXPECT_GT(second, first);
  EXPECT_EQ(*store_.Get("a"), (KeyValue{"a", "2", first, second, 0}));
  EXPECT_EQ(*store_.Head(), second);
  Revision gone = Delete("a");
  EXPECT_GT(gone, second);
  EXPECT_EQ(store_.Get("a").status().code(), absl::StatusCode::kNotFound);
  Revision again = Put("a", "3");
  EXPECT_EQ(store_.Get("a")->create_revision, again) << "a new key after a deletion";
}

TEST_P(ConformanceTest, ValuesAndKeysAreBytes) {
  std::string key("k\0\xff/\n", 5);
  std::string value(300, '\0');
  for (size_t i = 0; i < value.size(); ++i) value[i] = static_cast<char>(i);
  Put(key, value);
  Put("empty", "");
  EXPECT_EQ(store_.Get(key)->value, value);
  EXPECT_EQ(store_.Get("empty")->value, "");
}

TEST_P(ConformanceTest, OneRevisionPerTransaction) {
  Revision before = Put("x", "");
  TxnResult result = Must({{}, {{"a", "1"}, {"b", "2"}, {"x", std::nullopt}}});
  EXPECT_EQ(result.revision, before + 1);
  EXPECT_EQ(store_.Get("a")->mod_revision, result.revision);
  EXPECT_EQ(store_.Get("b")->mod_revision, result.revision);
  EXPECT_EQ(*store_.Head(), result.revision);
}

TEST_P(ConformanceTest, NothingWrittenRaisesNothing) {
  Revision head = Put("a", "1");
  EXPECT_EQ(Must({}).revision, head);
  EXPECT_EQ(Delete("absent"), head);
  EXPECT_EQ(*store_.Head(), head);
  TxnResult partly = Must({{}, {{"absent", std::nullopt}, {"b", "1"}}});
  EXPECT_EQ(partly.revision, head + 1);
}

TEST_P(ConformanceTest, ComparesDecideAllOrNothing) {
  Revision a = Put("a", "1");
  Revision b = Put("b", "1");
  struct Case {
    const char* name;
    std::vector<Compare> compares;
    bool holds;
  } const cases[] = {
      {"none", {}, true},
      {"both right", {{"a", a}, {"b", b}}, true},
      {"absent is 0", {{"absent", 0}}, true},
      {"one wrong", {{"a", a}, {"b", a}}, false},
      {"exists, wanted absent", {{"a", 0}}, false},
      {"absent, wanted a revision", {{"absent", a}}, false},
      {"a newer one than there is", {{"a", b + 100}}, false},
      {"the same twice", {{"a", a}, {"a", a}}, true},
      {"contradiction", {{"a", a}, {"a", b}}, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Revision head = *store_.Head();
    TxnResult result = Must({c.compares, {{"out1", c.name}, {"out2", c.name}}});
    EXPECT_EQ(result.succeeded, c.holds);
    EXPECT_EQ(result.revision, c.holds ? head + 1 : head);
    EXPECT_EQ(*store_.Head(), result.revision);
    EXPECT_EQ(store_.Get("out2").ok() && store_.Get("out2")->value == c.name, c.holds);
  }
  Delete("a");
  EXPECT_TRUE(Must({{{"a", 0}}, {{"a", "new"}}}).succeeded) << "a deleted key is absent";
}

TEST_P(ConformanceTest, LimitsHoldExactly) {
  auto compares = [](size_t n) {
    Txn txn{{}, {{"out", ""}}};
    for (size_t i = 0; i < n; ++i) txn.compares.push_back({absl::StrCat("c", i), 0});
    return txn;
  };
  auto writes = [](size_t n) {
    Txn txn;
    for (size_t i = 0; i < n; ++i) txn.writes.push_back({absl::StrCat("w", i), "v"});
    return txn;
  };
  auto bytes = [](size_t total) {
    Txn txn{{{"x", 0}}, {{"a", std::string(kValueBytesMax, 'a')}, {"b", ""}, {"c", "1"}}};
    txn.writes[1].value = std::string(total - kValueBytesMax - 5, 'b');
    return txn;
  };
  auto value = [](size_t n) { return Txn{{}, {{"v", std::string(n, 'v')}}}; };
  EXPECT_TRUE(Must(compares(kTxnComparesMax)).succeeded);
  EXPECT_TRUE(Must(writes(kTxnWritesMax)).succeeded);
  EXPECT_TRUE(Must(bytes(kTxnBytesMax)).succeeded);
  EXPECT_TRUE(Must(value(kValueBytesMax)).succeeded);
  EXPECT_EQ(ReasonOf(compares(kTxnComparesMax + 1)), "LIMIT_EXCEEDED");
  EXPECT_EQ(ReasonOf(writes(kTxnWritesMax + 1)), "LIMIT_EXCEEDED");
  EXPECT_EQ(ReasonOf(bytes(kTxnBytesMax + 1)), "LIMIT_EXCEEDED");
  EXPECT_EQ(ReasonOf(value(kValueBytesMax + 1)), "LIMIT_EXCEEDED");
  EXPECT_EQ(ReasonOf({{}, {{"a", "1"}, {"a", std::nullopt}}}), "LIMIT_EXCEEDED");
  EXPECT_EQ(ReasonOf({{}, {{"", "1"}}}), "INVALID_FIELD");
  EXPECT_EQ(ReasonOf({{{"", 0}}, {}}), "INVALID_FIELD");

  absl::Status told = store_.Commit(writes(150)).status();
  EXPECT_EQ(told.message(), "transaction: want at most 100 writes, got 150");
}

TEST_P(ConformanceTest, RangeByPrefixSorted) {
  for (const char* key : {"b/2", "a", "b/1", "b", "b/10", "c", "b0"}) Put(key, key);
  auto keys = [&](absl::string_view prefix) {
    std::vector<std::string> result;
    absl::StatusOr<RangePage> page = store_.Range(prefix, "", 0, 0);
    EXPECT_TRUE(page.ok()) << page.status();
    for (const KeyValue& kv : page->items) result.push_back(kv.key);
    return result;
  };
  EXPECT_EQ(keys("b/"), (std::vector<std::string>{"b/1", "b/10", "b/2"}));
  EXPECT_EQ(keys(""), (std::vector<std::string>{"a", "b", "b/1", "b/10", "b/2", "b0", "c"}));
  EXPECT_EQ(keys("nothing"), std::vector<std::string>{});
  std::string high("\xff\xff");
  Put(high + "1", "");
  EXPECT_EQ(keys(high), std::vector<std::string>{high + "1"}) << "no key follows this prefix";
}

TEST_P(ConformanceTest, RangeInPagesOfOneRevision) {
  for (int i = 0; i < 10; ++i) Put(absl::StrFormat("k%02d", i), "old");
  Revision at = *store_.Head();
  std::vector<std::string> then = Dump("k", at, 0);
  EXPECT_EQ(then.size(), 10u);

  absl::StatusOr<RangePage> first = store_.Range("k", "", 3, 0);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->revision, at);
  EXPECT_TRUE(first->more);
  // What happens between pages: changes, deletions, new keys, keys that come and go.
  Put("k04", "new");
  Delete("k05");
  Put("k055", "new");
  Delete("k06");
  Put("k06", "again");
  for (int i = 0; i < 5; ++i) Put("k07", absl::StrCat(i));
  EXPECT_EQ(Dump("k", at, 3), then);
  EXPECT_EQ(Dump("k", at, 0), then);
  EXPECT_NE(Dump("k", 0, 3), then);
  EXPECT_EQ(Dump("k", 0, 3), Dump("k", 0, 0));

  absl::StatusOr<RangePage> exact = store_.Range("k", "", 10, at);
  EXPECT_FALSE(exact->more) << "nothing follows the last key";
}

TEST_P(ConformanceTest, PagesAreBoundedByBytes) {
  std::string big(kValueBytesMax, 'x');
  for (int i = 0; i < 40; ++i) Put(absl::StrFormat("k%02d", i), big);
  std::string after;
  size_t items = 0;
  int pages = 0;
  bool more = true;
  for (Revision at = 0; more; ++pages) {
    absl::StatusOr<RangePage> page = store_.Range("k", after, 0, at);
    ASSERT_TRUE(page.ok());
    size_t bytes = 0;
    for (const KeyValue& kv : page->items) bytes += kv.key.size() + kv.value.size();
    EXPECT_LE(bytes, kRangePageBytesMax);
    items += page->items.size();
    at = page->revision;
    more = page->more;
    after = page->items.back().key;
  }
  EXPECT_EQ(items, 40u);
  EXPECT_EQ(pages, 2);
}

TEST_P(ConformanceTest, CompactionForgets) {
  Put("a", "1");
  Put("b", "1");
  Revision old = Put("a", "2");
  Delete("b");
  Revision kept = Put("c", "1");
  Put("a", "3");
  std::vector<std::string> at_kept = Dump("", kept, 0);
  ASSERT_TRUE(store_.Compact(kept).ok());
  absl::StatusOr<RangePage> page = store_.Range("", "", 0, old);
  EXPECT_EQ(ErrorReason(page.status()), "REVISION_COMPACTED");
  EXPECT_EQ(page.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(Dump("", kept, 0), at_kept);
  // What is removed in the background changes nothing.
  harness_->PassTime(absl::Hours(1));
  EXPECT_EQ(Dump("", kept, 0), at_kept);
  EXPECT_EQ(Dump("", 0, 0).size(), 2u);
  EXPECT_TRUE(Must({{{"b", 0}}, {{"b", "again"}}}).succeeded);
  ASSERT_TRUE(store_.Compact(*store_.Head()).ok());
  ASSERT_TRUE(store_.Compact(kept).ok()) << "compacting less changes nothing";
  EXPECT_EQ(Dump("", 0, 0).size(), 3u);
}

// A second, slow version of the store: all states so far.
TEST_P(ConformanceTest, AgreesWithAModelThatKeepsEveryState) {
  SplitMix random(7);
  std::vector<std::map<std::string, std::string>> states(1);
  Revision first = *store_.Head();
  Revision compacted = first;
  for (int step = 0; step < 600; ++step) {
    Txn txn;
    std::map<std::string, std::string> next = states.back();
    size_t writes = 1 + random.Below(4);
    for (size_t i = 0; i < writes; ++i) {
      std::string key = absl::StrCat("k", i, "/", random.Below(6));
      if (random.Below(3) == 0) {
        next.erase(key);
        txn.writes.push_back({key, std::nullopt});
      } else {
        next[key] = absl::StrCat(step);
        txn.writes.push_back({key, absl::StrCat(step)});
      }
    }
    TxnResult result = Must(txn);
    if (result.revision == first + states.size()) states.push_back(next);
    ASSERT_EQ(result.revision, first + states.size() - 1);
    if (random.Below(50) == 0) {
      compacted = compacted + random.Below(result.revision - compacted + 1);
      ASSERT_TRUE(store_.Compact(compacted).ok());
    }
    Revision at = compacted + random.Below(result.revision - compacted + 1);
    if (at == 0) continue;  // 0 stands for the newest.
    std::vector<std::string> got = Dump("", at, 1 + random.Below(5));
    const auto& want = states[at - first];
    ASSERT_EQ(got.size(), want.size()) << "at " << at << ", compacted " << compacted;
    size_t i = 0;
    for (const auto& [key, value] : want) {
      ASSERT_EQ(got[i].substr(0, got[i].find('@')), absl::StrCat(key, "=", value));
      ++i;
    }
  }
}

TEST_P(ConformanceTest, CompareAndSwapFromManyThreadsLosesNothing) {
  int threads = harness_->threads() ? 4 : 1;
  constexpr int kIncrements = 50;
  Put("counter", "0");
  std::atomic<int> refused{0};
  auto increment = [&] {
    for (int done = 0; done < kIncrements;) {
      absl::StatusOr<KeyValue> kv = store_.Get("counter");
      ASSERT_TRUE(kv.ok());
      std::string next = absl::StrCat(std::stoi(kv->value) + 1);
      absl::StatusOr<TxnResult> result =
          store_.Commit({{{"counter", kv->mod_revision}}, {{"counter", next}}});
      ASSERT_TRUE(result.ok()) << result.status();
      result->succeeded ? ++done : ++refused;
    }
  };
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) workers.emplace_back(increment);
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(store_.Get("counter")->value, absl::StrCat(threads * kIncrements));
  EXPECT_EQ(store_.Get("counter")->mod_revision, *store_.Head());
}

TEST_P(ConformanceTest, SubmittedTogetherEachHasItsRevision) {
  constexpr int kTxns = 300;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<absl::StatusOr<TxnResult>> results;
  Revision before = *store_.Head();
  for (int i = 0; i < kTxns; ++i) {
    // Every third one fails its compare, every tenth is refused: neither hurts its neighbours.
    Txn txn{{}, {{absl::StrCat("k", i), absl::StrCat(i)}}};
    if (i % 3 == 0) txn.compares.push_back({"absent", 99});
    if (i % 10 == 1) txn.writes.push_back(txn.writes[0]);
    store_.TxnAsync(std::move(txn), [&](absl::StatusOr<TxnResult> result) {
      std::lock_guard<std::mutex> lock(mutex);
      results.push_back(std::move(result));
      changed.notify_one();
    });
  }
  harness_->Pump();
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return results.size() == kTxns; });
  std::map<Revision, int> succeeded;
  int compare_failed = 0;
  int refused = 0;
  for (const auto& result : results) {
    if (!result.ok()) {
      ++refused;
    } else if (!result->succeeded) {
      ++compare_failed;
    } else {
      ++succeeded[result->revision];
    }
  }
  EXPECT_EQ(refused, 30);
  EXPECT_EQ(compare_failed, 90);
  EXPECT_EQ(succeeded.size(), 180u);
  EXPECT_EQ(succeeded.begin()->first, before + 1);
  EXPECT_EQ(succeeded.rbegin()->first, before + 180);
}

INSTANTIATE_TEST_SUITE_P(All, ConformanceTest, testing::ValuesIn(Backends()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace nave
