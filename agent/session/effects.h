// What the agent's session state machine wants done: the only way in which it acts.
#ifndef NAVE_AGENT_SESSION_EFFECTS_H_
#define NAVE_AGENT_SESSION_EFFECTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/desired/desired.h"
#include "common/model/stream.h"

namespace nave {

// One FetchBlobs call. Each blob goes to OnBlob as it comes, the end to OnFetchDone.
struct FetchRequest {
  uint64_t id = 0;
  std::vector<Digest> wants;
};

struct ContentWrite {
  Uuid key;
  DesiredContentPtr content;
};

// To be carried out in the order of the fields. Empty fields ask for nothing.
struct Effects {
  // End the stream; nothing more comes from it. The reason is for the log.
  bool close_stream = false;
  std::string close_reason;

  // Calls of the reconciler. `changed` before `pending`: a change ends the pending mark of its key.
  std::vector<Uuid> changed;
  std::vector<std::pair<Uuid, bool>> pending;
  std::optional<bool> hold;
  // True: write nothing at all to this cluster; false: go on.
  std::optional<bool> frozen;

  // Durable state. OnContentStored and OnCommitted tell how it went.
  std::vector<Uuid> abandon_content;
  std::vector<ContentWrite> write_content;
  std::optional<AgentState> commit;

  std::vector<uint64_t> cancel_fetches;
  std::vector<FetchRequest> fetches;

  // Make a new certificate now (OnCertificateRenewed), read the CA bundle again, look at the Lease
  // (OnLeaseChecked).
  bool renew_certificate = false;
  bool reload_ca = false;
  bool check_lease = false;

  // Open a stream; the number names it in all calls.
  std::optional<uint64_t> dial;
  // Send on the open stream; OnWritten when done. At most one is on its way at a time.
  std::optional<AgentFrame> frame;
};

}  // namespace nave

#endif  // NAVE_AGENT_SESSION_EFFECTS_H_
