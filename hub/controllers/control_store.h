// What the controllers need of the store: one transaction at a time, waited for.
#ifndef NAVE_HUB_CONTROLLERS_CONTROL_STORE_H_
#define NAVE_HUB_CONTROLLERS_CONTROL_STORE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/model/bundle.h"
#include "common/model/cluster.h"
#include "common/model/tenancy.h"
#include "hub/records/records.h"

namespace nave {

// A transaction of a controller, by records. At most kControlWritesMax writes.
struct ControlTxn {
  // Key -> mod revision (0: absent).
  std::vector<std::pair<std::string, uint64_t>> compares;
  std::vector<std::pair<std::string, std::string>> puts;  // Key, stored bytes.
  std::vector<std::string> deletes;
  std::vector<Event> events;
  std::optional<AuditRecord> audit;

  void Compare(std::string key, uint64_t revision) {
    compares.emplace_back(std::move(key), revision);
  }
  void Put(std::string key, std::string bytes) {
    puts.emplace_back(std::move(key), std::move(bytes));
  }
  void Delete(std::string key) { deletes.push_back(std::move(key)); }
  size_t writes() const {
    return puts.size() + deletes.size() + events.size() + (audit.has_value() ? 1 : 0);
  }
};
// Below the store's 100, with room for head, events and audit.
inline constexpr size_t kControlWritesMax = 90;

class ControlStore {
 public:
  virtual ~ControlStore() = default;
  // Revision of the transaction; nullopt: a compare did not hold. Blocks until durable.
  virtual absl::StatusOr<std::optional<uint64_t>> Commit(ControlTxn txn) = 0;
};

}  // namespace nave

#endif  // NAVE_HUB_CONTROLLERS_CONTROL_STORE_H_
