// The calls of the public API that the swarm makes, as an administrator.
#ifndef NAVE_TESTS_BENCH_SWARM_HUB_API_H_
#define NAVE_TESTS_BENCH_SWARM_HUB_API_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/uuid.h"

namespace nave::bench {

struct BundleCounts {
  uint64_t revision = 0;
  uint32_t clusters = 0;
  uint32_t applied = 0;
};

// Blocking; one thread at a time.
class HubApi {
 public:
  // `context_path`: a context file as the hub writes it at its first start.
  static absl::StatusOr<std::unique_ptr<HubApi>> Open(const std::string& context_path);
  virtual ~HubApi() = default;

  // The text of a join token for a cluster of that name, accepted by itself.
  virtual absl::StatusOr<std::string> CreateToken(const std::string& cluster) = 0;
  // Makes or replaces projects/default/bundles/{id} for every cluster; its UID.
  virtual absl::StatusOr<Uuid> PutBundle(const std::string& id, const std::string& manifest) = 0;
  virtual absl::StatusOr<BundleCounts> Counts(const std::string& id) = 0;
};

}  // namespace nave::bench

#endif  // NAVE_TESTS_BENCH_SWARM_HUB_API_H_
