// What a hub does now and then: unnamed content and old events go, the server certificate is
// renewed.
#ifndef NAVE_HUB_CORE_HOUSEKEEPING_H_
#define NAVE_HUB_CORE_HOUSEKEEPING_H_

#include <cstddef>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/runtime/executor.h"
#include "hub/ca/data_directory.h"
#include "hub/records/blob_collector.h"
#include "hub/records/record_store.h"

namespace nave {

// What is kept of events.
inline constexpr size_t kEventsMax = 10000;
inline constexpr absl::Duration kEventsFor = absl::Hours(24 * 7);

// Deletes events that are older than kEventsFor, and the oldest of more than kEventsMax. Returns
// how many went. Blocks.
absl::StatusOr<size_t> PruneEvents(RecordStore* records, absl::Time now);

// Runs on an executor of its own, which must be stopped before it goes, as must not what the parts
// point to.
class Housekeeping {
 public:
  struct Parts {
    Executor* executor = nullptr;
    RecordStore* records = nullptr;
    BlobStore* blobs = nullptr;
    std::shared_ptr<HubCa> ca;
    CertificatePaths server_paths;
    ServerNames server_names;
  };
  explicit Housekeeping(Parts parts);
  // The first round is an hour from now.
  void Start();

 private:
  void Round();

  const Parts parts_;
  BlobCollector collector_;
};

}  // namespace nave

#endif  // NAVE_HUB_CORE_HOUSEKEEPING_H_
