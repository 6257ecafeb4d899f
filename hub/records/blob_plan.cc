#include "hub/records/blob_plan.h"

#include <algorithm>

namespace nave {

BlobPlan PlanBlobs(const std::set<Digest>& stored, const std::set<Digest>& named,
                   const std::map<Digest, absl::Time>& unnamed_since, absl::Time now,
                   absl::Duration grace) {
  BlobPlan plan;
  for (const Digest& digest : stored) {
    if (named.count(digest) > 0) continue;
    auto seen = unnamed_since.find(digest);
    // A clock that was set back begins the grace anew rather than never ending it.
    absl::Time since = seen == unnamed_since.end() ? now : std::min(seen->second, now);
    plan.unnamed_since[digest] = since;
    if (now - since >= grace) plan.remove.push_back(digest);
  }
  return plan;
}

}  // namespace nave
