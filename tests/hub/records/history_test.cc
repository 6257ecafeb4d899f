// Whether a point lies in the hub's history: a table, and random histories against a slow oracle
// that keeps every state.
#include "hub/records/history.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <tuple>

#include "common/base/backoff.h"

namespace nave {
namespace {

Uuid Nonce(uint8_t n) {
  Uuid uuid;
  uuid.bytes[0] = n;
  return uuid;
}

TEST(HistoryTest, Table) {
  const std::vector<TermRecord> terms = {
      {4, Nonce(4), 30, {}}, {5, Nonce(5), 50, {}}, {7, Nonce(7), 80, {}}};
  struct Case {
    const char* name;
    At at;
    bool want;
  } const cases[] = {
      {"never committed", {}, true},
      {"in the first known term", {4, Nonce(4), 31}, true},
      {"the last revision before the next term", {4, Nonce(4), 50}, true},
      {"what the next term overwrote", {4, Nonce(4), 51}, false},
      {"in the middle term", {5, Nonce(5), 80}, true},
      {"after the middle term", {5, Nonce(5), 81}, false},
      {"in the present term, at the head", {7, Nonce(7), 100}, true},
      {"above the head", {7, Nonce(7), 101}, false},
      {"same number, other nonce", {5, Nonce(6), 60}, false},
      {"a number that is missing", {6, Nonce(6), 60}, false},
      {"a term of the future", {8, Nonce(8), 90}, false},
      {"older than the terms kept", {3, Nonce(3), 20}, false},
  };
  for (const Case& c : cases) EXPECT_EQ(HistoryContains(terms, c.at, 100), c.want) << c.name;
  EXPECT_TRUE(HistoryContains({}, {}, 0));
  EXPECT_FALSE(HistoryContains({}, {1, Nonce(1), 1}, 10));
}

// A hub that writes, restarts and is restored from backups. The oracle keeps with each store the
// set of points that it was ever at: what an agent of that history may have seen.
TEST(HistoryTest, AgreesWithAnOracleThatKeepsEveryPoint) {
  struct Store {
    std::vector<TermRecord> terms;
    uint64_t head = 0;
    std::set<std::tuple<uint64_t, Uuid, uint64_t>> points;
  };
  int contained = 0;
  int diverged = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SplitMix random(seed);
    uint8_t next_nonce = 1;
    Store store;
    std::vector<Store> backups;
    std::vector<At> agents;
    auto write = [&] {
      ++store.head;
      const TermRecord& term = store.terms.back();
      store.points.insert({term.number, term.nonce, store.head});
      if (random.Below(2) == 0) agents.push_back({term.number, term.nonce, store.head});
    };
    auto start = [&] {
      uint64_t number = store.terms.empty() ? 1 : store.terms.back().number + 1;
      store.terms.push_back({number, Nonce(next_nonce++), store.head, {}});
      write();
    };
    start();
    for (int step = 0; step < 60; ++step) {
      switch (random.Below(6)) {
        case 0:
          backups.push_back(store);
          break;
        case 1:
          if (backups.empty()) break;
          store = backups[random.Below(backups.size())];
          start();
          break;
        case 2:
          start();
          break;
        default:
          write();
      }
      for (const At& at : agents) {
        bool want = store.points.count({at.term, at.nonce, at.revision}) != 0;
        ASSERT_EQ(HistoryContains(store.terms, at, store.head), want)
            << "seed " << seed << " term " << at.term << " revision " << at.revision;
        want ? ++contained : ++diverged;
      }
    }
  }
  printf("points in the history %d, diverged %d\n", contained, diverged);
  EXPECT_GT(diverged, contained / 20);
}

}  // namespace
}  // namespace nave
