// Refused attempts, for the audit: one record per caller and interval, so that nobody fills the
// store by being refused.
#ifndef NAVE_HUB_RPC_REFUSALS_H_
#define NAVE_HUB_RPC_REFUSALS_H_

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "hub/auth/caller.h"
#include "hub/records/records.h"

namespace nave {

// Thread-safe.
class Refusals {
 public:
  // `caller.user` is empty when the caller is not known.
  void Add(const Caller& caller, const std::string& method, const absl::Status& status,
           absl::Time now);
  // What came since the last call, one record per caller; the rest of more than kCallersMax callers
  // as one.
  std::vector<AuditRecord> Take();
  bool empty() const;

  static constexpr size_t kCallersMax = 1000;

 private:
  mutable std::mutex mutex_;
  // User and host of the caller.
  std::map<std::pair<std::string, std::string>, AuditRecord> records_;
};

}  // namespace nave

#endif  // NAVE_HUB_RPC_REFUSALS_H_
