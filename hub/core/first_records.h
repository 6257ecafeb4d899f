// What a new store begins with.
#ifndef NAVE_HUB_CORE_FIRST_RECORDS_H_
#define NAVE_HUB_CORE_FIRST_RECORDS_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "hub/records/record_store.h"

namespace nave {

// Project `default` and cluster set `default`, bound to each other, in a store that has neither
// projects nor sets. Blocks.
absl::Status EnsureFirstRecords(RecordStore* records, absl::Time now);

}  // namespace nave

#endif  // NAVE_HUB_CORE_FIRST_RECORDS_H_
