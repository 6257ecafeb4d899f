// What an error of the API server means for an object: which reason is reported and when it is
// tried again. Pure.
#ifndef NAVE_AGENT_APPLY_RETRY_H_
#define NAVE_AGENT_APPLY_RETRY_H_

#include "absl/time/time.h"
#include "agent/kube/kube_client.h"
#include "common/base/reasons.h"

namespace nave {

// Reads of one run: each is the answer to somebody who was faster than us.
inline constexpr int kReadsMax = 5;

struct RetryAdvice {
  Reason reason = Reason::kApplyFailed;
  // Before the next try.
  absl::Duration delay;
  // The kind may have come or gone: discover again.
  bool rediscover = false;
  // Nothing but a change of the manifest or of the spoke helps.
  bool permanent = false;
};

// `failures`: tries that failed before this one since the object last changed. `uniform` in [0, 1).
RetryAdvice AdviseRetry(const KubeError& error, int failures, double uniform);

// base * 2^failures up to cap, of which the upper half is random.
absl::Duration RetryDelay(absl::Duration base, absl::Duration cap, int failures, double uniform);

}  // namespace nave

#endif  // NAVE_AGENT_APPLY_RETRY_H_
