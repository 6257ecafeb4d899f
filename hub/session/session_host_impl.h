// The parts of SessionHost: streams and liveness (session_host.cc), admission
// (session_admission.cc).
#ifndef NAVE_HUB_SESSION_SESSION_HOST_IMPL_H_
#define NAVE_HUB_SESSION_SESSION_HOST_IMPL_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "common/base/backoff.h"
#include "hub/session/duplicate_watch.h"
#include "hub/session/session_host.h"
#include "hub/session/session_store.h"
#include "hub/session/status_writer.h"

namespace nave {

class SessionHostImpl : public SessionHost {
 public:
  SessionHostImpl(Executor* loop, Executor* reader, SessionStore* store, LiveTable* live,
                  BlobSetSource* content, const SessionHostOptions& options);
  ~SessionHostImpl() override;

  StreamId OnOpen(const PeerIdentity& peer, std::shared_ptr<AgentStream> stream) override;
  void OnFrame(StreamId id, AgentFrame frame) override;
  void OnWritten(StreamId id) override;
  void OnClosed(StreamId id) override;
  void OnBadFrame(StreamId id, const std::string& why) override;
  void OnSnapshot(FleetSnapshotPtr snapshot, const FleetChanges& changes) override;
  void OnContentLoaded() override;
  void Drain(std::function<void()> drained) override;
  bool HasSession(const Uuid& cluster) const override { return current_.count(cluster) > 0; }
  SessionHostMetrics metrics() const override;

 private:
  enum class Stage {
    kHello,      // Nothing came yet.
    kAdmitting,  // A read or the session's transaction is under way, or the snapshot is waited for.
    kLive,
    kRefused,  // The refusal is being written; nothing is read any more.
  };

  struct Stream {
    StreamId id = 0;
    PeerIdentity peer;
    std::shared_ptr<AgentStream> transport;
    Stage stage = Stage::kHello;
    Hello hello;
    std::unique_ptr<AgentSession> session;
    // Session record of this stream, once committed.
    uint64_t epoch = 0;
    uint64_t session_revision = 0;
    // Made anew under the same uid: another record.
    absl::Time record_created = absl::InfinitePast();
    // Of the cluster's record that the session was last held against.
    uint64_t checked_revision = 0;
    int tries = 0;
    absl::Time behind_deadline = absl::InfiniteFuture();
    // The store's head was read and has what the agent has.
    bool head_reached = false;

    bool writing = false;
    bool closing = false;
    std::optional<HubFrame> last_word;
    absl::Time last_received;
    absl::Time write_started;
    std::shared_ptr<std::atomic<int64_t>> last_seen_ns;
    TimerId timer = 0;
  };

  // What is remembered of a cluster between its sessions.
  struct Memory {
    uint64_t epoch = 0;
    StatusCursor acked;
    DuplicateWatch duplicates;
  };

  Stream* Find(StreamId id);
  // The stream that holds the cluster's session, or nullptr.
  Stream* Current(const Uuid& cluster);
  void Pump(Stream* stream);
  void Write(Stream* stream, HubFrame frame);
  void Refuse(Stream* stream, Refusal refusal);
  void Close(Stream* stream, absl::string_view reason);
  void ArmTimer(Stream* stream);
  void OnTimer(StreamId id);
  void Dispatch(Stream* stream, AgentFrame frame);
  void OnStatusBatch(Stream* stream, StatusBatch batch);
  void CheckLive(Stream* stream);
  void UpdateLive(const Uuid& cluster, const std::function<void(ClusterLive*)>& change);

  // Admission.
  void BeginAdmission(Stream* stream, Hello hello);
  AdmissionRecords RecordsOf(const Uuid& cluster) const;
  void Decide(StreamId id, const AdmissionRecords& records, bool from_store);
  void ReadThenDecide(StreamId id);
  void Commit(Stream* stream, const AdmissionVerdict& verdict, const AdmissionRecords& records);
  void OnSessionCommitted(StreamId id, const AdmissionVerdict& verdict,
                          const AdmissionRecords& records,
                          absl::StatusOr<std::optional<uint64_t>> revision);
  // Supersedes the cluster's other stream.
  void TakeOver(Stream* stream);
  // Welcomes the stream when the snapshot has what the answer rests on.
  void TryWelcome(StreamId id);
  void ReadHeadThenWelcome(StreamId id);
  void Welcome(Stream* stream, bool history_contained);
  void SetLocked(const Uuid& cluster, bool locked);
  bool RefusedAsDuplicate(Stream* stream, const AdmissionRecords& records);
  absl::Duration Jitter(absl::Duration span) { return span * random_.Uniform(); }

  Executor* const loop_;
  Executor* const reader_;
  SessionStore* const store_;
  LiveTable* const live_;
  BlobSetSource* const content_;
  const SessionHostOptions options_;
  SplitMix random_;
  StatusWriter status_writer_;

  FleetSnapshotPtr snapshot_;
  StreamId next_id_ = 1;
  std::unordered_map<StreamId, std::unique_ptr<Stream>> streams_;
  std::map<Uuid, StreamId> current_;
  std::map<Uuid, Memory> memory_;
  std::set<StreamId> waiting_;   // For the snapshot.
  std::set<StreamId> starving_;  // For content.
  size_t admitting_ = 0;
  bool draining_ = false;
  std::function<void()> drained_;
  SessionHostMetrics metrics_;
  // Guards callbacks that outlive the host.
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace nave

#endif  // NAVE_HUB_SESSION_SESSION_HOST_IMPL_H_
