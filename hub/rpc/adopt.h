// Orders to follow this hub's present state.
#ifndef NAVE_HUB_RPC_ADOPT_H_
#define NAVE_HUB_RPC_ADOPT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/uuid.h"
#include "hub/controllers/control_store.h"
#include "hub/records/codec.h"
#include "hub/rpc/api_call.h"

namespace nave {

// PlanAdopt over what the store has now, compared with it: orders that cross each other are all
// kept. `clusters` empty: all.
absl::StatusOr<ControlTxn> PlanAdoptAnew(const ApiCall& call, const std::vector<Uuid>& clusters);

// The record that `txn` puts under `key`.
template <typename Record>
absl::StatusOr<Record> RecordIn(const ControlTxn& txn, const std::string& key) {
  for (const auto& [put, bytes] : txn.puts) {
    if (put == key) return DecodeRecord<Record>(bytes);
  }
  return MakeError(Reason::kInternal, absl::StrCat("transaction: does not put ", key));
}

}  // namespace nave

#endif  // NAVE_HUB_RPC_ADOPT_H_
