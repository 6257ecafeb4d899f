// Which blobs the collector takes. Pure.
#ifndef NAVE_HUB_RECORDS_BLOB_PLAN_H_
#define NAVE_HUB_RECORDS_BLOB_PLAN_H_

#include <map>
#include <set>
#include <vector>

#include "absl/time/time.h"
#include "common/base/digest.h"

namespace nave {

struct BlobPlan {
  std::vector<Digest> remove;  // Sorted.
  // Blobs that nothing names, `remove` included, and when that was first seen.
  std::map<Digest, absl::Time> unnamed_since;
  bool operator==(const BlobPlan&) const = default;
};

// A blob goes when nothing has named it for `grace`, at every look in between. `unnamed_since` is
// the plan before this one's.
BlobPlan PlanBlobs(const std::set<Digest>& stored, const std::set<Digest>& named,
                   const std::map<Digest, absl::Time>& unnamed_since, absl::Time now,
                   absl::Duration grace);

}  // namespace nave

#endif  // NAVE_HUB_RECORDS_BLOB_PLAN_H_
