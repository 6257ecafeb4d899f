#include "hub/rpc/adopt.h"

#include "common/base/status_macros.h"
#include "hub/controllers/actions.h"
#include "hub/records/keys.h"

namespace nave {

absl::StatusOr<ControlTxn> PlanAdoptAnew(const ApiCall& call, const std::vector<Uuid>& clusters) {
  std::string key(kAdoptKey);
  ASSIGN_OR_RETURN(std::optional<StoredValue> stored, call.store().Get(key));
  FleetSnapshot present = call.snapshot();
  uint64_t revision = 0;
  if (stored.has_value()) {
    ASSIGN_OR_RETURN(present.adopt, DecodeRecord<AdoptRecord>(stored->bytes));
    revision = stored->mod_revision;
  }
  ControlTxn txn = PlanAdopt(present, clusters);
  txn.Compare(std::move(key), revision);
  return txn;
}

}  // namespace nave
