// The wire between an agent and its hub, behind an interface: gRPC here, values in memory in the
// simulation.
#ifndef NAVE_AGENT_RPC_HUB_LINK_H_
#define NAVE_AGENT_RPC_HUB_LINK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/session/effects.h"
#include "common/model/stream.h"
#include "common/runtime/executor.h"

namespace nave {

// Where to dial and how to show who one is.
struct HubEndpoint {
  std::string address;  // host:port
  std::string ca_pem;
  std::string certificate_pem;
  std::string key_pem;  // Never logged.
};

// Told of what happens on the wire; on the loop thread, never inside a call of the link.
class HubLinkListener {
 public:
  virtual ~HubLinkListener() = default;
  // Frames can be sent: the first one waits for the connection.
  virtual void OnStreamUp(uint64_t attempt) = 0;
  // The frame was handed to the transport; the next one may be sent.
  virtual void OnWritten(uint64_t attempt) = 0;
  // The next frame is read when this returns.
  virtual void OnFrame(uint64_t attempt, HubFrame frame) = 0;
  // The stream is over, once. `status` says why as far as it is known, with the reason code of the
  // hub.
  virtual void OnStreamDown(uint64_t attempt, absl::Status status) = 0;
  virtual void OnBlob(uint64_t fetch, const Digest& digest, std::string compressed) = 0;
  virtual void OnFetchDone(uint64_t fetch, absl::Status status, std::vector<Digest> superseded) = 0;
};

// Loop thread only. At most one stream at a time, named by its attempt; calls about another are
// ignored.
class HubLink {
 public:
  virtual ~HubLink() = default;
  // The listener must outlive the link or be replaced; nullptr: nobody is told.
  virtual void SetListener(HubLinkListener* listener) = 0;
  virtual void Dial(uint64_t attempt, HubEndpoint endpoint) = 0;
  virtual void Send(uint64_t attempt, const AgentFrame& frame) = 0;
  // Nothing more comes from the stream.
  virtual void Close(uint64_t attempt) = 0;
  // Over the connection of the present stream. Without one it fails.
  virtual void Fetch(const FetchRequest& request) = 0;
  // Nothing more comes from the fetch.
  virtual void CancelFetch(uint64_t fetch) = 0;
};

// One gRPC channel per attempt, so that a name is resolved anew and no back-off of gRPC's own comes
// in between. https_proxy and no_proxy are honoured. The destructor cancels what runs and waits
// until gRPC has let go.
std::unique_ptr<HubLink> MakeGrpcHubLink(Executor& loop);

}  // namespace nave

#endif  // NAVE_AGENT_RPC_HUB_LINK_H_
