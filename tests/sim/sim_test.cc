// The fleet by seeds. NAVE_SIM_SEED runs one seed alone and prints what happened; NAVE_SIM_SEEDS
// says how many from 1 on.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "common/base/log.h"
#include "gtest/gtest.h"
#include "tests/sim/world.h"

namespace nave::sim {
namespace {

constexpr uint64_t kSeeds = 5;
// From so many runs on each kind of fault must have come up in one of twenty.
constexpr uint64_t kSeedsForShares = 100;
constexpr int kSteps = 40;

class SimTest : public testing::Test {
 protected:
  SimTest() {
    SetLogLevel(std::getenv("NAVE_SIM_LOG") != nullptr ? LogLevel::kDebug : LogLevel::kError);
  }
};

TEST_F(SimTest, WhateverHappensTheFleetEndsAsOrdered) {
  std::map<std::string, int> counts;
  const char* one = std::getenv("NAVE_SIM_SEED");
  uint64_t first = one == nullptr ? 1 : std::strtoull(one, nullptr, 10);
  const char* many = std::getenv("NAVE_SIM_SEEDS");
  uint64_t seeds = many == nullptr ? kSeeds : std::strtoull(many, nullptr, 10);
  ASSERT_GT(seeds, 0u);
  uint64_t last = one == nullptr ? seeds : first;
  for (uint64_t seed = first; seed <= last; ++seed) {
    World world(seed);
    bool fine = world.Run(kSteps);
    EXPECT_TRUE(fine) << world.Report() << "\nagain: ./dev test sim " << seed;
    if (one != nullptr) std::printf("%s\n", world.Report().c_str());
    for (const auto& [what, count] : world.counts()) counts[what] += count > 0 ? 1 : 0;
  }
  // In how many of the runs each thing happened.
  for (const auto& [what, count] : counts) std::printf("%-14s %4d\n", what.c_str(), count);
  if (one != nullptr || seeds < kSeedsForShares) return;
  for (const char* what :
       {"new", "change", "place", "delete", "edit", "meddle", "cut-hard", "cut-silent", "cut-kube",
        "kube-faults", "restart-agent", "second-agent", "restart-hub", "backup", "restore",
        "lose-database", "lose-state", "adopt", "deletion"}) {
    EXPECT_GE(counts[what], static_cast<int>(seeds / 20)) << what;
  }
}

TEST_F(SimTest, ASeedIsARun) {
  auto run = [] {
    World world(7);
    world.Run(15);
    return world.Fingerprint();
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace nave::sim
