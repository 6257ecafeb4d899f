// What the engine keeps in memory of each assignment and each of its objects: no manifests, no live
// objects.
#ifndef NAVE_AGENT_APPLY_RECORDS_H_
#define NAVE_AGENT_APPLY_RECORDS_H_

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "agent/apply/apply_task.h"
#include "agent/apply/ledger.h"
#include "agent/apply/removal_task.h"
#include "agent/desired/desired.h"
#include "agent/observe/drift.h"
#include "agent/observe/health_track.h"
#include "agent/observe/status.h"
#include "agent/plan/order.h"
#include "agent/plan/plan.h"
#include "common/base/reasons.h"
#include "common/model/assignment.h"
#include "common/runtime/executor.h"

namespace nave {

// For how long an API server may still carry out a request of a connection that was lost.
inline constexpr absl::Duration kInDoubt = absl::Seconds(60);

inline std::string Word(Reason reason) { return std::string(Camel(reason)); }

// One object that an assignment lists, owns, or both.
struct ObjectRecord {
  enum class Step : uint8_t {
    kIdle,     // Nothing to do.
    kQueued,   // In a queue of its assignment.
    kRunning,  // A task works on it.
    kDelayed,  // Its timer will queue it.
    kBlocked,  // Something else must happen first.
  };

  // --- What is asked.
  int32_t index = -1;  // In the listing; -1: not listed.
  bool resolved = true;
  Stage stage = Stage::kCustom;
  Digest source;  // Of the listed object that `body` was made from.
  Digest body;    // BodyDigest; none while not resolved.
  bool removing = false;
  bool handed_over = false;
  bool contested = false;

  // --- How far it is.
  Step step = Step::kIdle;
  bool applied = false;     // With `body`.
  bool used_as_is = false;  // A namespace of others that is only asked to be there.
  bool exists = false;      // Known to be there although it is not applied.
  bool rerun = false;       // What is asked changed while a task ran.
  bool must_read = false;
  bool retry_left_out = false;
  int left_out_tries = 0;
  bool flawed = false;  // Applied, with a problem to report.
  bool failed = false;  // Refused (`problem` says why), not merely waiting.
  int failures = 0;
  TimerId timer = 0;
  uint64_t task = 0;    // Number of the task that runs or ran last.
  std::string problem;  // CamelCase; empty: none.
  std::string message;
  absl::Time removal_sent = absl::InfinitePast();
  // Until then a creation that was sent may still happen.
  absl::Time in_doubt_until = absl::InfinitePast();
  absl::Time check_failed = absl::InfinitePast();
  std::shared_ptr<ApplyTask> apply_task;
  std::shared_ptr<RemovalTask> removal_task;

  // --- What is seen.
  bool seen = false;  // Its presence or absence is known.
  bool present = false;
  bool unchecked = false;  // A state of it was seen and not compared with what is asked.
  Baseline baseline;
  HealthTrack health;
  TimerId recheck = 0;
  HealBudget budget;
  // The last resourceVersion that came while a task ran; an empty one: it went.
  std::optional<std::string> seen_while_running;

  // --- What was last reported, to know since when.
  Health reported_health = Health::kUnknown;
  bool reported_applied = false;
  std::string reported_reason;
  absl::Time since = absl::InfinitePast();
};

// One assignment.
struct KeyRecord {
  KeyRecord(DesiredStore& store, const Uuid& uid) : key(uid), ledger(store, uid) {}

  const Uuid key;
  InventoryLedger ledger;
  // What was planned for, and the version before it while that is not fully replaced.
  DesiredContentPtr content;
  DesiredContentPtr previous;
  KeyState state = KeyState::kPresent;
  bool planned = false;
  bool pending = false;
  std::map<ObjectKey, ObjectRecord> objects;
  // Listed objects that are the same as another one once namespaces are defaulted, by their key as
  // listed.
  std::map<ObjectKey, ObjectKey> duplicates;
  // Objects ready to be worked on, by stage.
  std::array<std::deque<ObjectKey>, kStages> apply_queue;
  std::array<std::deque<ObjectKey>, kStages> removal_queue;
  std::array<int, kStages> applying{};
  std::array<int, kStages> removing{};
  // Deletions that were sent and are not confirmed, and until when the next stage waits for them.
  std::array<int, kStages> leaving{};
  std::array<absl::Time, kStages> leaving_until{};

  // Removals as last decided.
  uint32_t removals = 0;
  RemovalGate gate = RemovalGate::kGo;
  std::string hold_text;
  std::vector<ObjectStatus> retained;

  bool plan_wanted = false;
  bool status_wanted = false;
  int flush_failures = 0;
  TimerId flush_timer = 0;
  TimerId status_timer = 0;
  absl::Time status_sent = absl::InfinitePast();
  AssignmentStatus reported;
  bool has_reported = false;

  bool IsWorking() const {
    for (int s = 0; s < kStages; ++s) {
      if (!apply_queue[s].empty() || !removal_queue[s].empty()) return true;
      if (applying[s] > 0 || removing[s] > 0) return true;
    }
    return false;
  }
};

}  // namespace nave

#endif  // NAVE_AGENT_APPLY_RECORDS_H_
