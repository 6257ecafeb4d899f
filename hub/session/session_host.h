// All agents' sessions of one hub process: admission, fencing, liveness, and the way of statuses to
// the store.
#ifndef NAVE_HUB_SESSION_SESSION_HOST_H_
#define NAVE_HUB_SESSION_SESSION_HOST_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/model/stream.h"
#include "common/runtime/executor.h"
#include "hub/decide/admission.h"
#include "hub/fleet/live.h"
#include "hub/fleet/snapshot.h"
#include "hub/session/agent_session.h"
#include "hub/session/session_store.h"

namespace nave {

using StreamId = uint64_t;

// One agent's stream as the transport offers it. Called on the loop thread; must not call back
// inside.
class AgentStream {
 public:
  virtual ~AgentStream() = default;
  // One frame at a time: the next after SessionHost::OnWritten.
  virtual void Write(HubFrame frame) = 0;
  // Ends the stream once what was written is out. SessionHost::OnClosed follows.
  virtual void Close() = 0;
};

struct SessionHostOptions {
  SessionOptions session;
  absl::Duration write_timeout = absl::Seconds(20);
  // How long a Hello waits for the snapshot to reach what the agent has.
  absl::Duration behind_timeout = absl::Seconds(5);
  // Hellos that wait for the store at one time; more are refused OVERLOADED.
  size_t admissions_max = 4096;
  // Seed of the jitter.
  uint64_t seed = 1;
};

struct SessionHostMetrics {
  uint64_t connected = 0;
  uint64_t admitted_total = 0;
  uint64_t refused_total = 0;
  uint64_t superseded_total = 0;
  uint64_t dead_total = 0;
  uint64_t status_batches_total = 0;
  uint64_t status_writes_total = 0;
  uint64_t desired_batches_total = 0;
  uint64_t acks_total = 0;
  bool operator==(const SessionHostMetrics&) const = default;
};

// Loop thread only. `store` commits asynchronously; `reader` runs reads of the store that a refusal
// or a history check rests on; `content` gives blobs. All must outlive the host.
class SessionHost {
 public:
  static std::unique_ptr<SessionHost> Make(Executor* loop, Executor* reader, SessionStore* store,
                                           LiveTable* live, BlobSetSource* content,
                                           const SessionHostOptions& options);
  virtual ~SessionHost() = default;

  // A stream was opened by a verified peer.
  virtual StreamId OnOpen(const PeerIdentity& peer, std::shared_ptr<AgentStream> stream) = 0;
  virtual void OnFrame(StreamId id, AgentFrame frame) = 0;
  virtual void OnWritten(StreamId id) = 0;
  virtual void OnClosed(StreamId id) = 0;
  // A frame could not be read.
  virtual void OnBadFrame(StreamId id, const std::string& why) = 0;

  // The first snapshot opens the gates; until then Hello is answered HUB_STARTING.
  virtual void OnSnapshot(FleetSnapshotPtr snapshot, const FleetChanges& changes) = 0;
  // The content that some session waits for is there.
  virtual void OnContentLoaded() = 0;
  // Refuses new streams, tells the agents to dial again and closes; `drained` runs when no stream
  // is left.
  virtual void Drain(std::function<void()> drained) = 0;

  // Whether the cluster has a live session (for FetchBlobs).
  virtual bool HasSession(const Uuid& cluster) const = 0;
  virtual SessionHostMetrics metrics() const = 0;
};

}  // namespace nave

#endif  // NAVE_HUB_SESSION_SESSION_HOST_H_
