// What a write of a bundle will take away, in sentences for its answer.
#ifndef NAVE_HUB_RPC_BUNDLE_WARNINGS_H_
#define NAVE_HUB_RPC_BUNDLE_WARNINGS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/base/digest.h"
#include "common/manifest/parse.h"
#include "common/model/bundle.h"
#include "hub/rpc/api_call.h"

namespace nave {

// Objects that the listing `before` has and `next` has not.
absl::Status AddRemovalWarnings(const ApiCall& call, const Bundle& bundle, const Digest& before,
                                const RenderedBundle& next, std::vector<std::string>* warnings);

// Clusters that the bundle leaves, or that wait for a confirm. `before` null: it is new.
void AddPlacementWarnings(const ApiCall& call, const Bundle* before, const Bundle& after,
                          std::vector<std::string>* warnings);

}  // namespace nave

#endif  // NAVE_HUB_RPC_BUNDLE_WARNINGS_H_
