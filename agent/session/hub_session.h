// The agent's side of the stream as a state machine (protocol §3, §4, §5): what it knows, what it
// says, what it wants done.
#ifndef NAVE_AGENT_SESSION_HUB_SESSION_H_
#define NAVE_AGENT_SESSION_HUB_SESSION_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/session/connection.h"
#include "agent/session/effects.h"
#include "agent/session/intake.h"
#include "agent/session/ledger.h"
#include "agent/session/status_outbox.h"

namespace nave {

// Pure: no clock, no randomness but the seed, no I/O. Not thread-safe; the loop thread owns it.
// Every call returns what is to be done (Effects), to be carried out before the next call; answers
// come back through the On… calls. Calls about a stream name it by the attempt number of its dial:
// what comes from an older one is ignored.
//
//   dial ─> OnStreamUp ─> [Hello] ─> OnFrame(Welcome) ─> [KeySet] ─> OnFrame(DesiredBatch) ─>
//   [write_content] ─> OnContentStored
//        ─> [commit] ─> OnCommitted ─> [changed: the reconciler acts] ─> [DesiredAck];   OnStatus
//        ─> [StatusBatch] ─> OnFrame(StatusAck)
// What an agent takes for Options::status_gather.
inline constexpr absl::Duration kStatusGather = absl::Milliseconds(250);

class HubSession {
 public:
  struct Options {
    std::string agent_version;
    // Of this process, random.
    Uuid instance_id;
    std::string cluster_uid;
    // Of the live cluster.
    std::string kube_system_uid;
    // Decides all jitter.
    uint64_t seed = 1;
    // Not empty: the loaded state must not be touched (WrongCluster, StateTooNew). The agent then
    // only reports.
    std::string frozen_reason;
    size_t frame_bytes_max = kFrameBytesMax - (64 << 10);
    // Statuses that change within this time go out together: an update changes them twice at
    // least, and a hub of thousands pays for each batch.
    absl::Duration status_gather = absl::ZeroDuration();
  };

  // `state` is what was loaded; `held` must outlive this. Nothing happens before the first OnTick.
  HubSession(Options options, AgentState state, bool state_lost, const ContentSource* held);

  Effects OnTick(absl::Time now);
  absl::Time NextDeadline() const;

  Effects OnStreamUp(uint64_t attempt, absl::Time now);
  Effects OnWritten(uint64_t attempt, absl::Time now);
  Effects OnFrame(uint64_t attempt, HubFrame frame, absl::Time now);
  Effects OnStreamDown(uint64_t attempt, absl::Time now);

  Effects OnContentStored(const Uuid& key, const Digest& digest, const absl::Status& status,
                          absl::Time now);
  Effects OnCommitted(const absl::Status& status, absl::Time now);
  // A blob of a fetch, compressed as it came, under the name it was asked for.
  Effects OnBlob(uint64_t fetch, const Digest& digest, std::string compressed, absl::Time now);
  Effects OnFetchDone(uint64_t fetch, const absl::Status& status,
                      const std::vector<Digest>& superseded, absl::Time now);

  // The reconciler's word on a key. `owns_objects`: its inventory is not empty.
  Effects OnStatus(AssignmentStatus status, bool owns_objects, absl::Time now);
  Effects OnFacts(Facts facts, absl::Time now);
  Effects OnCertificateRenewed(bool ok, absl::Time now);
  Effects OnLeaseChecked(bool still_leader, absl::Time now);

  bool live() const { return connection_.phase() == Connection::Phase::kLive; }
  bool holding() const { return ledger_.holding(); }
  bool frozen() const { return ledger_.frozen(); }
  // Reason word; empty: neither HOLD nor frozen.
  std::string hold_reason() const;
  const Connection& connection() const { return connection_; }
  const Ledger& ledger() const { return ledger_; }

 private:
  bool IsCurrent(uint64_t attempt) const {
    return attempt == connection_.attempt() &&
           (connection_.open() || connection_.phase() == Connection::Phase::kDialing);
  }
  // The stream is over, for the reason given or because it ended.
  void EndStream(absl::string_view close_reason, absl::Time now, Effects* effects);
  void CleanAfterStream(Effects* effects);

  absl::Status HandleWelcome(const Welcome& welcome, absl::Time now);
  void HandleHistory(const Welcome& welcome, absl::Time now);
  void HandleEqualSets(const At& current);
  void HandleRefusal(const Refusal& refusal, absl::Time now, Effects* effects);
  absl::Status HandleBatch(DesiredBatch batch, absl::Time now, Effects* effects);
  void HandleAcked(const std::vector<StatusOutbox::AckedRemoval>& acked);
  absl::Status Dispatch(HubFrame frame, absl::Time now, Effects* effects);

  // What follows from whatever just happened; every call ends with it.
  Effects Settle(Effects effects, absl::Time now);
  void NoteHold(Effects* effects);
  void ScheduleStatus(absl::Time now);
  void CompareRoots(absl::Time now);
  void QueueKeySet(absl::Time now);
  std::optional<AgentFrame> NextFrame(absl::Time now);
  Hello MakeHello(absl::Time now) const;
  DesiredAck MakeAck() const;

  bool NothingLeft(const Uuid& key) const;
  std::vector<Uuid> ReportedKeys() const;
  std::optional<AssignmentStatus> ComposeStatus(const Uuid& key) const;
  void MarkAllChanged();

  const Options options_;
  Connection connection_;
  Ledger ledger_;
  Intake intake_;
  StatusOutbox outbox_;
  // When what is in it goes out; InfiniteFuture: nothing is.
  absl::Time status_due_ = absl::InfiniteFuture();

  // The reconciler's last word on each key.
  std::map<Uuid, AssignmentStatus> statuses_;
  Facts facts_;
  bool facts_changed_ = false;

  // Of the present stream.
  bool hello_due_ = false;
  bool taking_ = false;  // Welcome allowed to take what the hub sends.
  Digest hello_root_;
  std::deque<KeySet> key_sets_;    // To be sent.
  bool answer_expected_ = false;   // A KeySet is out.
  std::optional<DesiredAck> ack_;  // To be sent.
  uint64_t acked_revision_ = 0;
  absl::Time key_set_at_ = absl::InfiniteFuture();
  Backoff key_set_backoff_{absl::Seconds(1), absl::Seconds(60)};

  // As last told to the executor of effects.
  bool told_hold_ = false;
  bool told_frozen_ = false;
};

}  // namespace nave

#endif  // NAVE_AGENT_SESSION_HUB_SESSION_H_
