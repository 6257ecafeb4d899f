// One Connect call on gRPC's callback API. For link_service.cc only.
#ifndef NAVE_HUB_RPC_LINK_STREAM_H_
#define NAVE_HUB_RPC_LINK_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "common/pki/verify_peer.h"
#include "common/runtime/executor.h"
#include "hub/session/session_host.h"

namespace nave {

// The cluster that `peer` speaks for, or why it cannot: a typed refusal instead of a failed
// handshake, which would tell the agent nothing.
struct LinkIdentity {
  PeerIdentity identity;
  std::optional<Refusal> refusal;
};
LinkIdentity IdentifyCluster(const Peer& peer, absl::string_view hub_id, absl::string_view address);

// Deletes itself when the call is over.
grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StartLinkStream(Executor* loop,
                                                                             SessionHost* host,
                                                                             LinkIdentity identity);

// A frame as gRPC sends it: the shared blobs' buffers are referenced, not copied.
grpc::ByteBuffer EncodeFrame(const HubFrame& frame);

}  // namespace nave

#endif  // NAVE_HUB_RPC_LINK_STREAM_H_
