// Delays between attempts. Pure: randomness comes in as a number.
#ifndef NAVE_COMMON_BASE_BACKOFF_H_
#define NAVE_COMMON_BASE_BACKOFF_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace nave {

// Exponential back-off with full jitter: the n-th delay is uniform in [0, min(cap, base * 2^n)], as
// in the Exponential Backoff and Jitter article of the AWS builders' library. `floor` keeps a
// server's minimum.
class Backoff {
 public:
  Backoff(absl::Duration base, absl::Duration cap) : base_(base), cap_(cap) {}

  // The next delay. `uniform` is in [0, 1).
  absl::Duration Next(double uniform) {
    absl::Duration ceiling = base_;
    for (int i = 0; i < failures_ && ceiling < cap_; ++i) ceiling *= 2;
    ++failures_;
    return std::min(ceiling, cap_) * uniform;
  }
  void Reset() { failures_ = 0; }
  int failures() const { return failures_; }

 private:
  absl::Duration base_;
  absl::Duration cap_;
  int failures_ = 0;
};

// A small deterministic generator (splitmix64, Steele et al. 2014) for state machines that must
// replay from a seed.
class SplitMix {
 public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  // Uniform in [0, 1).
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }
  // Uniform in [0, bound), bound > 0. The bias of the remainder is below 2^-32 for bounds in use.
  uint64_t Below(uint64_t bound) { return Next() % bound; }

 private:
  uint64_t state_;
};

}  // namespace nave

#endif  // NAVE_COMMON_BASE_BACKOFF_H_
