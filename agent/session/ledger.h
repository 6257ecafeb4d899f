// The keys that the agent holds, as they are committed and as they will be: life of a key (protocol
// §4), HOLD and adopt (§3.3).
#ifndef NAVE_AGENT_SESSION_LEDGER_H_
#define NAVE_AGENT_SESSION_LEDGER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/desired/desired.h"
#include "agent/session/effects.h"
#include "common/base/backoff.h"

namespace nave {

// An upsert that could not be taken. Remembered until the next thing taken for its key, so that the
// hub sends it once a process.
struct RejectedUpsert {
  std::string name;
  Digest digest;
  bool confirmed = false;
  uint64_t revision = 0;
  std::string code;  // Reason word, UPPER_SNAKE.
  std::string message;
  absl::Time since = absl::InfinitePast();
};

// Three states: `committed` is durable; `working` is what was taken from the hub; in between at
// most one commit is on its way. Hello, root and KeySet speak of `working` (what it says of a key
// will be committed or the process ends); whatever promises durability waits for `committed`. Pure,
// not thread-safe.
class Ledger {
 public:
  // `committed` as loaded. `state_lost`: its keys are rebuilt ones, and nothing is stored before an
  // adopt was answered.
  Ledger(AgentState committed, bool state_lost, uint64_t seed);

  const AgentState& committed() const { return committed_; }
  const AgentState& working() const { return working_; }
  // nullptr: not held.
  const Assignment* Find(const Uuid& key) const;
  const RejectedUpsert* FindRejected(const Uuid& key) const;
  const std::map<Uuid, RejectedUpsert>& rejected() const { return rejected_; }
  // at.revision of the last thing taken for `key`; 0: none, or of another history.
  uint64_t RevisionOf(const Uuid& key) const;
  // The name by which the hub called it.
  std::string NameOf(const Uuid& key) const;

  std::vector<KeySetEntry> KeySetEntries() const;
  Digest Root() const;

  // What a batch says, when its revision is higher than RevisionOf(key).
  void TakeUpsert(const Upsert& upsert, const At& at);
  // An upsert of a Removing key is pending: Present again with its old content, NotDesired when it
  // has none.
  void Revive(const Uuid& key);
  // Revived, or taken anew, and not durable yet: what is committed still says Removing.
  bool IsRevivalUncommitted(const Uuid& key) const;
  void TakeTombstone(const Tombstone& tombstone, const At& at);
  // `nothing_left`: what was Removing is gone from the cluster.
  void TakeNotDesired(const Uuid& key, const At& at, bool nothing_left);
  void Reject(const Uuid& key, RejectedUpsert rejected) { rejected_[key] = std::move(rejected); }
  void Forget(const Uuid& key);
  // A batch was dealt with, or a Welcome found equal sets. Never goes back within one history.
  void StoreAt(const At& at);

  // Tombstones of keys that are not held: Removed is reported when their `at` is durable.
  std::optional<uint64_t> UnheldRemoval(const Uuid& key) const;
  const std::map<Uuid, uint64_t>& unheld_removals() const { return unheld_removals_; }
  void ForgetUnheldRemoval(const Uuid& key) { unheld_removals_.erase(key); }

  // HOLD. Empty reason: none. StateLost is not overwritten.
  void SetHold(absl::string_view reason);
  const std::string& hold_reason() const { return working_.hold_reason; }
  // Also while the commit that ends it is on its way, and while an adopt is not yet committed.
  bool holding() const;
  bool state_lost() const { return state_lost_; }

  // A Welcome said `adopt`: from now every key counts as revision 0. Nothing is stored before the
  // answer.
  void BeginAdopt() { adopting_ = true; }
  bool adopting() const { return adopting_; }
  void AbandonAdopt() { adopting_ = false; }
  // Answered, but not durable yet.
  bool adopt_uncommitted() const { return adopt_uncommitted_; }
  // The answer came: the agent follows `hub_id` from `at` on.
  void TakeAdopt(const At& at);
  // The hub of the present stream; stored with the next `at`.
  void SetHub(std::string hub_id) { hub_id_ = std::move(hub_id); }

  // Nothing is written while frozen.
  void SetFrozen(bool frozen) { frozen_ = frozen; }
  bool frozen() const { return frozen_; }

  // Everything taken is durable.
  bool settled() const { return !dirty_ && !in_flight_.has_value(); }
  void CommitIfDue(absl::Time now, Effects* effects);
  // The commit on its way ended. Returns the keys whose assignment is now another one.
  std::vector<Uuid> OnCommitted(const absl::Status& status, absl::Time now);
  // When to try a failed commit again; InfiniteFuture: none to try.
  absl::Time NextDeadline() const;

 private:
  bool CanCommit() const { return !frozen_ && !adopting_ && !state_lost_; }

  AgentState committed_;
  AgentState working_;
  std::optional<AgentState> in_flight_;
  bool dirty_ = false;
  absl::Time commit_at_ = absl::InfinitePast();
  Backoff commit_backoff_{absl::Seconds(1), absl::Seconds(30)};
  SplitMix random_;

  std::map<Uuid, RejectedUpsert> rejected_;
  std::map<Uuid, uint64_t> unheld_removals_;
  std::string hub_id_;
  bool frozen_ = false;
  bool state_lost_ = false;
  bool adopting_ = false;
  // Answered, but the commit that holds the answer has not landed; whether it is the one on its
  // way.
  bool adopt_uncommitted_ = false;
  bool in_flight_adopts_ = false;
};

}  // namespace nave

#endif  // NAVE_AGENT_SESSION_LEDGER_H_
