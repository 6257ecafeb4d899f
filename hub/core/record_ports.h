// The ports of sessions and controllers to the store, over its records.
#ifndef NAVE_HUB_CORE_RECORD_PORTS_H_
#define NAVE_HUB_CORE_RECORD_PORTS_H_

#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hub/controllers/control_store.h"
#include "hub/fleet/snapshot.h"
#include "hub/records/codec.h"
#include "hub/records/record_store.h"
#include "hub/session/session_store.h"

namespace nave {

// The same transaction in the store's form.
RecordTxn ToRecordTxn(ControlTxn txn);

// Both thread-safe. `records` must outlive them.
std::unique_ptr<SessionStore> MakeSessionStore(RecordStore* records);
std::unique_ptr<ControlStore> MakeControlStore(RecordStore* records);

// A record and where it stands; nullopt: there is none. Blocks.
template <typename Record>
absl::StatusOr<std::optional<Versioned<Record>>> FindRecord(const RecordStore& records,
                                                            absl::string_view key) {
  absl::StatusOr<KeyValue> kv = records.Get(key);
  if (absl::IsNotFound(kv.status())) return std::optional<Versioned<Record>>();
  if (!kv.ok()) return kv.status();
  Versioned<Record> found;
  found.mod_revision = kv->mod_revision;
  if (absl::Status status = DecodeRecord(kv->value, &found.value); !status.ok()) return status;
  return std::optional<Versioned<Record>>(std::move(found));
}
// The cluster with that uid, by the index of uids.
absl::StatusOr<std::optional<Versioned<Cluster>>> FindCluster(const RecordStore& records,
                                                              const Uuid& cluster);

}  // namespace nave

#endif  // NAVE_HUB_CORE_RECORD_PORTS_H_
