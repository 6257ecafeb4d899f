// What stands behind the agents' port: enrolment, renewal and blobs, by the store's records.
#ifndef NAVE_HUB_CORE_LINK_BACKEND_H_
#define NAVE_HUB_CORE_LINK_BACKEND_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "hub/ca/data_directory.h"
#include "hub/fleet/live.h"
#include "hub/fleet/snapshot.h"
#include "hub/records/record_store.h"
#include "hub/rpc/link_service.h"
#include "hub/session/content_cache.h"

namespace nave {

struct LinkBackendParts {
  std::string hub_id;
  RecordStore* records = nullptr;
  BlobReader* blobs = nullptr;
  LiveTable* live = nullptr;
  std::shared_ptr<HubCa> ca;
  // Thread-safe. The snapshot is null while the hub starts.
  std::function<FleetSnapshotPtr()> snapshot;
  std::function<absl::Time()> now;
};

// Thread-safe; what the parts point to must outlive it.
std::unique_ptr<LinkBackend> MakeLinkBackend(LinkBackendParts parts);

}  // namespace nave

#endif  // NAVE_HUB_CORE_LINK_BACKEND_H_
