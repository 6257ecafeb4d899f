#include <utility>

#include "agent/apply/engine_impl.h"
#include "agent/apply/make_reconciler.h"
#include "common/base/log.h"

namespace nave {
namespace {

// While a long pass goes on, what it did is written now and then.
constexpr absl::Duration kFlushInterval = absl::Seconds(5);

}  // namespace

std::unique_ptr<Reconciler> MakeReconciler(ReconcilerOptions options) {
  return std::make_unique<Engine>(std::move(options));
}

Engine::Engine(ReconcilerOptions options) : options_(std::move(options)), random_(options_.seed) {}

Engine::~Engine() { Stop(); }

void Engine::Start(StatusCallback on_status) {
  on_status_ = std::move(on_status);
  running_ = true;
  started_ = Now();
  alive_ = std::make_shared<bool>(true);
  const AgentState& state = options_.store->state();
  hold_ = !state.hold_reason.empty();
  catalog_ = std::make_unique<Catalog>(*options_.kube, *options_.executor);
  catalog_->on_refreshed = [this] { OnCatalog(); };
  Observer::Callbacks callbacks;
  callbacks.on_object = [this](const Value& live) { OnObject(live); };
  callbacks.on_gone = [this](const ObjectKey& object) { OnGone(object); };
  callbacks.on_synced = [this](const GroupKind& kind, const std::set<ObjectKey>& all) {
    OnSynced(kind, all);
  };
  callbacks.on_trouble = [this](const GroupKind& kind, const KubeError& error) {
    OnTrouble(kind, error);
  };
  observer_ = std::make_unique<Observer>(*options_.kube, *options_.executor, *catalog_,
                                         random_.Next(), std::move(callbacks));
  for (const auto& [key, assignment] : state.assignments) OnAssignmentChanged(key);
  catalog_->Refresh();
}

void Engine::Stop() {
  if (!running_) return;
  running_ = false;
  alive_.reset();
  for (auto& [key, k] : keys_) {
    CancelTimer(k->flush_timer);
    CancelTimer(k->status_timer);
    for (auto& [object, r] : k->objects) {
      CancelTimer(r.timer);
      CancelTimer(r.recheck);
      if (r.apply_task) r.apply_task->Cancel();
      if (r.removal_task) r.removal_task->Cancel();
    }
  }
  CancelTimer(gate_timer_);
  observer_.reset();
  catalog_.reset();
  keys_.clear();
  tasks_ = 0;
  turn_wanted_ = removals_wanted_ = watches_wanted_ = pump_wanted_ = false;
}

void Engine::OnAssignmentChanged(const Uuid& key) {
  if (!running_) return;
  if (FindAssignment(key) == nullptr) {
    Forget(key);
    return;
  }
  std::unique_ptr<KeyRecord>& k = keys_[key];
  if (!k) k = std::make_unique<KeyRecord>(*options_.store, key);
  k->pending = false;
  WantPlan(*k);
  WantStatus(*k);
}

void Engine::SetPending(const Uuid& key, bool pending) {
  KeyRecord* k = FindKey(key);
  if (k == nullptr || k->pending == pending) return;
  k->pending = pending;
  WantRemovals();
}

void Engine::SetHold(bool hold) {
  if (!running_ || hold_ == hold) return;
  hold_ = hold;
  WantRemovals();
  for (auto& [key, k] : keys_) WantStatus(*k);
}

std::vector<AssignmentStatus> Engine::AllStatuses() const {
  std::vector<AssignmentStatus> all;
  for (const auto& [key, k] : keys_) {
    if (FindAssignment(key) != nullptr) all.push_back(MakeStatus(*k));
  }
  return all;
}

bool Engine::HasInventory(const Uuid& key) const {
  auto it = keys_.find(key);
  if (it != keys_.end() && !it->second->ledger.IsEmpty()) return true;
  return !options_.store->inventory(key).empty();
}

void Engine::Post(Task task) {
  options_.executor->Post([alive = std::weak_ptr<bool>(alive_), task = std::move(task)]() mutable {
    if (!alive.expired()) std::move(task)();
  });
}

TimerId Engine::After(absl::Duration delay, Task task) {
  return options_.executor->PostAfter(
      delay, [alive = std::weak_ptr<bool>(alive_), task = std::move(task)]() mutable {
        if (!alive.expired()) std::move(task)();
      });
}

void Engine::CancelTimer(TimerId& timer) {
  if (timer != 0) options_.executor->Cancel(std::exchange(timer, 0));
}

KeyRecord* Engine::FindKey(const Uuid& key) {
  auto it = keys_.find(key);
  return it == keys_.end() ? nullptr : it->second.get();
}

ObjectRecord* Engine::FindObject(KeyRecord& k, const ObjectKey& object) {
  auto it = k.objects.find(object);
  return it == k.objects.end() ? nullptr : &it->second;
}

const Assignment* Engine::FindAssignment(const Uuid& key) const {
  const auto& assignments = options_.store->state().assignments;
  auto it = assignments.find(key);
  return it == assignments.end() ? nullptr : &it->second;
}

Claimant Engine::ClaimantFor(const Uuid& key) const {
  const AgentState& state = options_.store->state();
  return {.who = {state.hub_id, state.cluster_uid},
          .bundle = key,
          .agent_namespace = options_.agent_namespace};
}

void Engine::Forget(const Uuid& key) {
  KeyRecord* k = FindKey(key);
  if (k == nullptr) return;
  std::vector<ObjectKey> objects;
  for (const auto& [object, r] : k->objects) objects.push_back(object);
  for (const ObjectKey& object : objects) EraseRecord(*k, object);
  CancelTimer(k->flush_timer);
  CancelTimer(k->status_timer);
  keys_.erase(key);
  for (auto& [other, record] : keys_) WantPlan(*record);
  WantWatches();
}

// Tasks that still run for it end without effect on it.
void Engine::EraseRecord(KeyRecord& k, const ObjectKey& object) {
  auto it = k.objects.find(object);
  if (it == k.objects.end()) return;
  ObjectRecord& r = it->second;
  Unqueue(k, object, r);
  CancelTimer(r.timer);
  CancelTimer(r.recheck);
  const auto stage = static_cast<size_t>(r.stage);
  if (r.apply_task) {
    r.apply_task->Cancel();
    --k.applying[stage];
    --tasks_;
  }
  if (r.removal_task) {
    r.removal_task->Cancel();
    --k.removing[stage];
    --tasks_;
  }
  if (r.removal_sent != absl::InfinitePast()) --k.leaving[stage];
  k.objects.erase(it);
  WantPump();
}

void Engine::WantPlan(KeyRecord& k) {
  k.plan_wanted = true;
  WantTurn();
}

void Engine::WantRemovals() {
  removals_wanted_ = true;
  WantTurn();
}

void Engine::WantWatches() {
  watches_wanted_ = true;
  WantTurn();
}

void Engine::WantPump() {
  pump_wanted_ = true;
  WantTurn();
}

void Engine::WantTurn() {
  if (turn_wanted_ || !running_) return;
  turn_wanted_ = true;
  Post([this] { RunTurn(); });
}

void Engine::RunTurn() {
  turn_wanted_ = false;
  std::vector<Uuid> plans;
  for (auto& [key, k] : keys_) {
    if (std::exchange(k->plan_wanted, false)) plans.push_back(key);
  }
  for (const Uuid& key : plans) {
    if (KeyRecord* k = FindKey(key)) Plan(*k);
  }
  if (std::exchange(removals_wanted_, false)) EvaluateRemovals();
  if (std::exchange(watches_wanted_, false)) SetWatches();
  if (std::exchange(pump_wanted_, false)) Pump();
}

void Engine::SetWatches() {
  std::map<GroupKind, std::string> kinds;
  for (const auto& [key, k] : keys_) {
    for (const auto& [object, r] : k->objects) {
      const InventoryEntry* entry = k->ledger.Find(object);
      if (entry != nullptr) kinds.try_emplace({object.group, object.kind}, entry->version);
    }
  }
  observer_->SetKinds(kinds);
}

void Engine::MaybeFlush(KeyRecord& k) {
  if (!k.ledger.dirty() || k.flush_failures > 0) return;
  if (!k.IsWorking()) {
    Flush(k.key);
  } else if (k.flush_timer == 0) {
    k.flush_timer = After(kFlushInterval, [this, key = k.key] {
      KeyRecord* record = FindKey(key);
      if (record == nullptr) return;
      record->flush_timer = 0;
      Flush(key);
    });
  }
}

void Engine::Flush(const Uuid& key) {
  KeyRecord* k = FindKey(key);
  if (k == nullptr) return;
  CancelTimer(k->flush_timer);
  k->ledger.Flush([this, alive = std::weak_ptr<bool>(alive_), key](absl::Status status) {
    if (!alive.expired()) OnFlushed(key, status);
  });
}

void Engine::OnFlushed(const Uuid& key, const absl::Status& status) {
  KeyRecord* k = FindKey(key);
  if (k == nullptr) return;
  if (status.ok()) {
    // What waited for its intention can go on.
    if (std::exchange(k->flush_failures, 0) > 0) WantPlan(*k);
    WantStatus(*k);
    return;
  }
  if (status.code() == absl::StatusCode::kFailedPrecondition) {
    Fenced();
    return;
  }
  // A key that is not in the state any more has nothing to write.
  if (status.code() == absl::StatusCode::kNotFound) return;
  LogWarning("inventory not written", {{"key", key.ToString()}, {"error", status.message()}});
  const absl::Duration delay = absl::Seconds(1) * (1 << std::min(k->flush_failures++, 5));
  CancelTimer(k->flush_timer);
  k->flush_timer = After(delay, [this, key] {
    KeyRecord* record = FindKey(key);
    if (record == nullptr) return;
    record->flush_timer = 0;
    Flush(key);
  });
}

void Engine::Fenced() {
  LogError("another agent took over the state");
  // Not from inside the callbacks of what Stop destroys.
  Post([this] {
    std::function<void()> on_fenced = options_.on_fenced;
    Stop();
    if (on_fenced) on_fenced();
  });
}

}  // namespace nave
