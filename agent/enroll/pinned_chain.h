// Knowing the hub at the first contact, before there is a root to trust: by the pin in the join
// token.
#ifndef NAVE_AGENT_ENROLL_PINNED_CHAIN_H_
#define NAVE_AGENT_ENROLL_PINNED_CHAIN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/digest.h"

namespace nave {

// `chain`: what a server presented, PEM, its own certificate first. The last one must have the
// pinned key, and the first one must be signed by it, be a server's, valid `now` and name `host` (a
// DNS name or an address). Returns the last one, PEM: the root from now on. CA_PIN_MISMATCH,
// HUB_CERTIFICATE_EXPIRED, HUB_NAME_MISMATCH.
absl::StatusOr<std::string> CheckPinnedChain(const std::vector<std::string>& chain,
                                             const Digest& pin, const std::string& host,
                                             absl::Time now);

}  // namespace nave

#endif  // NAVE_AGENT_ENROLL_PINNED_CHAIN_H_
