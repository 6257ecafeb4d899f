// Deletes blobs that no record names any more. Runs on the leader.
#ifndef NAVE_HUB_RECORDS_BLOB_COLLECTOR_H_
#define NAVE_HUB_RECORDS_BLOB_COLLECTOR_H_

#include <cstddef>
#include <map>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/digest.h"
#include "hub/records/blobs.h"
#include "hub/records/record_store.h"

namespace nave {

struct BlobCollection {
  size_t stored = 0;
  // Of them, how many nothing names; `removed` included.
  size_t unnamed = 0;
  size_t removed = 0;
  bool operator==(const BlobCollection&) const = default;
};

// For one thread.
class BlobCollector {
 public:
  // Longer than a person takes from one command to the next, so that an undone change finds its
  // content.
  static constexpr absl::Duration kGrace = absl::Hours(1);

  // Both outlive it.
  BlobCollector(RecordStore* records, BlobStore* blobs, absl::Duration grace = kGrace)
      : records_(records), blobs_(blobs), grace_(grace) {}

  // One look at everything: reads all blobs of the store, so once an hour is enough. Removes
  // nothing when a record or a list that names blobs cannot be read. Ends early, without an error,
  // when a transaction names blobs meanwhile.
  absl::StatusOr<BlobCollection> Collect(absl::Time now);

 private:
  RecordStore* const records_;
  BlobStore* const blobs_;
  const absl::Duration grace_;
  std::map<Digest, absl::Time> unnamed_since_;
};

}  // namespace nave

#endif  // NAVE_HUB_RECORDS_BLOB_COLLECTOR_H_
