// The simulation with a fault planted into what it simulates: succeeds when the checks notice.
//
//   sim_planted_NAME FIRST COUNT   seeds FIRST to FIRST + COUNT - 1, until one of them fails
#include <cstdio>
#include <cstdlib>

#include "common/base/log.h"
#include "tests/sim/world.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  nave::SetLogLevel(nave::LogLevel::kError);
  const unsigned long long first = std::strtoull(argv[1], nullptr, 10);
  const unsigned long long count = std::strtoull(argv[2], nullptr, 10);
  for (unsigned long long seed = first; seed < first + count; ++seed) {
    nave::sim::World world(seed);
    if (world.Run(nave::sim::kStepsOfARun)) continue;
    std::printf("%s\nnoticed with seed %llu\n", world.Report().c_str(), seed);
    return 0;
  }
  std::printf("not noticed with the seeds %llu to %llu\n", first, first + count - 1);
  return 1;
}
