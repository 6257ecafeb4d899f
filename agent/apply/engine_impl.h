// The engine's inside, shared by its .cc files. Works object by object: every object of every
// assignment has a record; what happens (a plan, an answer, an event, a timer) moves records
// between steps, and Pump starts tasks for those that are queued, stage by stage within an
// assignment. So nothing waits for an object that failed.
//
//   engine.cc          life, keys, coalesced work
//   engine_plan.cc     what each object needs (agent/plan), intentions
//   engine_run.cc      queues, stages, apply tasks and their outcomes
//   engine_removal.cc  the guard, removal tasks and their outcomes
//   engine_events.cc   watches: drift, disappearance, health
//   engine_status.cc   reports
#ifndef NAVE_AGENT_APPLY_ENGINE_IMPL_H_
#define NAVE_AGENT_APPLY_ENGINE_IMPL_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/apply/make_reconciler.h"
#include "agent/apply/records.h"
#include "agent/observe/catalog.h"
#include "agent/observe/observer.h"
#include "common/base/backoff.h"
#include "common/base/reasons.h"

namespace nave {

// How often something that is being deleted is looked at first, should its watch say nothing.
inline constexpr absl::Duration kLookMin = absl::Seconds(1);
// Until leadership is sure again.
inline constexpr absl::Duration kMayNotWrite = absl::Seconds(1);
// For how long a watch may be broken before what it told last does not count any more.
inline constexpr absl::Duration kTroubleMax = absl::Minutes(1);

class Engine : public Reconciler {
 public:
  explicit Engine(ReconcilerOptions options);
  ~Engine() override;

  void Start(StatusCallback on_status) override;
  void Stop() override;
  void OnAssignmentChanged(const Uuid& key) override;
  void SetPending(const Uuid& key, bool pending) override;
  void SetHold(bool hold) override;
  std::vector<AssignmentStatus> AllStatuses() const override;
  bool HasInventory(const Uuid& key) const override;

 private:
  using Step = ObjectRecord::Step;

  // --- engine.cc
  // Runs `task` later on the loop unless the engine was stopped by then.
  void Post(Task task);
  TimerId After(absl::Duration delay, Task task);
  void CancelTimer(TimerId& timer);
  absl::Time Now() const { return options_.executor->Now(); }
  KeyRecord* FindKey(const Uuid& key);
  static ObjectRecord* FindObject(KeyRecord& k, const ObjectKey& object);
  const Assignment* FindAssignment(const Uuid& key) const;
  Claimant ClaimantFor(const Uuid& key) const;
  bool MayWrite() const { return !options_.may_write || options_.may_write(); }
  void Forget(const Uuid& key);
  void EraseRecord(KeyRecord& k, const ObjectKey& object);
  // Work that is done once at the end of the turn, however often it was asked for.
  void WantPlan(KeyRecord& k);
  void WantRemovals();
  void WantWatches();
  void WantPump();
  void WantTurn();
  void RunTurn();
  void SetWatches();
  void MaybeFlush(KeyRecord& k);
  void Flush(const Uuid& key);
  void OnFlushed(const Uuid& key, const absl::Status& status);
  void Fenced();

  // --- engine_plan.cc
  void Plan(KeyRecord& k);
  std::vector<ListedObject> ResolveListing(KeyRecord& k);
  ListedObject ResolveOne(KeyRecord& k, size_t index);
  void TakeContent(KeyRecord& k, const Assignment& assignment);
  void SyncRecords(KeyRecord& k, const std::vector<ListedObject>& listed);
  void Follow(KeyRecord& k, const std::vector<ListedObject>& listed, const ApplyItem& item,
              std::vector<ObjectKey>& intentions);
  void FollowKeep(KeyRecord& k, ObjectRecord& r, const ObjectKey& object);
  void FollowApply(KeyRecord& k, ObjectRecord& r, const ObjectKey& object,
                   std::vector<ObjectKey>& intentions);
  void TakeOver(KeyRecord& k, ObjectRecord& r, const ObjectKey& object, const OtherKey& other,
                std::vector<ObjectKey>& intentions);
  void WriteIntentions(KeyRecord& k, std::vector<ObjectKey> intentions);
  void OnIntended(const Uuid& key, const std::vector<ObjectKey>& intentions,
                  const absl::Status& status);
  std::optional<OtherKey> FindOwner(const Uuid& asking, const ObjectKey& object);
  std::optional<OtherKey> FindWanter(const Uuid& asking, const ObjectKey& object);
  bool Lists(const KeyRecord& k, const ObjectKey& object) const;
  Value BodyFor(const KeyRecord& k, const ObjectKey& object, const DesiredContentPtr& content,
                int32_t index) const;
  // Null when there is none or it cannot be read.
  static Value ManifestAt(const DesiredContentPtr& content, int32_t index);
  // The body of the version before; null when it did not list the object.
  Value PreviousBody(const KeyRecord& k, const ObjectKey& object) const;
  bool AllApplied(const KeyRecord& k) const;
  void OnCatalog();

