// The fleet by seeds. NAVE_SIM_SEED runs one seed alone and prints what happened; NAVE_SIM_SEEDS
// says how many each of the halves takes.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "common/base/log.h"
#include "gtest/gtest.h"
#include "tests/sim/world.h"

namespace nave::sim {
namespace {

constexpr uint64_t kSeeds = 100;

class SimTest : public testing::Test {
 protected:
  SimTest() {
    SetLogLevel(std::getenv("NAVE_SIM_LOG") != nullptr ? LogLevel::kDebug : LogLevel::kError);
  }

  static bool RunSeed(uint64_t seed, std::map<std::string, int>* counts) {
    World world(seed);
    bool fine = world.Run(kStepsOfARun);
    EXPECT_TRUE(fine) << world.Report() << "\nagain: ./dev test sim " << seed;
    for (const auto& [what, count] : world.counts()) (*counts)[what] += count > 0 ? 1 : 0;
    if (std::getenv("NAVE_SIM_SEED") != nullptr) std::printf("%s\n", world.Report().c_str());
    return fine;
  }

  // From `first` on.
  static void RunSeeds(uint64_t first) {
    const char* many = std::getenv("NAVE_SIM_SEEDS");
    uint64_t seeds = many == nullptr ? kSeeds : std::strtoull(many, nullptr, 10);
    ASSERT_GT(seeds, 0u);
    std::map<std::string, int> counts;
    for (uint64_t seed = first; seed < first + seeds; ++seed) RunSeed(seed, &counts);
    // In how many of the runs each thing happened.
    for (const auto& [what, count] : counts) std::printf("%-14s %4d\n", what.c_str(), count);
    if (seeds < kSeeds) return;
    for (const char* what :
         {"new",         "change",     "place",    "delete",      "edit",          "meddle",
          "cut-hard",    "cut-silent", "cut-kube", "kube-faults", "restart-agent", "second-agent",
          "restart-hub", "backup",     "restore",  "lose-state",  "lose-database", "adopt",
          "deletion",    "refuse",     "confirm",  "waver",       "flip",          "kube-slow"}) {
      EXPECT_GE(counts[what], static_cast<int>(seeds / 20)) << what;
    }
  }
};

// Two, so that two processors share them.
TEST_F(SimTest, WhateverHappensTheFleetEndsAsOrderedFirstHalf) {
  const char* one = std::getenv("NAVE_SIM_SEED");
  if (one == nullptr) return RunSeeds(1);
  std::map<std::string, int> counts;
  RunSeed(std::strtoull(one, nullptr, 10), &counts);
}

TEST_F(SimTest, WhateverHappensTheFleetEndsAsOrderedSecondHalf) {
  if (std::getenv("NAVE_SIM_SEED") == nullptr) RunSeeds(kSeeds + 1);
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
