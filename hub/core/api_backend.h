// What stands behind the public API: the index, the store's records and the content.
#ifndef NAVE_HUB_CORE_API_BACKEND_H_
#define NAVE_HUB_CORE_API_BACKEND_H_

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "hub/ca/data_directory.h"
#include "hub/core/hub_core.h"
#include "hub/records/blobs.h"
#include "hub/records/record_store.h"
#include "hub/rpc/backend.h"

namespace nave {

struct ApiBackendParts {
  HubCore* core = nullptr;
  RecordStore* records = nullptr;
  BlobStore* blobs = nullptr;
  std::shared_ptr<HubCa> ca;
  // All but the pin, which follows the CA.
  std::function<HubFacts()> facts;
  std::function<absl::Time()> now;
};

// Thread-safe; what the parts point to must outlive it.
std::unique_ptr<ApiBackend> MakeApiBackend(ApiBackendParts parts);

}  // namespace nave

#endif  // NAVE_HUB_CORE_API_BACKEND_H_