  // --- engine_run.cc
  void Queue(KeyRecord& k, const ObjectKey& object, ObjectRecord& r, bool first = false);
  void Unqueue(KeyRecord& k, const ObjectKey& object, ObjectRecord& r);
  void Delay(KeyRecord& k, const ObjectKey& object, ObjectRecord& r, absl::Duration delay);
  void Block(ObjectRecord& r, Reason reason, std::string message);
  void Pump();
  bool PumpKey(KeyRecord& k);
  bool PumpApply(KeyRecord& k);
  bool StartApply(KeyRecord& k, const ObjectKey& object, ObjectRecord& r);
  bool IsBlockedByNamespace(KeyRecord& k, const ObjectKey& object, ObjectRecord& r);
  void OnApplied(const Uuid& key, const ObjectKey& object, uint64_t task, ApplyOutcome outcome);
  void TakeApplied(KeyRecord& k, const ObjectKey& object, ObjectRecord& r, ApplyOutcome& outcome);
  void DropOthers(const KeyRecord& k, const ObjectKey& object);
  void TakeUsedAsIs(KeyRecord& k, const ObjectKey& object, ObjectRecord& r, const Value& live);
  void TakeFailure(KeyRecord& k, const ObjectKey& object, ObjectRecord& r, KubeError error);
  void TakeRefusal(KeyRecord& k, const ObjectKey& object, ObjectRecord& r, ApplyOutcome& outcome);
  void AfterTask(KeyRecord& k);
  void WakeNamespace(const std::string& ns);

  // --- engine_removal.cc
  void EvaluateRemovals();
  std::vector<ListedObject> ListedNow(const KeyRecord& k) const;
  void FollowRemovals(KeyRecord& k, const std::vector<RemoveItem>& items, RemovalGate gate);
  bool PumpRemovals(KeyRecord& k);
  bool StartRemoval(KeyRecord& k, const ObjectKey& object, ObjectRecord& r);
  bool MustOutlive(const KeyRecord& k, const ObjectKey& container) const;
  bool MayRemove(const Uuid& key, const ObjectKey& object);
  bool IsLeaving(const ObjectKey& object);
  void OnRemoved(const Uuid& key, const ObjectKey& object, uint64_t task, RemovalOutcome outcome);
  void TakeGone(KeyRecord& k, const ObjectKey& object, ObjectRecord& r);
  void TakeLeaving(KeyRecord& k, const ObjectKey& object, ObjectRecord& r, std::string detail);
  void DropEntry(KeyRecord& k, const ObjectKey& object);
  void Retain(KeyRecord& k, const ObjectKey& object, std::string detail);

  // --- engine_events.cc
  void OnObject(const Value& live);
  void OnGone(const ObjectKey& object);
  void OnSynced(const GroupKind& kind, const std::set<ObjectKey>& all);
  void OnTrouble(const GroupKind& kind, const KubeError& error);
  // The key whose inventory holds the object; nullptr: not ours. `live` may be null.
  KeyRecord* OwnerOf(const ObjectKey& object, const Value* live);
  void Look(KeyRecord& k, const ObjectKey& object, ObjectRecord& r, const Value& live);
  void LookForDrift(KeyRecord& k, const ObjectKey& object, ObjectRecord& r, const Value& live);
  void LookAtHealth(KeyRecord& k, const ObjectKey& object, ObjectRecord& r, const Value& live);
  void Recheck(const Uuid& key, const ObjectKey& object);
  void SeenAbsent(KeyRecord& k, const ObjectKey& object, ObjectRecord& r);
  void Heal(KeyRecord& k, const ObjectKey& object, ObjectRecord& r);
  Baseline BaselineFrom(const InventoryEntry& entry) const;

  // --- engine_status.cc
  void WantStatus(KeyRecord& k);
  void SendStatus(const Uuid& key);
  AssignmentStatus MakeStatus(KeyRecord& k) const;
  ObjectView ViewOf(const KeyRecord& k, const ObjectKey& object, ObjectRecord& r) const;

  ReconcilerOptions options_;
  StatusCallback on_status_;
  bool running_ = false;
  absl::Time started_ = absl::InfinitePast();
  bool hold_ = false;
  SplitMix random_;
  std::string manager_;
  std::unique_ptr<Catalog> catalog_;
  std::unique_ptr<Observer> observer_;
  std::map<Uuid, std::unique_ptr<KeyRecord>> keys_;
  // Round robin: the key that gets the next turn.
  Uuid next_key_;
  int tasks_ = 0;
  uint64_t next_task_ = 1;
  TimerId gate_timer_ = 0;
  bool turn_wanted_ = false;
  bool removals_wanted_ = false;
  bool watches_wanted_ = false;
  bool pump_wanted_ = false;
  // Dies with Stop: what was posted before then does nothing.
  std::shared_ptr<bool> alive_;
};

}  // namespace nave

#endif  // NAVE_AGENT_APPLY_ENGINE_IMPL_H_
